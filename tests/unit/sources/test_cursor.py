"""Cursor's databases and transcripts, against what was read from them by eye."""

import contextlib
import json
import os
import shutil
from pathlib import Path

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.errors import SourceError
from core.sources import cursor, detect
from core.sources.ingest_plan import make_plan
from core.sources.records import MessageRecord, SessionRecord
from core.store.connection import open_store
from core.types import (
    MessageState,
    Origin,
    Relation,
    Role,
    SessionKind,
    TimeQuality,
    TitleSource,
    ToolStatus,
)
from tests.unit.sources import expected
from tests.unit.sources.expected import SAMPLES
from tests.unit.sources.importing import Reading, imported

OURS = SAMPLES / "others" / "cursor"
TALK = "c0000000-0000-4000-8000-0000000000aa"
TIME = 1_785_899_243_000
TOKEN = "FAKE-ey-refresh-token-never-read"


def read(path):
    return Reading(cursor.read(path))


class Editor:
    """A `state.vscdb` of the editor below a person's folder, made by hand."""

    def __init__(self, home, place="globalStorage"):
        self.user = home / ".config/Cursor/User"
        self.path = self.user / place / "state.vscdb"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        for table in ("ItemTable", "cursorDiskKV"):
            self.run(f"CREATE TABLE {table}(key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")

    def run(self, sql, bindings=()):
        with contextlib.closing(apsw.Connection(str(self.path))) as db:
            db.execute("PRAGMA synchronous=OFF; PRAGMA journal_mode=MEMORY").fetchall()
            return db.execute(sql, bindings).fetchall()

    def put(self, key, value, table="cursorDiskKV"):
        value = json.dumps(value) if isinstance(value, dict | list) else value
        self.run(f"INSERT INTO {table} VALUES(?, ?)", (key, value))

    def talk(self, *bubbles, name=TALK, listed=None, **fields):
        """Put a session and its bubbles; `listed` are the ids in its headers, all by default."""
        ids = [b["bubbleId"] for b in bubbles] if listed is None else listed
        headers = [{"bubbleId": i, "type": 1} for i in ids]
        value = {"composerId": name, "createdAt": TIME, **fields}
        self.put(f"composerData:{name}", {**value, "fullConversationHeadersOnly": headers})
        for bubble in bubbles:
            self.put(f"bubbleId:{name}:{bubble['bubbleId']}", bubble)


def said(bubble_id, text, kind=1, **fields):
    return {"bubbleId": bubble_id, "type": kind, "text": text, **fields}


def line(role, *blocks):
    blocks = [{"type": "text", "text": b} if isinstance(b, str) else b for b in blocks]
    return json.dumps({"role": role, "message": {"content": blocks}}) + "\n"


def transcript(home, *lines, name=TALK, project="home-u-my-app"):
    path = home / f".cursor/projects/{project}/agent-transcripts/{name}/{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(lines))
    return path


def store(home, *messages, name=TALK, **meta):
    path = home / f".cursor/chats/0a1b/{name}/store.db"
    path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.closing(apsw.Connection(str(path))) as db:
        db.execute("PRAGMA synchronous=OFF; PRAGMA journal_mode=MEMORY").fetchall()
        db.execute("CREATE TABLE blobs(id TEXT PRIMARY KEY, data BLOB)")
        db.execute("CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT)")
        told = json.dumps({"agentId": name, "createdAt": TIME, **meta})
        db.execute("INSERT INTO meta VALUES('0', ?)", (told.encode().hex(),))
        for number, message in enumerate(messages):
            data = message if isinstance(message, bytes) else json.dumps(message).encode()
            db.execute("INSERT INTO blobs VALUES(?, ?)", (f"{99 - number:064x}", data))
    return path


@pytest.fixture
def db(tmp_path):
    opened = open_store(tmp_path / "store" / "state.db", None)
    yield opened
    opened.close()


def shown(db, session=TALK):
    return [
        content
        for (content,) in db.execute(
            "SELECT m.content FROM message_placements AS p"
            " JOIN messages AS m ON m.id = p.message_id JOIN sessions AS s ON s.id = p.session_id"
            " WHERE s.native_id = ? AND m.state IN ('active', 'compacted') ORDER BY p.seq",
            (session,),
        )
    ]


@pytest.mark.parametrize("entry", expected.entries("cursor"), ids=expected.name)
def test_the_sample_holds_what_was_read_by_eye(entry):
    found = expected.readings(entry, cursor)
    expected.assert_entry(entry, expected.observe(found))


# The editor


def test_the_order_is_that_of_the_headers_alone(tmp_path):
    editor = Editor(tmp_path)
    editor.talk(said("a", "third"), said("b", "first", createdAt=TIME + 9), said("c", "second"),
                listed=["b", "c", "a"])  # fmt: skip
    messages = read(editor.path).messages
    assert [m.content for m in messages] == ["first", "second", "third"]
    assert [m.position for m in messages] == sorted(m.position for m in messages)


def test_bubbles_that_are_missing_null_or_broken_cost_themselves(tmp_path):
    editor = Editor(tmp_path)
    editor.talk(said("a", "here"), listed=["gone", "null", "bad", "list", "a"])
    editor.put(f"bubbleId:{TALK}:null", None)
    editor.put(f"bubbleId:{TALK}:bad", "{bad json")
    editor.put(f"bubbleId:{TALK}:list", [1])
    editor.put("composerData:null", None)
    editor.put("composerData:bad", b"\xff\xfe")
    reading = read(editor.path)
    assert reading.only().content == "here"
    assert reading.unknown == [
        "bubble that is listed and not there", "bubble that is listed and not there",
        "composerData without a value",
    ]  # fmt: skip
    assert [b.reason for b in reading.bad] == [
        "composerData: not JSON", "bubble: not JSON", "bubble: not an object"
    ]  # fmt: skip


@pytest.mark.parametrize("record", [None, "{bad json", {"composerId": TALK}], ids=str)
def test_bubbles_of_a_session_without_a_list_stand_in_the_order_of_their_times(tmp_path, record):
    editor = Editor(tmp_path)
    editor.put(f"composerData:{TALK}", record)
    for name, at in (("a", 2), ("b", 1), ("c", 3)):
        editor.put(f"bubbleId:{TALK}:{name}", said(name, name, createdAt=TIME + at))
    messages = read(editor.path).messages
    assert [m.content for m in messages] == ["b", "a", "c"]
    assert {m.state for m in messages} == {MessageState.ACTIVE}


def test_what_a_checkpoint_took_back_is_hidden_and_comes_back(tmp_path, db):
    editor = Editor(tmp_path)
    bubbles = [said("a", "one"), said("b", "two"), said("c", "three", 2)]
    editor.talk(*bubbles)
    assert imported(db, editor.path) == (3, 0)
    editor.talk(*bubbles, listed=["a"])
    assert imported(db, editor.path) == (0, 2)
    assert shown(db) == ["one"]
    editor.talk(*bubbles, said("d", "instead"), listed=["a", "d"])
    assert imported(db, editor.path)[0] == 1
    assert shown(db) == ["one", "instead"]
    editor.talk(*bubbles)
    imported(db, editor.path)
    assert shown(db) == ["one", "two", "three"]
    assert imported(db, editor.path) == (0, 0)


def test_what_the_program_deleted_stays_and_what_grew_is_one_message(tmp_path, db):
    editor = Editor(tmp_path)
    editor.talk(said("a", "ask"), said("b", "Look", 2))
    imported(db, editor.path)
    editor.talk(said("a", "ask"), said("b", "Look here", 2))
    assert imported(db, editor.path) == (0, 1)
    editor.run("DELETE FROM cursorDiskKV")
    assert imported(db, editor.path) == (0, 0)
    assert shown(db) == ["ask", "Look here"]


def test_a_bubble_carries_call_result_reasoning_pictures_and_time(tmp_path):
    editor = Editor(tmp_path)
    call = {"tool": 15, "toolCallId": "c1", "name": "read_file", "status": "error",
            "rawArgs": '{"f":1}', "params": "{}", "result": '{"error":"gone"}'}  # fmt: skip
    editor.talk(said("a", "", 2, toolFormerData=call, thinking={"text": "hm"}, images=[
        {"data": "AAAA", "mimeType": "image/png"}], createdAt="2026-08-05T03:07:23.000Z",
        modelInfo={"modelName": "composer-2"}, tokenCount={"inputTokens": 3}))  # fmt: skip
    message = read(editor.path).only()
    (told,) = message.tool_calls
    assert (told.id, told.name, told.arguments) == ("c1", "read_file", '{"f":1}')
    assert (told.status, told.result) == (ToolStatus.FAILED, '{"error":"gone"}')
    assert (message.role, message.reasoning, message.model) == (Role.ASSISTANT, "hm", "composer-2")
    assert (message.created_at_ms, message.time_quality) == (TIME, TimeQuality.EXACT)
    assert message.media_refs == ("image/png; size=3; at=a",)
    assert json.loads(message.usage) == {"inputTokens": 3}
    assert message.state == MessageState.ACTIVE


def test_bubbles_without_a_time_have_that_of_their_session():
    reading = read(OURS / "synthetic/User/globalStorage/state.vscdb")
    told = {m.content: (m.created_at_ms, m.time_quality) for m in reading.messages}
    assert told["inline answer"] == (1_700_000_000_000, TimeQuality.SESSION)
    assert told["Why is this stale?"] == (1_784_278_801_000, TimeQuality.EXACT)
    assert told["2023 chat panel"] == (1_690_000_000_000, TimeQuality.SESSION)


def test_a_session_is_told_by_its_record_and_its_messages(tmp_path):
    editor = Editor(tmp_path)
    editor.talk(said("a", "fix the\ncache", workspaceProjectDir="/w/api"), isArchived=True,
                subagentInfo={"parentComposerId": "p"}, lastUpdatedAt=TIME + 5)  # fmt: skip
    session = read(editor.path).sessions[TALK]
    assert (session.title, session.title_source) == ("fix the cache", TitleSource.DERIVED)
    assert (session.cwd, session.archived) == ("/w/api", True)
    assert (session.started_at_ms, session.updated_at_ms) == (TIME, TIME + 5)
    assert (session.kind, session.parent_native_id) == (SessionKind.SUBAGENT, "p")
    assert session.relation == Relation.SUBAGENT
    assert read(editor.path).only().origin == Origin.MODEL


def test_a_workspace_tells_where_its_sessions_were_held(tmp_path, db):
    everywhere = Editor(tmp_path)
    everywhere.talk(said("a", "hello"), name=TALK)
    workspace = Editor(tmp_path, "workspaceStorage/0a1b")
    heads = {"allComposers": [{"type": "head", "composerId": TALK, "name": "Named there"}]}
    workspace.put("composer.composerData", heads, "ItemTable")
    told = '{"folder": "file:///home/u/my%20app"}'
    (workspace.path.parent / "workspace.json").write_text(told)
    imported(db, everywhere.user)
    assert db.execute("SELECT title, cwd FROM sessions").fetchall() == [
        ("Named there", "/home/u/my app")
    ]
    assert shown(db) == ["hello"]


def test_a_list_of_sessions_takes_none_of_their_messages_back(tmp_path):
    editor = Editor(tmp_path)
    editor.talk(said("a", "hello"))
    listed = {"allComposers": [{"type": "head", "composerId": TALK}]}
    editor.put("composer.composerData", listed, "ItemTable")
    assert read(editor.path).only().state == MessageState.ACTIVE


@pytest.mark.parametrize(
    ("address", "place"),
    [
        ("file:///c%3A/w/x", "c:/w/x"),
        ("vscode-remote://ssh/w", "vscode-remote://ssh/w"),
        (7, None),
    ],
)
def test_a_folder_is_read_from_its_address(tmp_path, address, place):
    workspace = Editor(tmp_path, "workspaceStorage/0a1b")
    workspace.put("composer.composerData", {"allComposers": [{"composerId": TALK}]}, "ItemTable")
    (workspace.path.parent / "workspace.json").write_text(json.dumps({"folder": address}))
    assert read(workspace.path).sessions[TALK].cwd == place


def test_of_the_table_with_tokens_only_two_keys_are_read(tmp_path, db):
    editor = Editor(tmp_path)
    editor.talk(said("a", "hello"))
    tab = {"tabId": "t", "bubbles": [{"type": "user", "text": "old words"}]}
    panel = "workbench.panel.aichat.view.aichat.chatdata"
    editor.put(panel, {"tabs": [tab]}, "ItemTable")
    for key in ("cursorAuth/accessToken", "cursorAuth/refreshToken", f"{panel}2",
                "composer.composerData.x", "secret://x"):  # fmt: skip
        editor.put(key, json.dumps({"tabs": [{**tab, "chatTitle": TOKEN}], "token": TOKEN}),
                   "ItemTable")  # fmt: skip
    reading = read(editor.path)
    assert [m.content for m in reading.messages] == ["hello", "old words"]
    assert TOKEN not in repr(reading.records)
    imported(db, editor.path)
    db.wal_checkpoint()
    kept = b"".join(p.read_bytes() for p in Path(db.filename).parent.rglob("*") if p.is_file())
    assert TOKEN.encode() not in kept


def test_statements_ask_for_named_keys_alone(tmp_path, monkeypatch):
    """Whoever adds a query over all of `ItemTable` fails here."""
    editor = Editor(tmp_path)
    editor.put("cursorAuth/accessToken", TOKEN, "ItemTable")
    editor.talk(said("a", "hello"))
    asked = []
    true_snapshot = cursor.ide.snapshot

    @contextlib.contextmanager
    def traced(path):
        with true_snapshot(path) as copy:
            copy.exec_trace = lambda _, sql, bindings: asked.append((sql, bindings)) or True
            yield copy

    monkeypatch.setattr(cursor.ide, "snapshot", traced)
    read(editor.path)
    on_items = [(sql, b) for sql, b in asked if 'main."ItemTable"' in sql]
    assert {b for _, b in on_items} == {(cursor.ide.COMPOSERS,), (cursor.ide.PANEL,)}
    assert all(sql.endswith("WHERE key = ?") for sql, _ in on_items)


def test_a_database_of_vs_code_is_not_cursors(tmp_path):
    path = tmp_path / "User/globalStorage/state.vscdb"
    path.parent.mkdir(parents=True)
    with contextlib.closing(apsw.Connection(str(path))) as made:
        made.execute("CREATE TABLE ItemTable(key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")
        made.execute("INSERT INTO ItemTable VALUES('secret://x', 'y')")
    assert not cursor.recognises(path)
    assert not cursor.is_home(tmp_path / "User")
    assert list(cursor.files(tmp_path / "User")) == []
    made = apsw.Connection(str(path))
    made.execute("INSERT INTO ItemTable VALUES('composer.composerData', '{}')")
    made.close()
    assert cursor.recognises(path)


# The command line


def test_a_chat_is_read_in_the_order_of_its_rows(tmp_path):
    path = store(
        tmp_path,
        {"role": "system", "content": "You are"},
        {"role": "user", "content": [
            {"type": "text", "text": "<user_info>\nOS\n</user_info>"},
            {"type": "text", "text": "<user_query>\nlist it\n</user_query>"}]},
        b"\x0a\x20\x00\x01 graph",
        {"role": "assistant", "content": [
            {"type": "reasoning", "text": "hm"},
            {"type": "tool-call", "toolCallId": "c1", "toolName": "Shell", "args": {"c": "ls"}}]},
        {"role": "tool", "content": [
            {"type": "tool-result", "toolCallId": "c1", "toolName": "Shell", "result": "a.txt"}]},
        {"role": "assistant", "content": "One file."},
        {"neither": "message"},
        name=TALK, lastUsedModel="composer-2", mode="agent",
    )  # fmt: skip
    reading = read(path)
    assert [(m.role, m.content) for m in reading.messages] == [
        ("system", "You are"), ("user", "<user_info>\nOS\n</user_info>"), ("user", "list it"),
        ("assistant", ""), ("tool", "a.txt"), ("assistant", "One file."),
    ]  # fmt: skip
    system, added, prompt, call, result, _ = reading.messages
    assert (system.origin, added.origin, prompt.origin) == ("injected", "injected", "human")
    assert (call.reasoning, call.tool_calls[0].id, result.tool_call_id) == ("hm", "c1", "c1")
    assert (prompt.created_at_ms, prompt.time_quality) == (TIME, TimeQuality.SESSION)
    assert reading.unknown == ["blob without a role"]
    assert reading.bad == []
    session = reading.sessions[TALK]
    assert (session.title, session.model, session.started_at_ms) == ("list it", "composer-2", TIME)
    positions = [m.position for m in reading.messages]
    assert positions == sorted(set(positions))


def test_a_chats_title_and_times_may_stand_beside_it(tmp_path):
    path = store(tmp_path, {"role": "user", "content": "x"})
    beside = {"title": "Better", "updatedAtMs": TIME + 7}
    (path.parent / "meta.json").write_text(json.dumps(beside))
    session = read(path).sessions[TALK]
    assert (session.title, session.updated_at_ms) == ("Better", TIME + 7)


def test_equal_words_of_two_chats_are_two_messages(tmp_path, db):
    for name in (TALK, TALK.replace("aa", "bb")):
        store(tmp_path, {"role": "user", "content": "hello"}, name=name)
    assert imported(db, tmp_path / ".cursor") == (2, 0)
    assert imported(db, tmp_path / ".cursor") == (0, 0)


# Transcripts


def test_the_files_time_is_that_of_its_last_message_and_stays_with_it(tmp_path, db):
    path = transcript(tmp_path, line("user", "<user_query>\nq1\n</user_query>"), line("user", "q2"))
    os.utime(path, (TIME / 1000, TIME / 1000))
    imported(db, path)
    with path.open("a") as file:
        file.write(line("assistant", "a2"))
    os.utime(path, (TIME / 1000 + 60, TIME / 1000 + 60))
    assert imported(db, path) == (1, 0)
    rows = db.execute(
        "SELECT content, created_at_ms, time_quality FROM messages ORDER BY id"
    ).fetchall()
    assert rows == [
        ("q1", None, "none"), ("q2", TIME, "file_mtime"), ("a2", TIME + 60_000, "file_mtime"),
    ]  # fmt: skip
    assert imported(db, path) == (0, 0)


def test_results_answer_the_calls_in_their_order(tmp_path):
    calls = [{"type": "tool_use", "name": n, "input": {}} for n in ("A", "B", "C")]
    results = [{"type": "tool_result", "tool_use_id": t, "content": t} for t in ("t1", "t2")]
    path = transcript(
        tmp_path, line("assistant", *calls), line("user", *results), line("user", "x")
    )
    asked, first, second, prompt = read(path).messages
    assert [c.id for c in asked.tool_calls] == ["t1", "t2", None]
    assert (first.tool_call_id, first.tool_name, first.content) == ("t1", "A", "t1")
    assert (second.tool_call_id, second.tool_name) == ("t2", "B")
    assert (first.role, prompt.role) == (Role.TOOL, Role.USER)


def test_the_files_time_is_that_of_a_result_that_came_last(tmp_path):
    call = {"type": "tool_use", "name": "A", "input": {}}
    path = transcript(tmp_path, line("assistant", call), line("user", {"type": "tool_result"}))
    os.utime(path, (TIME / 1000, TIME / 1000))
    assert [m.created_at_ms for m in read(path).messages] == [None, TIME]


def test_a_picture_in_a_result_is_named_without_its_bytes(tmp_path):
    picture = {"type": "image", "data": "QUJDRA" * 900, "mimeType": "image/png"}
    content = [{"type": "text", "text": "see"}, picture, "plain", {"odd": 1}]
    path = transcript(tmp_path, line("user", {"type": "tool_result", "content": content}))
    message = read(path).only()
    assert message.content == 'see\n\nplain\n\n{"odd":1}'
    assert message.media_refs == (f"image/png; size={5400 * 3 // 4}; at={message.raw_ref}",)


def test_what_was_sent_along_with_a_prompt_is_no_words_of_the_person(tmp_path):
    sent = "<system_reminder>\nbe kind\n</system_reminder>\n<user_query>\nhi\n</user_query>"
    alone = "<attached_files>\na.py\n</attached_files>"
    path = transcript(tmp_path, line("user", sent), line("user", alone))
    beside, typed, attached = read(path).messages
    assert (typed.content, typed.origin) == ("hi", Origin.HUMAN)
    assert (beside.origin, attached.origin) == (Origin.INJECTED, Origin.INJECTED)
    assert "be kind" in beside.content
    assert "user_query" not in beside.content + typed.content
    assert read(path).sessions[TALK].title == "hi"


def test_unknown_blocks_and_lines_are_counted_and_their_text_is_kept(tmp_path):
    control = '{"type":"turn_ended","status":"success"}\n{"type":"new_thing"}\n'
    path = transcript(tmp_path, line("assistant", {"type": "panel", "text": "seen"}), control,
                      "{broken\n")  # fmt: skip
    reading = read(path)
    assert reading.only().content == "seen"
    assert reading.unknown == ["block panel", "line new_thing"]
    assert len(reading.bad) == 1


def test_a_file_without_a_message_is_no_session(tmp_path):
    path = transcript(tmp_path, '{"type":"turn_ended"}\n')
    assert read(path).sessions == {}


def test_a_subagent_hangs_on_the_session_in_whose_folder_it_lies(tmp_path):
    parent = transcript(tmp_path, line("user", "go"))
    child = parent.parent / "subagents" / f"{TALK.replace('aa', 'bb')}.jsonl"
    child.parent.mkdir()
    child.write_text(line("user", "List files"))
    session = read(child).sessions[child.stem]
    assert (session.kind, session.parent_native_id) == (SessionKind.SUBAGENT, TALK)
    assert session.evidence == "explicit"
    assert session.cwd == "home-u-my-app"
    assert read(child).only().origin == Origin.MODEL
    found = read(OURS / "agent-sessions/subagent/subagents/child.jsonl").sessions["child"]
    assert (found.parent_native_id, found.evidence) == ("parent", "heuristic")


def test_what_a_database_has_is_not_read_again_from_its_transcript(tmp_path, db):
    other = TALK.replace("aa", "bb")
    third = TALK.replace("aa", "cc")
    for name in (TALK, other, third):
        transcript(tmp_path, line("user", f"transcript of {name[-2:]}"), name=name)
    Editor(tmp_path).talk(said("a", "from the editor"))
    store(tmp_path, {"role": "user", "content": "from the store"}, name=other)
    store(tmp_path, name=third)  # without a message
    imported(db, tmp_path / ".config/Cursor/User", tmp_path / ".cursor")
    assert [shown(db, n) for n in (TALK, other, third)] == [
        ["from the editor"], ["from the store"], ["transcript of cc"]
    ]  # fmt: skip


def test_names_that_are_no_ids_of_the_world_belong_to_their_folder(tmp_path):
    for place in ("one", "two"):
        (tmp_path / place).mkdir()
        (tmp_path / place / "talk.jsonl").write_text(line("user", place))
    one, two = (cursor.identity(tmp_path / p / "talk.jsonl").instance for p in ("one", "two"))
    assert one != two
    assert cursor.identity(tmp_path / f"{TALK}.jsonl").instance == ""


# Whose files


def test_samples_are_recognised_and_nobody_elses_are():
    found = {
        p.relative_to(SAMPLES).parts[:2]
        for p in SAMPLES.rglob("*")
        if p.is_file() and p.suffix in cursor.SUFFIXES and cursor.recognises(p)
    }
    assert found == {("others", "cursor")}


def test_only_this_reader_recognises_its_samples():
    for path in OURS.rglob("*"):
        if path.is_file():
            assert detect.detect(path) is detect.READERS["cursor"], path


def test_the_programs_folders_are_found(tmp_path, monkeypatch):
    monkeypatch.setattr("core.sources.cursor.sys.platform", "linux")
    editor = Editor(tmp_path)
    editor.talk(said("a", "hello"))
    chat = store(tmp_path, {"role": "user", "content": "x"})
    talk = transcript(tmp_path, line("user", "x"), name=TALK.replace("aa", "bb"))
    user, agent = cursor.found({}, tmp_path)
    assert (user.name, user.path) == ("Cursor", str(editor.user))
    assert user.size_bytes == editor.path.stat().st_size
    assert (agent.name, agent.path) == ("Cursor agent", str(tmp_path / ".cursor"))
    units = make_plan([Path(user.path), Path(agent.path)], None, {}).units
    assert [u.path for u in units] == [editor.path, chat, talk]
    shutil.move(tmp_path / ".cursor", tmp_path / "moved")
    shutil.move(tmp_path / ".config", tmp_path / "xdg")
    assert list(cursor.found({}, tmp_path)) == []
    env = {"CURSOR_CONFIG_DIR": str(tmp_path / "moved"), "XDG_CONFIG_HOME": str(tmp_path / "xdg")}
    assert [Path(f.path).name for f in cursor.found(env, tmp_path)] == ["User", "moved"]


@pytest.mark.parametrize(
    ("platform", "place"),
    [("darwin", "Library/Application Support/Cursor/User"), ("win32", "roaming/Cursor/User")],
)
def test_the_editor_is_found_on_other_systems(tmp_path, monkeypatch, platform, place):
    monkeypatch.setattr("core.sources.cursor.sys.platform", platform)
    Editor(tmp_path).talk(said("a", "x"))
    (tmp_path / place).parent.mkdir(parents=True)
    shutil.move(tmp_path / ".config/Cursor/User", tmp_path / place)
    (found,) = cursor.found({"APPDATA": str(tmp_path / "roaming")}, tmp_path)
    assert (found.path, found.importable) == (str(tmp_path / place), True)


def test_what_holds_keys_is_never_opened(tmp_path):
    (tmp_path / "cli-config.json").write_text('{"authInfo": {"email": "x"}}')
    with pytest.raises(SourceError, match="credentials"):
        detect.detect(tmp_path / "cli-config.json")


def test_a_name_that_is_no_text_is_no_trouble(tmp_path, db):
    path = transcript(tmp_path, line("user", "odd name"), name=os.fsdecode(b"caf\xe9"))
    assert imported(db, path) == (1, 0)
    assert shown(db, "caf\ufffd") == ["odd name"]


# Whatever it is


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8) | st.sampled_from(["user", "text", "tool-call", "tool_result", "image"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(
        ["type", "text", "role", "content", "message", "id", "toolCallId", "toolName", "args",
         "result", "name", "bubbleId", "toolFormerData", "thinking", "status", "rawArgs", "images",
         "createdAt", "modelInfo", "modelName", "tokenCount", "bubbles", "tabId", "data"]),
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
            assert 0 <= record.position < 1 << 63
        elif isinstance(record, SessionRecord):
            texts = [record.native_id, record.title, record.cwd, record.model, record.metadata]
            assert all(t is None or isinstance(t, str) for t in texts)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(composer=JSON, bubble=JSON, inner=JSON)
def test_no_value_of_the_editor_stops_the_reader(tmp_path, composer, bubble, inner):
    path = tmp_path / "state.vscdb"
    path.unlink(missing_ok=True)
    listed = {"fullConversationHeadersOnly": [{"bubbleId": "b", "type": inner}, inner, bubble]}
    composers = {"allComposers": [composer, {"composerId": "q", "conversation": [bubble, inner]}]}
    with contextlib.closing(apsw.Connection(str(path))) as made:
        made.execute("PRAGMA synchronous=OFF; PRAGMA journal_mode=OFF").fetchall()
        made.execute("CREATE TABLE ItemTable(key TEXT UNIQUE, value BLOB)")
        made.execute("CREATE TABLE cursorDiskKV(key TEXT UNIQUE, value BLOB)")
        fields = dict.fromkeys(("name", "createdAt", "subagentInfo", "conversationMap"), inner)
        rows = [
            ("composerData:a", composer), ("composerData:b", {**fields, **listed}),
            ("bubbleId:b:b", bubble), ("bubbleId:b:o", {"toolFormerData": inner, "type": 2}),
        ]  # fmt: skip
        made.executemany(
            "INSERT INTO cursorDiskKV VALUES(?,?)", [(k, json.dumps(v)) for k, v in rows]
        )
        panel = {"tabs": [inner, {"tabId": "t", "chatTitle": inner, "bubbles": [bubble, inner]}]}
        for key, value in ((cursor.ide.COMPOSERS, composers), (cursor.ide.PANEL, panel)):
            made.execute("INSERT INTO ItemTable VALUES(?,?)", (key, json.dumps(value)))
    assert_sound(cursor.read(path))


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(content=JSON, role=JSON, meta=JSON)
def test_no_value_of_a_chat_or_transcript_stops_the_reader(tmp_path, content, role, meta):
    shutil.rmtree(tmp_path / ".cursor", ignore_errors=True)
    messages = [{"role": "user", "content": content}, {"role": role, "content": content}]
    assert_sound(cursor.read(store(tmp_path, *messages, lastUsedModel=meta, createdAt=meta)))
    lines = [{"role": "assistant", "message": {"content": content}}, {"role": role}]
    lines += [{"role": "user", "message": meta}, {"type": role}]
    path = transcript(tmp_path, *(json.dumps(each) + "\n" for each in lines), name="x")
    assert_sound(cursor.read(path))


def test_a_database_of_another_program_is_refused_in_words(tmp_path):
    path = tmp_path / "store.db"
    with contextlib.closing(apsw.Connection(str(path))) as made:
        made.execute("CREATE TABLE x(y)")
    with pytest.raises(SourceError, match="no chat of Cursor: there is no table blobs"):
        list(cursor.read(path))
