"""What a reader yields is stored once, however often it is told."""

import dataclasses
from random import Random

import pytest

from core.history.append import AppendCounts, Batch, append
from core.history.bodies import read_calls
from core.sources.records import MessageRecord, SessionRecord
from core.store.connection import transaction
from core.types import (
    MessageState,
    Origin,
    Relation,
    Role,
    SessionKind,
    TimeQuality,
    TitleSource,
    ToolCall,
    ToolStatus,
)
from tests.unit.store.making import (
    add_source,
    held,
    ids,
    message,
    state,
    store_at,
    store_messages,
    verify_indexes,
)


@pytest.fixture
def db(tmp_path):
    db = store_at(tmp_path)
    yield db
    verify_indexes(db)
    db.close()


def contents(db, session="s"):
    """What a session shows, in its order."""
    rows = db.execute(
        "SELECT m.content FROM message_placements AS p JOIN messages AS m ON m.id = p.message_id"
        " JOIN sessions AS s ON s.id = p.session_id"
        " WHERE s.native_id = ? AND m.state IN ('active', 'compacted') ORDER BY p.seq, m.id",
        (session,),
    )
    return [content for (content,) in rows]


def session(db, name="s", columns="*"):
    return db.execute(f"SELECT {columns} FROM sessions WHERE native_id = ?", (name,)).get


def everything(db):
    """Every row that an import decides, for comparing two states of a store."""
    return [
        db.execute(f"SELECT * FROM {table} ORDER BY 1, 2, 3").fetchall()
        for table in ("sessions", "messages", "message_placements", "message_keys")
    ]


def test_every_field_of_a_message_is_kept(db):
    call = ToolCall("c1", "Bash", '{"command": "ls"}', ToolStatus.FAILED)
    store_messages(
        db,
        MessageRecord(
            session="s",
            uid="u1",
            role=Role.ASSISTANT,
            content="see\n\0the list",
            origin=Origin.MODEL,
            position=70,
            state=MessageState.COMPACTED,
            created_at_ms=1_700_000_000_123,
            time_quality=TimeQuality.EXACT,
            model="m-1",
            reasoning="because",
            tool_calls=(call,),
            tool_call_id="c0",
            tool_name="Bash",
            tool_status=ToolStatus.PENDING,
            media_refs=("image.png",),
            usage='{"in": 3}',
            raw_ref="70:120",
        ),
    )
    row = db.execute(
        "SELECT uid, role, content, origin, state, provenance, created_at_ms, time_quality, model,"
        " reasoning, tool_call_id, tool_name, tool_status, media_refs, usage, raw_ref FROM messages"
    ).get
    assert row == (
        "u1", "assistant", "see\n\0the list", "model", "compacted", "observed", 1_700_000_000_123,
        "exact", "m-1", "because", "c0", "Bash", "pending", '["image.png"]', '{"in": 3}', "70:120",
    )  # fmt: skip
    assert read_calls(db.execute("SELECT tool_calls FROM messages").get) == (call,)
    assert db.execute("SELECT seq FROM message_placements").get == 70


def test_search_text_is_kept_only_where_it_differs(db):
    store_messages(db, message("a", "plain 电影"), message("b", "Ｃａｆé"))
    rows = db.execute("SELECT content, search_text FROM messages ORDER BY id").fetchall()
    assert rows == [("plain 电影", None), ("Ｃａｆé", "Cafe")]


def test_lone_surrogates_become_the_replacement_character(db):
    call = ToolCall("c\udc00", "n\ud800", "a\udfff", ToolStatus.UNKNOWN)
    store_messages(
        db,
        message("u\ud800", "a\ud83d b\ude00 😀", model="m\ud800", tool_calls=(call,)),
        sessions=(SessionRecord("s", title="t\ud800", cwd="/\udcff"),),
    )
    assert db.execute("SELECT uid, content, model FROM messages").get == (
        "u\ufffd",
        "a\ufffd b\ufffd 😀",
        "m\ufffd",
    )
    assert session(db, columns="title, cwd") == ("t\ufffd", "/\ufffd")


def test_a_session_with_a_lone_surrogate_in_its_name_is_stored(db):
    records = (SessionRecord("a\ud800", title="A"),)
    store_messages(
        db, message("u", session="a\ud800"), message("v", session="b\udfff"), sessions=records
    )
    assert (contents(db, "a\ufffd"), contents(db, "b\ufffd")) == (["hello"], ["hello"])


def test_the_same_batch_again_changes_nothing(db):
    batch = [message(f"u{n}", f"text {n}", position=n, created_at_ms=n) for n in range(50)]
    assert store_messages(db, *batch) == AppendCounts(new=50)
    before = everything(db)
    assert store_messages(db, *batch) == AppendCounts(unchanged=50)
    assert everything(db) == before


def test_positions_order_a_session_and_none_appends(db):
    store_messages(db, message("b", "2", position=20), message("a", "1", position=10))
    store_messages(db, message("c", "3"), message("d", "4"))
    store_messages(db, message("e", "5", position=100), message("f", "6"))
    assert contents(db) == ["1", "2", "3", "4", "5", "6"]


def test_counts_and_times_of_a_session_follow_its_messages(db):
    store_messages(
        db,
        message("a", created_at_ms=2_000),
        message("b", role=Role.ASSISTANT, created_at_ms=5_000),
        message("c", origin=Origin.INJECTED, created_at_ms=None),
        message("d", state=MessageState.COMPACTED, created_at_ms=3_000),
        message("e", state=MessageState.HIDDEN, created_at_ms=4_000),
        message("f", state=MessageState.OFF_BRANCH),
    )
    columns = "message_count, user_turn_count, started_at_ms, last_active_at_ms"
    assert session(db, columns=columns) == (4, 2, 2_000, 5_000)
    store_messages(db, message("g", created_at_ms=1_000), message("h", created_at_ms=9_000))
    assert session(db, columns=columns) == (6, 4, 2_000, 9_000)


def test_a_session_without_message_times_has_its_own_or_none(db):
    records = (SessionRecord("told", started_at_ms=5, updated_at_ms=8), SessionRecord("bare"))
    store_messages(db, message("a", session="told"), message("b", session="bare"), sessions=records)
    columns = "started_at_ms, last_active_at_ms"
    assert session(db, "told", columns) == (5, 8)
    assert session(db, "bare", columns) == (None, None)


def test_the_start_a_source_tells_stands(db):
    store_messages(
        db, message("a", created_at_ms=3), sessions=(SessionRecord("s", started_at_ms=7),)
    )
    assert session(db, columns="started_at_ms") == 7


def test_a_later_record_updates_only_what_it_knows(db):
    full = SessionRecord(
        "s", SessionKind.CRON, "parent", Relation.FORK, "explicit", "Title", TitleSource.MODEL,
        "m-1", "/cwd", "/repo", "main", 5, 6, False, False, 9, "done", "{}",
    )  # fmt: skip
    store_messages(db, sessions=(full,))
    before = session(db)
    store_messages(db, sessions=(SessionRecord("s"),))
    assert session(db) == before
    store_messages(db, sessions=(SessionRecord("s", model="m-2", reset_cutoff_seq=11),))
    assert session(db, columns="model, reset_cutoff_seq, kind, cwd") == ("m-2", 11, "cron", "/cwd")


@pytest.mark.parametrize(
    ("first", "second", "title"),
    [
        (("A", TitleSource.DERIVED), ("B", TitleSource.MODEL), "B"),
        (("A", TitleSource.MODEL), ("B", TitleSource.USER), "B"),
        (("A", TitleSource.MODEL), ("B", TitleSource.MODEL), "B"),
        (("A", TitleSource.USER), ("B", TitleSource.USER), "B"),
        (("A", TitleSource.DERIVED), ("B", TitleSource.DERIVED), "A"),
        (("A", TitleSource.USER), ("B", TitleSource.MODEL), "A"),
        (("A", TitleSource.MODEL), ("B", TitleSource.DERIVED), "A"),
        (("A", TitleSource.DERIVED), ("", TitleSource.USER), "A"),
        (("A", TitleSource.DERIVED), (None, TitleSource.MODEL), "A"),
        ((None, TitleSource.NONE), ("B", TitleSource.DERIVED), "B"),
    ],
)
def test_the_better_title_stays(db, first, second, title):
    for text, source in (first, second):
        store_messages(db, sessions=(SessionRecord("s", title=text, title_source=source),))
    assert session(db, columns="title") == title


def test_the_name_the_user_gave_here_stays_for_ever(db):
    store_messages(db, sessions=(SessionRecord("s", title="A", title_source=TitleSource.USER),))
    with transaction(db):
        db.execute("UPDATE sessions SET title = 'Mine', title_source = 'user', renamed_at_ms = 1")
    store_messages(db, sessions=(SessionRecord("s", title="B", title_source=TitleSource.USER),))
    assert session(db, columns="title, title_source") == ("Mine", "user")


def test_an_archived_session_is_live_again_when_something_newer_joins(db):
    store_messages(
        db, message("a", created_at_ms=1_000), sessions=(SessionRecord("s", archived=True),)
    )
    archived_at_ms = session(db, columns="archived_at_ms")
    assert archived_at_ms is not None
    store_messages(db, message("b", created_at_ms=2_000))
    assert session(db, columns="archived_at_ms") == archived_at_ms
    store_messages(db, message("c", created_at_ms=archived_at_ms + 1))
    assert session(db, columns="archived_at_ms") is None
    store_messages(db, sessions=(SessionRecord("s", archived=True),))
    assert session(db, columns="archived_at_ms") is None


def test_a_body_shown_in_two_sessions_is_stored_once(db):
    one, two = message("u", "shared", session="a"), message("u", "shared", session="b")
    assert store_messages(db, one) == AppendCounts(new=1)
    assert store_messages(db, two) == AppendCounts(changed=1)
    assert store_messages(db, one, two) == AppendCounts(unchanged=2)
    assert contents(db, "a") == contents(db, "b") == ["shared"]
    assert db.execute("SELECT count(*) FROM messages").get == 1
    assert session(db, "b", "message_count, user_turn_count") == (1, 1)
    assert db.execute("SELECT s.native_id FROM messages AS m JOIN sessions AS s"
                      " ON s.id = m.session_id").get == "a"  # fmt: skip


def test_a_body_shown_in_two_sessions_of_one_batch_is_stored_once(db):
    found = store_messages(db, message("u", session="a"), message("u", session="b"))
    assert (found.new, db.execute("SELECT count(*) FROM messages").get) == (1, 1)
    assert (contents(db, "a"), contents(db, "b")) == (["hello"], ["hello"])


def test_equal_ids_of_two_sources_never_meet(db):
    other = add_source(db, "hermes", "/home/x/state.db")
    store_messages(db, message("1", "ours"))
    store_messages(db, message("1", "theirs"), source=other)
    assert db.execute("SELECT content FROM messages ORDER BY id").fetchall() == [
        ("ours",),
        ("theirs",),
    ]
    assert db.execute("SELECT count(*) FROM sessions WHERE native_id = 's'").get == 2


def test_one_uid_with_other_content_in_another_session_is_another_message(db):
    store_messages(db, message("1", "one", session="a"), message("1", "two", session="b"))
    assert (contents(db, "a"), contents(db, "b")) == (["one"], ["two"])


def test_a_source_that_does_not_rewrite_keeps_the_first_text(db):
    store_messages(db, message("u", "first", position=5), message("v", "next", position=9))
    changed = message("u", "second", position=12)
    assert store_messages(db, changed) == AppendCounts(conflicts=1)
    assert store_messages(db, changed) == AppendCounts(unchanged=1)
    assert contents(db) == ["first", "next"]
    assert session(db, columns="message_count") == 2
    rows = db.execute(
        "SELECT m.content, m.state, p.seq FROM messages AS m"
        " JOIN message_placements AS p ON p.message_id = m.id ORDER BY m.id"
    ).fetchall()
    assert rows == [
        ("first", "active", 5), ("next", "active", 9), ("second", "superseded", 5),
    ]  # fmt: skip
    assert ids(db, "messages_fts", "second") == []


def test_two_texts_of_one_uid_in_one_batch_are_a_conflict_like_any_other(db):
    found = store_messages(db, message("u", "first"), message("u", "second"), message("u", "first"))
    assert found == AppendCounts(new=1, conflicts=1, unchanged=1)
    assert contents(db) == ["first"]


def test_a_text_that_lost_in_one_session_is_a_message_in_another(db):
    store_messages(db, message("u", "first"), message("u", "second"))
    assert store_messages(db, message("u", "second", session="t")) == AppendCounts(changed=1)
    assert (contents(db), contents(db, "t")) == (["first"], ["second"])
    assert ids(db, "messages_fts", "second") == [2]


def test_what_changes_around_an_equal_text_is_taken_over(db):
    call = ToolCall("c", "Bash", "{}", ToolStatus.PENDING)
    first = message("u", role=Role.ASSISTANT, tool_calls=(call,), created_at_ms=5, model="m")
    store_messages(db, first)
    ended = dataclasses.replace(call, status=ToolStatus.SUCCEEDED)
    later = dataclasses.replace(
        first,
        tool_calls=(ended,),
        state=MessageState.COMPACTED,
        tool_status=ToolStatus.SUCCEEDED,
        created_at_ms=None,
        model=None,
    )
    assert store_messages(db, later) == AppendCounts(changed=1)
    assert store_messages(db, later) == AppendCounts(unchanged=1)
    row = db.execute(
        "SELECT state, tool_status, created_at_ms, model, tool_calls FROM messages"
    ).get
    assert row[:4] == ("compacted", "succeeded", 5, "m")
    assert read_calls(row[4]) == (ended,)


def test_a_message_that_stops_being_shown_leaves_the_counts(db):
    store_messages(db, message("u"), message("v"))
    store_messages(db, message("u", state=MessageState.REWOUND))
    assert session(db, columns="message_count, user_turn_count") == (1, 1)
    store_messages(db, message("u"))
    assert session(db, columns="message_count, user_turn_count") == (2, 2)


def test_a_copy_in_a_fork_does_not_speak_for_the_original(db):
    store_messages(db, message("u", created_at_ms=5))
    copy = message("u", session="fork", state=MessageState.REWOUND, created_at_ms=99)
    assert store_messages(db, copy) == AppendCounts(changed=1)
    assert store_messages(db, copy) == AppendCounts(unchanged=1)
    assert db.execute("SELECT state, created_at_ms FROM messages").get == ("active", 5)


@pytest.mark.parametrize("whole", [False, True])
def test_a_message_taken_back_in_one_session_is_shown_for_the_other_that_has_it(db, whole):
    """The session in which it is most visible speaks for it, in whatever order they are read."""
    lost = message("u", state=MessageState.REWOUND, created_at_ms=5)
    alive = message("u", session="fork", created_at_ms=6)
    if whole:
        store_messages(db, lost, alive)
    else:
        store_messages(db, lost)
        assert store_messages(db, alive) == AppendCounts(changed=1)
    assert contents(db, "fork") == [alive.content]
    for name in ("s", "fork"):
        assert session(db, name, "message_count, user_turn_count") == (1, 1)
    assert store_messages(db, lost, alive) == AppendCounts(unchanged=2)
    assert contents(db, "fork") == [alive.content]
    assert store_messages(db, dataclasses.replace(alive, state=MessageState.REWOUND)) == (
        AppendCounts(changed=1)
    )
    assert contents(db, "fork") == []
    assert store_messages(db, dataclasses.replace(lost, state=MessageState.COMPACTED)) == (
        AppendCounts(changed=1)
    )
    assert contents(db) == contents(db, "fork") == [lost.content]


def test_a_session_that_shows_another_text_of_a_message_does_not_speak_for_one(db):
    store_messages(db, message("u", "one", session="other", state=MessageState.REWOUND))
    store_messages(db, message("u", "two"))
    assert store_messages(db, message("u", "one")) == AppendCounts(unchanged=1)
    assert contents(db) == ["two"]
    assert contents(db, "other") == []


def test_a_text_that_replaces_another_is_shown_though_it_is_taken_back_elsewhere(db):
    store_messages(db, message("u", "new", session="other", state=MessageState.REWOUND))
    store_messages(db, message("u", "old"), rewrites=True)
    store_messages(db, message("u", "new"), rewrites=True)
    assert contents(db) == ["new"]
    assert session(db, columns="message_count, user_turn_count") == (1, 1)


def test_parents_may_come_after_their_children(db):
    child = SessionRecord("child", parent_native_id="parent", relation=Relation.CONTINUATION)
    store_messages(db, sessions=(child,))
    store_messages(db, sessions=(SessionRecord("parent"),))
    assert session(db, "child", "parent_native_id, relation") == ("parent", "continuation")


def test_a_large_batch_leaves_the_indexes_to_be_settled_and_a_small_one_does_not(db):
    store_messages(db, message("one"))
    assert state(db, "messages_fts") == "ready"
    store_messages(db, *(message(f"u{n}") for n in range(200)))
    assert [state(db, name) for name in ("messages_fts", "messages_fts_cjk")] == ["settling"] * 2


def test_an_append_that_fails_leaves_nothing_behind(db):
    def append_and_fail():
        with transaction(db):
            append(db, Batch(1, [], [message(f"u{n}") for n in range(5)]))
            raise MemoryError

    with pytest.raises(MemoryError):
        append_and_fail()
    assert [table for table in everything(db) if table] == []
    assert held(db, "messages_fts") == set()
    assert store_messages(db, *(message(f"u{n}") for n in range(5))) == AppendCounts(new=5)


def test_an_empty_batch_is_no_work(db):
    assert store_messages(db) == AppendCounts()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("rewrites", [False, True])
def test_any_cutting_into_batches_and_any_repetition_ends_the_same(tmp_path, seed, rewrites):
    """The counts kept on the way are those that a count at the end finds."""
    random = Random(seed)
    records = [
        message(
            f"u{random.randrange(25)}",
            random.choice(["one", "two", "two and more"]),
            session=random.choice("ab"),
            role=random.choice([Role.USER, Role.ASSISTANT]),
            state=random.choice([MessageState.ACTIVE, MessageState.REWOUND]),
            position=n,
        )
        for n in range(120)
    ]
    db = store_at(tmp_path)
    for _ in range(2):
        start = 0
        while start < len(records):
            stop = start + random.randint(1, 40)
            store_messages(db, *records[start:stop], rewrites=rewrites)
            start = stop
    verify_indexes(db)
    counted = (
        "SELECT s.id, s.message_count, s.user_turn_count,"
        " (SELECT count(*) FROM message_placements AS p JOIN messages AS m ON m.id = p.message_id"
        "  WHERE p.session_id = s.id AND m.state IN ('active', 'compacted')),"
        " (SELECT count(*) FROM message_placements AS p JOIN messages AS m ON m.id = p.message_id"
        "  WHERE p.session_id = s.id AND m.state IN ('active', 'compacted') AND m.role = 'user'"
        "  AND m.origin = 'human') FROM sessions AS s"
    )
    for _, messages, turns, real_messages, real_turns in db.execute(counted):
        assert (messages, turns) == (real_messages, real_turns)
    shown_twice = (
        "SELECT m.uid FROM message_placements AS p JOIN messages AS m ON m.id = p.message_id"
        " WHERE m.state <> 'superseded' GROUP BY p.session_id, m.uid HAVING count(*) > 1"
    )
    assert db.execute(shown_twice).fetchall() == []
    homeless = "SELECT id FROM messages WHERE id NOT IN (SELECT message_id FROM message_placements)"
    assert db.execute(homeless).fetchall() == []
    db.close()
