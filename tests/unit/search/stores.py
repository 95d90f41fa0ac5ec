"""Stores whose indexes stand in different ways, and what is in them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import apsw

from core.sources.records import MessageRecord, SessionRecord
from core.store import attachment
from core.store.connection import open_store, transaction
from core.store.indexes import CJK, INDEXES
from core.types import MessageState, Origin, Role, SessionKind, TitleSource, ToolCall
from tests.unit.search import texts
from tests.unit.search.oracle import Row, Session
from tests.unit.store.making import (
    ORIGINS,
    add_source,
    library,
    message,
    path_at,
    store_at,
    store_messages,
)

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


SOURCES = (("claude-code", "", "claude-code"), ("codex", "", "Codex CLI"),
           ("jsonl", "at work", "My Notes"))  # fmt: skip
IDS = ("s1", "s10", "t-9", "dup")  # one is the beginning of another, one is in every source


def add_sources(db: apsw.Connection) -> None:
    """Add the sources, in order; the first is there."""
    with transaction(db):
        for kind, instance, name in SOURCES:
            add_source(db, kind, instance)
            db.execute(
                "UPDATE sources SET display_name = ? WHERE kind = ? AND instance = ?",
                (name, kind, instance),
            )


def sessions_of(random: Random) -> list[Session]:
    return [
        Session(
            native_id,
            (f"{source[0]}/{native_id}", f"{source[0]}#{at}/{native_id}"),
            source,
            kind=random.choice(["interactive", "interactive", "cron", "subagent"]),
            title=texts.title(random),
            project=random.choice(["", "site", "my app", "订阅"]),
            model=random.choice(["", "opus-4", "GPT-5"]),
            is_trashed=random.random() < 0.15,
        )
        for at, source in enumerate(SOURCES, start=1)
        for native_id in IDS
    ]


def told_of(session: Session) -> SessionRecord:
    return SessionRecord(
        session.native_id,
        kind=SessionKind(session.kind),
        title=session.title or None,
        title_source=TitleSource.MODEL if session.title else TitleSource.NONE,
        model=session.model or None,
        cwd=f"/w/{session.project}" if session.project else None,
    )


def record(uid: str, row: Row, session: Session | None = None) -> MessageRecord:
    calls = (ToolCall(None, row.called, row.tool_calls),) if row.tool_calls else ()
    role = Role(row.role)
    return message(
        uid,
        row.content,
        session=(session or row.sessions[0]).native_id,
        role=role,
        origin=Origin(row.origin) if row.origin else ORIGINS[role],
        state=MessageState(row.state),
        model=row.model or None,
        created_at_ms=row.at_ms,
        tool_name=row.tool_name or None if row.is_tool else None,
        tool_calls=calls,
    )


def rows_of(
    random: Random, count: int, sessions: list[Session], prefix: str = "m"
) -> dict[str, Row]:
    return {f"{prefix}{n}": texts.placed(random, texts.row(random), sessions) for n in range(count)}


def store_in_state(folder: Path, state: str, random: Random, count: int) -> Made:
    """Return a store of `count` rows and more, its indexes in `state`."""
    has_cjk = state not in ("no tokenizer", "half built", "nothing built")
    db = store_at(folder, cjk=has_cjk)
    add_sources(db)
    sessions = sessions_of(random)
    rows = rows_of(random, count, sessions)
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
    more = rows_of(random, count // 10, sessions, "more")
    _store(db, more)
    with transaction(db):
        for session in sessions:
            if session.is_trashed:
                _trash(db, session)
    return db, rows | more


Made = tuple[apsw.Connection, dict[str, Row]]


def _store(db: apsw.Connection, rows: dict[str, Row]) -> None:
    """Store each row in its own session, then in the other one that shows it."""
    for at, source in enumerate(SOURCES, start=1):
        of_source = {uid: row for uid, row in rows.items() if row.sessions[0].sources == source}
        told = {session for row in of_source.values() for session in row.sessions}
        records = tuple(told_of(session) for session in sorted(told, key=lambda s: s.native_id))
        first = (record(uid, row) for uid, row in of_source.items())
        store_messages(db, *first, sessions=records, source=at)
        again = [
            record(uid, row, session)
            for uid, row in of_source.items()
            for session in row.sessions[1:]
        ]
        store_messages(db, *again, source=at)


def _trash(db: apsw.Connection, session: Session) -> None:
    db.execute(
        "UPDATE sessions SET trashed_at_ms = 1 WHERE native_id = ? AND source_id ="
        " (SELECT id FROM sources WHERE kind = ?)",
        (session.native_id, session.sources[0]),
    )


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
        elif len(rows[uid].sessions) == 1:
            old, new = rows[uid], texts.row(random)
            rows[uid] = replace(
                old,
                content=new.content,
                tool_name=new.tool_name,
                tool_calls=new.tool_calls,
                is_tool=new.is_tool,
                called="deploy" if new.tool_calls else "",
            )
            source = SOURCES.index(old.sessions[0].sources) + 1
            store_messages(db, record(uid, rows[uid]), source=source, rewrites=True)
