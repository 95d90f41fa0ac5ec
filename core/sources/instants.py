"""Points in time as sources write them, as Unix milliseconds or not at all.

Order never comes from here: sources have clocks that jump, values that are no times, and
messages without one. A time that cannot be true is left out, since 1970 would be a lie.
"""

import math
import time
from datetime import UTC, datetime

from core.types import TimeQuality

EARLIEST_MS = int(datetime(2000, 1, 1, tzinfo=UTC).timestamp()) * 1000
AHEAD_MS = 2 * 86_400_000
"""How far ahead of this machine's clock a time may be and still be believed."""

Instant = tuple[int | None, TimeQuality]
UNKNOWN: Instant = (None, TimeQuality.NONE)


def instant(value: object) -> Instant:
    """Return the time a value tells: a count since 1970 (number or digits), or ISO 8601.

    Sources count seconds, or thousands, millions or billions of them; of a time that can be
    true its size tells which. A text without a zone is taken as local time of this machine,
    `LOCAL_NAIVE`. Before 2000 or more than two days ahead is no time.
    """
    if isinstance(value, str):
        return _of_text(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _believable(value, TimeQuality.EXACT)
    return UNKNOWN


def instant_ms(value: object) -> int | None:
    """Return the milliseconds of `instant`, without how they are known."""
    return instant(value)[0]


def _of_text(text: str) -> Instant:
    try:
        return _believable(float(text), TimeQuality.EXACT)
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(text.strip())
        quality = TimeQuality.EXACT if moment.tzinfo else TimeQuality.LOCAL_NAIVE
        return _believable(moment.timestamp(), quality)
    except (ValueError, OverflowError, OSError):
        return UNKNOWN


_UNITS = ((10**17, 10**6), (10**14, 10**3), (10**11, 1))
"""From where on a count is of nano-, micro- or milliseconds, and how many make one of ours."""


def _believable(count: float, quality: TimeQuality) -> Instant:
    try:
        ms = _milliseconds(count) if math.isfinite(count) else 0
    except OverflowError:  # an integer beyond every float
        return UNKNOWN
    if EARLIEST_MS <= ms <= time.time() * 1000 + AHEAD_MS:
        return ms, quality
    return UNKNOWN


def _milliseconds(count: float) -> int:
    for least, each in _UNITS:
        if count >= least:
            return round(count / each)
    return round(count * 1000)
