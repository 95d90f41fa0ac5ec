"""Stores and records for tests: real files, real tokenizer, little text."""

import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import apsw

from core import paths
from core.history.append import AppendCounts, Batch, append
from core.history.bodies import content_hash
from core.index import reference, tokenizer
from core.sources.records import MessageRecord, SessionRecord
from core.store.connection import open_store, transaction
from core.types import INDEX_NAMES, Origin, Role

ORIGINS = {
    Role.USER: Origin.HUMAN,
    Role.ASSISTANT: Origin.MODEL,
    Role.TOOL: Origin.TOOL,
    Role.SYSTEM: Origin.SYNTHETIC,
}


@cache
def library() -> Path:
    """The tokenizer's file: the installed one if it is right, else one built for this run."""
    found = tokenizer.verify(tokenizer.locate())
    if found.fingerprint != reference.expected_fingerprint():
        found = tokenizer.build(Path(tempfile.mkdtemp(prefix="tokenizer-")))
    assert found.path is not None
    return Path(found.path)


def store_at(folder: Path, *, cjk: bool = True) -> apsw.Connection:
    """A store in a profile folder below `folder`, with one source, of row 1."""
    db = open_store(path_at(folder), library() if cjk else None)
    with transaction(db):
        add_source(db, "claude-code")
    return db


def path_at(folder: Path) -> Path:
    return paths.store_path(folder / "profile")


def add_source(db: apsw.Connection, kind: str, instance: str = "") -> int:
    db.execute(
        "INSERT INTO sources(kind, instance, root, display_name, reader_version)"
        " VALUES (?, ?, '/home/x', ?, 1) ON CONFLICT DO NOTHING",
        (kind, instance, kind),
    )
    return int(
        db.execute("SELECT id FROM sources WHERE kind = ? AND instance = ?", (kind, instance)).get
    )


def message(
    uid: str, content: str = "hello", *, session: str = "s", role: Role = Role.USER, **more: Any
) -> MessageRecord:
    more.setdefault("origin", ORIGINS[role])
    return MessageRecord(session=session, uid=uid, role=role, content=content, **more)


def store_messages(
    db: apsw.Connection,
    *messages: MessageRecord,
    sessions: tuple[SessionRecord, ...] = (),
    source: int = 1,
    rewrites: bool = False,
) -> AppendCounts:
    with transaction(db):
        return append(db, Batch(source, list(sessions), list(messages), rewrites))


def store_in_older_schema(db: apsw.Connection, uid: str, content: str, session: str = "s") -> None:
    """Store a prompt as any schema has it; `append` writes only the newest."""
    with transaction(db):
        db.execute(
            "INSERT INTO sessions(source_id, native_id, message_count, user_turn_count)"
            " VALUES (1, ?, 1, 1)",
            (session,),
        )
        owner = db.last_insert_rowid()
        db.execute(
            "INSERT INTO messages(source_id, session_id, uid, content_hash, role, origin, state,"
            " provenance, time_quality, text_flags, content) VALUES (1, ?, ?, ?, 'user', 'human',"
            " 'active', 'observed', 'none', 0, ?)",
            (owner, uid, content_hash(message(uid, content)), content),
        )
        db.execute(
            "INSERT INTO message_placements(session_id, seq, message_id) VALUES (?, 1, ?)",
            (owner, db.last_insert_rowid()),
        )


def ids(db: apsw.Connection, index: str, match: str) -> list[int]:
    """The rows an index answers for a word, in order."""
    rows = db.execute(f"SELECT rowid FROM {index} WHERE {index} MATCH ? ORDER BY rowid", (match,))
    return [row for (row,) in rows]


def held(db: apsw.Connection, index: str) -> set[int]:
    return {row for (row,) in db.execute(f"SELECT id FROM {index}_docsize")}


def verify_indexes(db: apsw.Connection, names: tuple[str, ...] = INDEX_NAMES) -> None:
    """The one check that compares every posting with the text it came from."""
    for name in (*names, "sessions_fts"):
        db.execute(f"INSERT INTO {name}({name}, rank) VALUES ('integrity-check', 1)")


def state(db: apsw.Connection, name: str) -> str:
    return str(db.execute("SELECT state FROM index_state WHERE name = ?", (name,)).get)
