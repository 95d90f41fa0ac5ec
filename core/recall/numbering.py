"""Where a place stands among the visible messages of its session, without counting them all.

It is counted from the nearest place that is known: the session's start, its end, or one that
was asked for before. What is known is forgotten when the store changes.
"""

from bisect import bisect_left, insort
from typing import NamedTuple
from weakref import WeakKeyDictionary

import apsw

from core.history.messages import IS_VISIBLE

_REMEMBERED = 256  # places of one session


class Place(NamedTuple):
    """Where a message stands in a session."""

    seq: int
    message_id: int


class _Known(NamedTuple):
    """A place, and how many visible messages stand before it."""

    place: Place
    before: int


class _Session(NamedTuple):
    """What is known of one session while the store is as it was."""

    stamp: tuple[int, int, int]
    known: list[_Known]


_sessions: WeakKeyDictionary[apsw.Connection, _Session] = WeakKeyDictionary()


def visible_before(db: apsw.Connection, session_id: int, place: Place, total: int) -> int:
    """Return how many of a session's `total` visible messages stand before `place`.

    Costs 0.1 µs for each message between it and the nearest known place: 3 ms once in the
    middle of 100,000 messages, and ever less the more places of a session were asked for.
    """
    known = _session(db, session_id, total).known
    at = bisect_left(known, place, key=lambda each: each.place)
    behind = known[at]
    if behind.place == place:
        return behind.before
    ahead = known[at - 1]
    if place.seq - ahead.place.seq <= behind.place.seq - place.seq:
        before = ahead.before + _between(db, session_id, ahead.place, place)
    else:
        before = behind.before - _between(db, session_id, place, behind.place)
    if len(known) < _REMEMBERED:
        insort(known, _Known(place, before))
    return before


def _session(db: apsw.Connection, session_id: int, total: int) -> _Session:
    """Return what is known of the session; at least its two ends."""
    stamp = (session_id, db.pragma("data_version"), db.total_changes())
    found = _sessions.get(db)
    if found is None or found.stamp != stamp:
        ends = db.execute(
            "SELECT (SELECT min(seq) FROM message_placements WHERE session_id = ?1),"
            " (SELECT max(seq) FROM message_placements WHERE session_id = ?1)",
            (session_id,),
        ).get
        first, last = ends
        start = _Known(Place((first or 0) - 1, 0), 0)
        found = _Session(stamp, [start, _Known(Place((last or 0) + 1, 0), total)])
        _sessions[db] = found
    return found


def _between(db: apsw.Connection, session_id: int, first: Place, end: Place) -> int:
    """Return how many visible messages stand at `first` or behind it, but before `end`."""
    found = db.execute(
        "SELECT count(*) FROM message_placements AS p"
        " CROSS JOIN message_keys AS k ON k.id = p.message_id WHERE p.session_id = ?"
        f" AND (p.seq, p.message_id) >= (?, ?) AND (p.seq, p.message_id) < (?, ?) AND {IS_VISIBLE}",
        (session_id, *first, *end),
    ).get
    return int(found)
