"""Qwen Code's transcripts, against what was read from them by eye and the format page."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.sources import claude_code, detect, ingest, qwen_code
from core.sources.ingest_plan import make_plan
from core.sources.records import (
    BadSourceRecord,
    MessageRecord,
    ReadTo,
    SessionRecord,
    UnknownRecord,
)
from core.store.connection import open_store
from core.types import FoundSource, MessageState, Origin, Role, TitleSource, ToolStatus
from tests.unit.sources import expected
from tests.unit.sources.expected import SAMPLES

QWEN = SAMPLES / "others/qwen"


@pytest.mark.parametrize("entry", expected.entries("qwen"), ids=expected.name)
def test_the_sample_holds_what_was_read_by_eye(entry):
    expected.assert_entry(entry, expected.observe(expected.readings(entry, qwen_code)))


@pytest.mark.parametrize("path", sorted(QWEN.rglob("*.jsonl")), ids=lambda p: p.name)
def test_every_sample_is_known_for_what_it_is(path):
    assert detect.detect(path).KIND == "qwen-code"
    assert not claude_code.recognises(path)


def test_no_transcript_of_claude_code_is_taken_for_one():
    for path in (SAMPLES / "claude_code").rglob("*.jsonl"):
        assert not qwen_code.recognises(path), path


class Reading:
    """The records of one reading, by type."""

    def __init__(self, path):
        self.records = list(qwen_code.read(path))
        self.messages = [r for r in self.records if isinstance(r, MessageRecord)]
        self.sessions = [r for r in self.records if isinstance(r, SessionRecord)]
        self.bad = [r for r in self.records if isinstance(r, BadSourceRecord)]
        self.unknown = [r.type for r in self.records if isinstance(r, UnknownRecord)]

    def shown(self):
        return [m.content for m in self.messages if m.state == MessageState.ACTIVE]

    def in_state(self, state):
        return [m.content for m in self.messages if m.state == state]

    def session(self):
        (session,) = self.sessions
        return session


def test_a_redacted_id_names_nothing():
    """Ruling 3: all lines of the fixture say `[trimmed for fixture]`."""
    found = Reading(QWEN / "agent-sessions/system_telemetry.jsonl")
    roles = [m.role for m in found.messages]
    assert roles == [Role.ASSISTANT, Role.SYSTEM, Role.TOOL, Role.SYSTEM, Role.SYSTEM]
    assert len({m.uid for m in found.messages}) == 5


def line(kind, text=None, uuid=None, parent=None, **more):
    value = {"uuid": uuid, "parentUuid": parent, "sessionId": "s", "type": kind,
             "timestamp": "2026-08-17T12:00:00Z"}  # fmt: skip
    if text is not None:
        value["message"] = {"role": kind, "parts": [{"text": text}]}
    return value | more


@pytest.fixture
def read(tmp_path):
    def write_and_read(*lines):
        path = tmp_path / "s.jsonl"
        path.write_text("".join(json.dumps(each) + "\n" for each in lines))
        return Reading(path)

    return write_and_read


def test_a_prompt_typed_in_anothers_place_takes_it_back(read):
    found = read(
        line("user", "begin", "1"),
        line("assistant", "begun", "2", "1"),
        line("user", "wrong way", "3", "2"),
        line("assistant", "lost answer", "4", "3"),
        line("user", "right way", "5", "2"),
        line("assistant", "found", "6", "5"),
    )
    assert found.shown() == ["begin", "begun", "right way", "found"]
    assert found.in_state(MessageState.REWOUND) == ["wrong way", "lost answer"]


def test_a_rewind_names_its_target_whatever_it_hangs_on(read):
    for parent in (None, "2"):
        found = read(
            line("user", "begin", "1"),
            line("assistant", "lost", "2", "1"),
            line("system", None, "3", parent, subtype="rewind", systemPayload={"targetUuid": "1"}),
            line("user", "again", "4", "3"),
        )
        assert found.shown() == ["begin", "again"]
        assert found.in_state(MessageState.REWOUND) == ["lost"]


def test_two_answers_to_one_prompt_both_stay(read):
    found = read(line("user", "go", "1"), line("assistant", "one", "2", "1"),
                 line("assistant", "two", "3", "1"))  # fmt: skip
    assert found.shown() == ["go", "one", "two"]


def test_a_message_written_while_it_streams_is_one(read):
    """Ruling 3: the same id with other parts."""
    call = {"functionCall": {"id": "c", "name": "ls", "args": {"path": "/"}}}
    found = read(
        line("user", "go", "1"),
        line("assistant", "Let me", "2", "1"),
        line("assistant", "Let me see.", "2", "1"),
        line("assistant", None, "2", "1", message={"parts": [call, {"text": "why", "thought":
             True}]}, model="qwen3", usageMetadata={"promptTokenCount": 12}),
        line("tool_result", None, "3", "2", message={"parts": [{"functionResponse":
             {"id": "c", "name": "ls", "response": {"output": "bin"}}}]},
             toolCallResult={"callId": "c", "status": "error"}),
    )  # fmt: skip
    answer, result = found.messages[1:]
    assert (answer.content, answer.reasoning, answer.model) == ("Let me see.", "why", "qwen3")
    assert answer.usage == '{"promptTokenCount":12}'
    (asked,) = answer.tool_calls
    assert (asked.id, asked.arguments, asked.status) == ("c", '{"path":"/"}', ToolStatus.FAILED)
    assert (result.role, result.content, result.tool_call_id) == (Role.TOOL, "bin", "c")
    assert (result.tool_name, result.tool_status) == ("ls", ToolStatus.FAILED)


def test_an_id_with_other_words_names_another_message(read):
    found = read(line("user", "one", "1"), line("user", "two", "1"), line("user", "one", "1"))
    assert [m.content for m in found.messages] == ["one", "two", "one"]
    assert len({m.uid for m in found.messages}) == 2


def test_what_a_compression_replaced_is_compacted(read):
    found = read(
        line("user", "early", "1"),
        line("system", None, "2", "1", subtype="chat_compression", systemPayload={"info": {}}),
        line("user", "late", "3", "2"),
    )
    assert found.in_state(MessageState.COMPACTED) == ["early"]
    assert found.shown() == ["The conversation was compressed", "late"]


def test_titles(read):
    named = {"subtype": "custom_title", "systemPayload": {"customTitle": "By hand"}}
    auto = {"subtype": "custom_title", "systemPayload": {"customTitle": "Auto",
                                                         "titleSource": "auto"}}  # fmt: skip
    begin = (line("user", "/model", "0"), line("user", "what is this", "1", "0"))
    for more, title in (
        ((), ("what is this", TitleSource.DERIVED)),
        ((line("system", None, "2", "1", **named),), ("By hand", TitleSource.USER)),
        ((line("system", None, "2", "1", **auto),), ("Auto", TitleSource.MODEL)),
    ):
        session = read(*begin, *more).session()
        assert (session.title, session.title_source) == title


def test_what_hooks_said_is_kept_and_is_not_the_prompt(read):
    hook = "<qwen:user-prompt-submit-context>\nheron\n</qwen:user-prompt-submit-context>"
    parts = [{"text": "real"}, {"text": hook}]
    found = read(line("user", None, "1", message={"parts": parts}))
    assert found.shown() == ["real"]
    (kept,) = [m for m in found.messages if m.state == MessageState.HIDDEN]
    assert (kept.origin, "heron" in kept.content) == (Origin.INJECTED, True)


def test_what_is_not_known_is_counted_and_a_torn_line_is_held(tmp_path, read):
    read(line("user", "go", "1"), line("oracle"), line("system", subtype="brand_new"))
    path = tmp_path / "s.jsonl"
    whole = path.read_text()
    path.write_text(whole + '{"uuid":"9","ty')
    found = Reading(path)
    assert sorted(found.unknown) == ["system brand_new", "type oracle"]
    assert (found.bad, found.records[-1]) == ([], ReadTo(len(whole), len(whole) + 15))


# Places


def test_the_place_is_found(tmp_path):
    chats = tmp_path / ".qwen/projects/-w-a/chats"
    chats.mkdir(parents=True)
    path = chats / "0a.jsonl"
    path.write_text(json.dumps(line("user", "go", "1")) + "\n")
    (tmp_path / ".qwen/oauth_creds.json").write_text("{}")
    (tmp_path / ".qwen/projects/-w-a/other.jsonl").write_text("{}\n")
    root = tmp_path / ".qwen/projects"
    place = FoundSource("qwen-code", str(root), "Qwen Code", 1, path.stat().st_size, True)
    assert list(qwen_code.found({}, tmp_path)) == [place]
    assert list(qwen_code.found({"QWEN_HOME": str(tmp_path / ".qwen")}, chats)) == [place]
    assert list(qwen_code.found({}, chats)) == []
    assert [u.path for u in make_plan([tmp_path / ".qwen"], None, {}).units] == [path]
    assert Reading(path).session().cwd == "-w-a"


# In the store


def test_what_grew_or_shrank_at_the_source_is_whole_in_the_store(tmp_path, read):
    db = open_store(tmp_path / "store/state.db", None)

    def imported():
        job = ingest.Import([tmp_path / "s.jsonl"])
        for _ in ingest.run_sync(db, job):
            pass
        sql = (
            "SELECT m.content, m.state FROM message_placements AS p"
            " JOIN messages AS m ON m.id = p.message_id ORDER BY p.seq"
        )
        return job.report(), db.execute(sql).fetchall()

    begin = (line("user", "go", "1"), line("assistant", "Let", "2", "1"))
    read(*begin)
    assert imported()[1] == [("go", "active"), ("Let", "active")]
    read(*begin, line("assistant", "Let me see.", "2", "1"), line("user", "on", "3", "2"))
    report, rows = imported()
    assert [text for text, state in rows if state == "active"] == ["go", "Let me see.", "on"]
    read(*begin, line("assistant", "Let me see.", "2", "1"), line("user", "on", "3", "2"))
    report, again = imported()
    assert (again, report.new, report.changed) == (rows, 0, 0)
    read(line("user", "go", "1"))
    assert {text for text, _ in imported()[1]} >= {"go", "Let me see.", "on"}
    db.close()


# Hostile values

odd = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.sampled_from(["1", "2"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["parts", "text", "thought", "functionCall", "functionResponse", "id",
                         "name", "args", "response", "inlineData", "targetUuid", "customTitle",
                         "displayText", "rawCommand", "outputHistoryItems", "uiEvent", "status"]),
        inner, max_size=4),
    max_leaves=12,
)  # fmt: skip
lines = st.fixed_dictionaries(
    {"type": st.sampled_from(["user", "assistant", "tool_result", "system"]) | odd,
     "message": odd | st.fixed_dictionaries({"parts": odd})},
    optional=dict.fromkeys(("uuid", "parentUuid", "sessionId", "timestamp", "cwd", "gitBranch",
                            "version", "model", "usageMetadata", "toolCallResult",
                            "systemPayload"), odd)
    | {"subtype": st.sampled_from(["rewind", "custom_title", "notification", "ui_telemetry",
                                   "chat_compression", "slash_command"]) | odd},
)  # fmt: skip


@given(st.lists(lines, max_size=8))
def test_no_value_anywhere_crashes_the_reader(tmp_path_factory, values):
    path = tmp_path_factory.mktemp("log") / "x.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in values))
    found = Reading(path)
    assert not found.bad
    for m in found.messages:
        texts = (m.content, m.uid, *(t for c in m.tool_calls for t in (c.name, c.arguments)))
        assert all(isinstance(t, str) for t in (*texts, *m.media_refs))
