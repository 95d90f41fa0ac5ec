"""How the full-text indexes stand, for whoever searches, writes or shows them."""

import time
from dataclasses import dataclass

import apsw

from core import settings
from core.errors import SettingError
from core.store import attachment, damage, liveness
from core.store.connection import tokenizer_fingerprint
from core.store.indexes import CJK, INDEXES, Index, table_exists
from core.types import IndexName, IndexStatus

NO_TOKENIZER_HERE = "this program runs without the CJK tokenizer"
OTHER_TOKENIZER_HERE = "this program has another build of the CJK tokenizer than the index"

HEARTBEAT_MS = 30_000
"""A holder that was not heard of for this long has died; its work is free to take."""

STUCK_MS, STUCK_ALONE_MS = 30_000, 600_000
"""Work that does not move for so long is stuck: begun by somebody, or by nobody so far."""

BULK_ROWS = 100
"""A batch of this many messages leaves segments behind that are worth merging."""


@dataclass(frozen=True, slots=True)
class _Around:
    """What concerns all indexes alike: who works on them, and whether any of them moves."""

    worker: int | None
    paused: frozenset[IndexName]
    is_still: bool
    now_ms: int


def statuses(db: apsw.Connection) -> tuple[IndexStatus, ...]:
    """Return the state and coverage of each index, in the order of `INDEX_NAMES`.

    Reads counters alone, whatever the size; in a write transaction `done` may be one batch old.
    """
    around = _around(db)
    found = (_status(db, index, around) for index in INDEXES.values())
    return tuple(damage.as_noted(db, status) for status in found)


def status_of(db: apsw.Connection, name: IndexName) -> IndexStatus:
    """Return the same for one index.

    The CJK index is `detached` for a connection whose tokenizer did not make it: what it would
    answer there is not what it holds.
    """
    return damage.as_noted(db, _status(db, INDEXES[name], _around(db)))


def paused_names(db: apsw.Connection) -> frozenset[IndexName]:
    """Return the indexes whose filling the user stopped.

    Raises:
        SettingError: what is stored cannot be read.
    """
    if settings.read(db, settings.BACKFILL_PAUSED):
        return frozenset(INDEXES)
    names = settings.read(db, settings.BACKFILL_PAUSED_INDEXES)
    return frozenset(name for name in INDEXES if name in names)


def is_alive(holder: str, heartbeat_at_ms: int | None, now_ms: int) -> bool:
    """Tell whether who holds the work is there to do it.

    A process that is gone is not. Else it is by when it was heard of last, for one that lives
    may have left its work; a heartbeat from the future is of a clock that was set back.
    """
    if heartbeat_at_ms is None or abs(now_ms - heartbeat_at_ms) > HEARTBEAT_MS:
        return False
    return liveness.is_alive(holder.partition("/")[0]) is not False


def _around(db: apsw.Connection) -> _Around:
    now_ms = time.time_ns() // 1_000_000
    moved, holder, heartbeat = None, None, None
    for last_moved_at_ms, state, each, beat in db.execute(
        "SELECT last_moved_at_ms, state, holder, heartbeat_at_ms FROM index_state"
    ):
        if state != "ready" and last_moved_at_ms is not None:
            moved = max(moved or 0, last_moved_at_ms)
        if each is not None:
            holder, heartbeat = each, beat
    try:
        paused = paused_names(db)
    except SettingError:  # told to whoever sets it or starts the backfill; this answers all else
        paused = frozenset()
    still_ms = 0 if moved is None else now_ms - moved
    return _Around(
        worker=_process(holder) if holder and is_alive(holder, heartbeat, now_ms) else None,
        paused=paused,
        is_still=still_ms > (STUCK_ALONE_MS if holder is None else STUCK_MS),
        now_ms=now_ms,
    )


def _process(holder: str) -> int | None:
    """Return the process of a holder, from its name as `core.index.state` makes it."""
    number = holder.partition(".")[0]
    return int(number) if number.isdecimal() else None


def _status(db: apsw.Connection, index: Index, around: _Around) -> IndexStatus:
    name = index.name
    state, cursor, last_moved_at_ms, reason, rate_rows_s, built_by = db.execute(
        "SELECT state, cursor, last_moved_at_ms, reason, rate_rows_s, fingerprint"
        " FROM index_state WHERE name = ?",
        (name,),
    ).get
    has_work = state != "ready"
    if name == CJK:
        own = tokenizer_fingerprint(db)
        has_work = has_work and own is not None
        if state in ("ready", "settling", "building") and own != built_by:
            state, reason = "detached", NO_TOKENIZER_HERE if own is None else OTHER_TOKENIZER_HERE
    eligible, done = attachment.eligible_count(db, index), 0
    queued, outdated = attachment.queue_counts(db, index)
    if state != "stale":
        done = counted_rows(db, index) - outdated
    todo = max(0, eligible - done)
    is_paused = name in around.paused
    moves = last_moved_at_ms is not None and around.now_ms - last_moved_at_ms <= STUCK_MS
    return IndexStatus(
        name=name,
        state=state,
        coverage=done / (done + todo) if todo else 1.0,
        done=done,
        todo=todo,
        cursor=cursor,
        last_moved_at_ms=last_moved_at_ms,
        reason=reason,
        rate_rows_s=rate_rows_s if moves and around.worker is not None else None,
        paused=is_paused,
        stuck=has_work and around.is_still and not is_paused,
        queued=queued,
        worker=around.worker,
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
            "UPDATE index_state SET unsettled_rows = unsettled_rows + :rows,"
            " last_moved_at_ms = CASE state WHEN 'ready' THEN :now ELSE last_moved_at_ms END,"
            " state = CASE state WHEN 'ready' THEN 'settling' ELSE state END"
            " WHERE state IN ('ready', 'building', 'settling')",
            {"rows": rows, "now": time.time_ns() // 1_000_000},
        )
