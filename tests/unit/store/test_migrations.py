"""A store is brought up to date wholly or not at all."""

import apsw
import pytest

from core.history import saved_searches
from core.store import migrations, recipe
from core.store.connection import open_store, open_writer, transaction
from core.store.indexes import INDEXES
from core.store.migrations import m0001_initial
from core.types import INDEX_NAMES
from tests.unit.store.making import path_at, store_at

TABLES = {
    "sources", "source_files", "sessions", "messages", "message_placements", "message_keys",
    "message_counts", "session_counts", "tombstones", "index_state", "index_queue", "operations",
    "jobs", "settings", "meta", "saved_searches", "trashed_messages",
    "session_files", "gone_messages", "legacy_imports", "watched_places", "cleared_places",
    "messages_fts", "messages_fts_trigram",
    "sessions_fts", "sessions_fts_terms",
}  # fmt: skip


def second(db: apsw.Connection) -> None:
    db.execute("CREATE TABLE later(x)")


def third(db: apsw.Connection) -> None:
    db.execute("CREATE TABLE later_still(x)")
    raise apsw.FullError("database or disk is full")


def later_tables(db: apsw.Connection) -> list[str]:
    rows = db.execute("SELECT name FROM sqlite_schema WHERE name LIKE 'later%' ORDER BY 1")
    return [name for (name,) in rows]


@pytest.fixture
def path(tmp_path):
    store_at(tmp_path).close()
    return path_at(tmp_path)


def extend(monkeypatch, *steps) -> None:
    monkeypatch.setattr(migrations, "STEPS", (*migrations.STEPS, *steps))
    monkeypatch.setattr(migrations, "NEWEST", len(migrations.STEPS))


def test_a_new_store_has_every_table(path):
    db = open_store(path, None)
    found = {name for (name,) in db.execute("SELECT name FROM sqlite_schema")}
    assert found >= TABLES
    assert db.pragma("user_version") == migrations.NEWEST == len(migrations.STEPS)
    assert set(INDEXES) == set(INDEX_NAMES)
    assert db.pragma("integrity_check") == "ok"
    db.close()


def test_opening_an_older_store_brings_it_up_to_date(path, monkeypatch):
    extend(monkeypatch, second)
    db = open_store(path, None)
    assert (db.pragma("user_version"), later_tables(db)) == (migrations.NEWEST, ["later"])
    assert db.execute("SELECT count(*) FROM sources").get == 1
    db.close()


def test_a_store_of_the_first_schema_keeps_what_it_holds_and_can_save_searches(
    tmp_path, monkeypatch
):
    with monkeypatch.context() as older:
        older.setattr(migrations, "STEPS", (m0001_initial.upgrade,))
        older.setattr(migrations, "NEWEST", 1)
        db = store_at(tmp_path)
        assert db.pragma("user_version") == 1
        assert db.execute("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'saved%'").get == 0
        assert saved_searches.saved(db) == ()
        db.close()
    db = open_store(path_at(tmp_path), None)
    assert db.pragma("user_version") == migrations.NEWEST == 5
    assert db.execute("SELECT kind FROM sources").get == "claude-code"
    with transaction(db):
        saved_searches.save(db, "tools", "osaka", at_ms=1)
    assert [each.name for each in saved_searches.saved(db)] == ["tools"]
    assert db.pragma("integrity_check") == "ok"
    db.close()


def test_a_step_that_fails_leaves_the_old_store(path, monkeypatch):
    before = migrations.NEWEST
    extend(monkeypatch, second, third)
    with pytest.raises(apsw.FullError):
        open_store(path, None)
    db = open_writer(path, tokenizer=None)
    assert (db.pragma("user_version"), later_tables(db)) == (before, [])
    with recipe.immediate(db):
        second(db)
    db.close()


def test_a_store_of_schema_3_counts_messages_that_go_to_the_trash(tmp_path, monkeypatch):
    with monkeypatch.context() as older:
        older.setattr(migrations, "STEPS", migrations.STEPS[:3])
        older.setattr(migrations, "NEWEST", 3)
        store_at(tmp_path).close()
    db = open_store(path_at(tmp_path), None)
    shape = dict(db.execute("SELECT name, sql FROM sqlite_schema"))
    fresh = store_at(tmp_path / "fresh")
    assert shape == dict(fresh.execute("SELECT name, sql FROM sqlite_schema"))
    counted = "SELECT flags, n FROM message_counts ORDER BY flags"
    assert db.execute(counted).fetchall() == fresh.execute(counted).fetchall()
    fresh.close()
    db.close()
