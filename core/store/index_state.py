"""How the full-text indexes stand, for whoever searches, writes or shows them."""

import apsw

from core.store import attachment
from core.store.connection import tokenizer_fingerprint
from core.store.indexes import CJK, INDEXES, Index, table_exists
from core.types import IndexName, IndexStatus

NO_TOKENIZER_HERE = "this program runs without the CJK tokenizer"
OTHER_TOKENIZER_HERE = "this program has another build of the CJK tokenizer than the index"

BULK_ROWS = 100
"""A batch of this many messages leaves segments behind that are worth merging."""


def statuses(db: apsw.Connection) -> tuple[IndexStatus, ...]:
    """Return the state and coverage of each index, in the order of `INDEX_NAMES`.

    Reads counters alone, whatever the size; in a write transaction `done` may be one batch old.
    """
    return tuple(status_of(db, name) for name in INDEXES)


def status_of(db: apsw.Connection, name: IndexName) -> IndexStatus:
    """Return the same for one index.

    The CJK index is `detached` for a connection whose tokenizer did not make it: what it would
    answer there is not what it holds.
    """
    index = INDEXES[name]
    state, cursor, last_moved_at_ms, reason, rate_rows_s, built_by = db.execute(
        "SELECT state, cursor, last_moved_at_ms, reason, rate_rows_s, fingerprint"
        " FROM index_state WHERE name = ?",
        (name,),
    ).get
    if name == CJK and state in ("ready", "settling", "building"):
        own = tokenizer_fingerprint(db)
        if own != built_by:
            state, reason = "detached", NO_TOKENIZER_HERE if own is None else OTHER_TOKENIZER_HERE
    eligible, done = attachment.eligible_count(db, index), 0
    if state != "stale":
        done = counted_rows(db, index) - attachment.outdated_count(db, index)
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
        rate_rows_s=rate_rows_s,
    )


def counted_rows(db: apsw.Connection, index: Index) -> int:
    """Return how many rows the index says it holds, as of the last commit; reads one row.

    The number begins the averages record, row 1 of the data table: see "Structure of the
    %_data table" at the head of ext/fts5/fts5_index.c. `health.check` compares it.
    """
    if not table_exists(db, index):
        return 0
    record = db.execute(f"SELECT block FROM {index.name}_data WHERE id = 1").get
    number = 0
    for byte in (record or b"")[:8]:  # a varint: seven bits a byte, the highest first
        number = number << 7 | byte & 0x7F
        if byte < 0x80:
            break
    return number


def note_bulk(db: apsw.Connection, rows: int) -> None:
    """Note, in the caller's transaction, that so many rows went into the indexes at once."""
    if rows >= BULK_ROWS:
        db.execute(
            "UPDATE index_state SET unsettled_rows = unsettled_rows + ?,"
            " state = CASE state WHEN 'ready' THEN 'settling' ELSE state END"
            " WHERE state IN ('ready', 'building', 'settling')",
            (rows,),
        )
