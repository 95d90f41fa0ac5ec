"""The neutral format: what is read is what was written, and what is wrong is said."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.sources import neutral
from core.sources.records import (
    BadSourceRecord,
    MessageRecord,
    ReadTo,
    Remark,
    SessionRecord,
    SourceIdentity,
)
from core.types import (
    MessageState,
    Origin,
    Relation,
    Role,
    SessionKind,
    TimeQuality,
    TitleSource,
    ToolCall,
    ToolStatus,
)


@pytest.fixture
def read(tmp_path):
    """Write the values as lines and read them; a bytes value is a line as it stands."""
    path = tmp_path / "talk.jsonl"

    def reading(*values, kinds=(SourceIdentity, SessionRecord, MessageRecord, BadSourceRecord)):
        lines = [v if isinstance(v, bytes) else json.dumps(v).encode() for v in values]
        path.write_bytes(b"".join(line + b"\n" for line in lines))
        return [r for r in neutral.read(path) if isinstance(r, kinds)]

    return reading


def said(session="s", role="user", **fields):
    return {"session": session, "role": role, "content": "hello", **fields}


def messages(records):
    return [r for r in records if isinstance(r, MessageRecord)]


def test_a_whole_record(read):
    session, message = read(
        said(
            role="assistant",
            id="m1",
            content="done",
            created_at="2026-05-01T10:00:00.250Z",
            title="Night shift",
            kind="cron",
            parent="p",
            relation="continuation",
            end_reason="compression",
            tool_calls=[{"id": "c1", "name": "ls", "arguments": {"path": "/"}, "status": "failed"}],
            reasoning="because",
            model="m-1",
            state="compacted",
            cwd="/w",
            git_repo_root="/w/r",
            git_branch="main",
        )
    )
    assert session == SessionRecord(
        "s",
        kind=SessionKind.CRON,
        parent_native_id="p",
        relation=Relation.CONTINUATION,
        evidence="explicit",
        title="Night shift",
        title_source=TitleSource.USER,
        model="m-1",
        cwd="/w",
        git_repo_root="/w/r",
        git_branch="main",
        end_reason="compression",
    )
    assert message == MessageRecord(
        "s",
        "m1",
        Role.ASSISTANT,
        "done",
        Origin.MODEL,
        state=MessageState.COMPACTED,
        created_at_ms=1777629600250,
        time_quality=TimeQuality.EXACT,
        model="m-1",
        reasoning="because",
        tool_calls=(ToolCall("c1", "ls", '{"path": "/"}', ToolStatus.FAILED),),
        raw_ref=message.raw_ref,
    )


def test_calls_in_the_shape_of_openai(read):
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
    (message,) = messages(read(said(role="assistant", tool_calls=[call])))
    assert message.tool_calls == (ToolCall("c", "f", '{"a":1}'),)


def test_each_role_has_its_origin(read):
    found = messages(read(*(said(role=r) for r in ("user", "assistant", "tool", "system"))))
    assert [m.origin for m in found] == ["human", "model", "tool", "synthetic"]


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"role": "user", "content": "c"}, "session is missing"),
        ({"session": "", "role": "user"}, "session is empty"),
        ({"session": 5, "role": "user"}, "session is 5, not text"),
        ({"session": "s", "content": "c"}, "role is missing"),
        (said(role="wizard"), "role is 'wizard'; it is one of user, assistant, tool, system"),
        (said(state="gone"), "state is 'gone'; it is one of active, compacted, rewound"),
        (said(kind="x"), "kind is 'x'; it is one of interactive, cron"),
        (said(relation="x"), "relation is 'x'; it is one of continuation, branch"),
        (said(tool_status="x"), "tool_status is 'x'; it is one of succeeded, failed"),
        (said(origin=["x"]), "origin is ['x']; it is one of human, model"),
        (said(content=["c"]), "content is ['c'], not text"),
        (said(tool_calls="c"), "tool_calls is 'c', not a list"),
        (said(tool_calls=[1]), "tool_calls holds 1, not an object"),
        (said(tool_calls=[{}]), "name is missing"),
        (b"[1]", "not a JSON object"),
        (b'{"session":"s","role":"user"', "not JSON"),
    ],
    ids=str,
)
def test_a_wrong_line_is_named_and_its_neighbours_are_kept(read, wrong, reason):
    records = read(said(id="a"), wrong, said(id="b"))
    assert [m.uid for m in messages(records)] == ["a", "b"]
    (bad,) = [r for r in records if isinstance(r, BadSourceRecord)]
    assert bad.line == 2
    assert bad.reason.startswith(reason)


@pytest.mark.parametrize(
    "moment",
    [
        1785899243,
        1785899243000,
        1785899243000000,
        1785899243000000000,
        "1785899243",
        "1785899243.0",
        "1785899243000",
        "2026-08-05T03:07:23Z",
        "2026-08-05T11:07:23+08:00",
        "2026-08-05T03:07:23.000000789Z",
    ],
)
def test_the_same_moment_in_every_unit(read, moment):
    (message,) = messages(read(said(created_at=moment)))
    assert (message.created_at_ms, message.time_quality) == (1785899243000, TimeQuality.EXACT)


@pytest.mark.parametrize(
    "moment", [-1, 0, 2**63 - 1, 10**400, "2262-04-12T00:00:00Z", "soon", "", True, [], "9" * 30]
)
def test_what_is_no_time_is_left_out_and_said(read, moment):
    records = read(said(created_at=moment), kinds=(MessageRecord, Remark))
    assert [(m.created_at_ms, m.time_quality) for m in messages(records)] == [
        (None, TimeQuality.NONE)
    ]
    assert [r.line for r in records if isinstance(r, Remark)] == [1]


def test_a_time_without_a_zone_is_local(read):
    (message,) = messages(read(said(created_at="2026-03-11 00:30:00")))
    assert message.time_quality == TimeQuality.LOCAL_NAIVE


def test_a_made_id_stays_when_lines_move_and_equal_lines_have_their_own(read):
    first = messages(read(said(content="a"), said(content="again"), said(content="again")))
    moved = messages(
        read(said(content="new"), said(content="again"), said(content="a"), said(content="again"))
    )
    assert len({m.uid for m in first}) == 3
    assert {m.uid for m in first} == {m.uid for m in moved} - {moved[0].uid}


def test_a_session_is_told_once_and_again_when_more_is_known(read):
    records = read(
        said(role="assistant", content="before"),
        said(content="what a day"),
        said(content="second"),
        said(title="Given"),
        said(),
        kinds=SessionRecord,
    )
    assert [(r.title, r.title_source) for r in records] == [
        (None, TitleSource.NONE),
        ("what a day", TitleSource.DERIVED),
        ("Given", TitleSource.USER),
        ("Given", TitleSource.USER),
    ]
    dated = [r.updated_at_ms for r in records]
    assert dated[:-1] == [None] * 3, "without any time it is as old as its file, told at the end"
    assert dated[-1] is not None


def test_records_of_several_sources_are_told_apart(read, tmp_path):
    at = {"created_at": "2026-11-01T10:00:00Z"}
    records = read(said(source="laptop", **at), said(**at), said(source="laptop", **at))
    told = [r.instance for r in records if isinstance(r, SourceIdentity)]
    assert told == ["laptop", "", "laptop"]
    assert neutral.identity(tmp_path / "talk.jsonl") == SourceIdentity("jsonl", "laptop", "laptop")


def test_reading_ends_before_a_line_that_is_not_ended(tmp_path):
    path = tmp_path / "a.jsonl"
    whole = json.dumps(said()) + "\n"
    path.write_text(whole + json.dumps(said(content="tail")))
    records = list(neutral.read(path))
    assert [m.content for m in messages(records)] == ["hello", "tail"]
    assert records[-1] == ReadTo(len(whole), path.stat().st_size)


def test_it_recognises_its_own(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(said()) + "\n")
    assert neutral.recognises(path)
    path.write_text('{"type":"user","uuid":"1","sessionId":"s","message":{"role":"user"}}\n')
    assert not neutral.recognises(path)


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
calls = st.lists(
    st.builds(ToolCall, st.none() | names, names, texts, st.sampled_from(ToolStatus)), max_size=2
).map(tuple)
written = st.builds(
    MessageRecord,
    st.just("s"),
    names,
    st.sampled_from(Role),
    texts,
    st.sampled_from(Origin),
    state=st.sampled_from(MessageState),
    created_at_ms=st.none() | st.integers(946_684_800_000, 1_700_000_000_000),
    model=st.none() | texts,
    reasoning=st.none() | texts,
    tool_calls=calls,
    tool_call_id=st.none() | texts,
    tool_name=st.none() | texts,
    tool_status=st.none() | st.sampled_from(ToolStatus),
)
described = st.builds(
    SessionRecord,
    st.just("s"),
    kind=st.sampled_from(SessionKind),
    parent_native_id=st.none() | names,
    relation=st.none() | st.sampled_from(Relation),
    title=st.none() | names,
    cwd=st.none() | texts,
    git_repo_root=st.none() | texts,
    git_branch=st.none() | texts,
    end_reason=st.none() | texts,
)


@given(described, st.lists(written, min_size=1, max_size=5, unique_by=lambda m: m.uid), texts)
def test_what_is_exported_reads_back(tmp_path_factory, session, wanted, source):
    path = tmp_path_factory.mktemp("round") / "trip.jsonl"
    lines = [neutral.line_of(session, message, source) for message in wanted]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    records = list(neutral.read(path))
    assert not [r for r in records if isinstance(r, BadSourceRecord | Remark)]
    compared = ("uid", "role", "content", "origin", "state", "created_at_ms", "model", "reasoning",
                "tool_calls", "tool_call_id", "tool_name", "tool_status")  # fmt: skip
    for message, back in zip(wanted, messages(records), strict=True):
        assert {n: getattr(back, n) for n in compared} == {n: getattr(message, n) for n in compared}
    (first, *_) = [r for r in records if isinstance(r, SessionRecord)]
    for name in ("kind", "parent_native_id", "relation", "cwd", "git_branch", "end_reason"):
        assert getattr(first, name) == getattr(session, name)
    assert {r.instance for r in records if isinstance(r, SourceIdentity)} <= {source}
