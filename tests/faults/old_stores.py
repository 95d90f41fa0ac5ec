"""Stores of earlier schemas, made by the steps that made them then."""

from pathlib import Path

import apsw
import pytest

from core.store import migrations
from core.store.connection import open_store, transaction
from tests.faults import truth
from tests.unit.store.making import add_source, library, path_at

SCHEMAS = range(1, migrations.NEWEST)


def old_store(folder: Path, schema: int) -> Path:
    """Make a store of this schema with some talks in it; return its path."""
    with pytest.MonkeyPatch.context() as older:
        older.setattr(migrations, "STEPS", migrations.STEPS[:schema])
        older.setattr(migrations, "NEWEST", schema)
        db = open_store(path_at(folder), library())
        with transaction(db):
            _fill(db, add_source(db, "claude-code"))
        assert truth.problems(db) == []
        db.close()
    return path_at(folder)


def _fill(db: apsw.Connection, source: int) -> None:
    """Put rows into it by the columns that every schema has."""
    for session in range(1, 5):
        db.execute(
            "INSERT INTO sessions(id, source_id, native_id, title, title_source, message_count,"
            " user_turn_count) VALUES (?, ?, ?, ?, 'user', 20, 10)",
            (session, source, f"s{session}", f"第{session}次 talk about kestrels"),
        )
        for seq in range(1, 21):
            _say(db, source, session, seq)


def _say(db: apsw.Connection, source: int, session: int, seq: int) -> None:
    role, origin = ("user", "human") if seq % 2 else ("assistant", "model")
    db.execute(
        "INSERT INTO messages(source_id, session_id, uid, content_hash, role, origin, state,"
        " provenance, time_quality, text_flags, content)"
        " VALUES (?, ?, ?, ?, ?, ?, 'active', 'observed', 'none', 1, ?)",
        (source, session, f"{session}-{seq}", bytes([session, seq]), role, origin,
         f"第{seq}次电影订阅 word{seq} " * 9),
    )  # fmt: skip
    db.execute(
        "INSERT INTO message_placements(session_id, seq, message_id) VALUES (?, ?, ?)",
        (session, seq, db.last_insert_rowid()),
    )


def shape(db: apsw.Connection) -> dict[str, str | None]:
    """Return the schema as SQL by name."""
    return dict(db.execute("SELECT name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'"))
