"""Rollouts that are damaged, cut, glued, hostile, or read while they are being written."""

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import SourceError
from core.sources import codex
from core.sources.codex import rollout_files
from core.sources.records import BadSourceRecord, MessageRecord, ReadTo
from tests.unit.sources import codex_lines as rollout
from tests.unit.sources import expected

SAMPLES = expected.SAMPLES / "codex"
ROLLOUTS = sorted((SAMPLES / "rungraph").rglob("*.jsonl"))
TALK = [
    rollout.meta(),
    rollout.event("user_message", "一"),
    rollout.item("user", "一"),
    rollout.thought("hm"),
    rollout.call("shell", "c1", '{"cmd":"ls"}'),
    rollout.output("c1", "Exit code: 0\nOutput:\nx"),
    rollout.event("agent_message", "good"),
    rollout.item("assistant", "good"),
    rollout.item("user", "二"),
    rollout.thought("and so"),
    rollout.item("assistant", "done"),
]


def read_bytes(raw: bytes, name="rollout-2026-09-01T10-00-00-torn.jsonl"):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_bytes(raw)
        return list(codex.read(path))


@settings(max_examples=80, deadline=None)
@given(st.integers(min_value=0, max_value=len(rollout.encoded(*TALK))))
def test_a_file_read_while_it_is_written_keeps_its_uids(cut):
    whole = rollout.encoded(*TALK)
    early = rollout.messages(read_bytes(whole[:cut]))
    late = rollout.messages(read_bytes(whole))
    assert rollout.bad(read_bytes(whole[:cut])) == []
    positions = {m.uid: m.position for m in late}
    assert [m.uid for m in early] == [m.uid for m in late[: len(early)]]
    assert all(positions[m.uid] == m.position for m in early)


@pytest.mark.parametrize("path", ROLLOUTS, ids=lambda path: path.stem[-4:])
def test_any_whole_lines_of_a_sample_are_the_start_of_all(path):
    lines = path.read_bytes().splitlines(keepends=True)
    late = [m.uid for m in rollout.messages(read_bytes(b"".join(lines)))]
    for count in range(len(lines)):
        early = [m.uid for m in rollout.messages(read_bytes(b"".join(lines[:count])))]
        assert early == late[: len(early)]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_damage_costs_more_than_the_lines_it_hits(data):
    lines = [rollout.meta(), *(rollout.item("user", f"text {n}") for n in range(8))]
    encoded = rollout.encoded(*lines).splitlines(keepends=True)
    hit = data.draw(st.integers(1, len(encoded) - 1))
    damage = data.draw(st.binary(min_size=1, max_size=40).filter(lambda b: b"\n" not in b))
    place = data.draw(st.integers(0, len(encoded[hit]) - 2))
    encoded[hit] = encoded[hit][:place] + damage + encoded[hit][place:]
    found = {m.content for m in rollout.messages(read_bytes(b"".join(encoded)))}
    assert {f"text {n}" for n in range(8) if n != hit - 1} <= found


def test_lines_that_were_glued_together_are_read_one_by_one():
    glued = rollout.encoded(*TALK).replace(b"}}\n{", b"}}{")
    assert glued.count(b"\n") == 1
    records = read_bytes(glued)
    assert rollout.texts(records) == rollout.texts(read_bytes(rollout.encoded(*TALK)))
    assert rollout.bad(records) == []


def test_a_run_of_nul_bytes_costs_itself():
    lines = rollout.encoded(*TALK).splitlines(keepends=True)
    records = read_bytes(b"".join([*lines[:5], b"\0" * 4096 + b"\n", *lines[5:]]))
    assert rollout.texts(records) == rollout.texts(read_bytes(b"".join(lines)))
    assert len(rollout.bad(records)) == 1


def test_a_line_that_is_no_object_is_bad_and_the_next_is_read():
    raw = rollout.encoded(rollout.meta(), 42, [1], "x", rollout.item("user", "after"))
    records = read_bytes(raw)
    assert rollout.texts(records) == [("user", "after")]
    assert [record.line for record in rollout.bad(records)] == [2, 3, 4]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=8,
)
KEYS = st.sampled_from(
    [
        "type",
        "role",
        "content",
        "text",
        "message",
        "id",
        "session_id",
        "timestamp",
        "payload",
        "call_id",
        "name",
        "arguments",
        "output",
        "input",
        "result",
        "action",
        "summary",
        "info",
        "item",
        "images",
        "source",
        "git",
        "history_base",
        "forked_from_id",
        "turn_id",
        "num_turns",
        "last_agent_message",
        "replacement_history",
        "thread_name",
        "cwd",
        "model",
        "function",
    ]
)
TYPES = st.sampled_from(
    [
        "message",
        "function_call",
        "function_call_output",
        "reasoning",
        "user_message",
        "agent_message",
        "token_count",
        "item_completed",
        "thread_rolled_back",
        "task_complete",
        "task_started",
        "error",
        "web_search_call",
        "tool_search_output",
        "custom_tool_call",
        "image_generation_call",
        "agent_reasoning",
        "local_shell_call",
    ]
)
PAYLOADS = st.dictionaries(KEYS, JSON, max_size=6).flatmap(
    lambda payload: TYPES.map(lambda kind: {**payload, "type": kind})
)
LINES = st.sampled_from(
    ["session_meta", "turn_context", "response_item", "event_msg", "compacted", "message", "?"]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(LINES, PAYLOADS | JSON, st.dictionaries(KEYS, JSON, max_size=3))))
def test_no_shape_is_an_error(found):
    lines = [{"ordinal": 1, **more, "type": kind, "payload": what} for kind, what, more in found]
    records = read_bytes(rollout.encoded(*lines))
    assert records == read_bytes(rollout.encoded(*lines))
    positions = [m.position for m in records if isinstance(m, MessageRecord)]
    assert positions == sorted(positions)
    for record in records:
        if isinstance(record, MessageRecord):
            record.content.encode()


def test_a_large_file_tells_how_far_it_is_and_holds_little():
    talk = [rollout.item("user", "x" * 400_000) for _ in range(8)]
    for number, each in enumerate(talk):
        each["payload"]["content"][0]["text"] += str(number)
    records = read_bytes(rollout.encoded(rollout.meta(), *talk))
    told = [record for record in records if isinstance(record, ReadTo)]
    assert len(told) > 2
    assert [each.offset for each in told] == sorted(each.offset for each in told)
    assert told[-1].offset == told[-1].total
    # Whatever is said to have been read has been yielded.
    seen = 0
    for record in records:
        if isinstance(record, MessageRecord):
            seen += 1
        elif isinstance(record, ReadTo) and record is not told[-1]:
            starts = 200 + sum(len(json.dumps(each)) for each in talk[: seen + 1])
            assert record.offset <= starts + 1000


def test_a_packed_rollout_that_ends_early_gives_what_is_there():
    lines = [rollout.meta(), *(rollout.item("user", f"{n} " + "é" * 900) for n in range(400))]
    packed = rollout_files.zstd.compress(rollout.encoded(*lines))
    name = "rollout-2026-09-01T10-00-00-packed.jsonl.zst"
    whole = rollout.messages(read_bytes(packed, name))
    assert len(whole) == 400
    records = read_bytes(packed[: len(packed) - 5], name)
    assert rollout.bad(records)
    assert "damaged" in rollout.bad(records)[0].reason
    assert [m.uid for m in whole[: len(rollout.messages(records))]] == [
        m.uid for m in rollout.messages(records)
    ]


def test_what_is_not_packed_at_all_is_told_in_words():
    records = read_bytes(b"this is no archive\n", "rollout-2026-09-01T10-00-00-x.jsonl.zst")
    assert [type(record) for record in records] == [BadSourceRecord, ReadTo]


def test_an_archive_that_unpacks_without_end_is_stopped(monkeypatch):
    monkeypatch.setattr(rollout_files, "PLAIN_BYTES", 1 << 20)
    bomb = rollout.encoded(rollout.meta(), rollout.item("user", "first")) + b"\n" * (8 << 20)
    records = read_bytes(
        rollout_files.zstd.compress(bomb), "rollout-2026-09-01T10-00-00-b.jsonl.zst"
    )
    assert rollout.texts(records) == [("user", "first")]
    assert "unpacks to more" in rollout.bad(records)[0].reason


OLD = (SAMPLES / "synthetic/sessions/rollout-2025-04-20-legacy.json").read_bytes()


@pytest.mark.parametrize("cut", range(200, len(OLD), 37))
def test_an_old_session_that_was_cut_keeps_the_items_before(cut):
    whole = rollout.messages(read_bytes(OLD, "rollout-2025-04-20-x.json"))
    records = read_bytes(OLD[:cut], "rollout-2025-04-20-x.json")
    found = rollout.messages(records)
    assert [m.uid for m in found] == [m.uid for m in whole[: len(found)]]
    assert len(rollout.bad(records)) == 1
    if cut > OLD.index(b'"reasoning"'):
        assert found[0].content == "legacy typescript cli"


def test_a_json_file_that_is_no_session_is_refused_in_words(tmp_path):
    path = tmp_path / "rollout-2025-04-20-x.json"
    for text in ("{}", "[]", '{"session": 1, "items": []}', "nothing", ""):
        path.write_text(text)
        with pytest.raises(SourceError, match="not a Codex session"):
            list(codex.read(path))


def test_a_missing_file_is_told_in_words(tmp_path):
    with pytest.raises(SourceError) as refused:
        list(codex.read(tmp_path / "rollout-2026-09-01T10-00-00-x.jsonl"))
    assert refused.value.path.endswith("x.jsonl")


@pytest.mark.parametrize("raw", [b"", b"\n\n", b"\xef\xbb\xbf", b"{", b"\xff\xfe\0"])
def test_a_file_without_a_record_holds_nothing(raw):
    assert rollout.messages(read_bytes(raw)) == []


def test_windows_line_ends_and_a_mark_of_byte_order_change_nothing():
    raw = rollout.encoded(*TALK)
    marked = b"\xef\xbb\xbf" + raw.replace(b"\n", b"\r\n")
    assert rollout.texts(read_bytes(marked)) == rollout.texts(read_bytes(raw))
