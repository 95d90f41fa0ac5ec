"""Goose's database and old files, against what was read from them by eye."""

import contextlib
import json
import os
import shutil
import time
from pathlib import Path

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.errors import SourceError
from core.sources import detect, goose
from core.sources.ingest_plan import make_plan
from core.sources.records import MessageRecord, SessionRecord
from core.store.connection import open_store
from core.types import (
    MessageState,
    Origin,
    Role,
    SessionKind,
    TimeQuality,
    TitleSource,
    ToolStatus,
)
from tests.unit.sources import expected
from tests.unit.sources.expected import SAMPLES
from tests.unit.sources.importing import Reading, imported

OURS = SAMPLES / "others" / "goose" / "deja-vu" / "sessions"
SCHEMA = """
CREATE TABLE sessions(
  id TEXT PRIMARY KEY, name TEXT DEFAULT '', description TEXT DEFAULT '',
  user_set_name BOOLEAN DEFAULT FALSE, session_type TEXT DEFAULT 'user', working_dir TEXT,
  created_at TIMESTAMP, updated_at TIMESTAMP, model_config_json TEXT);
CREATE TABLE messages(
  id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT, session_id TEXT, role TEXT,
  content_json TEXT, created_timestamp INTEGER, metadata_json TEXT);
"""
TIME = 1_785_899_243


class Home:
    """A `sessions.db` in the place where the program keeps it."""

    def __init__(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.path = folder, folder / "sessions.db"
        if not self.path.exists():
            self.run(SCHEMA)

    def run(self, sql, bindings=()):
        with contextlib.closing(apsw.Connection(str(self.path))) as db:
            db.execute("PRAGMA synchronous=OFF; PRAGMA journal_mode=MEMORY").fetchall()
            return db.execute(sql, bindings).fetchall()

    def session(self, native_id="20260805_1", **values):
        self.insert("sessions", id=native_id, **values)

    def message(self, *parts, session="20260805_1", role="user", **values):
        parts = [text(p) if isinstance(p, str) else p for p in parts]
        self.insert(
            "messages", **{"session_id": session, "role": role, "content_json": json.dumps(parts),
                           "created_timestamp": TIME, **values},
        )  # fmt: skip

    def insert(self, table, **values):
        names, marks = ", ".join(values), ", ".join("?" * len(values))
        self.run(f"INSERT INTO {table}({names}) VALUES({marks})", tuple(values.values()))

    def read(self, path=None):
        return Reading(goose.read(path or self.path))


def text(words):
    return {"type": "text", "text": words}


def asks(call_id, name="shell", **arguments):
    value = {"name": name, "arguments": arguments}
    return {"type": "toolRequest", "id": call_id, "toolCall": {"status": "success", "value": value}}


def answers(call_id, result):
    return {"type": "toolResponse", "id": call_id, "toolResult": result}


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path / "goose" / "sessions")


@pytest.fixture
def db(tmp_path):
    opened = open_store(tmp_path / "store" / "state.db", None)
    yield opened
    opened.close()


def shown(db, session="20260805_1"):
    return [
        content
        for (content,) in db.execute(
            "SELECT m.content FROM message_placements AS p"
            " JOIN messages AS m ON m.id = p.message_id JOIN sessions AS s ON s.id = p.session_id"
            " WHERE s.native_id = ? AND m.state IN ('active', 'compacted') ORDER BY p.seq",
            (session,),
        )
    ]


@pytest.mark.parametrize("entry", expected.entries("goose"), ids=expected.name)
def test_the_sample_holds_what_was_read_by_eye(entry, tmp_path):
    (path,) = expected.paths(entry)
    if path.suffix == ".sql":  # a database as text
        database = tmp_path / "sessions.db"
        with contextlib.closing(apsw.Connection(str(database))) as made:
            made.execute(path.read_text())
        found = [(goose.identity(database), list(goose.read(database)))]
    else:
        found = expected.readings(entry, goose)
    expected.assert_entry(entry, expected.observe(found))


def test_calls_and_results_are_messages_of_their_own(home):
    home.session()
    home.message({"type": "thinking", "thinking": "hm"}, "Looking.", asks("c1", command="ls"),
                 role="assistant", message_id="a")  # fmt: skip
    home.message(
        answers("c1", {"status": "success", "value": [text("a.txt"), text("b.txt")]}),
        answers("c2", {"status": "error", "error": "no such tool"}),
        message_id="b",
    )
    asked, first, second = home.read().messages
    (call,) = asked.tool_calls
    assert (asked.content, asked.reasoning) == ("Looking.", "hm")
    assert (call.id, call.name, json.loads(call.arguments)) == ("c1", "shell", {"command": "ls"})
    assert (first.role, first.uid, first.content) == (Role.TOOL, "b:c1", "a.txt\n\nb.txt")
    assert (first.tool_call_id, first.tool_name) == ("c1", "shell")
    assert (first.tool_status, second.tool_status) == (ToolStatus.SUCCEEDED, ToolStatus.FAILED)
    assert (second.content, second.origin) == ("no such tool", Origin.TOOL)
    assert asked.position < first.position < second.position


def test_a_newer_result_is_read_as_well(home):
    home.session()
    value = {"content": [text("oh"), {"type": "image", "data": "AAAA", "mimeType": "image/png"}]}
    home.message(answers("c", {"status": "success", "value": {**value, "isError": True}}))
    message = home.read().only()
    assert (message.content, message.tool_status) == ("oh", ToolStatus.FAILED)
    assert message.media_refs == ("image/png; size=3; at=rowid:1",)


def test_a_call_that_could_not_be_made_out_says_why(home):
    home.session()
    broken = {"type": "toolRequest", "id": "c", "toolCall": {"status": "error", "error": "bad"}}
    home.message(broken, role="assistant")
    (call,) = home.read().only().tool_calls
    assert (call.status, call.result) == (ToolStatus.FAILED, "bad")


def test_who_sees_a_message_decides_what_it_is(home):
    home.session()
    home.message("old prompt", metadata_json='{"userVisible": true, "agentVisible": false}')
    home.message("the summary", role="assistant",
                 metadata_json='{"userVisible": false, "agentVisible": true}')  # fmt: skip
    note = {"type": "systemNotification", "notificationType": "inlineMessage", "msg": "compacted"}
    home.message(note, role="assistant",
                 metadata_json='{"userVisible": true, "agentVisible": false}')  # fmt: skip
    old, summary, told = home.read().messages
    assert (old.state, old.origin) == (MessageState.COMPACTED, Origin.HUMAN)
    assert (summary.state, summary.origin) == (MessageState.HIDDEN, Origin.SYNTHETIC)
    assert (told.content, told.state, told.origin) == (
        "compacted", MessageState.ACTIVE, Origin.SYNTHETIC
    )  # fmt: skip


@pytest.fixture
def far_east(monkeypatch):
    """A machine nine hours ahead of UTC."""
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("far_east")
def test_times_are_seconds_or_milliseconds_and_those_of_sessions_are_utc(home):
    home.session(created_at="2026-08-05 03:07:23", updated_at="2026-08-05T05:07:23+02:00")
    home.message("a")
    home.message("b", created_timestamp=TIME * 1000 + 5)
    home.message("c", created_timestamp=0)
    reading = home.read()
    assert [m.created_at_ms for m in reading.messages] == [TIME * 1000, TIME * 1000 + 5, None]
    assert reading.messages[2].time_quality == TimeQuality.NONE
    session = reading.sessions["20260805_1"]
    first = next(r for r in reading.records if isinstance(r, SessionRecord))
    assert (first.started_at_ms, first.updated_at_ms) == (TIME * 1000, TIME * 1000)
    assert session.title == "a"


@pytest.mark.parametrize(
    ("fields", "title", "source", "kind"),
    [
        ({"name": "Fix", "user_set_name": 1}, "Fix", TitleSource.USER, SessionKind.INTERACTIVE),
        ({"name": "Fix it"}, "Fix it", TitleSource.MODEL, SessionKind.INTERACTIVE),
        ({"description": "older"}, "older", TitleSource.MODEL, SessionKind.INTERACTIVE),
        ({"name": "CLI Session"}, "do it", TitleSource.DERIVED, SessionKind.INTERACTIVE),
        ({"session_type": "scheduled"}, "do it", TitleSource.DERIVED, SessionKind.CRON),
        ({"session_type": "sub_agent", "name": "x"}, "x", TitleSource.MODEL, SessionKind.SUBAGENT),
        ({"session_type": "hidden", "name": "x"}, "x", TitleSource.MODEL, SessionKind.TOOL),
    ],
)
def test_a_session_is_told_by_its_row(home, fields, title, source, kind):
    home.session(working_dir="/w", **fields)
    home.message("do it")
    session = home.read().sessions["20260805_1"]
    assert (session.title, session.title_source, session.kind) == (title, source, kind)
    origin = Origin.MODEL if kind == SessionKind.SUBAGENT else Origin.HUMAN
    assert home.read().only().origin == origin


def test_unknown_contents_are_counted_and_broken_ones_cost_themselves(home):
    home.session()
    home.message({"type": "hologram"}, {"type": "toolConfirmationRequest", "id": "c"}, "kept")
    home.message("lost", content_json="[{")
    home.message("odd", role="narrator")
    reading = home.read()
    assert [m.content for m in reading.messages] == ["kept", "odd"]
    assert reading.unknown == ["content hologram", "role narrator"]
    assert [(b.line, b.reason) for b in reading.bad] == [(2, "messages: the content is not JSON")]


# Again and again


def test_rows_deleted_and_written_anew_double_nothing_and_lose_nothing(home, db):
    home.session(name="t")
    for n, words in enumerate(("one", "two", "two")):
        home.message(words, message_id=f"m{n}" if n else None)
    assert imported(db, home.path) == (3, 0)
    assert imported(db, home.path) == (0, 0)
    home.run("DELETE FROM messages")
    hidden = '{"userVisible": true, "agentVisible": false}'
    home.message("one", metadata_json=hidden)
    home.message("two", message_id="m1", metadata_json=hidden)
    home.message("three", message_id="m3")
    assert imported(db, home.path) == (1, 2)
    assert shown(db) == ["one", "two", "two", "three"]


def test_two_messages_of_one_id_are_both_kept(home, db):
    home.session()
    home.message("first half", message_id="m", role="assistant")
    home.message("second half", message_id="m", role="assistant")
    assert imported(db, home.path) == (2, 0)
    assert shown(db) == ["first half", "second half"]
    assert imported(db, home.path) == (0, 0)


def test_equal_ids_of_two_places_never_meet(tmp_path, db):
    for place in ("one", "two"):
        home = Home(tmp_path / place)
        home.session()
        home.message(f"in {place}", message_id="m")
    imported(db, tmp_path / "one", tmp_path / "two")
    assert db.execute("SELECT count(*) FROM sessions").get == 2
    assert shown(db) == ["in one", "in two"]


def test_a_session_that_the_database_took_over_is_read_from_there_alone(home, db):
    for name in ("20250724_1", "20250724_9"):
        shutil.copy(OURS / "20250724_1.jsonl", home.folder / f"{name}.jsonl")
    home.session("20250724_1", name="newer")
    home.message("from the database", session="20250724_1")
    imported(db, home.folder)
    assert shown(db, "20250724_1") == ["from the database"]
    assert shown(db, "20250724_9") == ["Say hello", "Hello from Goose!"]
    assert db.execute("SELECT count(*) FROM sources WHERE kind = 'goose'").get == 1
    assert imported(db, home.folder) == (0, 0)


def test_an_old_file_that_grew_costs_what_it_grew_by(home, db):
    path = home.folder / "20250724_1.jsonl"
    home.path.unlink()
    first = {"role": "user", "created": TIME, "content": [text("no header, no id")]}
    path.write_text(json.dumps(first) + "\n")
    assert imported(db, path) == (1, 0)
    with path.open("a") as file:
        file.write(json.dumps(first) + "\n" + '{"role": "assi')
    assert imported(db, path) == (1, 0)
    assert shown(db, "20250724_1") == ["no header, no id"] * 2


# Whose files


def test_samples_are_recognised_and_nobody_elses_are():
    found = {
        p.relative_to(SAMPLES).parts[:2]
        for p in SAMPLES.rglob("*")
        if p.is_file() and p.suffix in goose.SUFFIXES and goose.recognises(p)
    }
    assert found == {("others", "goose")}


def test_only_this_reader_recognises_its_files(home):
    assert detect.detect(OURS / "20250724_1.jsonl") is detect.READERS["goose"]
    assert detect.detect(home.path) is detect.READERS["goose"]


def test_the_programs_folder_is_found(tmp_path):
    Home(tmp_path / ".local/share/goose/sessions").session()
    Home(tmp_path / "root/data/sessions").session()
    Home(tmp_path / "xdg/goose/sessions").session()
    for env, place in (
        ({}, ".local/share/goose/sessions"),
        ({"GOOSE_PATH_ROOT": str(tmp_path / "root")}, "root/data/sessions"),
        ({"XDG_DATA_HOME": str(tmp_path / "xdg")}, "xdg/goose/sessions"),
    ):
        (place_found,) = goose.found(env, tmp_path)
        assert (place_found.path, place_found.importable) == (str(tmp_path / place), True)
        (unit,) = make_plan([Path(place_found.path)], None, {}).units
        assert unit.path == tmp_path / place / "sessions.db"
    assert list(goose.found({"GOOSE_PATH_ROOT": str(tmp_path / "no")}, tmp_path)) == []
    for folder in ("root", "root/data", "root/data/sessions"):
        assert goose.is_home(tmp_path / folder)
    assert [p.name for p in goose.files(tmp_path / "root")] == ["sessions.db"]


def test_on_windows_it_lies_in_the_roaming_profile(tmp_path, monkeypatch):
    monkeypatch.setattr("core.sources.goose.sys.platform", "win32")
    Home(tmp_path / "Block/goose/data/sessions").session()
    (found,) = goose.found({"APPDATA": str(tmp_path)}, tmp_path)
    assert found.path == str(tmp_path / "Block/goose/data/sessions")


def test_what_holds_keys_is_never_opened(tmp_path):
    (tmp_path / "secrets.yaml").write_text("OPENAI_API_KEY: FAKE")
    with pytest.raises(SourceError, match="credentials"):
        detect.detect(tmp_path / "secrets.yaml")


def test_a_name_that_is_no_text_is_no_trouble(home, db):
    path = home.folder / os.fsdecode(b"caf\xe9.jsonl")
    shutil.copy(OURS / "20250724_1.jsonl", path)
    assert imported(db, path) == (2, 0)
    assert shown(db, "caf\ufffd") == ["Say hello", "Hello from Goose!"]


# Whatever it is


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8) | st.sampled_from(
        ["text", "toolRequest", "toolResponse", "image", "error", "success", "systemNotification"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(
        ["type", "text", "id", "toolCall", "toolResult", "status", "value", "name", "arguments",
         "content", "isError", "error", "msg", "data", "mimeType", "resource", "thinking",
         "userVisible", "agentVisible"]), inner, max_size=5),
    max_leaves=12,
)  # fmt: skip


def assert_sound(records):
    """Everything that is text is text, and fits a store."""
    for record in records:
        if isinstance(record, MessageRecord):
            texts = [record.content, record.uid, *record.media_refs]
            texts += [t for t in (record.reasoning, record.tool_name) if t is not None]
            for call in record.tool_calls:
                texts += [call.name, call.arguments, call.result, call.id or ""]
            assert all(isinstance(t, str) for t in texts)
            "".join(texts).encode()
            assert 0 <= record.position < 1 << 63
        elif isinstance(record, SessionRecord):
            texts = [record.title, record.cwd, record.model, record.metadata]
            assert all(t is None or isinstance(t, str) for t in texts)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(content=JSON, metadata=JSON, column=st.none() | st.integers(-(1 << 63), (1 << 63) - 1)
       | st.text() | st.floats() | st.binary(max_size=5))  # fmt: skip
def test_no_value_of_a_database_stops_the_reader(tmp_path, content, metadata, column):
    path = tmp_path / "sessions.db"
    path.unlink(missing_ok=True)
    with contextlib.closing(apsw.Connection(str(path))) as made:
        made.execute("PRAGMA synchronous=OFF; PRAGMA journal_mode=OFF").fetchall()
        made.execute(SCHEMA)
        made.execute("INSERT INTO sessions VALUES('s',?,?,?,?,?,?,?,?)", (column,) * 8)
        row = (column, column, json.dumps(content), column, json.dumps(metadata))
        made.execute("INSERT INTO messages VALUES(NULL,?,'s',?,?,?,?)", row)
        made.execute("INSERT INTO messages VALUES(NULL,NULL,?,'user',?,1,NULL)",
                     (column, json.dumps([content])))  # fmt: skip
    assert_sound(goose.read(path))


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(header=JSON, content=JSON, field=JSON)
def test_no_value_of_an_old_file_stops_the_reader(tmp_path, header, content, field):
    path = tmp_path / "20250724_1.jsonl"
    message = {"id": field, "role": "user", "created": field, "content": content, "metadata": field}
    lines = [{"working_dir": header, "description": header}, message, {**message, "role": field}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert_sound(goose.read(path))


def test_a_database_of_another_program_is_refused_in_words(tmp_path):
    path = tmp_path / "sessions.db"
    with contextlib.closing(apsw.Connection(str(path))) as made:
        made.execute("CREATE TABLE sessions(id TEXT)")
    with pytest.raises(SourceError, match="no Goose database: there is no table messages"):
        list(goose.read(path))
