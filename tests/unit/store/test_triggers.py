"""The indexes follow every change of messages, whatever of them is indexed so far."""

from dataclasses import replace
from random import Random

import apsw
import pytest

from core.store import indexes, keys
from core.store.connection import transaction
from core.store.indexes import CJK, INDEXES
from core.text import has_cjk
from core.types import INDEX_NAMES, MessageState, Role
from tests.unit.store.making import (
    held,
    ids,
    message,
    store_at,
    store_messages,
    verify_indexes,
)

FTS = "messages_fts"


@pytest.fixture
def db(tmp_path):
    db = store_at(tmp_path)
    yield db
    db.close()


@pytest.fixture
def half(db):
    """Ten messages, of which the indexes hold the first five."""
    store_messages(db, *(message(f"u{n}", f"word{n} common") for n in range(1, 6)))
    with transaction(db):
        for index in INDEXES.values():
            indexes.drop_triggers(db, index)
    store_messages(db, *(message(f"u{n}", f"word{n} common") for n in range(6, 11)))
    with transaction(db):
        for index in INDEXES.values():
            indexes.install_live_triggers(db, index)
    assert held(db, FTS) == {1, 2, 3, 4, 5}
    return db


def fill(db: apsw.Connection) -> None:
    for index in INDEXES.values():
        columns = ", ".join(index.columns)
        db.execute(
            f"INSERT INTO {index.name}(rowid, {columns}) SELECT id, {columns} FROM {index.view}"
            f" WHERE id NOT IN (SELECT id FROM {index.docsize})"
        )


def delete(db: apsw.Connection, *rows: int) -> None:
    with transaction(db):
        for row in rows:
            db.execute("DELETE FROM message_placements WHERE message_id = ?", (row,))
            db.execute("DELETE FROM messages WHERE id = ?", (row,))


def test_a_new_message_is_found_at_once_by_every_index(db):
    store_messages(db, message("u", "重启nginx服务 now"))
    assert ids(db, FTS, "now") == [1]
    assert ids(db, "messages_fts_trigram", "ngi") == [1]
    assert ids(db, "messages_fts_cjk", '"服务"') == [1]
    verify_indexes(db)


def test_rows_that_were_never_indexed_can_be_deleted(half):
    delete(half, 8, 9, 10)
    ranks = half.execute(f"SELECT bm25({FTS}) FROM {FTS} WHERE {FTS} MATCH 'common'").fetchall()
    assert len(ranks) == 5
    assert None not in {rank for (rank,) in ranks}
    fill(half)
    verify_indexes(half)
    assert ids(half, FTS, "common") == [1, 2, 3, 4, 5, 6, 7]


def test_deleting_everything_while_one_row_is_indexed_goes_through(half):
    delete(half, 2, 3, 4, 5, 6, 7, 8, 9, 10)
    assert ids(half, FTS, "common") == [1]
    delete(half, 1)
    assert ids(half, FTS, "common") == []
    verify_indexes(half)


def test_a_row_updated_before_it_is_indexed_is_indexed_once_and_as_it_is(half):
    with transaction(half):
        half.execute("UPDATE messages SET content = 'fresh' WHERE id IN (2, 8)")
    assert ids(half, FTS, "fresh") == [2, 8]
    assert ids(half, FTS, "word8 OR word2") == []
    fill(half)
    verify_indexes(half)
    assert ids(half, FTS, "fresh") == [2, 8]


def test_replacing_a_row_leaves_no_ghost(db):
    store_messages(db, message("u", "before"))
    with transaction(db):
        db.execute("PRAGMA defer_foreign_keys = ON")
        db.execute(
            "INSERT OR REPLACE INTO messages SELECT id, source_id, session_id, uid, content_hash,"
            " role, origin, state, provenance, tool_call_id, tool_name, tool_status, model,"
            " created_at_ms, time_quality, text_flags, usage, raw_ref, 'after', search_text,"
            " tool_calls_text, reasoning, tool_calls, media_refs FROM messages WHERE id = 1"
        )
    assert ids(db, FTS, "before") == []
    assert ids(db, FTS, "after") == [1]
    verify_indexes(db)


def test_a_message_never_changes_its_id(db):
    store_messages(db, message("u", "one"))
    for column in ("id", "rowid"):
        with pytest.raises(apsw.ConstraintError, match="never changes its id"):
            db.execute(f"UPDATE messages SET {column} = 7 WHERE id = 1")
    verify_indexes(db)


def test_indexing_a_row_twice_is_what_the_gates_prevent(db):
    """Shows that the check used in these tests sees the fault it is there for."""
    store_messages(db, message("u", "one"))
    db.execute("INSERT INTO messages_fts(rowid, content) VALUES (1, 'one')")
    with pytest.raises(apsw.CorruptError):
        verify_indexes(db)


def test_tool_rows_are_in_the_trigram_index_of_no_store(db):
    store_messages(db, message("u", "grep 订阅", role=Role.TOOL, tool_name="Bash"))
    assert [held(db, name) for name in INDEX_NAMES] == [{1}, set(), {1}]
    with transaction(db):
        db.execute("UPDATE messages SET role = 'assistant' WHERE id = 1")
    assert [held(db, name) for name in INDEX_NAMES] == [{1}, {1}, {1}]
    with transaction(db):
        db.execute("UPDATE messages SET role = 'tool' WHERE id = 1")
    assert [held(db, name) for name in INDEX_NAMES] == [{1}, set(), {1}]
    verify_indexes(db)


def test_a_tool_row_is_in_the_cjk_index_while_there_is_cjk_in_it(db):
    first = message("u", "grep 订阅", role=Role.TOOL)
    store_messages(db, first, message("v", "grep", role=Role.TOOL))
    assert held(db, CJK) == {1}
    store_messages(db, replace(first, content="grep nothing"), rewrites=True)
    assert held(db, CJK) == set()
    assert ids(db, FTS, "nothing") == [1]
    verify_indexes(db)
    store_messages(db, replace(first, content="nginx服务 is back"), rewrites=True)
    assert held(db, CJK) == {1}
    assert ids(db, CJK, '"服务"') == [1]
    assert ids(db, CJK, '"订阅"') == []
    verify_indexes(db)


def test_the_flag_alone_lets_a_tool_row_in_or_out(db):
    store_messages(db, message("u", "grep 订阅", role=Role.TOOL), message("w", "订阅"))
    for flags, rows in ((0, {2}), (1, {1, 2})):
        with transaction(db):
            db.execute("UPDATE messages SET text_flags = ?", (flags,))
        assert held(db, CJK) == rows
        assert held(db, FTS) == {1, 2}
        verify_indexes(db)


def test_superseded_text_is_in_no_index_and_comes_back_with_its_state(db):
    store_messages(db, message("u", "电影 film"))
    for state, rows in ((MessageState.SUPERSEDED, set()), (MessageState.REWOUND, {1})):
        with transaction(db):
            db.execute("UPDATE messages SET state = ? WHERE id = 1", (state,))
        assert [held(db, name) for name in INDEX_NAMES] == [rows] * 3
    verify_indexes(db)


def test_a_change_of_state_that_stays_shown_writes_no_index(db):
    store_messages(db, message("u", "film"))
    before = db.execute("SELECT count(*) FROM messages_fts_data").get
    with transaction(db):
        db.execute("UPDATE messages SET state = 'compacted', model = 'x' WHERE id = 1")
    assert db.execute("SELECT count(*) FROM messages_fts_data").get == before


def test_only_the_first_characters_of_a_long_text_are_indexed(db):
    cut = "x " * 131_072  # 262,144 characters
    tool = "y " * 4_096  # 8,192 characters
    run = "漢" * 8_190
    store_messages(
        db,
        message("long", cut + "beyond"),
        message("tool", tool + "outside", role=Role.TOOL),
        message("fits", cut[:-8] + "within"),
        message("cjk", run + "電影訂", role=Role.TOOL),
        message("late", tool + "電影", role=Role.TOOL),
    )
    assert ids(db, FTS, "x") == [1, 3]
    assert ids(db, FTS, "within") == [3]
    assert ids(db, FTS, "y") == [2, 5]
    assert ids(db, FTS, "beyond OR outside") == []
    assert held(db, CJK) == {1, 3, 4, 5}
    assert ids(db, CJK, '"電影"') == [4]
    assert ids(db, CJK, '"影訂"') == []
    verify_indexes(db)


def test_what_is_indexed_is_the_searchable_text(db):
    store_messages(db, message("u", "Ａｐｐｌｅ café\0bar"))
    assert ids(db, FTS, "apple") == ids(db, FTS, "cafe") == ids(db, FTS, "bar") == [1]
    assert ids(db, FTS, '"café"') == []
    verify_indexes(db)


def test_titles_follow_their_sessions(db):
    store_messages(db, message("u", session="a"))
    with transaction(db):
        db.execute("UPDATE sessions SET title = 'Holiday plans' WHERE id = 1")
    assert ids(db, "sessions_fts", "lid") == [1]
    with transaction(db):
        db.execute("UPDATE sessions SET title = 'Budget', message_count = 7 WHERE id = 1")
    assert ids(db, "sessions_fts", "lid") == []
    assert ids(db, "sessions_fts", "udg") == [1]
    verify_indexes(db)
    delete(db, 1)
    with transaction(db):
        db.execute("DELETE FROM sessions")
    assert held(db, "sessions_fts") == set()
    verify_indexes(db)


WORDS = ["alpha", "beta", "电影", "订阅成功", "nginx服务", "漓", "ünï", "Ｘ", "a..b", ""]


@pytest.mark.parametrize("seed", range(6))
def test_any_history_of_changes_leaves_the_indexes_whole(db, seed):
    """Against a model: which rows each index must hold, and what they say."""
    random = Random(seed)
    model: dict[int, tuple[str, Role, MessageState]] = {}
    for number in range(120):
        action = random.choice(("append", "append", "text", "state", "role", "delete", "gap"))
        content = " ".join(random.choices(WORDS, k=random.randint(1, 6))) + f" n{number}"
        role, state = random.choice(list(Role)), random.choice(list(MessageState))
        row = random.choice(list(model)) if model else None
        if action == "append":
            store_messages(db, message(f"u{number}", content, role=role, state=state))
            model[db.execute("SELECT max(id) FROM messages").get] = (content, role, state)
        elif action == "gap":
            with transaction(db):
                index = random.choice(list(INDEXES.values()))
                indexes.drop_triggers(db, index)
            store_messages(db, message(f"u{number}", content, role=role, state=state))
            model[db.execute("SELECT max(id) FROM messages").get] = (content, role, state)
            with transaction(db):
                indexes.install_live_triggers(db, index)
        elif row is None:
            continue
        elif action == "delete":
            delete(db, row)
            del model[row]
        else:
            was = model[row]
            model[row] = (
                content if action == "text" else was[0],
                role if action == "role" else was[1],
                state if action == "state" else was[2],
            )
            with transaction(db):
                db.execute(
                    "UPDATE messages SET content = ?, search_text = NULL, role = ?, state = ?,"
                    " text_flags = ? WHERE id = ?",
                    (*model[row], has_cjk(model[row][0]), row),
                )
    fill(db)
    verify_indexes(db)
    shown = {n for n, (_, _, state) in model.items() if state != MessageState.SUPERSEDED}
    spoken = {n for n in shown if model[n][1] != Role.TOOL}
    assert held(db, FTS) == shown
    with_cjk = spoken | {n for n in shown if has_cjk(model[n][0])}
    assert held(db, "messages_fts_trigram") == spoken
    assert held(db, CJK) == with_cjk
    assert ids(db, FTS, "alpha") == sorted(n for n in shown if "alpha" in model[n][0].split())
    assert ids(db, CJK, '"订阅"') == sorted(n for n in shown if "订阅" in model[n][0])
    for index in INDEXES.values():
        assert index.eligible_of(keys.counts(db)) == len(held(db, index.name))
