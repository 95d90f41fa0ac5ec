"""Points in time as people type them: ISO dates, ISO times and ages."""

import re
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from core.errors import QueryError

_AGE = re.compile(r"(\d{1,6})(h|d|w|mo)")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_HOURS = {"h": 1, "d": 24, "w": 24 * 7}


def parse_time(text: str, *, now: datetime, zone: tzinfo | None = None) -> int:
    """Return the Unix UTC milliseconds that `text` names.

    A date is the start of that day, `24h`, `7d`, `2w` and `3mo` count back from `now`
    hour by hour; a month is a calendar month at the same time of day, and a day that it lacks
    becomes its last.

    Args:
        text: what was typed.
        now: the present, with a zone.
        zone: the zone of dates and times that name none, and of months; None is the
            system's, which knows summer time.

    Raises:
        QueryError: the text is none of these, lies outside the years 1 to 9999, or is an age
            that leads to before 1970: no message has such a time.
    """
    age = _AGE.fullmatch(text.strip())
    try:
        moment = _before(now, int(age[1]), age[2], zone) if age else _absolute(text.strip(), zone)
        at_ms = round(moment.astimezone(UTC).timestamp() * 1000)
        if age and at_ms < 0:
            raise ValueError(text)
        return at_ms
    except (ValueError, OverflowError):
        raise QueryError(
            f"{text!r} is not a time: write 2026-11-29, 2026-11-29T14:00+09:00, 24h, 7d, 2w or 3mo"
        ) from None


def midnight_ms(day: date) -> int:
    """Return the first moment of a local day, in Unix UTC milliseconds.

    A day whose midnight the clocks leave out begins when they go on.
    """
    return round(_in_zone(datetime.combine(day, time()), None).timestamp() * 1000)


def _absolute(text: str, zone: tzinfo | None) -> datetime:
    if not _DATE.match(text):
        raise ValueError(text)
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo is not None else _in_zone(moment, zone)


def _in_zone(moment: datetime, zone: tzinfo | None) -> datetime:
    """Return the moment of a time of day; one that the clocks leave out is as much later.

    `moment.astimezone()` would make the midnight that a day lacks one of the day before.
    """
    if zone is not None:
        return moment.replace(tzinfo=zone)
    return datetime.fromtimestamp(moment.timestamp(), UTC)


def _before(now: datetime, count: int, unit: str, zone: tzinfo | None) -> datetime:
    if unit != "mo":
        return now.astimezone(UTC) - timedelta(hours=count * _HOURS[unit])
    local = now.astimezone(zone).replace(tzinfo=None, fold=0)  # the offset was another one then
    year, month = divmod(local.year * 12 + local.month - 1 - count, 12)
    for day in range(local.day, 28, -1):
        try:
            return _in_zone(local.replace(year=year, month=month + 1, day=day), zone)
        except ValueError:
            continue  # a shorter month
    return _in_zone(local.replace(year=year, month=month + 1, day=min(local.day, 28)), zone)
