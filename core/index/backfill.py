"""Filling indexes with what is stored already, while everything else goes on.

Goals, in this order: live writes and searches hardly notice (25 ms a batch, pauses between);
nothing is lost or indexed twice at any interruption (the cursor commits with the rows, and
only rows that the index does not hold are given to it); it ends, also for an empty store.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field

import apsw

from core.index import settle
from core.index.state import claim, release, state_of
from core.store import attachment
from core.store.connection import tokenizer_fingerprint, transaction
from core.store.index_state import status_of
from core.store.indexes import CJK, INDEXES, Index
from core.store.store import Store
from core.text import INDEXED_CHARS, TOOL_INDEXED_CHARS
from core.types import INDEX_NAMES, IndexName, Progress

TARGET_S = 0.025
SHORTEST_PAUSE_S = 0.2
_LEAST_BYTES, _MOST_BYTES = 8 * 1024, 4 * 1024 * 1024
_MOST_ROWS = 2_000
_PAUSED = "backfill.paused"


@dataclass(slots=True)
class Pace:
    """How much text the next batch takes, so that it lasts about `TARGET_S`."""

    text_bytes: int = 64 * 1024
    last_s: float = 0.0
    merging: set[IndexName] = field(default_factory=set)

    def learn(self, text_bytes: int, elapsed_s: float) -> None:
        """Adapt to a batch of so many bytes that took so long."""
        self.last_s = elapsed_s
        if text_bytes and elapsed_s > 0:
            fitting = text_bytes * TARGET_S / elapsed_s
            grown = min(fitting, 2.0 * self.text_bytes)
            self.text_bytes = int(min(max(grown, _LEAST_BYTES), _MOST_BYTES))

    def pause_s(self, *, is_busy: bool) -> float:
        """Return how long to wait before the next batch, while others work or not."""
        return max(SHORTEST_PAUSE_S, 4 * self.last_s) if is_busy else 0.0


def needs_work(db: apsw.Connection, name: IndexName) -> bool:
    """Tell whether `step` can bring the index further on this connection."""
    if state_of(db, name) == "ready":
        return False
    return name != CJK or tokenizer_fingerprint(db) is not None


def is_paused(db: apsw.Connection) -> bool:
    """Tell whether the user stopped the backfill."""
    return bool(db.execute("SELECT value FROM settings WHERE key = ?", (_PAUSED,)).get == "true")


def set_paused(db: apsw.Connection, paused: bool) -> None:
    """Stop the backfill for good, or let it go on; in the caller's transaction."""
    db.execute(
        "INSERT INTO settings(key, value) VALUES (?, ?)"
        " ON CONFLICT(key) DO UPDATE SET value = excluded.value",
        (_PAUSED, "true" if paused else "false"),
    )


def step(db: apsw.Connection, name: IndexName, pace: Pace, holder: str) -> Progress | None:
    """Do one batch of whatever the index needs, in the caller's write transaction.

    A detached index is drained and attached, a stale one emptied (as long as dropping its
    pages takes), a building one filled, a settling one merged.

    Returns:
        How far the index is, or None when there is nothing to do, or nothing that this
        connection or this holder may do.
    """
    if not needs_work(db, name) or not claim(db, holder):
        return None
    index, started = INDEXES[name], time.perf_counter()
    match state_of(db, name):
        case "stale":
            attachment.rebuild(db, index, tokenizer_fingerprint(db))
        case "detached":
            _drain(db, index)
        case "building":
            text_bytes, rows = _fill(db, index, pace)
            elapsed = time.perf_counter() - started
            pace.learn(text_bytes, elapsed)
            _note(db, name, rows, elapsed)
        case _:
            _settle(db, name, pace)
    pace.last_s = time.perf_counter() - started
    return _progress(db, name)


def run_sync(
    db: apsw.Connection,
    holder: str,
    names: tuple[IndexName, ...] = INDEX_NAMES,
    is_busy: Callable[[], bool] = lambda: False,
) -> Iterator[Progress]:
    """Bring the indexes to `ready`; yields after every batch, and waits while `is_busy`.

    Each batch is a transaction, so closing the generator loses nothing. Ends early when
    another process holds the work.
    """
    pace = Pace()
    try:
        for name in names:
            while True:
                with transaction(db):
                    progress = step(db, name, pace, holder)
                if progress is None:
                    break
                yield progress
                time.sleep(pace.pause_s(is_busy=is_busy()))
    finally:
        with transaction(db):
            release(db, holder)


async def run(
    store: Store,
    holder: str,
    names: tuple[IndexName, ...] = INDEX_NAMES,
    is_busy: Callable[[], bool] = lambda: True,
) -> AsyncIterator[Progress]:
    """Do as `run_sync` through the store's writer, and wait between batches while `is_busy`.

    Ends when the indexes are ready, paused by the user, or worked on by another process.
    """
    pace = Pace()
    try:
        for name in names:
            while not await store.read(is_paused):
                progress = await store.write(step, name, pace, holder)
                if progress is None:
                    break
                yield progress
                await asyncio.sleep(pace.pause_s(is_busy=is_busy()))
    finally:
        await store.write(release, holder)


def _drain(db: apsw.Connection, index: Index) -> None:
    fingerprint = tokenizer_fingerprint(db)
    if fingerprint is not None:
        attachment.attach(db, fingerprint)  # creates it, finds it stale, or takes a short queue
    if state_of(db, index.name) == "detached":
        attachment.drain(db, index, attachment.DRAIN_AT_ONCE)
        if not attachment.queued(db, index, at_most=1):
            attachment.resume(db, index)


def _fill(db: apsw.Connection, index: Index, pace: Pace) -> tuple[int, int]:
    """Index the next rows after the cursor; return their bytes and their number."""
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
        return 0, 0
    columns = ", ".join(index.columns)
    db.execute(
        f"INSERT INTO {index.name}(rowid, {columns}) SELECT id, {columns} FROM {index.view}"
        f" WHERE id > ? AND id <= ? AND id NOT IN (SELECT id FROM {index.docsize})",
        (cursor, last),
    )
    rows = db.changes()
    # Else its postings would be written by COMMIT, out of sight of the pace.
    db.execute(f"INSERT INTO {index.name}({index.name}) VALUES ('flush')")
    db.execute(
        "UPDATE index_state SET cursor = ?, unsettled_rows = unsettled_rows + ? WHERE name = ?",
        (last, rows, index.name),
    )
    return text_bytes, rows


def _finish(db: apsw.Connection, index: Index) -> None:
    """End the filling of an index whose cursor has passed everything it lacks."""
    db.execute(
        "UPDATE index_state SET cursor = high_water, rate_rows_s = NULL,"
        " state = CASE WHEN unsettled_rows > 0 THEN 'settling' ELSE 'ready' END WHERE name = ?",
        (index.name,),
    )


def _settle(db: apsw.Connection, name: IndexName, pace: Pace) -> None:
    if name not in pace.merging:
        settle.start(db, name)
        pace.merging.add(name)
    elif settle.step(db, name):
        pace.merging.discard(name)


def _note(db: apsw.Connection, name: IndexName, rows: int, elapsed_s: float) -> None:
    if rows:
        db.execute(
            "UPDATE index_state SET last_moved_at_ms = :now,"
            " rate_rows_s = 0.8 * coalesce(rate_rows_s, :rate) + 0.2 * :rate WHERE name = :name",
            {"now": time.time_ns() // 1_000_000, "rate": rows / elapsed_s, "name": name},
        )


def _progress(db: apsw.Connection, name: IndexName) -> Progress:
    status = status_of(db, name)
    return Progress(status.done, status.done + status.todo, "rows", f"{name} {status.state}")
