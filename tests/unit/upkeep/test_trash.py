"""What is thrown away is gone from every door, and comes back as it was (cases R01, R06, R11)."""

import time
from contextlib import closing

import pytest

from core import settings
from core.errors import NotFoundError, RefusedError, StoreError
from core.history.sessions import list_sessions, session_by_ref
from core.index.health import check
from core.search.run import search
from core.sources.records import SessionRecord
from core.store import clock
from core.store.connection import open_store, transaction
from core.types import (
    MessageState,
    Relation,
    Role,
    SearchRequest,
    SessionFilter,
    SessionKind,
    TitleSource,
    ToolCall,
)
from core.upkeep import emptying, erasure, operations, trash
from core.upkeep_types import Report
from tests.unit.store.making import (
    library,
    message,
    path_at,
    store_at,
    store_messages,
    verify_indexes,
)
from tests.unit.upkeep.doors import told

WORD = "heliotrope9"
UIDS = ("m1", "m2", "m3", "alone")


@pytest.fixture
def db(tmp_path):
    made = store_at(tmp_path)
    yield made
    verify_indexes(made)
    assert all(finding.ok for finding in check(made))
    assert made.pragma("foreign_keys") == 1
    assert made.execute("PRAGMA foreign_key_check").fetchall() == []
    made.close()


def store_talk(db):
    """A session with the word in all that is told of it, and one that names it as its parent."""
    call = ToolCall("c1", WORD, f'{{"path": "{WORD}"}}')
    store_messages(
        db,
        message("m1", f"about {WORD}", session="s", created_at_ms=1_700_000_000_000),
        message("m2", "so", session="s", role=Role.ASSISTANT, model=WORD, tool_calls=(call,)),
        message("m3", f"done {WORD}", session="s", role=Role.TOOL, tool_name=WORD),
        message("k1", "the child speaks", session="child", created_at_ms=1_700_000_001_000),
        message("o1", "another talk", session="other", created_at_ms=1_700_000_002_000),
        sessions=(
            SessionRecord(
                "s", title=f"The {WORD}", title_source=TitleSource.MODEL, model=WORD,
                cwd=f"/w/{WORD}",
            ),
            SessionRecord("child", parent_native_id="s", relation=Relation.CONTINUATION),
        ),
    )  # fmt: skip


def row(db, name):
    return db.execute("SELECT id FROM sessions WHERE native_id = ?", (name,)).get


def uid_row(db, uid):
    shown = "SELECT id FROM messages WHERE uid = ? AND state <> 'superseded'"
    return db.execute(shown, (uid,)).get


def throw(db, *names):
    with transaction(db):
        return trash.trash_sessions(db, [row(db, name) for name in names], "you")


def throw_message(db, uid):
    with transaction(db):
        return trash.trash_message(db, uid_row(db, uid), "you")


def undo(db, operation):
    with transaction(db):
        return trash.undo(db, operation.id, "you")


def empty(db, **more):
    *_, report = trash.empty(db, "you", **more)
    return report


def listed(db):
    return {session.ref for session in list_sessions(db, SessionFilter()).sessions}


def seen(db, tmp_path, refs=("s", "child", "other")):
    return repr(list(told(db, WORD, refs, UIDS, tmp_path))).lower()


def test_every_door_tells_of_a_session_that_is_there(db, tmp_path):
    """Or the tests below would prove nothing."""
    store_talk(db)
    everything = list(map(repr, told(db, WORD, ("s", "child", "other"), UIDS, tmp_path)))
    assert sum(WORD in each for each in everything) > 30


@pytest.mark.parametrize("is_deleted", [False, True])
def test_no_door_tells_of_what_was_thrown_away(db, tmp_path, is_deleted):
    store_talk(db)
    throw(db, "s")
    if is_deleted:
        empty(db)
    assert WORD not in seen(db, tmp_path)
    again = open_store(path_at(tmp_path), library())
    assert WORD not in seen(again, tmp_path)
    assert listed(again) == {"child", "other"}
    again.close()


def test_what_was_thrown_away_is_found_where_the_trash_is_asked_for(db):
    store_talk(db)
    throw(db, "s")
    found = search(db, SearchRequest(WORD, include=frozenset({"trash"})))
    assert {hit.message for hit in found.hits} == {"m1", "m2", "m3"}
    plain = search(db, SearchRequest("another"))
    assert plain.not_searched["trashed"] == 3
    assert plain.messages_searched == 2


@pytest.mark.parametrize("is_deleted", [False, True])
def test_a_single_message_goes_with_the_title_made_from_it(db, tmp_path, is_deleted):
    store_messages(
        db,
        message("alone", f"{WORD} first"),
        message("m2", "what stays"),
        sessions=(SessionRecord("s", title=f"{WORD} first", title_source=TitleSource.DERIVED),),
    )
    done = throw_message(db, "alone")
    assert session_by_ref(db, "s").message_count == 1
    if is_deleted:
        assert empty(db).facts["single_messages"] == 1
    assert WORD not in seen(db, tmp_path)
    assert session_by_ref(db, "s").title == "what stays"
    if not is_deleted:
        undo(db, done)
        session = session_by_ref(db, "s")
        assert (session.message_count, session.title) == (2, f"{WORD} first")


def test_an_undo_takes_back_one_operation_also_after_a_restart(db, tmp_path):
    for name in ("a", "b", "c"):
        store_messages(db, message(f"m{name}", f"kestrel {name}", session=name))
    first, second = throw(db, "a"), throw(db, "b")
    undo(db, second)
    assert listed(db) == {"b", "c"}
    with pytest.raises(NotFoundError):
        undo(db, second)
    again = open_store(path_at(tmp_path), library())
    assert trash.contents(again).undoable == first.id
    with transaction(again):
        trash.restore_sessions(again, [trash.session_in_trash(again, "a")], "you")
    assert listed(again) == {"a", "b", "c"}
    assert len(search(again, SearchRequest("kestrel")).hits) == 3
    again.close()


def test_many_go_and_come_back_as_one(db):
    names = [f"s{n}" for n in range(300)]
    store_messages(db, *[message(f"m{name}", "hello", session=name) for name in names])
    done = throw(db, *names)
    assert done.receipt["sessions"] == 300
    assert "300 sessions" in done.outcome
    assert listed(db) == set()
    assert undo(db, done).receipt == {"sessions": 300, "messages": 0}
    assert list_sessions(db, SessionFilter()).total == 300
    assert operations.get(db, done.id).state == "succeeded"


def test_subagents_go_and_come_back_with_their_parent(db):
    store_messages(
        db,
        message("m1", "one", session="s"),
        message("m2", "two", session="helper"),
        message("m3", "three", session="deep"),
        message("m4", "four", session="fork"),
        sessions=(
            SessionRecord("helper", kind=SessionKind.SUBAGENT, parent_native_id="s"),
            SessionRecord("deep", kind=SessionKind.SUBAGENT, parent_native_id="helper"),
            SessionRecord("fork", parent_native_id="s", relation=Relation.FORK),
        ),
    )
    throw(db, "s")
    hidden = SessionFilter(include_hidden_kinds=True)
    assert [each.ref for each in list_sessions(db, hidden).sessions] == ["fork"]
    with transaction(db):
        trash.restore_sessions(db, [row(db, "s")], "you")
    assert len(list_sessions(db, hidden).sessions) == 4


def test_a_deleted_session_stays_away_and_so_does_what_is_added_to_it(db):
    store_talk(db)
    throw(db, "s")
    report = empty(db)
    assert report.facts["messages"] == 3
    waiting = erasure.waiting(db)
    assert (waiting.messages, waiting.bytes) == (3, report.facts["bytes"])
    store_talk(db)
    store_messages(db, message("m9", f"new {WORD}", session="s"))
    assert db.execute("SELECT count(*) FROM messages WHERE content LIKE ?", (f"%{WORD}%",)).get == 0
    assert row(db, "s") is None


def test_what_another_session_shows_stays_and_belongs_to_it(db):
    store_messages(
        db, message("both", "kestrel", session="a"), message("own", "heron", session="a")
    )
    store_messages(db, message("both", "kestrel", session="b"))
    throw(db, "a")
    assert [hit.session for hit in search(db, SearchRequest("kestrel")).hits] == ["b"]
    assert search(db, SearchRequest("heron")).hits == ()
    assert empty(db).facts["messages"] == 1
    assert db.execute("SELECT session_id FROM message_keys").get == row(db, "b")
    assert [hit.session for hit in search(db, SearchRequest("kestrel")).hits] == ["b"]


def test_what_is_shared_does_not_tell_of_the_session_in_the_trash(db):
    title = SessionRecord("a", title=f"The {WORD}", title_source=TitleSource.USER)
    store_messages(db, message("both", "kestrel", session="a"), sessions=(title,))
    store_messages(db, message("both", "kestrel", session="b"))
    queries = (f"title:{WORD}", "session:a")
    assert all(search(db, SearchRequest(query)).hits for query in queries)
    throw(db, "a")
    for query in queries:
        assert search(db, SearchRequest(query)).hits == ()
        assert search(db, SearchRequest(query, include=frozenset({"trash"}))).hits


def test_a_fork_of_a_deleted_session_is_a_conversation_of_its_own(db):
    store_messages(db, message("both", "kestrel", session="a"))
    throw(db, "a")
    empty(db)
    store_messages(db, message("both", "kestrel", session="fork"))
    assert [hit.session for hit in search(db, SearchRequest("kestrel")).hits] == ["fork"]


def test_a_deleted_message_comes_back_in_no_fork(db):
    store_messages(db, message("both", "kestrel", session="a"), message("m", "x", session="a"))
    throw_message(db, "both")
    empty(db)
    found = store_messages(db, message("both", "kestrel", session="fork"), message("n", "y"))
    assert found.new == 1
    assert search(db, SearchRequest("kestrel", include=frozenset({"trash"}))).hits == ()


def test_earlier_texts_die_with_their_message(db):
    store_messages(db, message("m", "kestrel one"), message("n", "stays"))
    store_messages(db, message("m", "heron two"), rewrites=True)
    assert db.execute("SELECT count(*) FROM messages").get == 3
    throw_message(db, "m")
    empty(db)
    assert db.execute("SELECT content FROM messages").fetchall() == [("stays",)]
    for text in ("kestrel one", "heron two"):
        assert store_messages(db, message("m", text, session="fork")).new == 0


@pytest.mark.parametrize("rewrites", [False, True])
def test_no_import_revives_what_is_in_the_trash(db, rewrites):
    store_messages(db, message("m", "kestrel"), message("n", "stays"))
    done = throw_message(db, "m")
    for text in ("kestrel", "kestrel grown", "all new"):
        store_messages(db, message("m", text), rewrites=rewrites)
        assert {hit.message for hit in search(db, SearchRequest("role:user")).hits} == {"n"}
        assert session_by_ref(db, "s").message_count == 1
    text = "all new" if rewrites else "kestrel"
    store_messages(db, message("m", text, session="fork"))
    assert search(db, SearchRequest(f'"{text}"')).hits == ()
    undo(db, done)
    assert session_by_ref(db, "s").message_count == 2
    assert search(db, SearchRequest(f'"{text}"')).hits[0].message == "m"


def test_a_message_comes_back_in_the_state_its_source_gave_it_meanwhile(db):
    store_messages(db, message("m", "kestrel"), message("n", "stays"))
    done = throw_message(db, "m")
    store_messages(db, message("m", "kestrel", state=MessageState.REWOUND))
    undo(db, done)
    assert search(db, SearchRequest("kestrel")).hits == ()
    found = search(db, SearchRequest("kestrel", include=frozenset({"rewound"})))
    assert len(found.hits) == 1
    assert session_by_ref(db, "s").message_count == 1


def test_what_is_added_to_a_session_in_the_trash_joins_it_there(db):
    store_messages(db, message("m", "kestrel"))
    done = throw(db, "s")
    store_messages(db, message("m2", "kestrel again"))
    assert search(db, SearchRequest("kestrel")).hits == ()
    undo(db, done)
    assert len(search(db, SearchRequest("kestrel")).hits) == 2


def test_a_large_session_is_gone_at_once_and_deleted_step_by_step(db, tmp_path):
    store_messages(
        db,
        *[message(f"m{n}", f"{WORD} {n}") for n in range(900)],
        sessions=(SessionRecord("s", title=WORD, title_source=TitleSource.USER),),
    )
    throw(db, "s")
    run = trash.empty(db, "you")
    next(run)
    run.close()  # as if the process had died there
    left = db.execute("SELECT count(*) FROM messages").get
    assert 0 < left < 900
    for include in (frozenset(), frozenset({"trash"})):
        found = search(db, SearchRequest(WORD, include=include))
        assert (found.hits, found.title_matches) == ((), ())
    assert search(db, SearchRequest(WORD, everything=True)).hits == ()
    assert trash.contents(db).total == 0
    assert WORD not in seen(db, tmp_path)
    with pytest.raises(NotFoundError):
        trash.session_in_trash(db, "s")
    assert store_messages(db, message("m1", WORD)).new == 0
    assert empty(db).facts["messages"] == left
    assert db.execute("SELECT count(*) FROM sessions").get == 0
    assert erasure.waiting(db).messages == 900


def test_a_session_brought_back_while_the_trash_is_emptied_stays(db):
    store_messages(db, *[message(f"m{n}", "x", session=f"s{n}") for n in range(150)])
    throw(db, *(f"s{n}" for n in range(150)))
    run = trash.empty(db, "you")
    next(run)  # a hundred of them
    left = trash.contents(db)
    with transaction(db):
        trash.restore_sessions(db, [trash.session_in_trash(db, left.items[0].session)], "you")
    *_, report = run
    assert isinstance(report, Report)
    assert report.facts["sessions"] == 149
    assert list_sessions(db, SessionFilter()).total == 1


def test_only_what_was_there_for_long_expires(db, monkeypatch):
    for name in ("a", "b"):
        store_messages(db, message(f"m{name}", "x", session=name))
    throw(db, "a")
    with transaction(db):
        db.execute("UPDATE sessions SET trashed_at_ms = trashed_at_ms - ?", (8 * clock.DAY_MS,))
    throw(db, "b")
    found = trash.contents(db)
    assert [item.session for item in found.items] == ["b", "a"]
    lasts = settings.TRASH_DAYS.default * clock.DAY_MS
    assert found.next_expiry_at_ms == found.items[1].trashed_at_ms + lasts
    *_, report = trash.expire(db, "schedule")
    assert report.facts["sessions"] == 1
    assert [item.session for item in trash.contents(db).items] == ["b"]
    leap = time.time_ns() // 1_000_000 + 400 * clock.DAY_MS
    monkeypatch.setattr(clock, "now_ms", lambda: leap)
    with pytest.raises(RefusedError, match="400"):
        list(trash.expire(db, "schedule"))


def test_a_clock_that_stays_ahead_is_believed_after_a_day(db, monkeypatch):
    """A machine that was off for a week has a clock that leapt; nothing else may observe it."""
    store_messages(db, message("m", "x", session="a"))
    throw(db, "a")
    later = time.time_ns() // 1_000_000 + 20 * clock.DAY_MS
    monkeypatch.setattr(clock, "_uptime", lambda: ("another run of the machine", 0))
    monkeypatch.setattr(clock, "now_ms", lambda: later)
    for _ in range(2):
        with pytest.raises(RefusedError, match="The clock"):
            list(trash.expire(db, "schedule"))
    monkeypatch.setattr(clock, "now_ms", lambda: later + clock.DAY_MS)
    *_, report = trash.expire(db, "schedule")
    assert report.facts["sessions"] == 1


def test_contents_are_counted_and_shown_with_when_they_go(db):
    store_messages(
        db, message("m", "four"), message("n", "seven77"), message("o", "x", session="t")
    )
    throw(db, "s")
    throw_message(db, "o")
    found = trash.contents(db)
    assert (found.total, found.messages, found.bytes) == (2, 3, len("fourseven77x"))
    alone = next(item for item in found.items if item.message)
    assert (alone.session, alone.message, alone.messages, alone.bytes) == ("t", "o", 1, 1)
    assert len(trash.contents(db, limit=1).items) == 1


def test_a_session_cannot_be_thrown_away_twice_nor_a_message(db):
    store_messages(db, message("m", "x"))
    throw_message(db, "m")
    with pytest.raises(NotFoundError):
        throw_message(db, "m")
    throw(db, "s")
    with pytest.raises(NotFoundError):
        throw(db, "s")
    assert emptying.is_any(db, 1 << 62)


def test_no_second_key_is_made_where_the_first_is_missing(db, tmp_path):
    """With another key nobody would know any more what was deleted under the first."""
    for name in ("a", "b"):
        store_messages(db, message(f"m{name}", "x", session=name))
    throw(db, "a")
    empty(db)
    key = tmp_path / "profile" / "tombstone.key"
    kept = key.read_bytes()
    key.unlink()
    throw(db, "b")
    with pytest.raises(StoreError, match=r"tombstone\.key is needed"):
        empty(db)
    assert not key.exists()
    assert [item.session for item in trash.contents(db).items] == ["b"]
    key.write_bytes(kept)
    store_messages(db, message("ma", "x", session="a"))
    assert row(db, "a") is None


def test_deleting_reads_no_table_from_end_to_end(db):
    store_talk(db)
    with transaction(db):
        trash.trash_sessions(db, [row(db, "s")], "you")
        trash.trash_message(db, uid_row(db, "o1"), "you")
    noted = []

    def note(cursor, sql, bindings):
        if sql.startswith(("SELECT", "DELETE", "UPDATE")):
            plan = cursor.connection.execute(f"EXPLAIN QUERY PLAN {sql}", bindings)
            noted.extend((sql, step) for *_, step in plan)
        return True

    db.exec_trace = note
    try:
        assert empty(db).facts["messages"] == 4
    finally:
        db.exec_trace = None
    assert any(sql.startswith("DELETE FROM messages") for sql, _ in noted)
    large = ("messages", "message_placements", "message_keys", "m", "p", "k")
    assert [step for _, step in noted if step.startswith(tuple(f"SCAN {t}" for t in large))] == []


def test_an_emptying_that_waits_between_batches_leaves_the_checks_of_keys_on(db):
    store_talk(db)
    with transaction(db):
        trash.trash_sessions(db, [row(db, "s"), row(db, "other")], "you")
    steps = 0
    for _ in trash.empty(db, "you"):
        assert db.pragma("foreign_keys") == 1
        steps += 1
    assert steps > 1


def test_what_is_too_young_to_be_emptied_is_not_said_to_be_absent(tmp_path):
    with closing(store_at(tmp_path)) as db:
        store_messages(db, message("m1"))
        with transaction(db):
            trash.trash_sessions(db, [1], "command")
        *_, report = trash.empty(db, "command", before_ms=1)
        assert report.outcome == "Nothing has been in the trash for so long"
        assert trash.contents(db).total == 1
