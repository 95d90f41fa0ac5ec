"""VS Code's chat sessions, against what was read from them by eye and the format page."""

import json
import shutil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.sources import detect, ingest, vscode_chat
from core.sources.ingest_plan import make_plan
from core.sources.records import (
    BadSourceRecord,
    MessageRecord,
    ReadTo,
    SessionRecord,
    UnknownRecord,
)
from core.store.connection import open_store
from core.types import FoundSource, MessageState, Origin, Role, TimeQuality, TitleSource, ToolStatus
from tests.unit.sources import expected
from tests.unit.sources.expected import SAMPLES

USER = SAMPLES / "others/vscode_chat/synthetic/User"
CHATS = USER / "workspaceStorage/0123abcd/chatSessions"


@pytest.mark.parametrize("entry", expected.entries("vscode_chat"), ids=expected.name)
def test_the_sample_holds_what_was_read_by_eye(entry):
    expected.assert_entry(entry, expected.observe(expected.readings(entry, vscode_chat)))


@pytest.mark.parametrize("path", sorted(CHATS.iterdir()), ids=lambda p: p.name)
def test_every_sample_is_known_for_what_it_is(path):
    assert detect.detect(path).KIND == "vscode-chat"


def test_nothing_else_among_the_samples_is_taken_for_one():
    for path in SAMPLES.rglob("*.json*"):
        if path.suffix in vscode_chat.SUFFIXES and path.name not in detect.files.CREDENTIAL_NAMES:
            assert vscode_chat.recognises(path) == (path.parent == CHATS), path


class Reading:
    """The records of one reading, by type."""

    def __init__(self, path):
        self.records = list(vscode_chat.read(path))
        self.messages = [r for r in self.records if isinstance(r, MessageRecord)]
        self.sessions = [r for r in self.records if isinstance(r, SessionRecord)]
        self.bad = [r for r in self.records if isinstance(r, BadSourceRecord)]
        self.unknown = [r.type for r in self.records if isinstance(r, UnknownRecord)]

    def shown(self):
        return [m.content for m in self.messages if m.state == MessageState.ACTIVE]

    def session(self):
        (session,) = self.sessions
        return session


def test_the_first_sample_word_for_word():
    found = Reading(CHATS / "v0000000-0000-4000-8000-000000000001.json")
    session = found.session()
    asked, answer = found.messages
    assert answer.content == "It runs Makefile then tests."
    (call,) = answer.tool_calls
    assert (call.id, call.name, call.arguments) == ("tc1", "run_in_terminal", '{"command":"make"}')
    assert call.status == ToolStatus.UNKNOWN
    assert (session.title, session.cwd, session.model) == (
        "Explain build", "/home/u/my proj", "gpt-5"
    )  # fmt: skip
    assert (asked.created_at_ms, answer.created_at_ms) == (1784278801000, 1784278801900)
    assert answer.usage == '{"promptTokens":100,"outputTokens":9}'


def request(text, *response, key="1", **more):
    return {"requestId": f"request_{key}", "timestamp": 1784278801000, "message": {"text": text},
            "response": list(response), **more}  # fmt: skip


def state(*requests, **more):
    return {"version": 3, "responderUsername": "GitHub Copilot", "requests": list(requests),
            "sessionId": "v1", **more}  # fmt: skip


@pytest.fixture
def read(tmp_path):
    def write_and_read(*requests, **more):
        path = tmp_path / "v1.json"
        path.write_text(json.dumps(state(*requests, **more)))
        return Reading(path)

    return write_and_read


@pytest.fixture
def replay(tmp_path):
    def write_and_read(*changes, begin=None):
        path = tmp_path / "v1.jsonl"
        first = {"kind": 0, "v": begin or state()}
        path.write_text("".join(json.dumps(each) + "\n" for each in (first, *changes)))
        return Reading(path)

    return write_and_read


# The log of changes


def test_a_push_cuts_the_list_first(replay):
    answers = ["k"], ["requests", 0, "response"]
    found = replay(
        {"kind": 2, "k": ["requests"], "v": [request("go", {"value": "a"}, {"value": "b"})]},
        {"kind": 2, "k": answers[1], "v": [{"value": "c"}], "i": 1},
        {"kind": 2, "k": answers[1], "v": [{"value": "d"}]},
        {"kind": 1, "k": [*answers[1], 2], "v": {"value": "D"}},
    )
    assert found.shown() == ["go", "acD"]


def test_what_stood_behind_the_cut_is_gone(replay):
    """A push that only overwrote would keep the end of the longer list."""
    found = replay(
        {"kind": 2, "k": ["requests", 0, "response"], "v": [{"value": "x"}], "i": 1},
        begin=state(request("go", *({"value": each} for each in "abcd"))),
    )
    assert found.shown() == ["go", "ax"]


def test_a_request_that_was_taken_back_is_kept_as_undone(replay):
    found = replay(
        {"kind": 2, "k": ["requests"], "v": [request("one", {"value": "1"}), request("two", {"value"
         : "2"}, key="2")]},
        {"kind": 2, "k": ["requests"], "v": [request("three", {"value": "3"}, key="3")], "i": 1},
    )  # fmt: skip
    assert found.shown() == ["one", "1", "three", "3"]
    assert [m.content for m in found.messages if m.state == MessageState.REWOUND] == ["two", "2"]
    assert [m.content for m in found.messages] == ["one", "1", "two", "2", "three", "3"]


def test_a_request_that_comes_back_was_not_taken_back(replay):
    found = replay(
        {"kind": 2, "k": ["requests"], "v": [request("one")]},
        {"kind": 2, "k": ["requests"], "v": [], "i": 0},
        {"kind": 0, "v": state(request("one", {"value": "1"}))},
        {"kind": 3, "k": ["customTitle"]},
    )
    assert (found.shown(), len(found.messages)) == (["one", "1"], 2)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"kind": 1, "k": ["requests", 7, "response"], "v": []}, "its path leads nowhere"),
        ({"kind": 1, "k": ["requests", "0"], "v": {}}, "its path leads nowhere"),
        ({"kind": 1, "k": ["requests", -1], "v": {}}, "its path leads nowhere"),
        ({"kind": 2, "k": ["requests"], "v": [], "i": 9}, "it cuts a list behind its end"),
        ({"kind": 2, "k": ["requests"], "v": [], "i": "0"}, "it cuts a list behind its end"),
        ({"kind": 2, "k": ["version"], "v": []}, "it appends to what is no list"),
        ({"kind": 9, "k": []}, "a change of a kind that is not known"),
        ({"kind": 1, "k": "requests", "v": []}, "a change without a path"),
    ],
)
def test_a_change_that_cannot_be_made_costs_itself(replay, change, reason):
    found = replay(change, {"kind": 1, "k": ["customTitle"], "v": "After"},
                   begin=state(request("go")))  # fmt: skip
    assert found.bad == [BadSourceRecord(2, reason)]
    assert (found.shown(), found.session().title) == (["go"], "After")


def test_a_torn_change_is_held(tmp_path, replay):
    replay({"kind": 1, "k": ["customTitle"], "v": "T"}, begin=state(request("go")))
    path = tmp_path / "v1.jsonl"
    size = path.stat().st_size
    path.write_text(path.read_text() + '{"kind":1,"k":["cus')
    found = Reading(path)
    assert (found.bad, found.records[-1]) == ([], ReadTo(size, size + 19))


# What an answer holds


def test_the_items_of_an_answer(read):
    rounds = [{"toolCalls": [{"id": "c2", "name": "read", "arguments": '{"path":"a.py"}'}]}]
    results = {"c2": {"content": [{"value": "print(1)"}, {"$mid": 22}]}}
    terminal = {"kind": "terminal", "commandLine": {"original": "make"},
                "terminalCommandState": {"exitCode": 2}}  # fmt: skip
    found = read(request(
        "go",
        {"kind": "thinking", "value": "Hmm."}, {"kind": "thinking", "value": ""},
        {"value": "First."},
        {"kind": "toolInvocationSerialized", "toolId": "run", "toolCallId": "c1",
         "isComplete": True, "toolSpecificData": terminal},
        {"kind": "toolInvocationSerialized", "toolId": "read", "toolCallId": "c2",
         "isComplete": True, "isConfirmed": {"type": 1}, "pastTenseMessage": {"value": "Read"}},
        {"kind": "toolInvocationSerialized", "toolId": "rm", "toolCallId": "c3",
         "isConfirmed": {"type": 0}, "invocationMessage": "Removing"},
        {"kind": "toolInvocationSerialized", "toolId": "old", "isConfirmed": False,
         "isComplete": True},
        {"kind": "toolInvocationSerialized", "toolId": "mcp", "toolCallId": "c4", "isComplete":
         True, "resultDetails": {"input": "{}", "isError": True, "output": [{"value": "no"}]}},
        {"value": "Second, in "},
        {"kind": "inlineReference", "inlineReference": {"uri": {"path": "/w/b.py"}, "range": {}}},
        {"value": " and "},
        {"kind": "inlineReference", "name": "run()", "inlineReference": {"fsPath": "/w/c.py"}},
        {"kind": "textEditGroup", "uri": {"fsPath": "/w/d.py"}, "done": True,
         "edits": [[{"text": "x = 1", "range": {}}], [{"text": "y = 2"}]]},
        {"kind": "undoStop"}, {"kind": "hologram"},
        result={"metadata": {"toolCallRounds": rounds, "toolCallResults": results}},
    ))  # fmt: skip
    answer = found.messages[1]
    assert answer.content == "First.\n\nSecond, in b.py and run()"
    assert answer.reasoning == "Hmm."
    assert [(c.name, c.arguments, c.status, c.result) for c in answer.tool_calls] == [
        ("run", '{"command":"make"}', ToolStatus.FAILED, ""),
        ("read", '{"path":"a.py"}', ToolStatus.SUCCEEDED, "print(1)"),
        ("rm", '{"message":"Removing"}', ToolStatus.FAILED, ""),
        ("old", "{}", ToolStatus.FAILED, ""),
        ("mcp", "{}", ToolStatus.FAILED, "no"),
        ("textEditGroup", '{"file":"/w/d.py","text":"x = 1\\ny = 2"}', ToolStatus.SUCCEEDED, ""),
    ]
    assert found.unknown == ["response hologram"]


def test_a_canceled_request_and_one_that_failed_say_so(read):
    failed = {"errorDetails": {"message": "Rate limit"}}
    second = request("two", {"value": "half"}, key="2", isCanceled=True, result=failed)
    found = read(request("one", isCanceled=True), second)
    assert [(m.role, m.content) for m in found.messages] == [
        (Role.USER, "one"), (Role.SYSTEM, "The request was canceled"),
        (Role.USER, "two"), (Role.ASSISTANT, "half"), (Role.SYSTEM, "Rate limit"),
    ]  # fmt: skip
    assert found.messages[1].origin == Origin.SYNTHETIC
    assert found.messages[3].time_quality == TimeQuality.SESSION


def test_what_was_attached_is_a_reference(read):
    files = [{"kind": "file", "value": {"uri": {"path": "/w/a.py"}}},
             {"kind": "image", "mimeType": "image/png", "value": {"0": 137, "1": 80}},
             {"kind": "workspace", "value": "a" * 9000}]  # fmt: skip
    found = read(request("look", variableData={"variables": files}))
    one, two = found.messages[0].media_refs
    assert one == "file; size=0; at=/w/a.py"
    assert two.startswith("image/png; size=2; at=0:")


def test_titles_ids_and_times(read):
    key = "0198f7a0-0000-7000-8000-000000000001"
    found = read(request("what is this", key=key), creationDate=1784278800000,
                 lastMessageDate=True)  # fmt: skip
    session = found.session()
    assert (session.title, session.title_source) == ("what is this", TitleSource.DERIVED)
    assert (session.started_at_ms, session.updated_at_ms) == (1784278800000, 1784278801000)
    assert found.messages[0].uid == f"request_{key}"
    named = read(request("what is this"), customTitle="Named")
    assert (named.session().title, named.session().title_source) == ("Named", TitleSource.MODEL)
    assert named.messages[0].uid == "v1:request_1"


def test_where_nothing_was_asked_there_is_no_session(read, replay):
    assert read().sessions == replay().sessions == []


# Places


@pytest.mark.parametrize(
    ("place", "env", "name"),
    [
        (".config/Code", {}, "VS Code"),
        (".config/Code - Insiders", {}, "VS Code Insiders"),
        (".config/VSCodium", {}, "VSCodium"),
        ("Library/Application Support/Code", {}, "VS Code"),
        ("AppData/Roaming/Code", {}, "VS Code"),
        ("elsewhere/Code", {"APPDATA": "elsewhere"}, "VS Code"),
        ("xdg/VSCodium", {"XDG_CONFIG_HOME": "xdg"}, "VSCodium"),
        (".vscode-server/data", {}, "VS Code Server"),
    ],
)
def test_the_places_are_found(tmp_path, place, env, name):
    root = tmp_path / place / "User"
    shutil.copytree(USER, root)
    empty = root / "globalStorage/emptyWindowChatSessions"
    empty.mkdir(parents=True)
    (empty / "v9.json").write_text(json.dumps(state(request("empty window"), sessionId="v9")))
    (root / "settings.json").write_text("{}")
    size = sum(p.stat().st_size for p in root.rglob("v*.json*"))
    env = {key: str(tmp_path / value) for key, value in env.items()}
    (found,) = vscode_chat.found(env, tmp_path)
    assert found == FoundSource("vscode-chat", str(root), f"{name} chat", 3, size, True)
    planned = {u.path.name for u in make_plan([root], None, {}).units}
    assert planned == {p.name for p in root.rglob("v*.json*")}


def test_a_session_in_both_forms_is_read_from_its_log(tmp_path):
    folder = tmp_path / "chatSessions"
    folder.mkdir()
    (folder / "v1.json").write_text(json.dumps(state(request("old"))))
    (folder / "v1.jsonl").write_text(json.dumps({"kind": 0, "v": state(request("new"))}) + "\n")
    assert [u.path.name for u in make_plan([folder], None, {}).units] == ["v1.jsonl"]


@pytest.mark.parametrize(
    ("told", "cwd", "metadata"),
    [
        ({"folder": "file:///home/u/a%20b"}, "/home/u/a b", None),
        ({"folder": "file:///c%3A/git/cc-plus"}, "C:\\git\\cc-plus", None),
        ({"workspace": "file:///w/all.code-workspace"}, "/w", None),
        ({"folder": "vscode-remote://ssh-remote%2Bbox/srv/x"}, "/srv/x",
         '{"remote":"ssh-remote+box"}'),
        ({"folder": 7}, None, None),
        ({"folder": "http://[broken"}, "http://[broken", None),
        ([], None, None),
    ],
)  # fmt: skip
def test_the_folder_is_told_beside(tmp_path, told, cwd, metadata):
    folder = tmp_path / "h/chatSessions"
    folder.mkdir(parents=True)
    (folder.parent / "workspace.json").write_text(json.dumps(told))
    (folder / "v1.json").write_text(json.dumps(state(request("go"))))
    session = Reading(folder / "v1.json").session()
    assert (session.cwd, session.metadata) == (cwd, metadata)


# In the store


def test_what_was_dropped_at_the_source_is_whole_in_the_store(tmp_path):
    path = tmp_path / "v1.jsonl"
    db = open_store(tmp_path / "store/state.db", None)

    def imported(*changes):
        path.write_text("".join(json.dumps(each) + "\n" for each in changes))
        job = ingest.Import([path])
        for _ in ingest.run_sync(db, job):
            pass
        sql = (
            "SELECT m.content, m.state FROM message_placements AS p"
            " JOIN messages AS m ON m.id = p.message_id ORDER BY p.seq"
        )
        return job.report(), db.execute(sql).fetchall()

    begin = {"kind": 0, "v": state(request("one", {"value": "hal"}))}
    grow = {"kind": 2, "k": ["requests", 0, "response"], "v": [{"value": "half"}], "i": 0}
    assert imported(begin)[1] == [("one", "active"), ("hal", "active")]
    rows = imported(begin, grow)[1]
    assert [row for row in rows if row[1] == "active"] == [("one", "active"), ("half", "active")]
    report, again = imported(begin, grow)
    assert (again, report.new, report.changed) == (rows, 0, 0)
    after = imported({"kind": 0, "v": state(request("other", key="2"))})[1]
    assert {text for text, _ in after} >= {"one", "half", "other"}
    db.close()


# Hostile values

odd = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3)
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["value", "kind", "uri", "path", "fsPath", "text", "edits", "metadata",
                         "toolCallRounds", "toolCalls", "id", "arguments", "toolCallResults",
                         "content", "timings", "totalElapsed", "errorDetails", "message",
                         "variables", "resultDetails", "output", "commandLine", "name"]),
        inner, max_size=4),
    max_leaves=12,
)  # fmt: skip
items = st.fixed_dictionaries(
    {"kind": st.sampled_from(["thinking", "toolInvocationSerialized", "inlineReference",
                              "textEditGroup", "warning"]) | odd},
    optional=dict.fromkeys(("value", "content", "toolId", "toolCallId", "isConfirmed", "isComplete",
                            "invocationMessage", "pastTenseMessage", "toolSpecificData",
                            "resultDetails", "inlineReference", "name", "uri", "edits", "done"),
                           odd),
)  # fmt: skip
requests = st.fixed_dictionaries(
    {"response": odd | st.lists(items, max_size=4), "message": odd},
    optional=dict.fromkeys(("requestId", "timestamp", "variableData", "responseId", "modelId",
                            "result", "isCanceled", "modelState"), odd),
)  # fmt: skip
paths = odd | st.lists(st.sampled_from(["requests", "response", "customTitle", 0, 1]), max_size=4)


def assert_texts_are_texts(found):
    for m in found.messages:
        calls = [t for c in m.tool_calls for t in (c.name, c.arguments, c.result)]
        assert all(isinstance(t, str) for t in (m.content, m.uid, *calls, *m.media_refs))
    for session in found.sessions:
        assert session.title is None or isinstance(session.title, str)


@given(st.lists(requests | odd, max_size=4), odd)
def test_no_value_anywhere_crashes_the_object(tmp_path_factory, listed, told):
    path = tmp_path_factory.mktemp("chat") / "x.json"
    keys = ("sessionId", "customTitle", "creationDate", "lastMessageDate")
    path.write_text(json.dumps({"requests": listed, **dict.fromkeys(keys, told)}))
    assert_texts_are_texts(Reading(path))


@given(
    st.lists(st.fixed_dictionaries({"kind": st.integers(0, 4) | odd, "k": paths},
                                   optional={"v": odd | requests | st.lists(requests, max_size=2),
                                             "i": st.integers(-1, 3) | odd}), max_size=8)
)  # fmt: skip
def test_no_change_anywhere_crashes_the_log(tmp_path_factory, changes):
    path = tmp_path_factory.mktemp("chat") / "x.jsonl"
    lines = [{"kind": 0, "v": state(request("go"))}, *changes]
    path.write_text("".join(json.dumps(each) + "\n" for each in lines))
    assert_texts_are_texts(Reading(path))
