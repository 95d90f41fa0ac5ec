"""What was last active in which month, and how much of it would go: for a chart, in one pass."""

import time
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import apsw

from core.upkeep.lineages import Row, messages_of
from core.upkeep.text_sizes import text_bytes
from core.upkeep_types import MonthOfSessions

_SAMPLE = 2_000  # messages of those that stay whose texts are measured


class Month(NamedTuple):
    """A month of local time."""

    year: int
    month: int


def months(
    db: apsw.Connection, rows: Sequence[Row], going: Sequence[Row], going_bytes: int
) -> tuple[MonthOfSessions, ...]:
    """Return what goes and what stays by local month; bytes by the average of a message.

    `going` are those of `rows` that go, `going_bytes` the bytes of all their texts.
    """
    gone = {row[0] for row in going}
    staying = [row for row in rows if row[0] not in gone]
    going_messages = messages_of(going)
    each_going = going_bytes / going_messages if going_messages else 0.0
    kept = messages_of(staying)
    sample = text_bytes(db, [(row[0], row[2]) for row in staying], _SAMPLE)
    each_staying = sample / kept if kept else 0.0
    sums = _by_month(rows, going)
    return tuple(
        MonthOfSessions(
            month.year,
            month.month,
            leaving,
            round(going_texts * each_going),
            staying_sessions,
            round(staying_texts * each_staying),
        )
        for month, (leaving, going_texts, staying_sessions, staying_texts) in sorted(sums.items())
    )


def _by_month(rows: Iterable[Row], going: Iterable[Row]) -> dict[Month, tuple[int, int, int, int]]:
    """Return what was last active in each month of local time, months without anything left out.

    Sessions and messages of those that go, then of those that stay.
    """
    times = [row[1] for row in rows if row[1] is not None]
    if not times:
        return {}
    gone = {row[0] for row in going}
    months, starts = _local_months(min(times), max(times))
    sums = [[0, 0, 0, 0] for _ in months]
    found, first, after = sums[0], 1, 0  # neighbours are mostly of one month
    for session_id, last_ms, messages, _, _ in rows:
        if last_ms is None:
            continue
        if not first <= last_ms < after:
            at = bisect_right(starts, last_ms)
            found, first = sums[at - 1], starts[at - 1]
            after = starts[at] if at < len(starts) else last_ms + 1
        if session_id in gone:
            found[0] += 1
            found[1] += messages
        else:
            found[2] += 1
            found[3] += messages
    return {
        month: (found[0], found[1], found[2], found[3])
        for month, found in zip(months, sums, strict=True)
        if found[0] or found[2]
    }


def _local_months(first_ms: int, last_ms: int) -> tuple[list[Month], list[int]]:
    """Return the months from the one to the other, and the first moment of each."""
    at = datetime.fromtimestamp(first_ms / 1000, UTC).astimezone()
    end = datetime.fromtimestamp(last_ms / 1000, UTC).astimezone()
    months, starts = list[Month](), list[int]()
    year, month = at.year, at.month
    while (year, month) <= (end.year, end.month):
        months.append(Month(year, month))
        starts.append(round(time.mktime((year, month, 1, 0, 0, 0, 0, 0, -1)) * 1000))
        year, month = (year, month + 1) if month < 12 else (year + 1, 1)
    return months, starts
