"""The check sees each fault that it is there for, and none where there is none."""

import pytest

from core.index.health import check, status
from core.store import attachment, indexes
from core.store.connection import open_store, open_writer, transaction
from core.store.indexes import CJK, INDEXES
from core.types import INDEX_NAMES, MessageState, Role
from tests.unit.store.making import (
    library,
    message,
    path_at,
    store_at,
    store_messages,
)
from tests.unit.store.test_errors import damage


@pytest.fixture
def db(tmp_path):
    db = store_at(tmp_path)
    store_messages(
        db,
        message("a", "电影订阅成功 film"),
        message("b", "run the tests", role=Role.TOOL, tool_name="Bash"),
        message("c", "old", state=MessageState.SUPERSEDED),
        message("d", "😀"),
    )
    yield db
    db.close()


def faults(db):
    return {found.name: found.message for found in check(db) if not found.ok}


def test_a_healthy_store_passes(db):
    assert faults(db) == {}
    names = [found.name for found in check(db)]
    assert names == [
        *INDEX_NAMES,
        "sessions_fts",
        "message_keys",
        "message_counts",
        "session_counts",
    ]


def test_an_empty_store_passes(tmp_path):
    db = store_at(tmp_path / "empty")
    assert faults(db) == {}
    db.close()


def test_an_index_that_is_being_built_passes(db):
    with transaction(db):
        attachment.rebuild(db, INDEXES["messages_fts"], None)
    assert faults(db) == {}
    assert "0 of 3" in next(f.message for f in check(db) if f.name == "messages_fts")


def test_a_detached_index_passes_with_what_it_holds(tmp_path, db):
    plain = open_writer(path_at(tmp_path), tokenizer=None)
    store_messages(plain, message("e", "新"))
    with transaction(plain):
        plain.execute("UPDATE messages SET content = 'x' WHERE id = 1")
    plain.close()
    assert faults(db) == {}


def test_missing_rows_are_counted(db):
    with transaction(db):
        indexes.drop_triggers(db, INDEXES["messages_fts"])
    store_messages(db, message("e"), message("f"))
    assert faults(db) == {"messages_fts": "lacks 2 rows"}


def test_left_over_rows_are_counted(db):
    with transaction(db):
        indexes.drop_triggers(db, INDEXES["messages_fts"])
        db.execute("DELETE FROM message_placements WHERE message_id = 1")
        db.execute("DELETE FROM messages WHERE id = 1")
        indexes.install_live_triggers(db, INDEXES["messages_fts"])
    assert faults(db) == {"messages_fts": "holds 1 rows that it should not"}


def test_a_row_that_was_taken_out_without_being_in_is_seen(db):
    db.execute(
        "INSERT INTO messages_fts(messages_fts, rowid, content, tool_name, tool_calls)"
        " VALUES ('delete', 99, 'never there', '', '')"
    )
    assert "messages_fts" in faults(db)


def test_an_index_that_does_not_find_what_it_holds_is_seen(db):
    db.execute(
        "INSERT INTO messages_fts_cjk(messages_fts_cjk, rowid, content, tool_name, tool_calls)"
        " VALUES ('delete', 4, '😀', '', '')"
    )
    db.execute(
        "INSERT INTO messages_fts_cjk(messages_fts_cjk, rowid, content, tool_name, tool_calls)"
        " VALUES ('delete', 1, '电影订阅成功 film', '', '')"
    )
    db.execute("INSERT INTO messages_fts_cjk(rowid, content) VALUES (1, '别的'), (4, 'x')")
    assert faults(db) == {CJK: "does not find a word that message 1 holds"}


def test_pages_of_noise_are_told_in_words(tmp_path, db):
    store_messages(db, *(message(f"u{n}", f"word{n} " * 50) for n in range(200)))
    path = path_at(tmp_path)
    damage(path, "messages_fts_data", db)
    db = open_writer(path, tokenizer=library())
    assert "damaged" in faults(db)["messages_fts"]
    db.close()


def test_a_program_without_the_tokenizer_says_that_it_cannot_ask(tmp_path, db):
    plain = open_writer(path_at(tmp_path), tokenizer=None)
    assert faults(plain) == {CJK: "cannot be asked: the CJK tokenizer does not load here"}
    plain.close()


def test_an_index_that_never_was_is_no_fault(tmp_path):
    db = store_at(tmp_path / "other", cjk=False)
    assert faults(db) == {}
    db.close()


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("DELETE FROM message_keys WHERE id = 1", "message_keys"),
        ("UPDATE message_counts SET n = n + 1 WHERE flags = 0", "message_counts"),
    ],
)
def test_counts_that_differ_are_seen(db, statement, name):
    db.execute(statement)
    assert name in faults(db)


def test_titles_that_are_missing_are_seen(db):
    db.execute("DROP TRIGGER sessions_fts_ai")
    store_messages(db, message("e", session="t"))
    assert faults(db) == {"sessions_fts": "1 titles are missing or left over"}


def test_status_tells_what_the_store_holds(tmp_path, db):
    path = path_at(tmp_path)
    found = status(db, path)
    assert (found.path, found.sessions, found.messages) == (str(path), 1, 3)
    on_disk = path.stat().st_size + path.with_name("state.db-wal").stat().st_size
    assert found.bytes == on_disk
    assert [(i.name, i.state, i.done, i.todo) for i in found.indexes] == [
        ("messages_fts", "ready", 3, 0),
        ("messages_fts_trigram", "ready", 2, 0),
        ("messages_fts_cjk", "ready", 2, 0),
    ]
    assert found.sources[0]["kind"] == "claude-code"
    assert found.sources[0]["sessions"] == 1
    assert found.read_only_reason is None


def test_status_of_a_newer_store_says_why_it_is_not_written(tmp_path, db):
    db.pragma("user_version", 99)
    newer = open_store(path_at(tmp_path), None)
    assert "99" in str(status(newer, path_at(tmp_path)).read_only_reason)
    newer.close()
