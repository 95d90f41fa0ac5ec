"""One batch of what an index needs: filling, draining, merging, or dropping what was set aside."""

import time

import apsw

from core.index import bulk, settle
from core.index.pace import Pace
from core.index.progress import Movement
from core.index.state import beat, claim, state_of
from core.store import attachment, leftovers
from core.store.connection import tokenizer_fingerprint
from core.store.index_state import status_of
from core.store.indexes import CJK, INDEXES, Index
from core.text import INDEXED_CHARS, TOOL_INDEXED_CHARS
from core.types import IndexName, Progress

_MOST_ROWS = 2_000


def needs_work(db: apsw.Connection, name: IndexName) -> bool:
    """Tell whether `step` can bring the index further on this connection."""
    if state_of(db, name) == "ready" and not leftovers.names(db, INDEXES[name]):
        return False
    return name != CJK or tokenizer_fingerprint(db) is not None


def step(db: apsw.Connection, name: IndexName, pace: Pace, holder: str) -> Progress | None:
    """Do one batch of whatever the index needs, in the caller's write transaction.

    A detached index is drained and attached, a stale one set aside and dropped by pieces, a
    building one filled, a settling one merged.

    Returns:
        How far the index is, or None when there is nothing to do, or nothing that this
        connection or this holder may do.
    """
    if not needs_work(db, name) or not claim(db, holder):
        return None
    index, started = INDEXES[name], time.perf_counter()
    moved = pace.moved.setdefault(name, Movement(time.monotonic()))
    rows = 0
    match state_of(db, name):
        case _ if left := leftovers.names(db, index):
            leftovers.drop_piece(db, left[0], pace.blocks)
            pace.learn_blocks(time.perf_counter() - started)
        case "stale":
            attachment.rebuild(db, index, tokenizer_fingerprint(db))
        case "detached":
            rows = _drain(db, index, pace)
        case "building":
            rows = _fill(db, index, pace)
        case _:
            _settle(db, name, pace)
    pace.last_s = time.perf_counter() - started
    moved.note(time.monotonic(), rows)
    _note(db, name, moved.rate(time.monotonic()))
    beat(db, holder)  # again: the batch may have been a long one
    return _progress(db, name)


def _drain(db: apsw.Connection, index: Index, pace: Pace) -> int:
    """Take in what waits in the queue, as much as fits, and attach the index at its end."""
    fingerprint = tokenizer_fingerprint(db)
    if fingerprint is not None:
        attachment.attach(db, fingerprint)  # creates it, finds it stale, or takes a short queue
    if state_of(db, index.name) != "detached":
        return 0
    pace.draining.add(index.name)
    started = time.perf_counter()
    rows = attachment.fitting(db, index, _MOST_ROWS, pace.text_bytes)
    rows, text_bytes = attachment.drain(db, index, rows), pace.text_bytes
    _flush(db, index)
    pace.learn(text_bytes, time.perf_counter() - started)
    _add_unsettled(db, index, rows)
    if not attachment.queued(db, index, at_most=1):
        attachment.resume(db, index)
    return rows


def _fill(db: apsw.Connection, index: Index, pace: Pace) -> int:
    """Index the next rows after the cursor; return their number."""
    started = time.perf_counter()
    cursor, high_water = db.execute(
        "SELECT cursor, high_water FROM index_state WHERE name = ?", (index.name,)
    ).get
    last, text_bytes = cursor, 0
    missing = f"m.id NOT IN (SELECT id FROM {index.docsize}) AND {index.eligible('m')}"
    longest = f"iif(m.role = 'tool', {TOOL_INDEXED_CHARS}, {INDEXED_CHARS})"
    for row_id, size in db.execute(
        f"SELECT m.id, min(octet_length(m.content), {longest}) FROM messages AS m"
        f" WHERE m.id > ? AND m.id <= ? AND {missing} ORDER BY m.id LIMIT ?",
        (cursor, high_water, _MOST_ROWS),
    ):
        last, text_bytes = row_id, text_bytes + size
        if text_bytes >= pace.text_bytes:
            break
    if last == cursor:
        _finish(db, index)
        return 0
    if index.name not in pace.bulk:
        pace.bulk.add(index.name)
        if status_of(db, index.name).todo >= bulk.BULK_ROWS:
            bulk.begin(db, index)
    columns = ", ".join(index.columns)
    db.execute(
        f"INSERT INTO {index.name}(rowid, {columns}) SELECT id, {columns} FROM {index.view}"
        f" WHERE id > ? AND id <= ? AND id NOT IN (SELECT id FROM {index.docsize})",
        (cursor, last),
    )
    rows = db.changes()
    _flush(db, index)
    db.execute("UPDATE index_state SET cursor = ? WHERE name = ?", (last, index.name))
    _add_unsettled(db, index, rows)
    pace.learn(text_bytes, time.perf_counter() - started)
    return rows


def _flush(db: apsw.Connection, index: Index) -> None:
    """Write the postings now; else COMMIT would, out of sight of the pace."""
    db.execute(f"INSERT INTO {index.name}({index.name}) VALUES ('flush')")


def _add_unsettled(db: apsw.Connection, index: Index, rows: int) -> None:
    db.execute(
        "UPDATE index_state SET unsettled_rows = unsettled_rows + ? WHERE name = ?",
        (rows, index.name),
    )


def _finish(db: apsw.Connection, index: Index) -> None:
    """End the filling of an index whose cursor has passed everything it lacks."""
    bulk.end(db, index)
    db.execute(
        "UPDATE index_state SET cursor = high_water,"
        " reason = CASE WHEN unsettled_rows > 0 THEN reason ELSE '' END,"
        " state = CASE WHEN unsettled_rows > 0 THEN 'settling' ELSE 'ready' END WHERE name = ?",
        (index.name,),
    )


def _settle(db: apsw.Connection, name: IndexName, pace: Pace) -> None:
    if name not in pace.merging:
        settle.start(db, name)
        pace.merging.add(name)
    elif settle.step(db, name):
        pace.merging.discard(name)


def _note(db: apsw.Connection, name: IndexName, rate_rows_s: float | None) -> None:
    db.execute(
        "UPDATE index_state SET last_moved_at_ms = ?, rate_rows_s = ? WHERE name = ?",
        (time.time_ns() // 1_000_000, rate_rows_s, name),
    )


def _progress(db: apsw.Connection, name: IndexName) -> Progress:
    status = status_of(db, name)
    return Progress(status.done, status.done + status.todo, "rows", f"{name} {status.state}")
