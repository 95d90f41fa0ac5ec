"""The narrow copy of each message is right after every change."""

from itertools import product

import pytest

from core.store import keys
from core.store.connection import transaction
from core.types import MessageState, Origin, Role, SessionKind, ToolCall
from tests.unit.store.making import message, store_at, store_messages


@pytest.fixture
def db(tmp_path):
    db = store_at(tmp_path)
    yield db
    db.close()


def key(db, row=1):
    return db.execute("SELECT session_id, at_ms, flags FROM message_keys WHERE id = ?", (row,)).get


def counts(db):
    return dict(db.execute("SELECT flags, n FROM message_counts WHERE n <> 0").fetchall())


def test_the_bits_are_those_every_store_has():
    """Written down here by hand: a changed value would make old stores lie."""
    assert {str(role): bits for role, bits in keys.ROLE_BITS.items()} == {
        "user": 0, "assistant": 1, "tool": 2, "system": 3,
    }  # fmt: skip
    assert {str(state): bits >> 2 for state, bits in keys.STATE_BITS.items()} == {
        "active": 0, "compacted": 1, "rewound": 2, "off_branch": 3, "hidden": 4, "superseded": 5,
        "trashed": 6,
    }  # fmt: skip
    assert {str(origin): bits >> 5 for origin, bits in keys.ORIGIN_BITS.items()} == {
        "human": 0, "model": 1, "tool": 2, "injected": 3, "synthetic": 4,
    }  # fmt: skip
    assert {str(kind): bits >> 8 for kind, bits in keys.KIND_BITS.items()} == {
        "interactive": 0, "cron": 1, "subagent": 2, "tool": 3, "kanban": 4,
    }  # fmt: skip
    assert (keys.LONG_FLAG, keys.HAS_CJK_FLAG) == (2048, 4096)


def test_a_message_has_its_key_from_the_start(db):
    store_messages(
        db,
        message("u", "电影", role=Role.ASSISTANT, state=MessageState.REWOUND, created_at_ms=77),
    )
    assert key(db) == (1, 77, 0b01 | 2 << 2 | 1 << 5 | 4096)


def test_a_long_text_and_a_long_tool_row_are_flagged(db):
    store_messages(
        db,
        message("a", "x " * 4_097),
        message("b", "x " * 4_097, role=Role.TOOL),
        message("c", "x " * 131_073),
    )
    assert [bool(key(db, row)[2] & keys.LONG_FLAG) for row in (1, 2, 3)] == [False, True, True]


def test_cjk_in_a_tool_call_is_flagged_like_cjk_in_the_text(db):
    call = ToolCall("c", "search", '{"q": "\\u8ba2\\u9605"}')
    store_messages(db, message("u", "plain", role=Role.ASSISTANT, tool_calls=(call,)))
    assert key(db)[2] & keys.HAS_CJK_FLAG


def test_any_change_of_a_message_reaches_its_key_and_the_counts(db):
    store_messages(db, message("u"), message("v", session="t"))
    for role, state, origin in product(Role, MessageState, Origin):
        with transaction(db):
            db.execute(
                "UPDATE messages SET role = ?, state = ?, origin = ?, created_at_ms = 5,"
                " session_id = 2, text_flags = 3 WHERE id = 1",
                (role, state, origin),
            )
        expected = keys.ROLE_BITS[role] | keys.STATE_BITS[state] | keys.ORIGIN_BITS[origin]
        assert key(db) == (2, 5, expected | 2048 | 4096)
        counted = keys.ROLE_BITS[role] | keys.STATE_BITS[state] | 2048 | 4096
        assert counts(db) == {0: 1, counted: 1}


@pytest.mark.parametrize("kind", SessionKind)
def test_a_session_that_changes_its_kind_changes_its_messages(db, kind):
    store_messages(db, message("u"), message("v", session="t"))
    with transaction(db):
        db.execute("UPDATE sessions SET kind = ? WHERE id = 1", (kind,))
    assert key(db)[2] == keys.KIND_BITS[kind]
    assert key(db, 2)[2] == 0


def test_a_deleted_message_leaves_no_key_and_no_count(db):
    store_messages(db, message("u"))
    with transaction(db):
        db.execute("DELETE FROM message_placements")
        db.execute("DELETE FROM messages")
    assert key(db) is None
    assert counts(db) == {}


def test_long_messages_and_those_with_cjk_are_counted_apart(db):
    store_messages(
        db,
        message("a", "电影"),
        message("b", "电影" * 2_000, role=Role.TOOL),
        message("c", "x " * 4_097, role=Role.TOOL),
    )
    assert keys.count(db, flags=keys.HAS_CJK_FLAG) == 2
    assert keys.count(db, flags=keys.LONG_FLAG, roles=frozenset({Role.TOOL})) == 1
    assert keys.count(db, flags=keys.LONG_FLAG | keys.HAS_CJK_FLAG) == 0


def test_messages_are_counted_by_role_and_state(db):
    store_messages(
        db,
        message("a"),
        message("b", role=Role.TOOL),
        message("c", role=Role.TOOL, state=MessageState.HIDDEN),
    )
    assert keys.count(db) == 3
    assert keys.count(db, flags=keys.HAS_CJK_FLAG) == 0
    assert keys.count(db, roles=frozenset({Role.TOOL})) == 2
    assert keys.count(db, states=frozenset({MessageState.HIDDEN})) == 1
