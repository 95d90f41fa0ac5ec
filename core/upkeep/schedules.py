"""When a job is due: `delay:10m`, `every:30m`, `at:2026-12-01T03:00`, `cron:0 3 * * *`.

Times of `at` and `cron` are local ones. What a clock change makes of them is what Debian's cron
does: an hour that is left out is made up for at once, one that comes twice is used once.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from cronsim import CronSim, CronSimError

from core.errors import SettingError

LEAST_MS = 60_000
MOST_MS = 366 * 24 * 3600 * 1000
_UNITS_MS = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_SPAN = re.compile(r"([0-9]{1,7})([smhdw])")
_LONGEST = 200


class LocalZone(tzinfo):
    """The system's own time zone, with its clock changes past and to come."""

    def utcoffset(self, moment: datetime | None) -> timedelta | None:
        """Return how far local time is ahead; `fold` tells which of two equal times is meant."""
        return None if moment is None else _system(moment).utcoffset()

    def dst(self, _moment: datetime | None) -> timedelta | None:
        """Return None: the system does not say which part of its offset is for summer."""
        return None

    def tzname(self, moment: datetime | None) -> str | None:
        """Return the zone's own short name."""
        return None if moment is None else _system(moment).tzname()

    def fromutc(self, moment: datetime) -> datetime:
        """Return the local time of a moment, with `fold` set in the second of two equal ones."""
        found = datetime.fromtimestamp(moment.replace(tzinfo=UTC).timestamp())  # noqa: DTZ006
        return found.replace(tzinfo=self)


def _system(moment: datetime) -> datetime:
    return moment.replace(tzinfo=None).astimezone()


LOCAL = LocalZone()


@dataclass(frozen=True, slots=True)
class Delay:
    """Once, so long after it was asked for."""

    ms: int
    repeats: bool = False


@dataclass(frozen=True, slots=True)
class Every:
    """Again and again, so long after each time."""

    ms: int
    repeats: bool = True


@dataclass(frozen=True, slots=True)
class At:
    """Once, at a moment."""

    at_ms: int
    repeats: bool = False


@dataclass(frozen=True, slots=True)
class Cron:
    """At every local time that five fields name."""

    expression: str
    repeats: bool = True


Schedule = Delay | Every | At | Cron


def parse(text: str, zone: tzinfo = LOCAL) -> Schedule:
    """Read a schedule as it is typed.

    Raises:
        SettingError: it is none; the words say what would be.
    """
    kind, colon, rest = text.strip().partition(":")
    if not colon or len(text) > _LONGEST:
        raise SettingError(
            "a schedule is delay:10m, every:30m, at:2026-12-01T03:00 or cron:0 3 * * *"
        )
    match kind:
        case "delay":
            return Delay(_span(rest, least=0))
        case "every":
            return Every(_span(rest, least=LEAST_MS))
        case "at":
            return At(_moment(rest, zone))
        case "cron":
            return _cron(rest)
    raise SettingError(f"there is no schedule {kind!r}: delay, every, at, cron")


def next_fire(schedule: Schedule, after_ms: int, zone: tzinfo = LOCAL) -> int | None:
    """Return the next moment that a schedule names after `after_ms`, None if there is none.

    For `delay` and `every`, `after_ms` is when the job was made or last fired.
    """
    match schedule:
        case Delay(ms) | Every(ms):
            return after_ms + ms
        case At(at_ms):
            return at_ms
        case Cron(expression):
            return _after(expression, after_ms, zone)


def _after(expression: str, after_ms: int, zone: tzinfo) -> int | None:
    try:
        start = datetime.fromtimestamp(after_ms / 1000, UTC).astimezone(zone)
        for found in CronSim(expression, start):
            at_ms = round(found.timestamp() * 1000)
            if at_ms > after_ms:  # a time that comes twice is found again in its second hour
                return at_ms
    except (OverflowError, OSError, ValueError):  # a year that the calendar does not have
        return None
    return None


def _cron(text: str) -> Cron:
    fields = text.split()
    if len(fields) != 5:
        raise SettingError("cron takes five fields: minute hour day month weekday")
    expression = " ".join(fields)
    try:
        CronSim(expression, datetime(2026, 1, 1, tzinfo=UTC))
    except CronSimError as error:
        raise SettingError(f"cron:{expression}: {str(error).lower()}") from error
    if _after(expression, _FIRST_MS, UTC) is None:
        raise SettingError(f"cron:{expression} names no day that there is")
    return Cron(expression)


_FIRST_MS = 1_767_225_600_000  # 2026-01-01: four years from any day hold every one that there is


def _span(text: str, *, least: int) -> int:
    found = _SPAN.fullmatch(text.strip())
    if found is None:
        raise SettingError(f"{text!r} is no time: a number and s, m, h, d or w, as in 30m")
    ms = int(found[1]) * _UNITS_MS[found[2]]
    if not least <= ms <= MOST_MS:
        raise SettingError(f"{text.strip()} is out of range: {least // 1000} seconds to 366 days")
    return ms


def _moment(text: str, zone: tzinfo) -> int:
    try:
        found = datetime.fromisoformat(text.strip())
        local = found if found.tzinfo is not None else found.replace(tzinfo=zone)
        return round(local.timestamp() * 1000)
    except (ValueError, OverflowError, OSError) as error:
        raise SettingError(f"{text!r} is no time such as 2026-12-01T03:00") from error
