"""How the full-text indexes stand, for whoever searches, writes or shows them."""

from typing import Any

import apsw

from core.store import attachment
from core.store.indexes import INDEXES, Index
from core.types import IndexStatus

BULK_ROWS = 100
"""A batch of this many messages leaves segments behind that are worth merging."""


def statuses(db: apsw.Connection) -> tuple[IndexStatus, ...]:
    """Return the state and coverage of each index, in the order of `INDEX_NAMES`.

    Reads counters and the leaf pages of three docsize tables.
    """
    rows = db.execute("SELECT name, state, cursor, last_moved_at_ms, reason FROM index_state")
    by_name = {row[0]: row[1:] for row in rows}
    return tuple(_status(db, index, by_name[index.name]) for index in INDEXES.values())


def _status(db: apsw.Connection, index: Index, row: tuple[Any, ...]) -> IndexStatus:
    state, cursor, last_moved_at_ms, reason = row
    eligible, done = attachment.eligible_count(db, index), 0
    if state != "stale":
        done = attachment.indexed_count(db, index) - attachment.outdated_count(db, index)
    todo = max(0, eligible - done)
    return IndexStatus(
        name=index.name,
        state=state,
        coverage=done / (done + todo) if todo else 1.0,
        done=done,
        todo=todo,
        cursor=cursor,
        last_moved_at_ms=last_moved_at_ms,
        reason=reason,
    )


def note_bulk(db: apsw.Connection, rows: int) -> None:
    """Note, in the caller's transaction, that so many rows went into the indexes at once."""
    if rows >= BULK_ROWS:
        db.execute(
            "UPDATE index_state SET unsettled_rows = unsettled_rows + ?,"
            " state = CASE state WHEN 'ready' THEN 'settling' ELSE state END"
            " WHERE state IN ('ready', 'building', 'settling')",
            (rows,),
        )
