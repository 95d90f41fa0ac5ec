"""PicoBot's database and session files, against its design document and what was read by eye."""

import contextlib
import json
import os

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import SourceError
from core.history import absence, deletion, tombstones
from core.sources import detect, ingest, picobot
from core.sources.records import BadSourceRecord, MessageRecord, SessionRecord, UnknownRecord
from core.store.connection import open_store, transaction
from core.types import Origin, Role, TimeQuality, TitleSource, ToolCall, ToolStatus
from core.upkeep import trash
from tests.unit.sources import expected
from tests.unit.sources.expected import SAMPLES

SESSIONS = """
CREATE TABLE sessions(
  id TEXT PRIMARY KEY, title TEXT NOT NULL, channel_name TEXT NOT NULL, chat_id TEXT NOT NULL,
  summary TEXT, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
  last_active_at INTEGER NOT NULL, archived_at INTEGER, deleted_at INTEGER,
  message_count INTEGER NOT NULL DEFAULT 0, reset_cutoff_seq INTEGER NOT NULL DEFAULT 0,
  user_turn_count INTEGER NOT NULL DEFAULT 0,
  agent_prompt_reinjection_count INTEGER NOT NULL DEFAULT 0
)
"""
MESSAGES = """
CREATE TABLE messages(
  id TEXT PRIMARY KEY, session_id TEXT NOT NULL, seq INTEGER NOT NULL, role TEXT NOT NULL,
  content TEXT NOT NULL, media_refs_json TEXT NOT NULL, tool_call_id TEXT, tool_name TEXT,
  tool_calls_json TEXT, created_at INTEGER NOT NULL, UNIQUE(session_id, seq),
  FOREIGN KEY(session_id) REFERENCES sessions(id) ON DELETE CASCADE
)
"""
LOOSE_SESSIONS = "CREATE TABLE sessions(id, title, channel_name, chat_id, summary, created_at," \
    " updated_at, last_active_at, archived_at, deleted_at, message_count, reset_cutoff_seq," \
    " user_turn_count, agent_prompt_reinjection_count)"  # fmt: skip
LOOSE_MESSAGES = "CREATE TABLE messages(id, session_id, seq, role, content, media_refs_json," \
    " tool_call_id, tool_name, tool_calls_json, created_at)"  # fmt: skip
TIME = 1_776_900_000_000


class Pico:
    """A `sessions.db`, written to as the program does it (sections 7 and 9 of its document)."""

    def __init__(self, folder, sessions=SESSIONS, messages=MESSAGES):
        self.path = folder / "storage" / "sessions.db"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.now = TIME
        self.run(sessions)
        self.run(messages)

    def run(self, sql, bindings=()):
        with contextlib.closing(apsw.Connection(str(self.path))) as db:
            db.execute("PRAGMA journal_mode=MEMORY").fetchall()
            db.execute("PRAGMA synchronous=OFF").fetchall()
            return db.execute(sql, bindings).fetchall()

    def insert(self, table, **values):
        names, marks = ", ".join(values), ", ".join("?" * len(values))
        self.run(f"INSERT INTO {table}({names}) VALUES({marks})", tuple(values.values()))

    def session(self, name="feishu:oc_1", *, title="Chat", channel="feishu", **values):
        chat = name.partition(":")[2] or name
        self.insert(
            "sessions", id=name, title=title, channel_name=channel, chat_id=chat,
            created_at=self.now, updated_at=self.now, last_active_at=self.now, **values,
        )  # fmt: skip

    def say(self, content, *, session="feishu:oc_1", role="user", uid=None, media="[]", **values):
        self.now += 1000
        (seq,) = self.run(
            "SELECT coalesce(max(seq), 0) + 1 FROM messages WHERE session_id = ?", (session,)
        )[0]
        self.insert(
            "messages", id=uid or f"id-{self.now}", session_id=session, seq=seq, role=role,
            content=content, media_refs_json=media, created_at=self.now, **values,
        )  # fmt: skip
        self.run(
            "UPDATE sessions SET message_count = message_count + 1, archived_at = NULL,"
            " updated_at = ?1, last_active_at = ?1 WHERE id = ?2",
            (self.now, session),
        )

    def reset(self, session="feishu:oc_1"):
        self.run(
            "UPDATE sessions SET user_turn_count = 0, reset_cutoff_seq ="
            " (SELECT max(seq) FROM messages WHERE session_id = ?1) WHERE id = ?1",
            (session,),
        )

    def clear(self, session="feishu:oc_1"):
        self.now += 1000
        self.run("DELETE FROM messages WHERE session_id = ?", (session,))
        self.run(
            "UPDATE sessions SET message_count = 0, reset_cutoff_seq = 0, updated_at = ?1,"
            " last_active_at = ?1 WHERE id = ?2",
            (self.now, session),
        )

    def read(self):
        return list(picobot.read(self.path))

    def messages(self):
        return [r for r in self.read() if isinstance(r, MessageRecord)]

    def sessions(self):
        return {r.native_id: r for r in self.read() if isinstance(r, SessionRecord)}


@pytest.fixture
def pico(tmp_path):
    return Pico(tmp_path / "pico")


@pytest.fixture
def db(tmp_path):
    db = open_store(tmp_path / "store" / "state.db", None)
    yield db
    db.close()


def run(db, *paths, **options):
    job = ingest.Import(list(paths), **options)
    for _ in ingest.run_sync(db, job):
        pass
    return job.report()


SHOWN = """
SELECT m.content FROM sessions AS s
  JOIN message_placements AS p ON p.session_id = s.id
  JOIN messages AS m ON m.id = p.message_id
  WHERE s.native_id = ? AND m.state <> 'superseded' ORDER BY p.seq
"""


def shown(db, session):
    return [text for (text,) in db.execute(SHOWN, (session,))]


def row_of(db, session):
    return db.execute("SELECT id FROM sessions WHERE native_id = ?", (session,)).get


# The database


@pytest.mark.parametrize("entry", expected.entries("picobot"), ids=expected.name)
def test_the_sample_holds_what_was_read_by_eye(entry):
    expected.assert_entry(entry, expected.observe(expected.readings(entry, picobot)))


def test_a_session_says_where_it_was_held(pico):
    pico.session("feishu:oc_1")
    pico.session("0f3c", channel="cli", title="My chat")
    found = pico.sessions()
    assert {name: s.channel for name, s in found.items()} == {
        "feishu:oc_1": "feishu",
        "0f3c": "cli",
    }
    assert (found["0f3c"].title, found["0f3c"].title_source) == ("My chat", TitleSource.USER)
    assert json.loads(found["feishu:oc_1"].metadata)["chat_id"] == "oc_1"


def test_order_is_that_of_seq_whatever_the_clock_says(pico):
    pico.session()
    pico.say("first")
    pico.say("second")
    pico.now = TIME - 50_000_000
    pico.say("third, by a clock set back")
    pico.run("UPDATE messages SET seq = seq + 100")
    pico.run("UPDATE messages SET seq = 1 WHERE content = 'second'")
    found = pico.messages()
    assert [m.content for m in found] == ["second", "first", "third, by a clock set back"]
    assert [m.position for m in found] == sorted({m.position for m in found})
    assert found[0].time_quality == TimeQuality.EXACT
    assert found[0].created_at_ms == TIME + 2000


def test_what_the_program_puts_in_is_no_prompt_and_no_title(pico):
    pico.session(title=" ")
    pico.say("You are an agent", role="system")
    pico.say("hello there")
    system, prompt = pico.messages()
    assert (system.role, system.origin) == (Role.SYSTEM, Origin.INJECTED)
    assert (prompt.role, prompt.origin) == (Role.USER, Origin.HUMAN)
    (session,) = pico.sessions().values()
    assert (session.title, session.title_source) == ("hello there", TitleSource.DERIVED)


@pytest.mark.parametrize(
    "calls",
    [
        [{"id": "c1", "name": "calculator", "arguments": {"e": "2+2"}}],
        [{"id": "c1", "name": "calculator", "arguments": '{"e": "2+2"}'}],
        [{"id": "c1", "type": "function",
          "function": {"name": "calculator", "arguments": '{"e": "2+2"}'}}],
    ],
)  # fmt: skip
def test_calls_of_both_shapes_meet_their_results(pico, calls):
    pico.session()
    pico.say("", role="assistant", tool_calls_json=json.dumps(calls))
    pico.say("4", role="tool", tool_call_id="c1", tool_name="calculator")
    call, result = pico.messages()
    assert call.tool_calls == (ToolCall("c1", "calculator", '{"e": "2+2"}'),)
    assert (result.tool_call_id, result.tool_name) == ("c1", "calculator")
    assert result.tool_status == ToolStatus.UNKNOWN  # nothing says how it ended


def test_attachments_are_named_and_not_kept(pico):
    pico.session()
    pico.say("see", media=json.dumps(["/a/b.png", {"url": "https://x/y"}, "", 5]))
    pico.say("and", media=json.dumps(["data:image/png;base64,iVBORw0KGgo="]))
    first, second = pico.messages()
    assert first.media_refs == ("/a/b.png", "https://x/y")
    assert second.media_refs == ("image/png;base64; size=9",)


def test_a_reset_parts_the_history_and_takes_nothing_away(pico, db):
    pico.session()
    pico.say("before")
    pico.reset()
    pico.say("after")
    before, after = pico.messages()
    (session,) = pico.sessions().values()
    assert before.position <= session.reset_cutoff_seq < after.position
    run(db, pico.path)
    assert shown(db, "feishu:oc_1") == ["before", "after"]


def test_what_was_cleared_stays_ahead_of_what_came_after_and_is_marked(pico, db):
    pico.session()
    pico.say("one")
    pico.say("two")
    run(db, pico.path)
    pico.clear()
    pico.say("three")
    pico.say("four")
    assert [m.content for m in pico.messages()] == ["three", "four"]
    report = run(db, pico.path)
    assert report.new == 2
    assert shown(db, "feishu:oc_1") == ["one", "two", "three", "four"]
    gone = absence.gone_messages(db, row_of(db, "feishu:oc_1"), 0, 1 << 62)
    found = db.execute(
        "SELECT content FROM messages WHERE id IN (SELECT message_id FROM gone_messages)"
    )
    assert sorted(text for (text,) in found) == ["one", "two"]
    assert len(gone) == 2
    cutoff = db.execute("SELECT reset_cutoff_seq FROM sessions").get
    above = db.execute(
        "SELECT m.content FROM message_placements AS p JOIN messages AS m ON m.id = p.message_id"
        " WHERE p.seq > ? ORDER BY p.seq",
        (cutoff,),
    )
    assert [text for (text,) in above] == ["three", "four"]


def test_a_session_that_was_emptied_keeps_what_is_stored_of_it(pico, db):
    pico.session()
    pico.say("one")
    run(db, pico.path)
    pico.clear()
    run(db, pico.path)
    assert shown(db, "feishu:oc_1") == ["one"]
    assert len(absence.gone_messages(db, row_of(db, "feishu:oc_1"), 0, 1 << 62)) == 1


def test_a_deleted_session_stays_and_is_gone_at_the_source(pico, db):
    pico.session()
    pico.say("one")
    pico.session("cli-1", channel="cli")
    pico.say("other", session="cli-1")
    run(db, pico.path)
    pico.run("DELETE FROM messages WHERE session_id = 'feishu:oc_1'")
    pico.run("DELETE FROM sessions WHERE id = 'feishu:oc_1'")
    run(db, pico.path)
    assert shown(db, "feishu:oc_1") == ["one"]
    gone = db.execute("SELECT native_id FROM sessions WHERE gone_at_ms IS NOT NULL").fetchall()
    assert gone == [("feishu:oc_1",)]


def test_a_second_import_changes_nothing_and_a_third_only_what_is_new(pico, db):
    pico.session(archived_at=TIME)
    pico.say("one")
    pico.say("two", role="assistant")
    assert run(db, pico.path).new == 2
    os.utime(pico.path)
    again = run(db, pico.path)
    assert (again.new, again.changed) == (0, 0)
    pico.say("three")
    pico.run("UPDATE sessions SET title = 'Renamed'")
    more = run(db, pico.path)
    assert (more.new, more.changed) == (1, 0)
    assert db.execute("SELECT title, archived_at_ms FROM sessions").get == ("Renamed", None)


def test_a_row_without_its_session_is_read(pico):
    pico.run("PRAGMA foreign_keys=OFF")
    pico.insert(
        "messages", id="m", session_id="feishu:lost", seq=1, role="user", content="orphan",
        media_refs_json="[]", created_at=TIME,
    )  # fmt: skip
    (session,) = pico.sessions().values()
    assert (session.native_id, session.channel) == ("feishu:lost", "feishu")
    assert [m.content for m in pico.messages()] == ["orphan"]


def test_what_is_damaged_costs_itself(tmp_path):
    pico = Pico(tmp_path, LOOSE_SESSIONS, LOOSE_MESSAGES)
    pico.run("INSERT INTO sessions(id, title) VALUES (NULL, 'nameless'), ('s', 7)")
    rows = [
        ("same", "s", 1, "user", "first"), ("same", "s", 2, "user", "second"),
        (None, "s", None, "wizard", "no id, no place"), (3, "s", "x", "assistant", 4.5),
        ("lost", None, 1, "user", "no session"),
    ]  # fmt: skip
    for uid, session, seq, role, content in rows:
        pico.insert(
            "messages", id=uid, session_id=session, seq=seq, role=role, content=content,
            media_refs_json='["/cut', tool_calls_json="[{", created_at="soon",
        )  # fmt: skip
    found = pico.read()
    messages = [r for r in found if isinstance(r, MessageRecord)]
    assert [m.content for m in messages] == ["first", "second", "no id, no place", "4.5"]
    assert len({m.uid for m in messages}) == 4
    assert {m.created_at_ms for m in messages} == {None}
    assert len([r for r in found if isinstance(r, BadSourceRecord)]) == 2
    unknown = [r.type for r in found if isinstance(r, UnknownRecord)]
    assert "role wizard" in unknown
    assert "tool_calls_json that is not JSON" in unknown


VALUES = st.one_of(
    st.none(), st.integers(-(2**63), 2**63 - 1), st.floats(), st.text(max_size=20),
    st.binary(max_size=12),
    st.sampled_from(["", "[]", "null", "{}", '{"a":', "[" * 5000, '"\\ud83d"']),
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=6)),
        lambda inner: st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "name", "arguments", "function", "url"]), inner),
        max_leaves=8,
    ).map(json.dumps),
)  # fmt: skip


@settings(max_examples=20, deadline=None)
@given(st.lists(VALUES, min_size=24, max_size=24))
def test_no_value_of_any_column_breaks_the_reading(tmp_path_factory, values):
    pico = Pico(tmp_path_factory.mktemp("p"), LOOSE_SESSIONS, LOOSE_MESSAGES)
    pico.run(f"INSERT INTO sessions VALUES ({', '.join('?' * 14)})", tuple(values[:14]))
    pico.run(f"INSERT INTO messages VALUES ({', '.join('?' * 10)})", tuple(values[14:]))
    pico.run("INSERT INTO messages(session_id, seq, content) VALUES ('sure', 1, 'kept')")
    found = pico.messages()
    assert "kept" in [m.content for m in found]
    for message in found:
        texts = (message.uid, message.content, message.session, *message.media_refs)
        calls = [t for c in message.tool_calls for t in (c.name, c.arguments)]
        for text in (*texts, *calls):
            assert isinstance(text, str)
            text.encode()
        assert message.created_at_ms is None or message.created_at_ms > 946_684_800_000


# Session files


def window(path, key, entries):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"Key": key, "History": entries}, indent=2))
    return path


def entries_of(numbers):
    """Entries as the program writes them, with an `ok` after every third."""
    return [f"user: {n}" if n % 3 else "user: ok" for n in numbers]


def test_a_window_that_moved_on_is_laid_over_what_is_stored(tmp_path, db):
    path = tmp_path / "sessions" / "chat:42.json"
    run(db, window(path, "chat:42", entries_of(range(50))))
    report = run(db, window(path, "chat:42", entries_of(range(10, 60))))
    assert report.new == 10
    wanted = [str(n) if n % 3 else "ok" for n in range(60)]
    assert shown(db, "chat:42") == wanted
    times = db.execute("SELECT DISTINCT created_at_ms, time_quality FROM messages").fetchall()
    assert times == [(None, "none")]
    assert db.execute("SELECT message_count FROM sessions").get == 60
    assert db.execute("SELECT count(*) FROM gone_messages").get == 0


def test_equal_words_are_counted_and_not_folded(tmp_path, db):
    path = tmp_path / "sessions" / "c.json"
    talk = ["user: hello", "assistant: ok: done", "user: ok", "user: ok"]
    run(db, window(path, "c", talk))
    run(db, window(path, "c", [*talk, "user: ok", "assistant: bye"]))
    assert shown(db, "c") == ["hello", "ok: done", "ok", "ok", "ok", "bye"]


def test_what_was_thrown_away_of_a_window_does_not_come_back_with_it(tmp_path, db):
    path = tmp_path / "sessions" / "c.json"
    run(db, window(path, "c", [f"user: {n}" for n in range(50)]))
    ids = {text: row for row, text in db.execute("SELECT id, content FROM messages")}
    trash.trash_message(db, ids["30"], "user")
    with transaction(db):
        deletion.delete_messages(db, [ids["20"]], tombstones.make_key(tmp_path / "store"))
    report = run(db, window(path, "c", [f"user: {n}" for n in range(10, 60)]))
    assert report.new == 10
    assert shown(db, "c") == [str(n) for n in range(60) if n != 20]
    states = dict(db.execute("SELECT content, state FROM messages"))
    assert {text for text, state in states.items() if state != "active"} == {"30"}


def test_a_window_without_a_common_entry_comes_behind(tmp_path, db):
    path = tmp_path / "sessions" / "c.json"
    run(db, window(path, "c", ["user: a", "assistant: b"]))
    run(db, window(path, "c", ["user: x", "assistant: y"]))
    assert shown(db, "c") == ["a", "b", "x", "y"]


def test_a_file_in_the_middle_of_a_write_is_read_later(tmp_path, db):
    path = tmp_path / "sessions" / "c.json"
    talk = entries_of(range(30))
    run(db, window(path, "c", talk[:10]))
    whole = json.dumps({"Key": "c", "History": talk}, indent=2)
    path.write_text(whole[: len(whole) // 2])
    (report,) = run(db, path).files
    assert report.outcome == "failed"
    assert "not whole" in report.reason
    assert len(shown(db, "c")) == 10
    assert db.execute("SELECT count(*) FROM gone_messages").get == 0
    path.write_text(whole)
    assert run(db, path).new == 20
    assert len(shown(db, "c")) == 30


def test_only_the_first_colon_parts_who_from_what(tmp_path):
    path = window(
        tmp_path / "sessions" / "c.json",
        "telegram:7",
        ["no colon", "user: line1\nassistant: fake", "Assistant: with a capital", "Note: mine", 5],
    )
    found = list(picobot.read(path))
    messages = [r for r in found if isinstance(r, MessageRecord)]
    assert [(m.role, m.content) for m in messages] == [
        (Role.SYSTEM, "no colon"),
        (Role.USER, "line1\nassistant: fake"),
        (Role.ASSISTANT, "with a capital"),
        (Role.SYSTEM, "Note: mine"),
    ]
    assert len([r for r in found if isinstance(r, UnknownRecord)]) == 2
    assert [r.line for r in found if isinstance(r, BadSourceRecord)] == [5]
    (session,) = [r for r in found if isinstance(r, SessionRecord)]
    assert (session.native_id, session.channel) == ("telegram:7", "telegram")
    assert session.title == "line1 assistant: fake"


@settings(max_examples=15, deadline=None)
@given(st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=9)),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=12,
), st.one_of(st.none(), st.integers(), st.text()))  # fmt: skip
def test_no_value_of_a_session_file_breaks_the_reading(tmp_path_factory, history, key):
    path = tmp_path_factory.mktemp("w") / "s.json"
    path.write_text(json.dumps({"Key": key, "History": history}))
    with contextlib.suppress(SourceError):
        for record in picobot.read(path):
            if isinstance(record, MessageRecord):
                (record.session + record.uid + record.content).encode()


# Detection and places


def test_nobody_else_takes_its_files_and_it_takes_nobody_elses(tmp_path):
    path = window(tmp_path / "sessions" / "chat:42.json", "chat:42", [])
    sample = SAMPLES / "picobot/synthetic/sessions.db"
    for each in (path, sample):
        names = [kind for kind, r in detect.READERS.items()
                 if each.suffix in r.SUFFIXES and r.recognises(each)]  # fmt: skip
        assert names == ["picobot"]
    others = [p for p in SAMPLES.rglob("*") if p.is_file() and "picobot" not in p.parts]
    assert [p for p in others if p.suffix in picobot.SUFFIXES and picobot.recognises(p)] == []


def test_its_home_is_found_and_imported(tmp_path, db):
    pico = Pico(tmp_path / ".picobot")
    pico.session()
    pico.say("from the database")
    old = tmp_path / ".picobot" / "workspace" / "sessions" / "chat:1.json"
    window(old, "chat:1", ["user: from a file"])
    (found,) = picobot.found({}, tmp_path)
    assert (found.kind, found.path, found.importable) == (
        "picobot",
        str(tmp_path / ".picobot"),
        True,
    )
    assert found.size_bytes == pico.path.stat().st_size + old.stat().st_size
    report = run(db, tmp_path / ".picobot")
    assert (report.new, report.failed) == (2, 0)
    assert list(picobot.found({}, tmp_path / "nobody")) == []
