"""Pi, Oh-My-Pi and OpenClaw: the tree of a transcript, its copies, and its places."""

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.sources import detect, pi
from core.sources.following import Followed
from core.sources.ingest import Import, run_sync
from core.sources.ingest_plan import make_plan
from core.sources.pi import places
from core.sources.records import MessageRecord, SessionRecord, UnknownRecord
from core.store.connection import open_store
from core.types import MessageState, Origin, Relation, Role, SessionKind, TitleSource, ToolStatus
from tests.unit.sources import expected
from tests.unit.sources.test_following import Counted, ends_of_lines, in_pieces

OTHERS = expected.SAMPLES / "others"


@pytest.mark.parametrize(
    "entry", expected.entries("pi") + expected.entries("openclaw"), ids=expected.name
)
def test_the_sample_holds_what_was_read_by_eye(entry):
    expected.assert_entry(entry, expected.observe(expected.readings(entry, pi)))


def header(session="s-1", **more):
    return {"type": "session", "version": 3, "id": session, "timestamp": at(0), **more}


def at(second):
    return f"2026-03-01T10:00:{second:02d}.000Z"


def entry(own, parent, second, **message):
    """One entry that is a message."""
    value = {"type": "message", "timestamp": at(second), "message": message}
    if own is not None:
        value |= {"id": own, "parentId": parent}
    return value


def said(own, parent, second, text, role="user"):
    return entry(own, parent, second, role=role, content=[{"type": "text", "text": text}])


@pytest.fixture
def transcript(tmp_path):
    """Write a transcript and return its path."""

    def write(*lines, name="s-1.jsonl", begin=None):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(line) + "\n" for line in (begin or header(), *lines)))
        return path

    return write


def told(path):
    return [r for r in pi.read(path) if isinstance(r, MessageRecord)]


def session(path):
    return next(r for r in pi.read(path) if isinstance(r, SessionRecord))


def states(path):
    return [(m.content, m.state) for m in told(path)]


ON, OFF = MessageState.ACTIVE, MessageState.OFF_BRANCH


def test_the_branch_of_the_last_entry_is_shown_and_the_others_are_kept(transcript):
    path = transcript(
        said("a", None, 1, "first"),
        said("b", "a", 2, "left", "assistant"),
        said("c", "b", 3, "left on"),
        {"type": "branch_summary", "id": "d", "parentId": "a", "timestamp": at(4),
         "fromId": "c", "summary": "went left"},
        said("e", "d", 5, "right", "assistant"),
    )  # fmt: skip
    assert states(path) == [
        ("first", ON), ("left", OFF), ("left on", OFF), ("went left", ON), ("right", ON)
    ]  # fmt: skip
    summary = told(path)[3]
    assert (summary.role, summary.origin) == (Role.SYSTEM, Origin.SYNTHETIC)


def test_a_second_beginning_leaves_the_first_aside(transcript):
    path = transcript(
        said("a", None, 1, "first"), said("b", "a", 2, "answer"), said("c", None, 3, "anew")
    )
    assert states(path) == [("first", OFF), ("answer", OFF), ("anew", ON)]


def test_entries_that_all_say_they_have_no_parent_are_one_line(transcript):
    path = transcript(said("a", None, 1, "one"), said("b", None, 2, "two"))
    assert states(path) == [("one", ON), ("two", ON)]


@pytest.mark.parametrize("parent", ["nowhere", "c", "s-1", 7, ["a"]])
def test_a_parent_that_is_not_there_is_the_line_before(transcript, parent):
    path = transcript(
        said("a", None, 1, "one"), said("b", "a", 2, "two"), said("c", parent, 3, "three")
    )
    assert states(path) == [("one", ON), ("two", ON), ("three", ON)]


def test_versions_without_ids_are_one_line(transcript):
    path = transcript(
        said(None, None, 1, "one"),
        said(None, None, 2, "two", "assistant"),
        {"type": "compaction", "timestamp": at(3), "summary": "so far", "firstKeptEntryIndex": 2},
    )
    assert [state for _, state in states(path)] == [MessageState.COMPACTED, ON, ON]


def test_what_a_compaction_summed_up_stays_shown(transcript):
    path = transcript(
        said("a", None, 1, "old"),
        said("b", "a", 2, "kept"),
        {"type": "compaction", "id": "c", "parentId": "b", "timestamp": at(3),
         "summary": "old things", "firstKeptEntryId": "b"},
        said("d", "c", 4, "new"),
    )  # fmt: skip
    assert states(path) == [
        ("old", MessageState.COMPACTED), ("kept", ON), ("old things", ON), ("new", ON)
    ]  # fmt: skip


def test_calls_know_what_became_of_them(transcript):
    calls = [{"type": "toolCall", "id": f"c{n}", "name": "read", "arguments": {"n": n}}
             for n in (1, 2, 3)]  # fmt: skip
    path = transcript(
        entry("a", None, 1, role="assistant", content=calls, model="m", usage={"input": 1}),
        entry("b", "a", 2, role="toolResult", toolCallId="c1", content="ok", isError=False),
        entry("c", "b", 3, role="toolResult", toolCallId="c2", content="no", isError=True),
    )
    asked, ok, no = told(path)
    assert [c.status for c in asked.tool_calls] == [
        ToolStatus.SUCCEEDED, ToolStatus.FAILED, ToolStatus.UNKNOWN
    ]  # fmt: skip
    assert (asked.model, asked.usage) == ("m", '{"input":1}')
    assert [(m.tool_name, m.tool_status) for m in (ok, no)] == [
        ("read", ToolStatus.SUCCEEDED), ("read", ToolStatus.FAILED)
    ]  # fmt: skip


def test_a_command_from_the_prompt_and_its_output(transcript):
    path = transcript(
        entry("a", None, 1, role="bashExecution", command="ls", output="x", exitCode=2)
    )
    typed, printed = told(path)
    assert (typed.role, typed.content, typed.origin) == (Role.USER, "!ls", Origin.HUMAN)
    assert (printed.role, printed.content, printed.tool_status) == (
        Role.TOOL, "x", ToolStatus.FAILED
    )  # fmt: skip


def test_a_fork_shares_the_messages_it_copied(transcript):
    shared = [said("a", None, 1, "first"), said("b", "a", 2, "answer", "assistant")]
    old = transcript(*shared, said("c", "b", 3, "on"))
    new = transcript(
        *shared, said("d", "b", 9, "elsewhere"), name="2026-03-01T10-00-08-000Z_s-2.jsonl",
        begin=header("s-2", parentSession="/home/x/.pi/agent/sessions/--w--/2026_s-1.jsonl"),
    )  # fmt: skip
    fork = session(new)
    assert (fork.native_id, fork.parent_native_id, fork.relation, fork.evidence) == (
        "s-2", "s-1", Relation.FORK, "explicit"
    )  # fmt: skip
    assert [m.uid for m in told(old)][:2] == [m.uid for m in told(new)][:2]
    assert len({m.uid for m in told(old) + told(new)}) == 4


def test_words_without_a_time_are_of_their_session_alone(transcript):
    line = {**said("a", None, 1, "ok"), "timestamp": None}
    one = told(transcript(line))
    other = told(transcript(line, name="s-2.jsonl", begin=header("s-2")))
    assert one[0].uid != other[0].uid


def test_ids_that_an_old_file_gets_later_change_no_message(transcript):
    lines = [said(None, None, 1, "one"), said(None, None, 2, "two")]
    before = [m.uid for m in told(transcript(*lines))]
    ided = [{**line, "id": f"i{n}", "parentId": f"i{n - 1}"} for n, line in enumerate(lines)]
    assert [m.uid for m in told(transcript(*ided))] == before
    assert len(set(before)) == 2


def test_the_name_a_person_gave_is_the_title(transcript):
    line = {"type": "session_info", "id": "n", "parentId": "a", "timestamp": at(3), "name": "Mine"}
    path = transcript(said("a", None, 1, "prompt"), line)
    assert (session(path).title, session(path).title_source) == ("Mine", TitleSource.USER)


def test_what_lies_in_the_folder_of_a_session_is_a_subagent_of_it(transcript):
    transcript(said("a", None, 1, "main"), name="--w--/2026-03-01T10-00-00_s-1.jsonl")
    path = transcript(
        said("a", None, 1, "task"),
        {"type": "title_change", "id": "b", "parentId": "a", "timestamp": at(2), "title": "Scout"},
        name="--w--/2026-03-01T10-00-00_s-1/0-explore.jsonl",
        begin=header("s-9"),
    )
    made = session(path)
    assert (made.kind, made.parent_native_id, made.relation, made.evidence) == (
        SessionKind.SUBAGENT, "s-1", Relation.SUBAGENT, "heuristic"
    )  # fmt: skip
    assert (made.title, made.title_source) == ("Scout", TitleSource.MODEL)
    assert told(path)[0].origin == Origin.MODEL


def test_unknown_entries_and_blocks_are_counted(transcript):
    path = transcript(
        {"type": "compact", "id": "u", "parentId": None, "timestamp": at(1)},
        entry("a", None, 2, role="assistant", content=[{"type": "hologram"}]),
        entry("b", "a", 3, role="oracle", content="?"),
    )
    found = [r.type for r in pi.read(path) if isinstance(r, UnknownRecord)]
    assert found == ["compact", "block hologram", "message oracle"]


@pytest.fixture
def claw(tmp_path, transcript):
    """OpenClaw's own folder with everything that it leaves there."""
    base = ".openclaw/agents/main/sessions"
    for name, own in {
        "s-2.jsonl": "s-2",
        "s-3.jsonl": "s-3",
        "s-4-topic-9.jsonl": "s-4",
        "s-1.jsonl.reset.2026-03-01T10-00-00.000Z": "s-1",
        "s-0.jsonl.deleted.2026-02-01T10-00-00.000Z": "s-0",
        "s-2.jsonl.bak-17": "s-2",
        "s-2.checkpoint.11111111-2222-4333-8444-555555555555.jsonl": "s-2",
        "s-2.jsonl.lock": "s-2",
    }.items():
        said_there = said("a", None, 1, f"in {name}")
        transcript(said_there, name=f"{base}/{name}", begin=header(own))
    index = {
        "agent:main:main": {"sessionId": "s-2", "label": "Daily", "channel": "telegram"},
        "agent:main:subagent:x": {"sessionId": "s-3", "spawnedBy": "agent:main:main"},
        "agent:main:cron:y": {"sessionId": "s-4"},
        "broken": [1],
    }
    (tmp_path / base / "sessions.json").write_text(json.dumps(index))
    return tmp_path / ".openclaw"


def test_transcripts_of_openclaw_and_no_copies(claw):
    assert pi.is_home(claw)
    names = [path.name for path in pi.files(claw)]
    assert names == [
        "s-1.jsonl.reset.2026-03-01T10-00-00.000Z", "s-2.jsonl", "s-3.jsonl", "s-4-topic-9.jsonl"
    ]  # fmt: skip
    assert {pi.identity(path).display_name for path in pi.files(claw)} == {"OpenClaw"}


def test_what_is_found_of_openclaw_is_what_an_import_reads(tmp_path, claw):
    (place,) = pi.found({}, tmp_path)
    plan = make_plan([Path(place.path)], None, {})
    assert [unit.path for unit in plan.units] == list(pi.files(claw))


def test_the_index_of_openclaw_tells_of_its_sessions(claw):
    reset, daily, sub, cron = (session(path) for path in pi.files(claw))
    assert reset.end_reason == "reset"
    assert (daily.title, daily.title_source, daily.channel) == (
        "Daily", TitleSource.USER, "telegram"
    )  # fmt: skip
    assert (sub.kind, sub.parent_native_id, sub.relation) == (
        SessionKind.SUBAGENT, "s-2", Relation.SUBAGENT
    )  # fmt: skip
    assert cron.kind == SessionKind.CRON
    (task,) = told(list(pi.files(claw))[2])
    assert task.origin == Origin.MODEL


def test_what_openclaw_says_for_a_person_is_no_title(transcript):
    path = transcript(
        said("a", None, 1, "Read HEARTBEAT.md if it exists (workspace context)."),
        said("b", "a", 2, "real words"),
    )
    assert session(path).title == "real words"
    assert [m.origin for m in told(path)] == [Origin.INJECTED, Origin.HUMAN]


def test_each_program_is_found_in_its_place(tmp_path, claw, transcript):
    transcript(said("a", None, 1, "x"), name=".pi/agent/sessions/--w--/1_a.jsonl")
    transcript(said("a", None, 1, "x"), name=".omp/agent/sessions/--w--/1_b.jsonl")
    found = list(pi.found({}, tmp_path))
    assert [(f.name, f.sessions) for f in found] == [("Pi", 1), ("Oh-My-Pi", 1), ("OpenClaw", 4)]
    moved = {"PI_CODING_AGENT_DIR": str(tmp_path / ".omp/agent"), "OPENCLAW_STATE_DIR": "/none"}
    assert [f.path for f in pi.found(moved, tmp_path)] == [
        str(tmp_path / ".omp/agent/sessions"), str(tmp_path / ".omp/agent/sessions")
    ]  # fmt: skip
    assert pi.is_home(tmp_path / ".pi")
    assert pi.is_home(tmp_path / ".pi/agent/sessions")
    assert not pi.is_home(tmp_path)


def test_only_this_reader_knows_the_transcripts():
    mine = {"pi", "omp", "openclaw"}
    for path in sorted(p for p in expected.SAMPLES.rglob("*") if p.is_file()):
        ours = path.relative_to(OTHERS).parts[0] in mine if path.is_relative_to(OTHERS) else False
        told_by = pi.recognises(path)
        assert told_by == (ours and places.is_transcript(path.name)), path
        if told_by:
            assert detect.detect(path).KIND == "pi"


def test_a_store_keeps_what_was_and_follows_where_the_branch_goes(tmp_path, db, transcript):
    path = transcript(said("a", None, 1, "first"), said("b", "a", 2, "left", "assistant"))
    assert imported(db, path).new == 2
    assert imported(db, path).new == 0
    with path.open("a") as file:
        file.write(json.dumps(said("c", "a", 3, "right", "assistant")) + "\n")
    assert imported(db, path).new == 1
    assert rows(db) == [("first", "active"), ("left", "off_branch"), ("right", "active")]
    shutil.copy(transcript(said("a", None, 1, "first"), name="short.jsonl"), path)
    assert imported(db, path).new == 0
    assert [content for content, _ in rows(db)] == ["first", "left", "right"]


@pytest.fixture
def db(tmp_path):
    opened = open_store(tmp_path / "store" / "state.db", None)
    yield opened
    opened.close()


def imported(db, path):
    job = Import([path])
    for _ in run_sync(db, job):
        pass
    return job.report()


def rows(db):
    return list(db.execute("SELECT content, state FROM messages ORDER BY id"))


def call(own, parent, second, *names):
    blocks = [{"type": "toolCall", "id": name, "name": "read", "arguments": {}} for name in names]
    return entry(own, parent, second, role="assistant", content=blocks)


def answer(own, parent, second, to, *, failed=False):
    found = {"toolCallId": to, "content": "x", "isError": failed}
    return entry(own, parent, second, role="toolResult", **found)


PIECES = [
    said("a", None, 1, "go"),
    call("b", "a", 2, "c1", "c2"),
    answer("c", "b", 3, "c1"),
    {"type": "session_info", "id": "d", "parentId": "c", "timestamp": at(4), "name": "Mine"},
    answer("e", "d", 5, "c2", failed=True),
    said("f", "c2", 6, "the call is its parent"),
    said("g", "f", 7, "left"),
    said("h", "f", 8, "right"),
    {"type": "compaction", "id": "i", "parentId": "h", "timestamp": at(9), "summary": "so far",
     "firstKeptEntryId": "g"},
    said("j", "i", 10, "on"),
    said("k", None, 11, "anew"),
    said("l", "k", 12, "and on"),
]  # fmt: skip
NO_IDS = [said(None, None, n, f"line {n}") for n in range(1, 6)]
NO_PARENTS = [said(f"x{n}", None, n, f"line {n}") for n in range(1, 4)]


@pytest.mark.parametrize(
    ("lines", "alone"),
    [
        (PIECES, 6),
        (PIECES[:8], 4),
        (PIECES[:11], 4),
        (NO_IDS, 5),
        (NO_PARENTS, 3),
        ([*NO_PARENTS, said("y", "x1", 4, "links now")], 3),
    ],
    ids=["tree", "another branch", "another root", "no ids", "no parents", "links later"],
)
def test_a_transcript_read_as_it_grows_ends_as_one_read_whole(
    tmp_path, transcript, monkeypatch, lines, alone
):
    path = transcript(*lines, name="made/s-1.jsonl")
    text = path.read_bytes()
    counted = Counted(monkeypatch, pi)
    for number, cuts in enumerate((ends_of_lines(text), ends_of_lines(text)[3::2])):
        pieces, whole = in_pieces(path, tmp_path / str(number), cuts, Followed())
        assert pieces == whole
    assert counted.alone >= alone


NAMES = ("type", "text", "thinking", "id", "name", "arguments", "data", "mimeType")
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
    *("content", "toolCallId", "toolName", "isError", "usage", "model", "summary", "display"),
    *("command", "output", "exitCode", "cancelled", "errorMessage", "timestamp", "id", "name"),
)
ROLES = ("user", "assistant", "toolResult", "bashExecution", "custom", "system", "branchSummary")


@settings(max_examples=40)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([*sorted(pi.outline.KNOWN), "new"]),
            st.sampled_from(ROLES) | ANY,
            st.dictionaries(st.sampled_from(FIELDS), ANY, max_size=6),
            ANY,
        ),
        max_size=6,
    )
)
def test_whatever_the_fields_hold_every_text_is_text(tmp_path_factory, entries):
    path = tmp_path_factory.getbasetemp() / "hostile.jsonl"
    lines = [
        {**fields, "type": kind, "parentId": other, "firstKeptEntryId": other,
         "firstKeptEntryIndex": other, "parentSession": other, "cwd": other,
         "message": {**fields, "role": role}}
        for kind, role, fields, other in entries
    ]  # fmt: skip
    path.write_text("\n".join(json.dumps(line) for line in lines))
    for record in pi.read(path):
        if isinstance(record, MessageRecord):
            texts = (record.content, record.uid, record.session, record.reasoning or "")
            assert all(isinstance(each, str) for each in texts)
