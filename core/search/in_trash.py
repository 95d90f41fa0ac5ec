"""What is in the trash, as conditions over message_keys as k, and how many messages it is."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple
from weakref import WeakKeyDictionary

import apsw

from core.history.deletion import BEING_DELETED
from core.search.sql import Sql
from core.store import keys

TRASHED = "SELECT id FROM sessions WHERE trashed_at_ms IS NOT NULL"
HALF_DELETED = f"{TRASHED} AND trashed_by = {BEING_DELETED}"
HAS_LIVE_PLACE = (
    "EXISTS (SELECT 1 FROM message_placements AS p WHERE p.message_id = k.id"
    " AND p.session_id NOT IN ({left}))"
)
_IS_LIVE = HAS_LIVE_PLACE.format(left=TRASHED)
NOWHERE_ELSE = Sql(f"(k.session_id IN ({TRASHED}) AND NOT {_IS_LIVE})")
"""Messages that only sessions in the trash show, or such as are just being deleted."""

IN_TRASH = Sql(f"(k.session_id NOT IN ({HALF_DELETED}) AND {NOWHERE_ELSE.text})")
"""Messages that only sessions in the trash show, and that could come back from it."""

Counts = Mapping[int, int]
"""What `keys.counts` returns."""

_FEW = 200


class TrashCounts(NamedTuple):
    """Messages that only sessions in the trash show, by flags as `keys.counts` has them.

    `held` could come back from it; those `deleted` are of sessions that are just being deleted.
    `shared` are rows of the messages that belong to a session in the trash and are shown by
    another one that is not; None where they are more than a few.
    """

    held: Counts
    deleted: Counts
    shared: tuple[int, ...] | None


def trash_counts(db: apsw.Connection) -> TrashCounts:
    """Return how many messages there are in the trash with their sessions.

    Looks at each of them, once for each state of the store: a connection remembers.
    """
    if db.txn_state("main") == apsw.SQLITE_TXN_WRITE:
        return _trash_counts(db)  # what is counted may be rolled back
    state = _state(db)
    known = _known.get(db)
    if known is None or known[0] != state:
        known = _known[db] = (state, _trash_counts(db))
    return known[1]


def shared_known(db: apsw.Connection) -> tuple[int, ...] | None:
    """Return `TrashCounts.shared` if it was found since the last change; nothing is read."""
    known = _known.get(db)
    if known is None or db.txn_state("main") == apsw.SQLITE_TXN_WRITE or known[0] != _state(db):
        return None
    return known[1].shared


_known: WeakKeyDictionary[apsw.Connection, tuple[tuple[int, int], TrashCounts]] = (
    WeakKeyDictionary()
)


def _state(db: apsw.Connection) -> tuple[int, int]:
    """Return what changes with each commit of another connection, and each change of this one."""
    return int(db.pragma("data_version")), db.total_changes()


def _trash_counts(db: apsw.Connection) -> TrashCounts:
    rows: Iterable[tuple[int, int, int, int]] = db.execute(
        f"SELECT {_IS_LIVE}, k.session_id IN ({HALF_DELETED}), k.flags & {keys.COUNTED_MASK},"
        f" count(*) FROM message_keys AS k WHERE k.session_id IN ({TRASHED}) GROUP BY 1, 2, 3"
    )
    held, deleted, shared = dict[int, int](), dict[int, int](), 0
    for is_live, is_deleted, flags, number in rows:
        if is_live:
            shared += number
        else:
            (deleted if is_deleted else held)[flags] = number
    return TrashCounts(held, deleted, _shared(db, shared))


def _shared(db: apsw.Connection, count: int) -> tuple[int, ...] | None:
    if not count:
        return ()
    if count > _FEW:
        return None
    sql = f"SELECT k.id FROM message_keys AS k WHERE k.session_id IN ({TRASHED}) AND {_IS_LIVE}"
    return tuple(row for (row,) in db.execute(sql))
