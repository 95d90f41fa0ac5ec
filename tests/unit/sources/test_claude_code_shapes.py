"""Whatever shape a transcript's lines have, reading ends, repeats itself, and can be stored."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from core.sources import claude_code, neutral
from core.sources.lines import objects
from core.sources.records import BadSourceRecord, MessageRecord, SessionRecord, UnknownRecord

odd = st.sampled_from(
    [None, True, 0, -1, 2**70, 1.5, "", " ", "x", "a b", [], {}, [[]], ["x"], {"x": 1}]
)
ids = st.sampled_from(["u1", "u2", "u3", "u4", "[trimmed]", "m1", "t1", "t2"])
words = st.sampled_from(
    [
        "hello",
        "hello again",
        "<system-reminder>x</system-reminder>",
        "<command-name>/init</command-name>",
        "<task-notification>",
        "\0",
        "\ud83d",
        "中文",
        "x" * 100,
    ]
)
text_blocks = st.fixed_dictionaries({"type": st.just("text") | odd}, optional={"text": words | odd})
tool_blocks = st.fixed_dictionaries(
    {"type": st.sampled_from(["tool_use", "tool_result", "thinking", "image", "document", "zzz"])},
    optional={
        "id": ids | odd,
        "tool_use_id": ids | odd,
        "name": words | odd,
        "input": odd | st.fixed_dictionaries({"prompt": words | odd}),
        "content": words | odd | st.lists(text_blocks | odd, max_size=2),
        "thinking": words | odd,
        "is_error": odd,
        "source": odd | st.fixed_dictionaries({}, optional={"data": words, "media_type": odd}),
    },
)
contents = words | odd | st.lists(text_blocks | tool_blocks | odd, max_size=3)
messages = st.fixed_dictionaries(
    {},
    optional={
        "id": ids | odd,
        "role": odd,
        "content": contents,
        "model": st.sampled_from(["claude-x", "<synthetic>"]) | odd,
        "usage": odd | st.dictionaries(words, odd, max_size=2),
    },
)
types = st.sampled_from(
    ["user", "assistant", "system", "attachment", "queue-operation", "summary", "custom-title",
     "ai-title", "agent-name", "progress", "never-seen"]
)  # fmt: skip
lines = st.fixed_dictionaries(
    {"type": types | odd},
    optional={
        "uuid": ids | odd,
        "parentUuid": ids | odd,
        "logicalParentUuid": ids | odd,
        "sessionId": ids | odd,
        "requestId": ids | odd,
        "leafUuid": ids | odd,
        "timestamp": st.sampled_from(["2026-05-01T10:00:00.000Z", "soon"]) | odd,
        "message": messages | words | odd,
        "isSidechain": odd,
        "isMeta": odd,
        "isCompactSummary": odd,
        "origin": odd | st.fixed_dictionaries({"kind": words | odd}),
        "subtype": st.sampled_from(["compact_boundary", "api_error"]) | odd,
        "content": contents,
        "error": odd | st.fixed_dictionaries({"message": words | odd}),
        "operation": st.just("enqueue") | odd,
        "attachment": odd
        | st.fixed_dictionaries(
            {"type": st.sampled_from(["queued_command", "file"]) | odd},
            optional={"prompt": contents, "content": contents, "displayPath": odd, "origin": odd},
        ),
        "summary": words | odd,
        "customTitle": words | odd,
        "aiTitle": words | odd,
        "cwd": words | odd,
        "gitBranch": words | odd,
        "version": odd,
        "forkedFrom": odd,
    },
)


@settings(max_examples=400, deadline=None)
@given(st.lists(lines, max_size=12))
def test_no_shape_of_lines_stops_the_reading(tmp_path_factory, written):
    path = tmp_path_factory.mktemp("shapes") / "0a.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in written), encoding="utf-8")
    assert claude_code.recognises(path) in (True, False)

    records = list(claude_code.read(path))

    assert records == list(claude_code.read(path))
    assert not [r for r in records if isinstance(r, BadSourceRecord)]
    sessions = {r.native_id for r in records if isinstance(r, SessionRecord)}
    found = [r for r in records if isinstance(r, MessageRecord)]
    assert {m.session for m in found} == sessions
    for message in found:
        repr(message).encode()
        assert isinstance(message.content, str)
        assert isinstance(message.uid, str)
        assert message.uid
    by_place = [(m.session, m.position) for m in found]
    assert len(set(by_place)) == len(by_place)
    assert all(isinstance(r.type, str) for r in records if isinstance(r, UnknownRecord))


fields = ["session", "id", "role", "content", "created_at", "title", "source", "kind", "parent",
          "relation", "tool_calls", "state", "origin", "cwd"]  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(st.dictionaries(st.sampled_from(fields), words | odd, max_size=8), max_size=8))
def test_no_shape_of_neutral_lines_stops_the_reading(tmp_path_factory, written):
    path = tmp_path_factory.mktemp("shapes") / "a.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in written), encoding="utf-8")
    neutral.identity(path)
    neutral.recognises(path)
    records = list(neutral.read(path))
    assert records == list(neutral.read(path))
    found = [r for r in records if isinstance(r, MessageRecord)]
    bad = [r for r in records if isinstance(r, BadSourceRecord)]
    with path.open("rb") as stream:
        assert len(found) + len(bad) == len(list(objects(stream, lambda _: True)))


@given(st.binary(max_size=400))
def test_no_bytes_stop_the_reading(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("bytes") / "a.jsonl"
    path.write_bytes(content)
    for reader in (claude_code, neutral):
        reader.recognises(path)
        assert list(reader.read(path)) == list(reader.read(path))
