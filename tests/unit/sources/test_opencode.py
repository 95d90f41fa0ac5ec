"""OpenCode's databases and old files, against what was read from them by eye."""

import contextlib
import itertools
import json
import os
import shutil
import tracemalloc
from pathlib import Path

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.errors import SourceError
from core.sources import detect, ingest, opencode
from core.sources.ingest_plan import make_plan
from core.sources.records import MessageRecord, ReadTo, SessionRecord
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
from tests.unit.sources.importing import imported
from tests.unit.sources.opencode_home import SCHEMA, TIME, Home, Reading, write

OURS = SAMPLES / "others" / "opencode"


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path / "opencode")


@pytest.fixture
def db(tmp_path):
    opened = open_store(tmp_path / "store" / "state.db", None)
    yield opened
    opened.close()


def shown(db, session="s"):
    return [
        text
        for (text,) in db.execute(
            "SELECT m.content FROM message_placements AS p"
            " JOIN messages AS m ON m.id = p.message_id JOIN sessions AS s ON s.id = p.session_id"
            " WHERE s.native_id = ? AND m.state IN ('active', 'compacted') ORDER BY p.seq",
            (session,),
        )
    ]


@pytest.mark.parametrize(
    "entry", expected.entries("opencode", ["high", "medium", "low"]), ids=expected.name
)
def test_the_sample_holds_what_was_read_by_eye(entry, tmp_path):
    (path,) = expected.paths(entry)
    if path.suffix == ".sql":  # a database as text
        database = tmp_path / "opencode.db"
        with contextlib.closing(apsw.Connection(str(database))) as made:
            made.execute(path.read_text())
        found = [(opencode.identity(database), list(opencode.read(database)))]
    else:
        found = expected.readings(entry, opencode)
    expected.assert_entry(entry, expected.observe(found))


# Order


def test_messages_stand_in_the_order_of_their_times_though_their_ids_began_anew():
    reading = Reading(opencode.read(OURS / "synthetic/opencode_rollover.db"))
    texts = [m.content for m in reading.messages if m.session == "ses_roll"]
    assert texts == ["before the wrap", "answer before", "after the wrap", "answer after"]
    positions = [m.position for m in reading.messages if m.session == "ses_roll"]
    assert positions == sorted(set(positions))


def test_parts_stand_in_the_order_of_their_times_not_of_rows_or_ids(home):
    home.session()
    home.message("m")
    for name, at in (("b", 3), ("c", 1), ("a", 2)):
        part = {"type": "text", "text": name}
        home.insert("part", id=name, message_id="m", time_created=TIME + at, data=part)
    assert home.read().only().content == "c\n\na\n\nb"


def test_messages_of_one_time_stand_in_the_order_of_their_ids(home):
    home.session()
    for name in ("m2", "m1", "m3"):
        home.message(name, name)
    assert home.read().texts() == ["m1", "m2", "m3"]


def test_messages_without_times_stand_in_the_order_of_their_rows(home):
    home.session()
    for name in ("z", "a"):
        home.message(name, name)
    home.run("UPDATE message SET time_created = NULL")
    reading = home.read()
    assert reading.texts() == ["z", "a"]
    assert {m.time_quality for m in reading.messages} == {TimeQuality.NONE}


def test_times_are_milliseconds_and_never_1970(home):
    home.session(time_updated=1)
    home.message("m", "hello", at=5)
    reading = home.read()
    assert reading.only().created_at_ms == TIME + 5
    assert reading.sessions["s"].started_at_ms == TIME
    assert reading.sessions["s"].updated_at_ms is None


# What a message says


def tool(name="bash", **state):
    return {"type": "tool", "tool": name, "callID": "c", "state": state}


@pytest.mark.parametrize(
    ("part", "status", "result"),
    [
        (tool(status="completed", output="done", metadata={"exit": 0}), "succeeded", "done"),
        (tool(status="completed", output="oh", metadata={"exit": 2}), "failed", "oh"),
        (tool("invalid", status="completed", output="bad arguments"), "failed", "bad arguments"),
        (tool(status="error", error="File not found"), "failed", "File not found"),
        (tool(status="running"), "pending", ""),
        (tool(status="success", output="old"), "succeeded", "old"),
        (tool(status="completed", output="", metadata={"preview": "head"}), "succeeded", "head"),
        (tool(status=7, output={"a": 1}), "unknown", '{"a":1}'),
    ],
)
def test_a_call_carries_its_outcome_and_result(home, part, status, result):
    home.session()
    home.message("m", role="assistant", parts=[part])
    (call,) = home.read().only().tool_calls
    assert (call.id, call.status, call.result) == ("c", ToolStatus(status), result)


def test_reasoning_files_and_tokens_are_kept_and_bookkeeping_is_no_noise(home):
    home.session()
    home.message(
        "m", "Look.", role="assistant", modelID="opus", tokens={"input": 3, "cache": {"read": 1}},
        parts=[
            {"type": "step-start"},
            {"type": "reasoning", "text": "hm"},
            {"type": "file", "mime": "image/png", "filename": "a.png",
             "url": "data:image/png;base64,AAAA"},
            {"type": "patch", "hash": "f", "files": ["a"]},
            {"type": "snapshot", "snapshot": "f"},
            {"type": "step-finish", "tokens": {"input": 3}},
            {"type": "hologram"},
        ],
    )  # fmt: skip
    reading = home.read()
    message = reading.only()
    assert (message.content, message.reasoning, message.model) == ("Look.", "hm", "opus")
    assert message.media_refs == ("image/png; size=3; at=a.png",)
    assert json.loads(message.usage) == {"input": 3, "cache": {"read": 1}}
    assert reading.unknown == ["part hologram"]


def test_what_the_program_put_into_a_prompt_is_no_words_of_the_person(home):
    home.session()
    synthetic = {"type": "text", "text": "Called the Read tool", "synthetic": True}
    home.message("m", "fix @a.py", parts=[synthetic])
    home.message("n", parts=[{"type": "text", "text": "reminder", "ignored": True}], at=9)
    typed, beside, alone = home.read().messages
    assert (typed.content, typed.origin, typed.role) == ("fix @a.py", Origin.HUMAN, Role.USER)
    assert (beside.content, beside.origin) == ("Called the Read tool", Origin.INJECTED)
    assert (alone.uid, alone.content, alone.origin) == ("n", "reminder", Origin.INJECTED)
    assert home.read().sessions["s"].title == "fix @a.py"


def test_the_summary_of_a_compaction_is_no_answer(home):
    home.session()
    home.message("a", "one")
    home.message("b", parts=[{"type": "compaction", "auto": True}], at=1)
    home.message("c", "Summary so far", role="assistant", parentID="b", at=2)
    home.message("d", "Again", role="assistant", summary=True, at=3)
    prompt, mark, summary, flagged = home.read().messages
    assert (prompt.state, mark.state) == (MessageState.ACTIVE, MessageState.HIDDEN)
    assert {mark.origin, summary.origin, flagged.origin} == {Origin.SYNTHETIC}
    assert summary.state == MessageState.ACTIVE


def test_an_answer_that_failed_says_so_beside_what_it_said(home):
    home.session()
    error = {"name": "MessageAbortedError", "data": {"message": "Aborted"}}
    home.message("m", "half an", role="assistant", error=error)
    said, failure = home.read().messages
    assert (said.content, said.role) == ("half an", Role.ASSISTANT)
    assert (failure.content, failure.role) == ("MessageAbortedError: Aborted", Role.SYSTEM)
    assert failure.position > said.position


# Sessions


def test_a_session_is_told_by_its_row(home):
    home.insert("project", id="p", worktree="/w/p", vcs="git")
    home.session(
        project_id="p", directory="/w/p/sub", title="Fix it", time_archived=TIME,
        model='{"id": "opus", "providerID": "x"}',
    )  # fmt: skip
    home.session("child", parent_id="s", title="New session - 2026-08-20T00:00:00.000Z")
    home.message("m", "Map the module", session="child")
    sessions = home.read().sessions
    told, child = sessions["s"], sessions["child"]
    assert (told.title, told.title_source) == ("Fix it", TitleSource.MODEL)
    assert (told.cwd, told.git_repo_root, told.model) == ("/w/p/sub", "/w/p", "opus")
    assert told.archived
    assert (child.kind, child.parent_native_id) == (SessionKind.SUBAGENT, "s")
    assert (child.title, child.title_source) == ("Map the module", TitleSource.DERIVED)
    assert home.read().only().origin == Origin.MODEL  # another agent asked


def test_messages_whose_session_has_no_row_are_kept(home):
    home.message("m", "orphan", session="gone")
    assert home.read().only().session == "gone"


def test_parts_whose_message_is_gone_and_events_are_counted(home):
    home.session()
    home.insert("part", id="p", message_id="gone", data={"type": "text", "text": "x"})
    home.run("CREATE TABLE session_message(id TEXT, session_id TEXT, type TEXT, data TEXT)")
    home.run("INSERT INTO session_message VALUES('a','s','agent-switched','{}'),"
             "('b','s','shell.started','{}')")  # fmt: skip
    assert home.read().unknown == [
        "part of a message that is not there", "session_message shell.started"
    ]  # fmt: skip


# Reverts


def test_a_revert_hides_what_follows_until_it_is_taken_back(home, db):
    home.session()
    for n, text in enumerate(("one", "two", "three")):
        home.message(f"m{n}", text, at=n)
    assert imported(db, home.path) == (3, 0)
    home.run('UPDATE session SET revert = \'{"messageID": "m1"}\'')
    assert imported(db, home.path) == (0, 2)
    assert shown(db) == ["one"]
    home.run("UPDATE session SET revert = NULL")
    assert imported(db, home.path) == (0, 2)
    assert shown(db) == ["one", "two", "three"]


def test_a_revert_within_a_message_hides_the_rest_of_it(home):
    home.session(revert='{"messageID": "m", "partID": "m-1"}')
    home.message("m", "kept", "undone", role="assistant")
    home.message("n", "undone too", at=9)
    kept, part, after = home.read().messages
    assert (kept.content, kept.state) == ("kept", MessageState.ACTIVE)
    assert (part.content, part.state) == ("undone", MessageState.REWOUND)
    assert after.state == MessageState.REWOUND


def test_a_revert_to_a_message_that_is_gone_hides_nothing(home):
    home.session(revert='{"messageID": "gone"}')
    home.message("m", "here")
    assert home.read().only().state == MessageState.ACTIVE


# Again and again


def test_what_grew_in_place_is_one_message_and_what_the_program_deleted_stays(home, db):
    home.session()
    home.message("a", "ask")
    home.message("b", "Look", role="assistant", at=1)
    home.message("c", "gone soon", at=2)
    assert imported(db, home.path) == (3, 0)
    assert imported(db, home.path) == (0, 0)
    home.run("UPDATE part SET data = ? WHERE id = 'b-0'", ('{"type":"text","text":"Look here"}',))
    home.run("DELETE FROM part WHERE message_id = 'c'")
    home.run("DELETE FROM message WHERE id = 'c'")
    home.message("d", "instead", at=3)
    assert imported(db, home.path) == (1, 1)
    assert shown(db) == ["ask", "Look here", "gone soon", "instead"]


def test_old_files_and_a_database_tell_each_session_once_and_the_database_wins(home, db):
    """Public case I22."""
    home.old_session("s1", ("m1", "user", "only in files"))
    home.old_session("s2", ("m2", "user", "old copy"), ("m9", "user", "left"), title="old title")
    home.session("s2", title="new title")
    home.message("m2", "new copy", session="s2")
    home.session("s3")
    home.message("m3", "third", session="s3")
    before = home.path.read_bytes()
    imported(db, home.folder)
    assert [shown(db, s) for s in ("s1", "s2", "s3")] == [
        ["only in files"], ["new copy"], ["third"]
    ]  # fmt: skip
    titles = dict(db.execute("SELECT native_id, title FROM sessions"))
    assert titles == {"s1": "old", "s2": "new title", "s3": "third"}
    assert home.path.read_bytes() == before
    assert imported(db, home.folder) == (0, 0)


def test_a_database_being_written_to_is_read_to_its_last_commit(home):
    home.session()
    writer = apsw.Connection(str(home.path))
    writer.execute("PRAGMA journal_mode=WAL").fetchall()
    writer.execute("INSERT INTO message VALUES('m','s',?,?,'{\"role\":\"user\"}')", (TIME, TIME))
    part = '{"type":"text","text":"in the log"}'
    writer.execute("INSERT INTO part VALUES('p','m','s',?,?,?)", (TIME, TIME, part))
    assert home.read().texts() == ["in the log"]
    assert opencode.stat_paths(home.path)[1].stat().st_size > 0
    writer.close()


def big(home, sessions, messages, parts, said):
    """A database of many rows, each part with a result of so many characters."""
    with contextlib.closing(apsw.Connection(str(home.path))) as db:
        db.execute("PRAGMA synchronous=OFF; PRAGMA journal_mode=OFF").fetchall()
        db.execute(SCHEMA)
        part = json.dumps(tool(status="completed", output="x" * said))
        ids = [f"{s:04}{m:04}" for s in range(sessions) for m in range(messages)]
        db.execute("BEGIN")
        for s in range(sessions):
            db.execute("INSERT INTO session(id, time_created) VALUES(?, ?)", (f"{s:04}", TIME))
        role = '{"role":"assistant"}'
        rows = ((i, i[:4], TIME + int(i[4:]), role) for i in ids)
        db.executemany("INSERT INTO message VALUES(?,?,?,0,?)", rows)
        pieces = ((f"{i}{n}", i, i[:4], TIME, part) for i in ids for n in range(parts))
        db.executemany("INSERT INTO part VALUES(?,?,?,?,0,?)", pieces)
        db.execute("COMMIT")


@pytest.mark.long
def test_memory_stays_that_of_one_message_however_large_the_database_is(home):
    big(home, sessions=100, messages=100, parts=5, said=2000)
    tracemalloc.start()
    count = sum(isinstance(record, MessageRecord) for record in opencode.read(home.path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 10_000
    assert home.path.stat().st_size > 100 << 20
    assert peak < 8 << 20


def test_a_long_survey_lets_whoever_waits_look_in_between(home):
    big(home, sessions=2, messages=10, parts=300, said=1)
    told = list(itertools.takewhile(lambda r: isinstance(r, ReadTo), opencode.read(home.path)))
    assert len(told) == 3  # the messages, and 6,000 parts in two steps


# Old files


def test_an_old_session_is_watched_by_its_own_files(home):
    home.old_session("s", ("m1", "user", "a"), ("m2", "assistant", "b"))
    (path,) = opencode.files(home.folder)
    names = {p.relative_to(home.folder / "storage").as_posix() for p in opencode.stat_paths(path)}
    assert names == {
        "session/p/s.json", "message/s/m1.json", "message/s/m2.json", "part/m2/prt_1.json"
    }  # fmt: skip


def test_a_look_at_unchanged_sessions_opens_no_file(home, monkeypatch):
    for name in ("ses_1", "ses_2"):
        home.old_session(name, (f"m{name}", "user", "a"))

    def opened(path):
        raise AssertionError(f"{path} was opened")

    monkeypatch.setattr(opencode.tree, "json_file", opened)
    found = [opencode.stat_paths(path) for path in opencode.files(home.folder)]
    assert [len(each) for each in found] == [3, 3]


def test_what_the_oldest_tree_keeps_beside_its_sessions_is_no_session(home):
    root = home.folder / "storage" / "session"
    write(root / "info/s.json", {"id": "s", "title": "first", "time": {"created": TIME}})
    share = root / "share/s.json"
    write(share, {"id": "s", "title": "x", "secret": "FAKE-share-key", "url": "https://x"})
    assert [p.parent.name for p in opencode.files(home.folder)] == ["info"]
    assert not opencode.recognises(share)


def test_an_old_session_that_grew_is_read_again_and_the_others_are_not(home, db):
    home.old_session("s", ("m1", "user", "a"))
    home.old_session("t", ("m9", "user", "other"))
    assert imported(db, home.folder) == (2, 0)
    home.old_session("s", ("m1", "user", "a"), ("m2", "assistant", "b"))
    job = ingest.Import([home.folder])
    list(ingest.run_sync(db, job))
    assert (job.report().new, job.report().skipped) == (1, 1)
    assert shown(db) == ["a", "b"]


def test_the_oldest_tree_of_all_is_read(home):
    root = home.folder / "storage" / "session"
    write(root / "info/s.json", {"id": "s", "title": "first", "time": {"created": TIME}})
    write(
        root / "message/s/m.json",
        {"id": "m", "role": "user", "metadata": {"time": {"created": TIME}}},
    )
    write(root / "part/s/m/p.json", {"type": "text", "text": "very old"})
    inline = {"id": "n", "role": "assistant", "parts": [{"type": "text", "text": "inline"}]}
    write(root / "message/s/n.json", {**inline, "metadata": {"time": {"created": TIME + 1}}})
    (path,) = opencode.files(home.folder)
    assert home.read(path).texts() == ["very old", "inline"]


def test_messages_of_a_session_without_a_file_are_read(home):
    home.old_session("s", ("msg_1", "user", "a"), ("msg_2", "assistant", "b"))
    (home.folder / "storage/session/p/s.json").unlink()
    (path,) = opencode.files(home.folder)
    assert path.name == "msg_1.json"
    assert home.read(path).texts() == ["a", "b"]


def test_a_broken_file_costs_itself(home):
    home.old_session("s", ("m1", "user", "a"), ("m2", "user", "b"))
    (home.folder / "storage/message/s/m1.json").write_text('{"id": "m1", "ro')
    reading = home.read(next(opencode.files(home.folder)))
    assert reading.texts() == ["b"]
    assert [b.reason for b in reading.bad] == ["m1.json: not a JSON object"]


# Whose files


def test_samples_are_recognised_and_nobody_elses_are():
    found = {
        p.relative_to(SAMPLES).parts[:2]
        for p in SAMPLES.rglob("*")
        if p.is_file() and p.suffix in opencode.SUFFIXES and opencode.recognises(p)
    }
    assert found == {("others", "opencode")}


@pytest.mark.parametrize(
    "path", ["rungraph/opencode.db", "synthetic/opencode_rollover.db",
             "agent-sessions/storage_v2/session/proj_test/ses_s_stage0_small.json"],
)  # fmt: skip
def test_only_this_reader_recognises_its_samples(path):
    assert detect.detect(OURS / path) is detect.READERS["opencode"]


def test_a_folder_that_holds_anything_gives_its_databases_and_old_sessions(tmp_path):
    shutil.copytree(OURS, tmp_path / "x")
    plan = make_plan([tmp_path], None, {})
    names = {u.path.name for u in plan.units if u.reader.KIND == "opencode"}
    assert names == {
        "opencode.db", "opencode_rollover.db", "ses_s_stage0_drift.json",
        "ses_s_stage0_large.json", "ses_s_stage0_small.json", "msg_test001.json",
    }  # fmt: skip


def test_the_programs_folders_are_found(tmp_path):
    shared = tmp_path / ".local/share"
    Home(shared / "opencode").session()
    kilo = Home(shared / "kilo")
    kilo.session()
    kilo.path.rename(kilo.folder / "kilo.db")
    (tmp_path / "empty/opencode").mkdir(parents=True)
    found = list(opencode.found({}, tmp_path))
    assert [(f.name, Path(f.path)) for f in found] == [
        ("OpenCode", shared / "opencode"), ("Kilo", shared / "kilo")
    ]  # fmt: skip
    assert all(f.importable for f in found)
    assert opencode.is_home(shared / "kilo")
    assert opencode.identity(kilo.folder / "kilo.db").display_name == "Kilo"
    assert list(opencode.found({"XDG_DATA_HOME": str(tmp_path / "empty")}, tmp_path)) == []
    elsewhere = tmp_path / "my.db"
    shutil.copy(shared / "opencode/opencode.db", elsewhere)
    env = {"XDG_DATA_HOME": str(tmp_path / "empty"), "OPENCODE_DB": str(elsewhere)}
    assert [f.path for f in opencode.found(env, tmp_path)] == [str(elsewhere)]


@pytest.mark.parametrize("name", ["auth.json", "mcp-auth.json"])
def test_what_holds_keys_is_never_opened(tmp_path, name):
    write(tmp_path / name, {"id": "s", "time": {"created": TIME}})
    with pytest.raises(SourceError, match="credentials"):
        detect.detect(tmp_path / name)


def test_names_that_are_no_text_are_no_trouble(home, db):
    odd = os.fsdecode(b"caf\xe9")
    home.session()
    home.old_session(odd, (odd, "user", "odd name"))
    storage = home.folder / "storage"
    write(storage / f"session/p/{odd}.json", {"title": "x", "id": 7, "time": {}})
    write(storage / f"message/{odd}/{odd}.json", {"role": "user"})
    path = storage / f"session/p/{odd}.json"
    write(path, {"id": "known", "title": "x"})
    (storage / f"message/{odd}").rename(storage / "message/known")
    assert imported(db, path) == (1, 0)
    assert shown(db, "known") == ["odd name"]


# Whatever it is


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8) | st.sampled_from(["user", "assistant", "text", "tool", "m", "bash"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(
        ["role", "time", "created", "type", "text", "state", "input", "output", "error", "tool",
         "callID", "status", "metadata", "exit", "summary", "tokens", "model", "modelID", "data",
         "message", "name", "mime", "url", "filename", "messageID", "partID", "synthetic"]),
        inner, max_size=5),
    max_leaves=12,
)  # fmt: skip


def assert_sound(records):
    """Everything that is text is text, and fits a store."""
    for record in records:
        if isinstance(record, MessageRecord):
            texts = [record.content, record.uid, *record.media_refs]
            texts += [t for t in (record.reasoning, record.model, record.usage) if t is not None]
            for call in record.tool_calls:
                texts += [call.name, call.arguments, call.result, call.id or ""]
            assert all(isinstance(t, str) for t in texts)
            "".join(texts).encode()
            assert isinstance(record.position, int)
            assert 0 <= record.position < 1 << 63
        elif isinstance(record, SessionRecord):
            texts = [record.title, record.cwd, record.model, record.metadata]
            assert all(t is None or isinstance(t, str) for t in texts)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(value=JSON, part=JSON, column=st.none() | st.integers(-(1 << 63), (1 << 63) - 1) | st.text())
def test_no_value_of_a_database_stops_the_reader(tmp_path, value, part, column):
    path = tmp_path / "opencode.db"
    path.unlink(missing_ok=True)
    home = Home(tmp_path)
    home.run("SELECT 1")
    with contextlib.closing(apsw.Connection(str(path))) as made:
        made.execute("PRAGMA synchronous=OFF; PRAGMA journal_mode=OFF").fetchall()
        text = json.dumps(value)
        made.execute(
            "INSERT INTO session(id, title, revert, time_created, model, directory)"
            " VALUES('s', ?, ?, ?, ?, ?)",
            (column, text, column, text, column),
        )
        made.execute("INSERT INTO message VALUES('m','s',?,?,?)", (column, column, text))
        made.execute("INSERT INTO part VALUES('p','m','s',?,?,?)", (column, None, json.dumps(part)))
    assert_sound(opencode.read(path))


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(session=JSON, message=JSON, part=JSON)
def test_no_value_of_an_old_file_stops_the_reader(tmp_path, session, message, part):
    home = Home(tmp_path)
    home.old_session("s", ("m", "user", "x"))
    storage = home.folder / "storage"
    write(storage / "session/p/s.json", {"id": "s", "time": session, "title": session})
    write(storage / "message/s/m.json", message)
    write(storage / "part/m/prt_1.json", part)
    with contextlib.suppress(SourceError):
        assert_sound(opencode.read(storage / "session/p/s.json"))


def test_a_database_without_the_tables_is_refused_in_words(tmp_path):
    path = tmp_path / "opencode.db"
    with contextlib.closing(apsw.Connection(str(path))) as made:
        made.execute("CREATE TABLE session(id TEXT)")
    with pytest.raises(SourceError, match="no OpenCode database: there is no table message"):
        list(opencode.read(path))
