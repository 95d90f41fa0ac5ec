"""Numbers, sizes, dates and times as the user's locale writes them."""

import re
from datetime import date, datetime

from PySide6.QtCore import QCoreApplication, QDate, QLocale, QTime

_LONG = QLocale.FormatType.LongFormat
_SHORT = QLocale.FormatType.ShortFormat
_WEEK_DAYS = 7
_KILO = 1000
_MINUTE_S = 60
_HOUR_S = 3600


def _tr(text: str) -> str:
    return QCoreApplication.translate("formatting", text)


def _locale() -> QLocale:
    """Return the user's locale; a machine without one gets 24 hours and day before month."""
    locale = QLocale()
    if locale.language() == QLocale.Language.C:
        return QLocale("en_GB")
    return locale


def number(value: int) -> str:
    """Return an integer with its thousands set off."""
    return _locale().toString(value)


def percent(fraction: float) -> str:
    """Return `100 %` only for the whole; what is nearly whole is cut, never rounded up."""
    return f"{number(int(fraction * 100 + 1e-9))} %"


def elapsed(ms: float) -> str:
    """Return a run time: `1.4 ms`, `120 ms`, `2.1 s`."""
    locale = _locale()
    if ms < 100:
        return f"{locale.toString(ms, 'f', 1)} ms"
    if ms < _KILO:
        return f"{number(round(ms))} ms"
    return f"{locale.toString(ms / _KILO, 'f', 1)} s"


def remaining(seconds: float) -> str:
    """Return a rough time to go: `about 4 min`; it never pretends to know better."""
    if seconds < _MINUTE_S:
        return _tr("about %1 s").replace("%1", number(max(1, round(seconds))))
    if seconds < _HOUR_S:
        return _tr("about %1 min").replace("%1", number(round(seconds / _MINUTE_S)))
    return _tr("about %1 h").replace("%1", number(round(seconds / _HOUR_S)))


def counted(count: int, one: str, many: str) -> str:
    """Return `one` or `many`, both already translated, with %1 as the number."""
    return (one if count == 1 else many).replace("%1", number(count))


def size(count: int) -> str:
    """Return a number of bytes in powers of 1000: `31 MB`, `4.2 GB`."""
    precision = 1 if count >= _KILO**3 else 0
    return _locale().formattedDataSize(count, precision, QLocale.DataSizeFormat.DataSizeSIFormat)


def local(at_ms: int) -> datetime:
    """Return Unix milliseconds as local time."""
    return datetime.fromtimestamp(at_ms / _KILO).astimezone()


def today() -> date:
    """Return the local day of now."""
    return datetime.now().astimezone().date()


def clock(at_ms: int) -> str:
    """Return the time of day: `13:48`."""
    at = local(at_ms)
    return _locale().toString(QTime(at.hour, at.minute), _SHORT)


def day_month(day: date) -> str:
    """Return `27 Nov` in the order and script of the locale, without the year."""
    return _locale().toString(QDate(day.year, day.month, day.day), _day_month_pattern(_locale()))


def short_day(day: date, today: date) -> str:
    """Return `27 Nov`, with the year when it is not this one."""
    return day_month(day) if day.year == today.year else f"{day_month(day)} {day.year}"


def full_time(at_ms: int) -> str:
    """Return date and time in full, for tooltips and details."""
    at = local(at_ms)
    day = _locale().toString(QDate(at.year, at.month, at.day), _LONG)
    return f"{day}, {_locale().toString(QTime(at.hour, at.minute), _SHORT)}"


def agenda_day(day: date, today: date) -> tuple[str, str]:
    """Return the gutter's two lines: `Today`/`29 Nov`, `Fri`/`27 Nov`, `27 Nov`/`2024`."""
    if day.year != today.year and (today - day).days >= _WEEK_DAYS:
        return day_month(day), str(day.year)
    ago = (today - day).days
    if ago == 0:
        return _tr("Today"), day_month(day)
    if ago == 1:
        return _tr("Yesterday"), day_month(day)
    name = _locale().dayName(day.isoweekday(), _SHORT)
    return name, day_month(day)


def _day_month_pattern(locale: QLocale) -> str:
    """Return the locale's long date pattern without weekday and year, month names short."""
    pattern = re.sub(r"\s*d{3,4},?\s*", "", locale.dateFormat(_LONG))
    pattern = re.sub(r"(\s*'de')?[\s,]*y+[年년.]?\s*", "", pattern)
    return pattern.replace("MMMM", "MMM").strip()


def month(day: date) -> str:
    """Return the short name of a day's month: `Nov`."""
    return _locale().standaloneMonthName(day.month, _SHORT)


def month_letter(day: date) -> str:
    """Return the shortest name of a day's month: `N`, `11`, `11月`."""
    return _locale().standaloneMonthName(day.month, QLocale.FormatType.NarrowFormat)


def moment(at_ms: int) -> str:
    """Return `09:40` of today, else `28 Nov`, with the year when it is not this one."""
    day = local(at_ms).date()
    return clock(at_ms) if day == today() else short_day(day, today())
