"""Attaching and detaching an index whose tokenizer not every process has.

Attached, the index's triggers keep it; detached, they note each change in `index_queue`.
The state, the triggers and the queue change in one transaction, so a process that lacks the
tokenizer, or has another build of it, can always write. All functions here run in the
caller's write transaction and cost about a millisecond where nothing else is said.
"""

import time

import apsw

from core.store import indexes, keys, leftovers
from core.store.indexes import CJK, INDEXES, Index
from core.text import INDEXED_CHARS, TOOL_INDEXED_CHARS

DRAIN_AT_ONCE = 500  # queued rows a start may index by itself; more is left to the backfill
DRAIN_AT_ONCE_BYTES = 1024 * 1024  # of text, likewise
EMPTY_AT_ONCE_BLOCKS = 500  # of some 4,000 bytes; a larger index is set aside
IDLE_MS = 30_000
"""So long after it was detached nobody attaches an index but at a start: who wrote without the
tokenizer may well write again, and each time all triggers would be swapped."""
OTHER_BUILD = "another build of the CJK tokenizer made this index; it has to be rebuilt"
NO_TOKENIZER = "a program without the CJK tokenizer wrote to the store"
OTHER_WRITER = "a program with another build of the CJK tokenizer wrote to the store"


def keep_writable(db: apsw.Connection, fingerprint: str | None) -> None:
    """Detach the CJK index if a connection with this tokenizer (None: none) cannot write it."""
    state, built_by = _state(db)
    if state in ("detached", "stale") or built_by == fingerprint:
        return
    detach(db, NO_TOKENIZER if fingerprint is None else OTHER_WRITER)


def detach(db: apsw.Connection, reason: str) -> None:
    """Have changes queued for the CJK index from now on."""
    indexes.install_queue_triggers(db, INDEXES[CJK])
    db.execute(
        "UPDATE index_state SET state = 'detached', reason = ?, rate_rows_s = NULL,"
        " last_moved_at_ms = ? WHERE name = ?",
        (reason, time.time_ns() // 1_000_000, CJK),
    )


def was_just_detached(db: apsw.Connection) -> bool:
    """Tell whether the CJK index was detached, or drained, within `IDLE_MS`.

    A clock that was set back tells nothing.
    """
    state, at_ms = db.execute(
        "SELECT state, last_moved_at_ms FROM index_state WHERE name = ?", (CJK,)
    ).get
    if state != "detached" or at_ms is None:
        return False
    return bool(0 <= time.time_ns() // 1_000_000 - at_ms < IDLE_MS)


def is_attachable(db: apsw.Connection, fingerprint: str) -> bool:
    """Tell whether `attach` would change anything; a look at one row, in any transaction."""
    state, built_by = _state(db)
    return state == "detached" or (state == "stale" and built_by == fingerprint)


def attach(db: apsw.Connection, fingerprint: str) -> None:
    """Have the CJK index kept by this tokenizer again, as far as that is quickly done.

    An index that never was is created, and is `ready` where there is nothing to index, else
    `building`. One detached with a short queue is drained. A longer queue stays detached, and
    the index of another tokenizer becomes `stale`: both are the backfill's work.
    """
    index = INDEXES[CJK]
    state, built_by = _state(db)
    if state not in ("detached", "stale"):
        return
    if not indexes.table_exists(db, index):
        indexes.create_table(db, index)
        start_building(db, index, fingerprint)
    elif built_by != fingerprint:
        db.execute(
            "UPDATE index_state SET state = 'stale', reason = ? WHERE name = ?", (OTHER_BUILD, CJK)
        )
    elif not is_longer(db, index, DRAIN_AT_ONCE, DRAIN_AT_ONCE_BYTES):
        drain(db, index, DRAIN_AT_ONCE)
        resume(db, index)


def rebuild(db: apsw.Connection, index: Index, fingerprint: str | None) -> None:
    """Let the backfill fill the index anew from nothing; some milliseconds at any size.

    What it held is emptied at once where it is little, else set aside for the backfill to drop.
    """
    most = EMPTY_AT_ONCE_BLOCKS + 1
    blocks = db.execute(f"SELECT count(*) FROM (SELECT 1 FROM {index.name}_data LIMIT ?)", (most,))
    if blocks.get < most:
        db.execute(f"INSERT INTO {index.name}({index.name}) VALUES ('delete-all')")
    else:
        leftovers.set_aside(db, index)
        indexes.create_table(db, index)
    start_building(db, index, fingerprint)


def start_building(db: apsw.Connection, index: Index, fingerprint: str | None) -> None:
    """Keep an empty index by trigger from now on; what is there already is left to do."""
    db.execute("DELETE FROM index_queue WHERE index_name = ?", (index.name,))
    indexes.install_live_triggers(db, index)
    db.execute(
        "UPDATE index_state SET cursor = 0, fingerprint = :fingerprint, unsettled_rows = 0,"
        " rate_rows_s = NULL,"
        " high_water = (SELECT coalesce(max(id), 0) FROM message_keys) WHERE name = :name",
        {"fingerprint": fingerprint, "name": index.name},
    )
    _set_working_state(db, index)


def resume(db: apsw.Connection, index: Index) -> None:
    """Keep a drained index by trigger again."""
    indexes.install_live_triggers(db, index)
    _set_working_state(db, index)


def drain(db: apsw.Connection, index: Index, limit: int) -> int:
    """Bring at most `limit` queued rows into the index, lowest ids first; return how many."""
    bounds = db.execute(
        "SELECT count(*), max(id) FROM"
        " (SELECT id FROM index_queue WHERE index_name = ? ORDER BY id LIMIT ?)",
        (index.name, limit),
    ).get
    count, last = bounds
    if not count:
        return 0
    texts = ", ".join(f"q.{column}" for column in _queued_texts(index))
    among = "index_queue AS q WHERE q.index_name = :name AND q.id <= :last"
    indexed = f"q.id IN (SELECT id FROM {index.docsize})"
    columns = ", ".join(index.columns)
    bindings = {"name": index.name, "last": last}
    db.execute(
        indexes.delete_sql(
            index, f"q.id, {texts}", f"FROM {among} AND q.was_indexed AND {indexed}"
        ),
        bindings,
    )
    db.execute(
        f"INSERT INTO {index.name}(rowid, {columns}) SELECT id, {columns} FROM {index.view}"
        f" WHERE id IN (SELECT q.id FROM {among} AND NOT {indexed})",
        bindings,
    )
    db.execute("DELETE FROM index_queue WHERE index_name = :name AND id <= :last", bindings)
    return int(count)


def queued(db: apsw.Connection, index: Index, at_most: int = -1) -> int:
    """Return how many rows wait in the queue, counting no further than `at_most`."""
    return int(
        db.execute(
            "SELECT count(*) FROM (SELECT 1 FROM index_queue WHERE index_name = ? LIMIT ?)",
            (index.name, at_most),
        ).get
    )


def queue_counts(db: apsw.Connection, index: Index) -> tuple[int, int]:
    """Return how many rows wait in the queue, and how many of them the index holds outdated."""
    count, outdated = db.execute(
        "SELECT count(*), coalesce(sum(was_indexed), 0) FROM index_queue WHERE index_name = ?",
        (index.name,),
    ).get
    return count, outdated


def fitting(db: apsw.Connection, index: Index, most_rows: int, text_bytes: int) -> int:
    """Return how many queued rows have together about so much text to put in and take out."""
    longest = f"iif(m.role = 'tool', {TOOL_INDEXED_CHARS}, {INDEXED_CHARS})"
    rows, found = 0, 0
    for (size,) in db.execute(
        f"SELECT coalesce(octet_length(q.text), 0)"
        f" + coalesce(min(octet_length(m.content), {longest}), 0) FROM index_queue AS q"
        " LEFT JOIN messages AS m ON m.id = q.id WHERE q.index_name = ? ORDER BY q.id LIMIT ?",
        (index.name, most_rows),
    ):
        rows, found = rows + 1, found + size
        if found >= text_bytes:
            break
    return rows


def is_longer(db: apsw.Connection, index: Index, rows: int, text_bytes: int) -> bool:
    """Tell whether more waits in the queue than so many rows, or about so much text."""
    found = queued(db, index, at_most=rows + 1)
    return found > rows or fitting(db, index, rows, text_bytes) < found


def eligible_count(db: apsw.Connection, index: Index) -> int:
    """Return how many messages the index should hold; reads a few rows."""
    return index.eligible_of(keys.counts(db))


def indexed_count(db: apsw.Connection, index: Index) -> int:
    """Return how many rows the index holds; walks its docsize table's leaf pages."""
    if not indexes.table_exists(db, index):
        return 0
    return int(db.execute(f"SELECT count(*) FROM {index.docsize}").get)


def _set_working_state(db: apsw.Connection, index: Index) -> None:
    todo = eligible_count(db, index) - indexed_count(db, index)
    db.execute(
        "UPDATE index_state SET reason = '', last_moved_at_ms = :now, state = CASE"
        " WHEN :todo > 0 THEN 'building' WHEN unsettled_rows > 0 THEN 'settling' ELSE 'ready' END"
        " WHERE name = :name",
        {"now": time.time_ns() // 1_000_000, "todo": todo, "name": index.name},
    )


def _queued_texts(index: Index) -> tuple[str, ...]:
    return ("text", "tool_name", "tool_calls")[: len(index.columns)]


def _state(db: apsw.Connection) -> tuple[str, str | None]:
    row = db.execute("SELECT state, fingerprint FROM index_state WHERE name = ?", (CJK,)).get
    state, fingerprint = row
    return state, fingerprint
