"""GitHub Copilot CLI: what its logs hold, and what is made of events that belong together."""

import json
import shutil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import SourceError
from core.sources import copilot_cli, detect
from core.sources.copilot_cli import workspace
from core.sources.following import Followed
from core.sources.records import BadSourceRecord, MessageRecord, SessionRecord, UnknownRecord
from core.types import MessageState, Origin, Relation, Role, SessionKind, TitleSource, ToolStatus
from tests.unit.sources import expected
from tests.unit.sources.test_following import Counted, ends_of_lines, in_pieces

COPILOT = expected.SAMPLES / "others" / "copilot"
HELD = [e for e in expected.entries("copilot") if "visualstudio" not in e["path"]]
U = "00000000-0000-4000-8000-{:012d}"


@pytest.mark.parametrize("entry", HELD, ids=expected.name)
def test_the_sample_holds_what_was_read_by_eye(entry):
    expected.assert_entry(entry, expected.observe(expected.readings(entry, copilot_cli)))


def event(kind, number, /, at=0, agent=None, **data):
    """One line of a log."""
    value = {
        "type": kind,
        "data": data,
        "id": U.format(number),
        "timestamp": f"2026-03-01T10:00:{at:02d}.000Z",
        "parentId": None,
    }
    if agent:
        value["agentId"] = agent
    return value


START = event("session.start", 1, sessionId="s-1", copilotVersion="1.0.77", context={"cwd": "/w"})


@pytest.fixture
def log(tmp_path):
    """Write a session's log and return its path."""

    def write(*events, name="s-1/events.jsonl", end="\n"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(json.dumps(e) for e in (START, *events)) + end)
        return path

    return write


def told(path):
    """The messages of a log."""
    return [r for r in copilot_cli.read(path) if isinstance(r, MessageRecord)]


def session(path, number=0):
    return [r for r in copilot_cli.read(path) if isinstance(r, SessionRecord)][number]


def test_a_call_asked_for_and_started_is_one_with_its_outcome(log):
    path = log(
        event("user.message", 2, content="go", transformedContent="<ctx>secret</ctx>go"),
        event("assistant.message", 3, content="", toolRequests=[
            {"toolCallId": "c1", "name": "bash", "arguments": '{"command":"ls"}'},
            {"toolCallId": "c2", "name": "view", "arguments": {"path": "a"}},
        ]),
        event("tool.execution_start", 4, toolCallId="c1", toolName="bash", arguments={}),
        event("tool.execution_complete", 5, toolCallId="c1", success=False,
              result={"content": "no such file"}, error={"message": "exit 2", "code": "failure"}),
    )  # fmt: skip
    user, asked, result = told(path)
    assert user.content == "go"
    assert [(c.id, c.name, c.arguments, c.status) for c in asked.tool_calls] == [
        ("c1", "bash", '{"command":"ls"}', ToolStatus.FAILED),
        ("c2", "view", '{"path":"a"}', ToolStatus.UNKNOWN),
    ]
    assert (result.role, result.tool_name, result.tool_status) == (
        Role.TOOL, "bash", ToolStatus.FAILED
    )  # fmt: skip
    assert result.content == "no such file\n\nexit 2"


def test_a_call_nobody_asked_for_belongs_to_the_message_before_it_or_stands_alone(log):
    path = log(
        event("tool.execution_start", 2, toolCallId="c0", toolName="bash", arguments={"a": 1}),
        event("assistant.message", 3, content="Ok"),
        event("tool.execution_start", 4, toolCallId="c1", toolName="view", arguments={}),
        event("tool.execution_complete", 5, toolCallId="c9", success=True, result="orphan"),
    )
    alone, ok, orphan = told(path)
    assert [c.id for c in alone.tool_calls] == ["c0"]
    assert [(c.id, c.name) for c in ok.tool_calls] == [("c1", "view")]
    assert (orphan.content, orphan.tool_call_id) == ("orphan", "c9")


def test_two_events_on_one_line_are_two(log, tmp_path):
    path = log(event("user.message", 2, content="first"))
    glued = json.dumps(event("user.message", 3, content="second"))
    path.write_text(path.read_text().rstrip("\n") + glued + "\n")
    assert [m.content for m in told(path)] == ["first", "second"]
    assert not [r for r in copilot_cli.read(path) if isinstance(r, BadSourceRecord)]


def test_a_subagent_is_a_session_of_its_own(log):
    path = log(
        event("user.message", 2, content="count files"),
        event("assistant.message", 3, content="", toolRequests=[
            {"toolCallId": "t1", "name": "task", "arguments": {}}]),
        event("subagent.started", 4, agent="ag", toolCallId="t1", agentName="explore"),
        event("assistant.message", 5, agent="ag", content="inside", parentToolCallId="t1"),
        event("assistant.message", 6, agent="ag", content="by agent id alone"),
        event("tool.execution_complete", 7, toolCallId="t1", success=True, result={"content": "3"}),
        event("assistant.message", 8, content="three"),
    )  # fmt: skip
    main, sub = session(path), session(path, 1)
    assert (sub.native_id, sub.kind, sub.parent_native_id, sub.relation, sub.evidence) == (
        "s-1#t1", SessionKind.SUBAGENT, "s-1", Relation.SUBAGENT, "explicit"
    )  # fmt: skip
    assert (sub.title, main.title) == ("explore", "count files")
    by_session = [(m.session, m.content) for m in told(path) if m.role == Role.ASSISTANT]
    assert by_session == [
        ("s-1", ""), ("s-1#t1", "inside"), ("s-1#t1", "by agent id alone"), ("s-1", "three"),
    ]  # fmt: skip


def test_what_was_summed_up_stays_and_what_was_rewound_is_marked(log):
    path = log(
        event("user.message", 2, content="old"),
        event("session.compaction_complete", 3, success=True, summaryContent="so far: old"),
        event("user.message", 4, content="taken back"),
        event("assistant.message", 5, content="never mind"),
        event("session.snapshot_rewind", 6, upToEventId=U.format(4), eventsRemoved=2),
        event("user.message", 7, content="kept"),
    )
    assert [(m.content, m.state, m.origin) for m in told(path)] == [
        ("old", MessageState.COMPACTED, Origin.HUMAN),
        ("so far: old", MessageState.ACTIVE, Origin.SYNTHETIC),
        ("taken back", MessageState.REWOUND, Origin.HUMAN),
        ("never mind", MessageState.REWOUND, Origin.MODEL),
        ("kept", MessageState.ACTIVE, Origin.HUMAN),
    ]


def test_thoughts_go_with_the_message_they_precede_once(log):
    path = log(
        event("assistant.reasoning", 2, reasoningId="r", content="I think"),
        event("assistant.message", 3, content="a", reasoningText="I think"),
        event("assistant.reasoning", 4, content="more"),
        event("assistant.message", 5, content="b"),
        event("assistant.reasoning", 6, content="last"),
        event("assistant.turn_end", 7),
        event("assistant.reasoning", 8, content="a message may follow this one"),
    )
    assert [(m.content, m.reasoning) for m in told(path)] == [
        ("a", "I think"), ("b", "more"), ("", "last")
    ]  # fmt: skip


def test_tokens_are_counted_once_per_api_message(log):
    path = log(
        event("assistant.message", 2, content="a", apiCallId="x", outputTokens=12),
        event("assistant.message", 3, content="b", apiCallId="x", outputTokens=12),
        event("session.shutdown", 4, modelMetrics={"m": {"requests": 2}}),
    )
    assert [m.usage for m in told(path)] == ['{"output_tokens":12}', None]
    assert json.loads(session(path).metadata)["modelMetrics"] == {"m": {"requests": 2}}


def test_what_no_person_typed_is_no_title(log):
    path = log(
        event("system.notification", 2, content="agent done", kind={"type": "agent_completed"}),
        event("user.message", 3, content="skill text", source="skill-pdf"),
        event("user.message", 4, content="typed"),
        event("session.error", 5, message="rate limited"),
    )
    assert [(m.role, m.origin) for m in told(path)] == [
        (Role.SYSTEM, Origin.INJECTED), (Role.USER, Origin.INJECTED),
        (Role.USER, Origin.HUMAN), (Role.SYSTEM, Origin.SYNTHETIC),
    ]  # fmt: skip
    assert (session(path).title, session(path).title_source) == ("typed", TitleSource.DERIVED)


def test_unknown_types_are_counted(log):
    path = log(event("session.from_the_future", 2), event("user.message", 3, content="x"))
    unknown = [r.type for r in copilot_cli.read(path) if isinstance(r, UnknownRecord)]
    assert unknown == ["session.from_the_future"]


def test_an_id_that_repeats_keeps_both_texts_and_no_copy(log):
    first = event("user.message", 2, content="one")
    path = log(first, first, event("user.message", 2, content="another"))
    messages = told(path)
    assert [m.content for m in messages] == ["one", "another"]
    assert len({m.uid for m in messages}) == 2


def test_the_workspace_file_names_the_session(log):
    path = log(event("user.message", 2, content="hello"))
    (path.parent / workspace.NAME).write_text(
        "id: s-1\ncwd: /elsewhere\nbranch: 'it''s'\nname: \"Fix the \\u0041\"\n"
        "user_named: true\ncreated_at: 2026-03-01T10:00:00.000Z\n"
    )
    made = session(path)
    assert (made.title, made.title_source) == ("Fix the A", TitleSource.USER)
    assert (made.cwd, made.git_branch) == ("/w", "it's")
    assert copilot_cli.stat_paths(path) == (path, path.parent / workspace.NAME)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("name: plain words # a remark", "plain words"),
        ("name: |-\n  two\n  lines\nid: x", "two\nlines"),
        ("name: >\n  folded\n  lines\n", "folded lines"),
        ("name: null", None),
        ("name: *anchor", None),
        ("  name: nested", None),
        ("name:glued", None),
        ("name: 'open", None),
        ('name: "open', None),
    ],
)
def test_only_flat_lines_of_the_workspace_file_are_read(text, value):
    assert workspace.parsed(text).get("name") == value


def test_the_home_yields_logs_and_nothing_a_session_keeps_beside(tmp_path, log):
    kept = log(name=".copilot/session-state/s-1/events.jsonl")
    flat = log(name=".copilot/session-state/old.jsonl")
    log(name=".copilot/session-state/s-1/files/events.jsonl")
    log(name=".copilot/session-state/s-2/other.jsonl")
    log(name=".copilot/logs/x.jsonl")
    home = tmp_path / ".copilot"
    assert copilot_cli.is_home(home)
    assert sorted(copilot_cli.files(home)) == [flat, kept]
    assert copilot_cli.is_home(home / "session-state")
    assert sorted(copilot_cli.files(home / "session-state")) == [flat, kept]
    (place,) = copilot_cli.found({}, tmp_path)
    assert (place.path, place.sessions) == (str(home), 3)
    assert list(copilot_cli.found({"COPILOT_HOME": str(tmp_path / "none")}, tmp_path)) == []


def test_only_this_reader_knows_the_logs(tmp_path):
    for path in sorted(COPILOT.rglob("*.jsonl")):
        knows = [kind for kind, r in detect.READERS.items() if r.recognises(path)]
        assert knows == ([] if "visualstudio" in path.parts else ["copilot-cli"]), path
        shutil.copy(path, tmp_path / "x.jsonl")
    others = [p for p in expected.SAMPLES.rglob("*") if p.is_file() and "copilot" not in p.parts]
    assert [p for p in others if copilot_cli.recognises(p)] == []


PIECES = [
    event("user.message", 2, content="go"),
    event("assistant.message", 3, content="", toolRequests=[
        {"toolCallId": "c1", "name": "bash", "arguments": {}},
        {"toolCallId": "c2", "name": "task", "arguments": {}}]),
    event("tool.execution_start", 4, toolCallId="c1", toolName="bash"),
    event("tool.execution_complete", 5, toolCallId="c1", success=True, result={"content": "x"}),
    event("subagent.started", 6, agent="ag", toolCallId="c2", agentName="explore"),
    event("assistant.message", 7, agent="ag", content="inside"),
    event("tool.execution_complete", 8, toolCallId="c2", success=False, error={"message": "no"}),
    event("assistant.reasoning", 9, content="hm"),
    event("assistant.message", 10, content="done", apiCallId="a", outputTokens=3),
    event("tool.execution_start", 11, toolCallId="c3", toolName="view", arguments={"a": 1}),
    event("session.title_changed", 12, title="Named"),
    event("session.compaction_complete", 13, summaryContent="so far"),
    event("user.message", 14, content="back"),
    event("session.snapshot_rewind", 15, upToEventId=U.format(14)),
    event("user.message", 16, content="on"),
]  # fmt: skip


def test_a_log_read_as_it_grows_ends_as_one_read_whole(tmp_path, log, monkeypatch):
    path = log(*PIECES, name="made/s-1/events.jsonl")
    text = path.read_bytes()
    counted = Counted(monkeypatch, copilot_cli)
    for number, cuts in enumerate(([], ends_of_lines(text), ends_of_lines(text)[4::3])):
        pieces, whole = in_pieces(path, tmp_path / str(number), cuts, Followed())
        assert pieces == whole
    assert counted.alone > counted.whole > 0


@pytest.mark.parametrize(
    "sample", sorted(COPILOT.rglob("events.jsonl")), ids=lambda p: p.parent.name
)
def test_a_sample_read_as_it_grows_ends_as_one_read_whole(tmp_path, sample):
    cuts = ends_of_lines(sample.read_bytes())
    pieces, whole = in_pieces(sample, tmp_path / "x", cuts, Followed())
    assert pieces == whole


NAMES = ("toolCallId", "name", "arguments", "content", "detailedContent", "path", "message", "type")
SCALAR = st.sampled_from(
    [None, True, 0, -7, 1.5, 1e300, 2**70, "", " ", "text", "c1", "\ud800", "\0"]
)
ANY = (
    SCALAR
    | st.lists(SCALAR, max_size=2)
    | st.lists(st.dictionaries(st.sampled_from(NAMES), SCALAR, max_size=3), max_size=2)
    | st.dictionaries(st.sampled_from(NAMES), SCALAR, max_size=3)
)
FIELDS = (
    *("content", "toolRequests", "toolCallId", "result", "error", "success", "attachments"),
    *("reasoningText", "outputTokens", "source", "sessionId", "context", "summaryContent"),
    *("upToEventId", "parentToolCallId", "model", "arguments", "toolName", "message"),
)


@settings(max_examples=40)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(sorted(copilot_cli.kinds.KNOWN)),
            st.dictionaries(st.sampled_from(FIELDS), ANY, max_size=6),
            ANY,
            ANY,
        ),
        max_size=6,
    )
)
def test_whatever_the_fields_hold_every_text_is_text(tmp_path_factory, events):
    path = tmp_path_factory.getbasetemp() / "events.jsonl"
    lines = [
        {"type": kind, "data": data, "id": number, "timestamp": at, "agentId": at}
        for kind, data, number, at in events
    ]
    path.write_text("\n".join(json.dumps(line) for line in lines))
    try:
        records = list(copilot_cli.read(path))
    except SourceError:
        return
    for record in records:
        if isinstance(record, MessageRecord):
            texts = (record.content, record.uid, record.session, record.reasoning or "")
            assert all(isinstance(each, str) for each in texts)
            assert all(isinstance(c.name + c.arguments, str) for c in record.tool_calls)
