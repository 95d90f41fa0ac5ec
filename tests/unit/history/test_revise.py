"""Sources that change messages in place: the new text is shown, the old one kept."""

import pytest

from core.history.append import AppendCounts
from core.types import MessageState, Role
from tests.unit.history.test_append import contents, session
from tests.unit.store.making import held, ids, message, store_at, store_messages, verify_indexes


@pytest.fixture
def db(tmp_path):
    db = store_at(tmp_path)
    yield db
    verify_indexes(db)
    db.close()


def rewrite(db, *messages):
    return store_messages(db, *messages, rewrites=True)


def rows(db):
    return db.execute(
        "SELECT m.id, m.content, m.state, p.seq FROM messages AS m"
        " JOIN message_placements AS p ON p.message_id = m.id ORDER BY m.id"
    ).fetchall()


def test_the_new_text_takes_the_row_and_the_old_one_is_a_revision(db):
    rewrite(db, message("u", "old words", position=3), message("v", "next", position=4))
    assert rewrite(db, message("u", "new words", position=3)) == AppendCounts(changed=1)
    assert rows(db) == [
        (1, "new words", "active", 3),
        (2, "next", "active", 4),
        (3, "old words", "superseded", 3),
    ]
    assert ids(db, "messages_fts", "new") == [1]
    assert ids(db, "messages_fts", "old") == []
    assert session(db, columns="message_count, user_turn_count") == (2, 2)
    assert rewrite(db, message("u", "new words", position=3)) == AppendCounts(unchanged=1)


def test_a_text_that_only_grew_leaves_no_revision(db):
    rewrite(db, message("u", "the answer is"))
    assert rewrite(db, message("u", "the answer is 42")) == AppendCounts(changed=1)
    assert [row[1:3] for row in rows(db)] == [("the answer is 42", "active")]
    assert ids(db, "messages_fts", "42") == [1]


def test_going_back_to_an_earlier_text_keeps_each_text_once(db):
    for text in ("one", "two", "one", "two", "one"):
        rewrite(db, message("u", text, position=1))
    assert rows(db) == [(1, "one", "active", 1), (rows(db)[1][0], "two", "superseded", 1)]
    assert contents(db) == ["one"]


def test_everything_else_of_the_message_follows_its_text(db):
    rewrite(db, message("u", "电影", role=Role.USER, created_at_ms=5, position=1))
    rewrite(
        db,
        message("u", "film", role=Role.ASSISTANT, state=MessageState.REWOUND, position=7),
    )
    found = db.execute(
        "SELECT role, origin, state, text_flags, created_at_ms FROM messages WHERE id = 1"
    ).get
    assert found == ("assistant", "model", "rewound", 0, 5)
    assert session(db, columns="message_count, user_turn_count") == (0, 0)
    assert held(db, "messages_fts_cjk") == {1}
    assert ids(db, "messages_fts_cjk", '"电影"') == []


def test_a_moved_message_is_shown_at_its_new_place(db):
    rewrite(db, message("a", "1", position=1), message("b", "2", position=2))
    found = rewrite(db, message("b", "2", position=1), message("a", "1", position=2))
    assert found == AppendCounts(changed=2)
    assert contents(db) == ["2", "1"]
    rewrite(db, message("a", "1 changed", position=0))
    assert contents(db) == ["1 changed", "2"]


def test_without_positions_a_rewritten_message_stays_where_it_is(db):
    rewrite(db, message("a", "1"), message("b", "2"))
    rewrite(db, message("a", "one"))
    assert contents(db) == ["one", "2"]


def test_a_body_that_others_show_too_is_not_changed_for_them(db):
    rewrite(db, message("u", "shared", session="a"), message("u", "shared", session="b"))
    assert rewrite(db, message("u", "mine", session="a")) == AppendCounts(changed=1)
    assert (contents(db, "a"), contents(db, "b")) == (["mine"], ["shared"])
    owner = db.execute(
        "SELECT s.native_id FROM messages AS m JOIN sessions AS s ON s.id = m.session_id"
        " WHERE m.content = 'shared'"
    ).get
    assert owner == "b"


def test_a_session_that_takes_over_anothers_text_shows_that_body(db):
    rewrite(db, message("u", "one", session="a"), message("u", "two", session="b"))
    assert rewrite(db, message("u", "two", session="a")) == AppendCounts(changed=1)
    assert (contents(db, "a"), contents(db, "b")) == (["two"], ["two"])
    assert session(db, "a", "message_count") == 1
    assert db.execute("SELECT count(*) FROM messages").get == 2


def test_several_texts_of_one_batch_end_in_the_last(db):
    found = rewrite(db, message("u", "one"), message("u", "two"), message("u", "three"))
    assert found == AppendCounts(new=1, changed=2)
    assert contents(db) == ["three"]
    assert sorted(row[1] for row in rows(db) if row[2] == "superseded") == ["one", "two"]
