"""Gemini CLI's recordings, against what was read from them by eye and the format page."""

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import SourceError
from core.sources import detect, gemini_cli, ingest
from core.sources.ingest_plan import make_plan
from core.sources.records import (
    BadSourceRecord,
    MessageRecord,
    ReadTo,
    SessionRecord,
    UnknownRecord,
)
from core.store.connection import open_store
from core.types import (
    FoundSource,
    MessageState,
    Origin,
    Relation,
    Role,
    SessionKind,
    TitleSource,
    ToolStatus,
)
from tests.unit.sources import expected
from tests.unit.sources.expected import SAMPLES

GEMINI = SAMPLES / "others/gemini"


@pytest.mark.parametrize("entry", expected.entries("gemini"), ids=expected.name)
def test_the_sample_holds_what_was_read_by_eye(entry):
    expected.assert_entry(entry, expected.observe(expected.readings(entry, gemini_cli)))


@pytest.mark.parametrize("path", sorted(GEMINI.rglob("*.json*")), ids=lambda p: p.name)
def test_every_sample_is_known_for_what_it_is(path):
    assert detect.detect(path).KIND == "gemini-cli"


class Reading:
    """The records of one reading, by type; of a session the last record counts."""

    def __init__(self, path):
        self.records = list(gemini_cli.read(path))
        self.messages = [r for r in self.records if isinstance(r, MessageRecord)]
        self.sessions = {r.native_id: r for r in self.records if isinstance(r, SessionRecord)}
        self.bad = [r for r in self.records if isinstance(r, BadSourceRecord)]
        self.unknown = [r.type for r in self.records if isinstance(r, UnknownRecord)]

    def shown(self):
        return [(m.role, m.content) for m in self.messages if m.state == MessageState.ACTIVE]

    def in_state(self, state):
        return [m.content for m in self.messages if m.state == state]

    def session(self):
        (session,) = self.sessions.values()
        return session


def write(path, *lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


HEAD = {"sessionId": "s1", "projectHash": "p", "startTime": "2026-07-13T15:53:00Z"}
ASK = {"id": "1", "type": "user", "content": "ask tern"}
BAD = {"id": "2", "type": "gemini", "content": "bad gull"}
GOOD = {"id": "3", "type": "gemini", "content": [{"text": "good petrel"}]}


@pytest.fixture
def log(tmp_path):
    return lambda *lines: Reading(write(tmp_path / "session-x.jsonl", HEAD, *lines))


# The replay log


def test_what_was_rewound_is_kept_as_undone(log):
    """Public case I20."""
    patch = {"$set": {"summary": "Tern talk", "lastUpdated": "2026-07-13T16:10:00Z"}}
    found = log(ASK, BAD, {"$rewindTo": "2"}, GOOD, patch)
    assert found.shown() == [(Role.USER, "ask tern"), (Role.ASSISTANT, "good petrel")]
    assert found.in_state(MessageState.REWOUND) == ["bad gull"]
    session = found.session()
    assert (session.title, session.title_source) == ("Tern talk", TitleSource.MODEL)
    assert session.updated_at_ms == 1_783_959_000_000  # date -ud 2026-07-13T16:10:00Z +%s


def test_a_rewind_to_an_unknown_id_takes_everything_back(log):
    found = log(ASK, BAD, {"$rewindTo": "9"}, GOOD)
    assert found.shown() == [(Role.ASSISTANT, "good petrel")]
    assert found.in_state(MessageState.REWOUND) == ["ask tern", "bad gull"]


def test_a_message_that_grows_stays_where_it_began(log):
    later = {"id": "2", "type": "gemini", "content": "good gull"}
    found = log(ASK, BAD, {"id": "4", "type": "user", "content": "and then?"}, later)
    assert [text for _, text in found.shown()] == ["ask tern", "good gull", "and then?"]
    assert [m.position for m in found.messages] == [1, 2, 3]


def test_a_list_of_messages_replaces_all(log):
    found = log(ASK, BAD, {"$set": {"messages": [ASK, GOOD]}}, {"id": "1", "type": "user",
                "content": "ask the tern"})  # fmt: skip
    assert [text for _, text in found.shown()] == ["ask the tern", "good petrel"]
    assert found.in_state(MessageState.REWOUND) == ["bad gull"]


def test_an_id_that_comes_again_after_a_rewind_is_another_message(log):
    found = log(ASK, BAD, {"$rewindTo": "2"}, {"id": "2", "type": "gemini", "content": "new"})
    assert [(m.content, m.state) for m in found.messages[1:]] == [
        ("bad gull", MessageState.REWOUND),
        ("new", MessageState.ACTIVE),
    ]
    assert len({m.uid for m in found.messages}) == 3


def test_damage_costs_itself(tmp_path):
    path = write(tmp_path / "session-x.jsonl", HEAD, ASK)
    path.write_text(path.read_text() + "{broken\n" + json.dumps(GOOD) + "\n" + '{"id":"5","ty')
    found = Reading(path)
    assert [text for _, text in found.shown()] == ["ask tern", "good petrel"]
    assert len(found.bad) == 1
    assert found.records[-1] == ReadTo(path.stat().st_size - 13, path.stat().st_size)


def test_what_is_not_known_is_counted(log):
    found = log({"id": "1", "type": "oracle", "content": "x"}, {"odd": 1}, {"type": "pulse"})
    assert sorted(found.unknown) == ["type oracle", "type pulse", "without a type"]
    assert found.messages == []


# Messages


def test_a_call_carries_what_came_of_it(log):
    calls = [
        {"id": "c1", "name": "run", "args": {"command": "ls"}, "status": "success",
         "result": [{"functionResponse": {"id": "c1", "response": {"output": "a\nb"}}}]},
        {"id": "c2", "name": "run", "status": "error",
         "result": [{"functionResponse": {"id": "c2", "response": {"error": "denied"}}}]},
        {"id": "c3", "name": "edit", "status": "cancelled", "resultDisplay": "- x\n+ y"},
        {"id": "c4", "name": "run", "status": "executing"},
        {"name": "read", "result": [{"functionResponse": {"response": {"a": 1, "b": 2}}}]},
    ]  # fmt: skip
    found = log({"id": "2", "type": "gemini", "content": "", "toolCalls": calls})
    (message,) = found.messages
    assert [(c.id, c.name, c.arguments, c.status, c.result) for c in message.tool_calls] == [
        ("c1", "run", '{"command":"ls"}', ToolStatus.SUCCEEDED, "a\nb"),
        ("c2", "run", "{}", ToolStatus.FAILED, "denied"),
        ("c3", "edit", "{}", ToolStatus.FAILED, "- x\n+ y"),
        ("c4", "run", "{}", ToolStatus.UNKNOWN, ""),
        (None, "read", "{}", ToolStatus.SUCCEEDED, '{"a":1,"b":2}'),
    ]
    assert message.state == MessageState.ACTIVE


def test_thoughts_are_reasoning_and_tokens_are_usage(log):
    found = log({"id": "2", "type": "gemini", "content": "Yes.", "model": "gemini-3",
                 "thoughts": [{"subject": "Why", "description": "Because."}, {"description": "So"}],
                 "tokens": {"input": 10, "output": 5, "cached": 2}})  # fmt: skip
    (message,) = found.messages
    assert message.reasoning == "Why\nBecause.\n\nSo"
    assert message.usage == '{"input":10,"output":5,"cached":2}'
    assert (message.model, found.session().model) == ("gemini-3", "gemini-3")


def test_what_the_program_says_is_an_event(log):
    kinds = ("info", "error", "warning")
    found = log(*({"id": k, "type": k, "content": f"an {k}"} for k in kinds))
    assert [(m.role, m.origin, m.content) for m in found.messages] == [
        (Role.SYSTEM, Origin.SYNTHETIC, f"an {k}") for k in kinds
    ]


def test_a_prompt_is_what_was_typed_and_what_was_sent_is_kept(log):
    sent = [{"text": "explain @a.py"}, {"text": "\n--- a.py ---\nsecret kestrel"}]
    found = log({"id": "1", "type": "user", "content": sent, "displayContent": "explain @a.py"})
    assert found.shown() == [(Role.USER, "explain @a.py")]
    (kept,) = [m for m in found.messages if m.state == MessageState.HIDDEN]
    assert (kept.origin, "secret kestrel" in kept.content) == (Origin.INJECTED, True)


def test_context_is_no_title_and_a_picture_is_a_reference(log):
    found = log(
        {"id": "0", "type": "user", "content": "<session_context>\nToday is Friday"},
        {"id": "1", "type": "user", "content": "/model"},
        {"id": "2", "type": "user", "content": [{"text": "what is this"},
         {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]},
    )  # fmt: skip
    assert found.messages[0].origin == Origin.INJECTED
    assert found.session().title == "what is this"
    (media,) = found.messages[2].media_refs
    assert media.startswith("image/png; size=3; at=")


# Documents


def test_a_saved_chat_is_a_conversation(tmp_path):
    contents = [{"role": "user", "parts": [{"text": "keep this"}]},
                {"role": "model", "parts": [{"functionCall": {"name": "ls", "args": {}}}]},
                {"role": "user", "parts": [{"functionResponse": {"name": "ls", "response":
                                            {"output": "file kite"}}}]},
                {"role": "model", "parts": [{"text": "kept"}]}]  # fmt: skip
    for name, value in (("checkpoint-a.json", contents), ("checkpoint-b.json",
                                                          {"history": contents})):  # fmt: skip
        path = tmp_path / "proj" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(value))
        found = Reading(path)
        assert [(m.role, m.content) for m in found.messages] == [
            (Role.USER, "keep this"), (Role.ASSISTANT, ""), (Role.TOOL, "file kite"),
            (Role.ASSISTANT, "kept"),
        ]  # fmt: skip
        assert found.session().native_id == f"proj/{path.stem}"
        assert gemini_cli.recognises(path)


def test_the_list_of_prompts_is_read_where_nothing_else_was_recorded(tmp_path):
    said = (("a", 0), ("b", 0), ("a", 1))
    prompts = [{"sessionId": s, "messageId": n, "type": "user", "message": f"{s} says {n}",
                "timestamp": "2025-07-01T10:00:00.000Z"} for s, n in said]  # fmt: skip
    path = tmp_path / "h" / "logs.json"
    path.parent.mkdir()
    path.write_text(json.dumps(prompts))
    found = Reading(path)
    assert {s.title for s in found.sessions.values()} == {"a says 0", "b says 0"}
    assert [m.content for m in found.messages] == ["a says 0", "a says 1", "b says 0"]
    (path.parent / "chats").mkdir()
    assert Reading(path).messages == []


# Places


@pytest.fixture
def program(tmp_path):
    """A person's folder with two projects of the program."""
    chats = tmp_path / ".gemini/tmp/tern/chats"
    write(chats / "session-1-s1.jsonl", HEAD, ASK, GOOD)
    old = {**HEAD, "messages": [ASK]}
    (chats / "session-0-s1.json").write_text(json.dumps(old))
    (chats / "session-9-s9.json").write_text(json.dumps({**old, "sessionId": "s9"}))
    (chats / "session-1-s1.jsonl.tmp-77").write_text("{")
    (chats / "session-2.tmp-78.jsonl").write_text("{")
    agent = {**HEAD, "sessionId": "a1", "kind": "subagent"}
    write(chats / "s1" / "a1.jsonl", agent, {"id": "7", "type": "user", "content": "go look"})
    (tmp_path / ".gemini/projects.json").write_text('{"projects": {"/w/tern": "tern"}}')
    (tmp_path / ".gemini/oauth_creds.json").write_text('{"access_token": "x"}')
    (tmp_path / ".gemini/settings.json").write_text("{}")
    return tmp_path


def test_a_session_in_both_formats_is_read_from_its_log(program):
    """Public case I20, and files that are being written are left alone."""
    for place in (program / ".gemini", program / ".gemini/tmp", program):
        plan = make_plan([place], None, {})
        assert sorted(u.path.name for u in plan.units) == [
            "a1.jsonl", "session-1-s1.jsonl", "session-9-s9.json"
        ]  # fmt: skip


def test_a_file_that_is_being_written_is_nobodys(tmp_path):
    for name in ("session-x.tmp-78.jsonl", "session-x.jsonl.tmp-78"):
        assert detect.detect(write(tmp_path / name, HEAD, ASK)) is None
    assert detect.detect(write(tmp_path / "session-x.jsonl", HEAD, ASK)) is not None


def test_a_subagent_hangs_on_its_session(program):
    found = Reading(program / ".gemini/tmp/tern/chats/s1/a1.jsonl")
    session = found.session()
    assert (session.kind, session.parent_native_id) == (SessionKind.SUBAGENT, "s1")
    assert (session.relation, session.evidence) == (Relation.SUBAGENT, "explicit")
    assert (found.messages[0].origin, session.title) == (Origin.MODEL, "go look")


def test_the_project_is_told_by_the_list_the_marker_or_the_hash(program):
    chats = program / ".gemini/tmp/tern/chats"
    assert Reading(chats / "session-1-s1.jsonl").session().cwd == "/w/tern"
    (chats.parent / ".project_root").write_text("/marked/place\n")
    assert Reading(chats / "session-1-s1.jsonl").session().cwd == "/marked/place"
    hashed = hashlib.sha256(b"/home/u/my proj").hexdigest()
    call = {"name": "read_file", "args": {"file_path": "/home/u/my proj/src/a.py"}}
    lines = [{**HEAD, "projectHash": hashed}, ASK, {"id": "2", "type": "gemini", "content": "",
             "toolCalls": [call]}]  # fmt: skip
    path = write(program / ".gemini/tmp" / hashed / "chats/session-3.jsonl", *lines)
    assert Reading(path).session().cwd == "/home/u/my proj"
    (program / "unknown").mkdir()
    other = write(program / ".gemini/tmp" / ("0" * 64) / "chats/session-4.jsonl", HEAD, ASK)
    assert Reading(other).session().cwd is None


def test_the_place_is_found_and_moved_by_its_variable(program, tmp_path):
    root = program / ".gemini"
    files = [p for p in root.rglob("session-*.json*") if ".tmp-" not in p.name]
    files.append(root / "tmp/tern/chats/s1/a1.jsonl")
    size = sum(p.stat().st_size for p in files)
    (place,) = gemini_cli.found({}, program)
    assert place == FoundSource("gemini-cli", str(root), "Gemini CLI", 3, size, True)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert list(gemini_cli.found({}, elsewhere)) == []
    (moved,) = gemini_cli.found({"GEMINI_CLI_HOME": str(program)}, elsewhere)
    assert moved == place


def test_no_key_of_an_account_is_opened(program):
    with pytest.raises(SourceError, match="credentials"):
        detect.detect(program / ".gemini/oauth_creds.json")


# In the store


def test_what_was_rewound_or_dropped_at_the_source_is_whole_in_the_store(tmp_path):
    path = tmp_path / "session-x.jsonl"
    db = open_store(tmp_path / "store/state.db", None)

    def imported(*lines):
        write(path, HEAD, *lines)
        job = ingest.Import([path])
        for _ in ingest.run_sync(db, job):
            pass
        sql = (
            "SELECT m.content, m.state FROM message_placements AS p"
            " JOIN messages AS m ON m.id = p.message_id ORDER BY p.seq"
        )
        return job.report(), db.execute(sql).fetchall()

    assert imported(ASK, BAD)[1] == [("ask tern", "active"), ("bad gull", "active")]
    lines = (ASK, BAD, {"$rewindTo": "2"}, GOOD)
    rewound = [("ask tern", "active"), ("bad gull", "rewound"), ("good petrel", "active")]
    assert imported(*lines)[1] == rewound
    report, rows = imported(*lines)
    assert (rows, report.new, report.changed) == (rewound, 0, 0)
    assert {text for text, _ in imported(ASK)[1]} == {"ask tern", "bad gull", "good petrel"}
    db.close()


def test_a_session_that_goes_on_in_the_new_format_is_no_second_one(program, tmp_path):
    chats = program / ".gemini/tmp/tern/chats"
    (chats / "session-1-s1.jsonl").unlink()
    db = open_store(tmp_path / "store/state.db", None)

    def imported():
        for _ in ingest.run_sync(db, ingest.Import([program / ".gemini"])):
            pass
        sql = (
            "SELECT m.content FROM message_placements AS p JOIN messages AS m ON"
            " m.id = p.message_id JOIN sessions AS s ON s.id = p.session_id"
            " WHERE s.native_id = 's1' ORDER BY p.seq"
        )
        return db.execute(sql).fetchall()

    assert imported() == [("ask tern",)]
    write(chats / "session-1-s1.jsonl", HEAD, ASK, GOOD)
    assert imported() == [("ask tern",), ("good petrel",)]
    assert db.execute("SELECT count(*) FROM sessions").get == 3
    db.close()


# Hostile values

odd = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=3) | st.just("/home/u/a"),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["id", "text", "thought", "functionCall", "functionResponse", "inlineData",
                         "name", "args", "response", "output", "mimeType", "data", "messages",
                         "content", "type", "status", "result", "subject", "summary"]),
        inner, max_size=4),
    max_leaves=12,
)  # fmt: skip
messages = st.fixed_dictionaries(
    {"type": st.sampled_from(["user", "gemini", "model", "info", "x"]) | odd, "content": odd},
    optional=dict.fromkeys(("id", "timestamp", "parts", "toolCalls", "thoughts", "tokens",
                            "model", "displayContent", "role"), odd),
)  # fmt: skip
lines = (
    messages
    | st.fixed_dictionaries({"$set": odd | st.fixed_dictionaries({"messages": st.lists(messages)})})
    | st.fixed_dictionaries({"$rewindTo": odd})
    | st.dictionaries(st.sampled_from(["sessionId", "startTime", "projectHash", "kind", "summary",
                                       "directories", "lastUpdated"]), odd)
)  # fmt: skip


def assert_texts_are_texts(found):
    for m in found.messages:
        assert isinstance(m.content, str)
        assert isinstance(m.uid, str)
        assert m.reasoning is None or isinstance(m.reasoning, str)
        assert all(
            isinstance(t, str) for c in m.tool_calls for t in (c.name, c.arguments, c.result)
        )
        assert all(isinstance(ref, str) for ref in m.media_refs)
    assert len({(m.session, m.uid) for m in found.messages}) == len(found.messages)
    assert not found.bad


@given(st.lists(lines, max_size=6))
def test_no_value_anywhere_crashes_the_log(tmp_path_factory, values):
    path = tmp_path_factory.mktemp("log") / "x.jsonl"
    assert_texts_are_texts(Reading(write(path, HEAD, *values)))


@given(st.lists(messages | odd, max_size=4), st.sampled_from(["messages", "history"]), odd)
def test_no_value_anywhere_crashes_the_document(tmp_path_factory, values, key, told):
    path = tmp_path_factory.mktemp("document") / "x.json"
    path.write_text(json.dumps({key: values, "sessionId": told, "summary": told}))
    assert_texts_are_texts(Reading(path))
