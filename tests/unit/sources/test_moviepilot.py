"""MoviePilot's chats and history stores, against its own models and what was read by eye."""

import hashlib
import json
import time
from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import SourceError
from core.sources import detect, hermes, ingest, moviepilot
from core.sources.records import BadSourceRecord, MessageRecord, UnknownRecord
from core.store.connection import open_store
from core.types import (
    MessageState,
    Origin,
    Provenance,
    Relation,
    Role,
    SessionKind,
    TimeQuality,
    TitleSource,
    ToolCall,
    ToolStatus,
)
from tests.unit.sources import expected
from tests.unit.sources.expected import SAMPLES
from tests.unit.sources.moviepilot_home import (
    TIME,
    Main,
    UserStore,
    ai,
    call,
    human,
    messages,
    sessions,
    shown,
    tool,
)

TALK = [
    human("what is new?"),
    ai("", "a1", [call(page=2)]),
    tool("nothing", "c1", "t1"),
    ai([{"type": "text", "text": "nothing new"}], "a2"),
]


@pytest.fixture
def main(tmp_path):
    return Main(tmp_path / "config")


@pytest.fixture
def store(tmp_path):
    return UserStore(tmp_path / "config")


@pytest.fixture
def db(tmp_path):
    db = open_store(tmp_path / "backscroll" / "state.db", None)
    yield db
    db.close()


def run(db, *paths, **options):
    job = ingest.Import(list(paths), **options)
    for _ in ingest.run_sync(db, job):
        pass
    return job.report()


TOLD = """
SELECT m.content FROM sessions AS s
  JOIN message_placements AS p ON p.session_id = s.id
  JOIN messages AS m ON m.id = p.message_id
  WHERE s.native_id = ? AND m.state <> 'superseded' ORDER BY p.seq
"""


def told(db, session="s"):
    return [text for (text,) in db.execute(TOLD, (session,))]


def local_ms(text):
    return round(datetime.fromisoformat(text).timestamp() * 1000)


# Chats of the main database


@pytest.mark.parametrize("entry", expected.entries("moviepilot"), ids=expected.name)
def test_the_sample_holds_what_was_read_by_eye(entry):
    expected.assert_entry(entry, expected.observe(expected.readings(entry, moviepilot)))


def test_a_chat_is_read_from_what_the_model_was_given(main):
    main.chat("s", TALK, [shown("user", "what is new?"), shown("assistant", "nothing new")])
    prompt, asking, result, answer = messages(moviepilot.read(main.path))
    assert (prompt.role, prompt.origin, prompt.content) == (
        Role.USER, Origin.HUMAN, "what is new?"
    )  # fmt: skip
    assert asking.tool_calls == (ToolCall("c1", "look", '{"page": 2}'),)
    assert (result.role, result.tool_call_id, result.tool_name) == (Role.TOOL, "c1", "look")
    assert result.tool_status == ToolStatus.SUCCEEDED
    assert (answer.content, answer.uid) == ("nothing new", "a2")
    assert {m.provenance for m in (prompt, asking, result, answer)} == {Provenance.LEGACY_SNAPSHOT}


def test_times_are_those_people_were_shown_or_those_of_the_chat(main):
    at = 1_784_800_000_123
    display = [shown("user", "what is new?", at), shown("assistant", "nothing new", at + 5000)]
    main.chat("timed", TALK, display)
    main.chat("counts differ", TALK, display[:1])
    main.chat("never 1970", TALK, [shown("user", "x", 1), shown("assistant", "y", 2)])
    main.chat("no times", TALK, None, created_at=None, updated_at="soon")
    found = {}
    for each in messages(moviepilot.read(main.path)):
        found.setdefault(each.session, []).append((each.created_at_ms, each.time_quality))
    began, ended = local_ms("2026-07-01 10:00:00"), local_ms("2026-07-01 10:05:00")
    about = [(began, TimeQuality.SESSION)] * 3 + [(ended, TimeQuality.SESSION)]
    assert found["timed"][0] == (at, TimeQuality.EXACT)
    assert found["timed"][3] == (at + 5000, TimeQuality.EXACT)
    assert found["timed"][1] == (began, TimeQuality.SESSION)
    assert found["counts differ"] == about
    assert found["never 1970"] == about
    assert found["no times"] == [(None, TimeQuality.NONE)] * 4


def test_a_session_of_two_users_is_two_talks_and_twice_of_one_user_too(main, db):
    main.chat("s", [human("of ann", "m1")], user="1", name="ann")
    main.chat("s", [human("of bob", "m2")], user="2", name="bob")
    main.chat("s", [human("of ann elsewhere", "m3")], user="1", name="ann", channel="Slack")
    main.chat("s", [human("of a name alone", "m4")], user=None, name="carl")
    found = sessions(moviepilot.read(main.path))
    assert [s.native_id for _, s in found] == ["s", "s", "s#3", "s"]
    assert [i.display_name for i, _ in found] == [
        "MoviePilot (ann)", "MoviePilot (bob)", "MoviePilot (ann)", "MoviePilot (carl)",
    ]  # fmt: skip
    assert len({i.instance for i, _ in found}) == 3
    assert found[2][1].channel == "Slack"
    run(db, main.path)
    rows = db.execute(
        "SELECT r.display_name, s.native_id, s.message_count FROM sessions AS s"
        " JOIN sources AS r ON r.id = s.source_id ORDER BY 1, 2"
    ).fetchall()
    assert rows == [
        ("MoviePilot (ann)", "s", 1), ("MoviePilot (ann)", "s#3", 1),
        ("MoviePilot (bob)", "s", 1), ("MoviePilot (carl)", "s", 1),
    ]  # fmt: skip


@pytest.mark.parametrize("empty", [None, "null", "[]", "", "{}"])
def test_an_empty_list_gives_what_people_were_shown(main, empty):
    display = [shown("user", "hi", 1_784_800_000_000), shown("assistant", "ho")]
    main.chat("s", empty, display)
    found = messages(moviepilot.read(main.path))
    assert [(m.role, m.content) for m in found] == [(Role.USER, "hi"), (Role.ASSISTANT, "ho")]
    assert found[0].time_quality == TimeQuality.EXACT
    main.chat("nothing", empty, empty)
    assert [s.native_id for _, s in sessions(moviepilot.read(main.path))] == ["s", "nothing"]


def test_json_within_json_is_opened_and_torn_json_is_told(main):
    main.chat("inside", json.dumps(json.dumps(TALK)), None)
    main.chat("display", None, json.dumps(json.dumps([shown("user", "hi")])))
    main.chat("torn", json.dumps(TALK)[:50], [shown("user", "still here")])
    found = list(moviepilot.read(main.path))
    texts = {s: [m.content for m in messages(found) if m.session == s] for s in
             ("inside", "display", "torn")}  # fmt: skip
    assert texts == {
        "inside": ["what is new?", "", "nothing", "nothing new"],
        "display": ["hi"],
        "torn": ["still here"],
    }
    (bad,) = [r for r in found if isinstance(r, BadSourceRecord)]
    assert (bad.line, "agent_messages is not JSON" in bad.reason) == (3, True)


def test_what_a_summary_took_from_the_model_is_read_from_what_was_shown(main):
    kept = [human("third", "h3"), ai("answer three", "a3")]
    display = [
        shown(role, text)
        for role, text in (
            ("user", "first"), ("assistant", "answer one"),
            ("user", "third"), ("assistant", "answer three"),
        )
    ]  # fmt: skip
    summary = human("Summary of what was said", "s1", lc_source="summarization")
    main.chat("s", [summary, *kept], display)
    found = messages(moviepilot.read(main.path))
    assert [(m.content, m.origin) for m in found] == [
        ("first", Origin.HUMAN), ("answer one", Origin.MODEL),
        ("Summary of what was said", Origin.SYNTHETIC),
        ("third", Origin.HUMAN), ("answer three", Origin.MODEL),
    ]  # fmt: skip


def test_what_the_program_adds_is_marked(main):
    main.chat(
        "s",
        [
            {"type": "system", "data": {"content": "Be brief"}},
            human("[observation]", moviepilot_tool_observation=True),
            human("real"),
            {"type": "remove", "data": {}},
            7,
            ai([{"type": "image_url", "image_url": {"url": "https://x/y.png"}},
                {"type": "hologram", "data": 1}, {"type": "thinking", "thinking": "hm"}],
               additional_kwargs={"reasoning_content": "unused"},
               invalid_tool_calls=[{"name": "look", "args": "{cut", "id": "c9"}],
               response_metadata={"model_name": "m-1"}, usage_metadata={"input_tokens": 3}),
        ],
        title="未命名会话",
    )  # fmt: skip
    found = list(moviepilot.read(main.path))
    system, observed, real, answer = messages(found)
    assert [system.origin, observed.origin, real.origin] == [
        Origin.INJECTED, Origin.INJECTED, Origin.HUMAN,
    ]  # fmt: skip
    assert answer.media_refs == ("https://x/y.png",)
    assert answer.reasoning == "hm"
    assert answer.tool_calls == (ToolCall("c9", "look", "{cut", ToolStatus.FAILED),)
    assert (answer.model, json.loads(answer.usage)) == ("m-1", {"input_tokens": 3})
    unknown = {r.type for r in found if isinstance(r, UnknownRecord)}
    assert unknown == {"message remove", "a message that is no object", "content part hologram"}
    ((_, session),) = sessions(found)
    assert (session.title, session.title_source) == ("real", TitleSource.DERIVED)


def test_outcomes_are_what_the_program_says(main):
    ran = tool("x", "c3", "t3")
    ran["data"]["additional_kwargs"] = {"moviepilot_execution_outcome": "pending"}
    main.chat(
        "s",
        [tool("x", "c1", "t1", "error"), tool("x", "c2", "t2"), ran, tool("x", "c4", "t4", None)],
    )
    assert [m.tool_status for m in messages(moviepilot.read(main.path))] == [
        ToolStatus.FAILED, ToolStatus.SUCCEEDED, ToolStatus.PENDING, ToolStatus.UNKNOWN,
    ]  # fmt: skip


def test_a_uid_that_comes_twice_with_other_words_is_two_messages(main, db):
    main.chat("s", [human("one", "same"), human("two", "same"), human("two", "same")])
    run(db, main.path)
    assert told(db) == ["one", "two"]


def test_a_chat_that_shrank_loses_nothing_when_it_is_read_again(main, db):
    talk = [human("one"), ai("1", "a1"), human("ok"), ai("2", "a2"), human("ok"), ai("3", "a3")]
    main.chat("s", talk)
    run(db, main.path)
    summary = human("Summary", "sum", lc_source="summarization")
    shrunk = [summary, *talk[3:], human("ok"), ai("4", "a4")]
    main.run("UPDATE agentchat SET agent_messages = ?", (json.dumps(shrunk),))
    report = run(db, main.path, again=True)
    assert report.new == 3
    assert told(db) == ["one", "1", "ok", "2", "ok", "3", "Summary", "ok", "4"]


# The history store of a user


def test_a_store_is_read_with_what_it_says_of_its_messages(store):
    store.session("s", title="Films", model="m-1", end_reason="reset")
    store.say("u1", "find it", at=TIME)
    calls = json.dumps([call(page=2)])
    store.say("u2", "", role="assistant", tool_calls=calls, at=TIME + 1)
    store.say("u3", "found", role="tool", tool_call_id="c1", tool_name="look",
              tool_status="error", at=TIME + 2)  # fmt: skip
    store.run("UPDATE messages SET active = 0, compacted = 1 WHERE message_uid = 'u1'")
    store.run("UPDATE messages SET active = 0 WHERE message_uid = 'u2'")
    found = list(moviepilot.read(store.path))
    first, second, third = messages(found)
    assert (first.uid, first.created_at_ms) == ("u1", round(TIME * 1000))
    assert first.time_quality == TimeQuality.EXACT
    assert [first.state, second.state, third.state] == [
        MessageState.COMPACTED, MessageState.REWOUND, MessageState.ACTIVE,
    ]  # fmt: skip
    assert second.tool_calls == (ToolCall("c1", "look", '{"page": 2}'),)
    assert (third.tool_name, third.tool_status) == ("look", ToolStatus.FAILED)
    assert {m.provenance for m in (first, second, third)} == {Provenance.OBSERVED}
    ((_, session),) = sessions(found)
    assert (session.title, session.model, session.end_reason) == ("Films", "m-1", "reset")


def test_what_a_store_moved_in_comes_first_and_never_has_the_time_of_the_move(store):
    now = time.time() - 100.25
    store.session("s", started=1_782_900_000, last_active=now)
    store.say("new", "seen", at=now)
    store.say("legacy:1", "old", at=1_782_900_300, provenance="legacy_snapshot")
    store.session("t", started=now)
    store.say("legacy:2", "undated", session="t", at=now, provenance="legacy_snapshot")
    found = list(moviepilot.read(store.path))
    by_uid = {m.uid: m for m in messages(found)}
    assert by_uid["legacy:1"].position < by_uid["new"].position
    old = by_uid["legacy:1"]
    assert (old.created_at_ms, old.time_quality) == (1_782_900_300_000, TimeQuality.SESSION)
    assert old.provenance == Provenance.LEGACY_SNAPSHOT
    undated = by_uid["legacy:2"]
    assert (undated.created_at_ms, undated.time_quality) == (None, TimeQuality.NONE)
    assert {s.native_id: s.started_at_ms for _, s in sessions(found)}["t"] is None


def test_kinds_and_families_of_sessions(store):
    store.session("p")
    store.session("c", "cron")
    store.session("a", "subagent", parent_session_id="p")
    store.session("n", parent_session_id="p")
    store.say("u", "do it", session="a")
    found = list(moviepilot.read(store.path))
    kinds = {s.native_id: (s.kind, s.parent_native_id, s.relation) for _, s in sessions(found)}
    assert kinds == {
        "p": (SessionKind.INTERACTIVE, None, None),
        "c": (SessionKind.CRON, None, None),
        "a": (SessionKind.SUBAGENT, "p", Relation.SUBAGENT),
        "n": (SessionKind.INTERACTIVE, "p", Relation.CONTINUATION),
    }
    (prompt,) = messages(found)
    assert prompt.origin == Origin.MODEL


def test_what_was_deleted_there_is_said_and_stays_here(store, db):
    store.session("s")
    store.say("u1", "kept words")
    run(db, store.path)
    store.run("DELETE FROM messages")
    store.run("DELETE FROM sessions")
    store.insert("deleted_sessions", id="s")
    ((_, session),) = sessions(moviepilot.read(store.path))
    assert session.deleted_at_source is True
    run(db, store.path)
    assert told(db) == ["kept words"]
    gone, archived = db.execute("SELECT gone_at_ms, archived_at_ms FROM sessions").get
    assert gone is not None
    assert archived is not None


def test_a_newer_store_is_refused_in_words(store):
    store.run("PRAGMA user_version = 2")
    with pytest.raises(SourceError, match="version 2"):
        list(moviepilot.read(store.path))


# Both at once


def legacy_uid(session, place, kind, content):
    """The uid that MoviePilot's own importer makes (app/agent/history/message.py)."""
    told = json.dumps([session, place, kind, content], ensure_ascii=False, sort_keys=True)
    return "legacy:" + hashlib.sha256(told.encode()).hexdigest()


def test_a_chat_that_the_store_has_comes_from_the_store_once(main, store, db):
    main.chat("s", TALK)
    main.chat("only here", [human("old talk", "m9")])
    store.insert("state_meta", key="legacy_done", value="1")
    store.session("s")
    store.say("u1", "what is new?")
    run(db, main.path.parent)
    assert told(db) == ["what is new?"]
    assert told(db, "only here") == ["old talk"]
    assert db.execute("SELECT count(DISTINCT source_id) FROM sessions").get == 1


def test_a_chat_that_was_deleted_in_the_store_is_not_brought_back(main, store, db):
    main.chat("s", TALK)
    store.insert("deleted_sessions", id="s")
    run(db, main.path.parent)
    assert told(db) == []


def test_a_chat_the_store_has_a_part_of_is_completed_ahead_of_it(main, store, db):
    main.chat("s", [human("one", "h1"), ai("two", "a1"), human("three: key-1", "h2")])
    store.session("s")
    store.say("h2", "three: [redacted]")
    store.say("h3", "four")
    run(db, main.path.parent)
    assert told(db) == ["one", "two", "three: [redacted]", "four"]
    assert db.execute("SELECT count(*) FROM messages").get == 4


def test_a_store_that_comes_later_meets_what_was_moved_in_here(main, db, tmp_path):
    main.chat("s", TALK)
    run(db, main.path)
    store = UserStore(tmp_path / "config")
    store.session("s")
    moved = [
        (legacy_uid("s", 0, "human", "what is new?"), "user", "what is new?", {}),
        ("a1", "assistant", "", {"tool_calls": json.dumps([call(page=2)])}),
        ("t1", "tool", "nothing", {"tool_call_id": "c1", "tool_name": "look"}),
        ("a2", "assistant", "nothing new", {}),
    ]
    for uid, role, content, values in moved:
        store.say(uid, content, role=role, provenance="legacy_snapshot", at=1_782_900_000, **values)
    store.say("n1", "and now?")
    report = run(db, store.path)
    assert report.new == 1
    assert told(db) == ["what is new?", "", "nothing", "nothing new", "and now?"]


# Hostile values


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(), st.text(max_size=12)
)
KEYS = st.sampled_from([
    "type", "data", "content", "id", "tool_calls", "args", "name", "role", "additional_kwargs",
    "lc_source", "text", "createdAt", "attachments", "tools", "usage_metadata", "status",
])  # fmt: skip
NESTED = st.recursive(
    st.one_of(VALUES, st.sampled_from(["human", "ai", "tool", "user", "assistant"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=6),
    max_leaves=25,
)
COLUMN = st.one_of(VALUES, NESTED.map(json.dumps), st.binary(max_size=9), st.just("[" * 9000))


def texts_of(message):
    called = [t for c in message.tool_calls for t in (c.name, c.arguments)]
    return (message.uid, message.session, message.content, *message.media_refs, *called)


def assert_sound(records):
    for record in records:
        if isinstance(record, MessageRecord):
            for text in texts_of(record):
                assert isinstance(text, str)
                text.encode()
            assert record.created_at_ms is None or record.created_at_ms > 946_684_800_000


CHAT_COLUMNS = (
    "session_id, client_session_id, user_id, username, channel, source, original_chat_id, title,"
    " preview, agent_messages, display_messages, message_count, created_at, updated_at"
)


@settings(max_examples=15, deadline=None)
@given(st.lists(COLUMN, min_size=14, max_size=14))
def test_no_value_of_a_chat_breaks_the_reading(tmp_path_factory, values):
    main = Main(tmp_path_factory.mktemp("m"), f"CREATE TABLE agentchat({CHAT_COLUMNS})")
    marks = ", ".join("?" * 14)
    main.run(f"INSERT INTO agentchat({CHAT_COLUMNS}) VALUES ({marks})", tuple(values))
    main.run("INSERT INTO agentchat(session_id, agent_messages) VALUES ('sure', ?)",
             (json.dumps([human("kept")]),))  # fmt: skip
    found = list(moviepilot.read(main.path))
    assert_sound(found)
    assert "kept" in [m.content for m in messages(found)]


@settings(max_examples=15, deadline=None)
@given(NESTED)
def test_no_list_of_messages_breaks_the_reading(tmp_path_factory, listed):
    main = Main(tmp_path_factory.mktemp("m"))
    main.chat("s", json.dumps([listed]), json.dumps([listed, shown("user", "x")]))
    assert_sound(moviepilot.read(main.path))


STORE_COLUMNS = {
    "sessions": "id, source, title, model, started_at, last_active, parent_session_id, end_reason",
    "messages": "session_id, message_uid, role, content, tool_call_id, tool_name, tool_calls,"
    " tool_status, timestamp, provenance, active, compacted",
    "deleted_sessions": "id",
}


@settings(max_examples=15, deadline=None)
@given(st.lists(COLUMN, min_size=21, max_size=21))
def test_no_value_of_a_store_breaks_the_reading(tmp_path_factory, values):
    folder = tmp_path_factory.mktemp("s")
    store = UserStore(folder)
    for table, columns in STORE_COLUMNS.items():
        store.run(f"DROP TABLE {table}")
        store.run(f"CREATE TABLE {table}({columns})")
        count = columns.count(",") + 1
        store.run(f"INSERT INTO {table} VALUES ({', '.join('?' * count)})", tuple(values[:count]))
        values = values[count:]
    store.run("INSERT INTO messages(session_id, message_uid, content) VALUES ('s', 'u', 'kept')")
    found = list(moviepilot.read(store.path))
    assert_sound(found)
    assert "kept" in [m.content for m in messages(found)]


# Detection and places


def test_hermes_and_moviepilot_are_told_apart_both_ways(main, store):
    for path in (main.path, store.path, SAMPLES / "moviepilot/synthetic/user.db"):
        names = [kind for kind, r in detect.READERS.items()
                 if path.suffix in r.SUFFIXES and r.recognises(path)]  # fmt: skip
        assert names == ["moviepilot"]
    databases = [p for p in SAMPLES.rglob("*.db") if "moviepilot" not in p.parts]
    assert [p for p in databases if moviepilot.recognises(p)] == []
    assert any(hermes.recognises(p) for p in databases)


def test_its_folders_are_found_by_their_names(tmp_path, main, store, monkeypatch):
    config = main.path.parent
    monkeypatch.setattr(moviepilot, "CONTAINER", tmp_path / "nowhere")
    size = main.path.stat().st_size + store.path.stat().st_size
    (found,) = moviepilot.found({"CONFIG_DIR": str(config)}, tmp_path)
    assert (found.path, found.size_bytes, found.importable) == (str(config), size, True)
    monkeypatch.setattr(moviepilot, "CONTAINER", config)
    assert [f.path for f in moviepilot.found({"CONFIG_DIR": str(config)}, tmp_path)] == [
        str(config)
    ]
    monkeypatch.setattr(moviepilot, "CONTAINER", tmp_path / "nowhere")
    assert list(moviepilot.found({}, tmp_path)) == []
    config.rename(tmp_path / "moved")
    (tmp_path / "MoviePilot").mkdir()
    (tmp_path / "moved").rename(tmp_path / "MoviePilot" / "config")
    (found,) = moviepilot.found({}, tmp_path)
    assert found.path == str(tmp_path / "MoviePilot" / "config")
    assert [p.name for p in moviepilot.files(tmp_path / "MoviePilot")] == ["state.db", "user.db"]


def test_a_moviepilot_without_chats_is_no_failure(tmp_path, db):
    main = Main(tmp_path / "config", "CREATE TABLE user(id INTEGER PRIMARY KEY, name TEXT)")
    (tmp_path / "config" / "app.env").touch()
    report = run(db, main.path.parent)
    assert (report.failed, report.new) == (0, 0)
