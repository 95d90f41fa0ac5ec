"""Times of sources that count milliseconds, or change their mind about it."""

from core.sources.instants import UNKNOWN, Instant, instant
from core.sources.loose import number

_MS_FROM = 10**10
"""In seconds the year 2286, in milliseconds April 1970: no time of a message is on both sides."""

_MOST = 10**16


def scaled(value: object) -> Instant:
    """Return the time that a number of seconds or of milliseconds tells, or a text."""
    found = number(value)
    if found is None or abs(found) < _MS_FROM:
        return instant(value)
    return instant(found / 1000) if abs(found) < _MOST else UNKNOWN
