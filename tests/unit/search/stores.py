"""Stores whose indexes stand in different ways, and what is in them."""

from __future__ import annotations

from pathlib import Path
from random import Random

import apsw

from core.sources.records import MessageRecord
from core.store import attachment
from core.store.connection import open_store, transaction
from core.store.indexes import CJK, INDEXES
from core.types import Role, ToolCall
from tests.unit.search import texts
from tests.unit.search.oracle import Row
from tests.unit.store.making import library, message, path_at, store_at, store_messages

STATES = (
    "ready",
    "no tokenizer",
    "half built",
    "detached and changed",
    "another tokenizer's",
    "messages_fts half built",
    "trigrams half built",
    "nothing built",
)


def record(uid: str, row: Row) -> MessageRecord:
    calls = (ToolCall(None, "", row.tool_calls),) if row.tool_calls else ()
    if row.is_tool:
        return message(uid, row.content, role=Role.TOOL, tool_name=row.tool_name or None)
    role = Role.ASSISTANT if calls else Role.USER
    return message(uid, row.content, role=role, tool_calls=calls)


def rows_of(random: Random, count: int) -> dict[str, Row]:
    return {f"m{n}": texts.row(random) for n in range(count)}


def store_in_state(folder: Path, state: str, random: Random, count: int) -> Made:
    """Return a store of `count` rows and more, its indexes in `state`."""
    has_cjk = state not in ("no tokenizer", "half built", "nothing built")
    db = store_at(folder, cjk=has_cjk)
    rows = rows_of(random, count)
    _store(db, rows)
    if state == "half built":
        db.close()
        db = open_store(path_at(folder), library())
        _index_half(db, CJK, count)
    elif state == "detached and changed":
        with transaction(db):
            attachment.detach(db, "for a test")
        _change(db, rows, random)
    elif state == "another tokenizer's":
        db.execute("UPDATE index_state SET fingerprint='x', state='stale' WHERE name=?", (CJK,))
    elif state == "messages_fts half built":
        _rebuild(db, "messages_fts", count)
    elif state in ("trigrams half built", "nothing built"):
        _rebuild(db, "messages_fts_trigram", count)
        if state == "nothing built":
            _rebuild(db, "messages_fts", count)
    more = {f"more{n}": texts.row(random) for n in range(count // 10)}
    _store(db, more)
    return db, rows | more


Made = tuple[apsw.Connection, dict[str, Row]]


def _store(db: apsw.Connection, rows: dict[str, Row]) -> None:
    store_messages(db, *(record(uid, row) for uid, row in rows.items()))


def _rebuild(db: apsw.Connection, name: str, count: int) -> None:
    with transaction(db):
        attachment.rebuild(db, INDEXES[name], None)
    _index_half(db, name, count)


def _index_half(db: apsw.Connection, name: str, count: int) -> None:
    """Do the first half of the backfill's work."""
    index = INDEXES[name]
    columns = ", ".join(index.columns)
    with transaction(db):
        db.execute(
            f"INSERT INTO {name}(rowid, {columns}) SELECT id, {columns} FROM {index.view}"
            f" WHERE id <= ? AND id NOT IN (SELECT id FROM {index.docsize})",
            (count // 2,),
        )


def _change(db: apsw.Connection, rows: dict[str, Row], random: Random) -> None:
    """Rewrite some rows and delete others while the index looks away."""
    for uid in random.sample(sorted(rows), len(rows) // 5):
        if random.random() < 0.3:
            del rows[uid]
            with transaction(db):
                db.execute(
                    "DELETE FROM message_placements WHERE message_id ="
                    " (SELECT id FROM messages WHERE uid = ?)",
                    (uid,),
                )
                db.execute("DELETE FROM messages WHERE uid = ?", (uid,))
        else:
            rows[uid] = texts.row(random)
            store_messages(db, record(uid, rows[uid]), rewrites=True)
