"""The harness of expected samples tells right from wrong."""

import json
import re
from pathlib import Path

import pytest

from core.sources.records import MessageRecord, SessionRecord, SourceIdentity
from core.types import MessageState, Origin, Role, TitleSource, ToolCall
from tests.unit.sources import expected, test_samples_in_the_store

ENTRY = expected.entries("claude_code", ["high"])


def entry(path):
    return next(e for e in ENTRY if e["path"] == path)


def records(**changes):
    """What `agentsview/tool_call_pending.jsonl` holds, written down by eye."""
    session = SessionRecord("pending", title="Read auth.ts", title_source=TitleSource.DERIVED)
    prompt = MessageRecord("pending", "1", Role.USER, "Read auth.ts", Origin.HUMAN)
    answer = MessageRecord(
        "pending",
        "2",
        Role.ASSISTANT,
        changes.get("answer", "Reading the file..."),
        Origin.MODEL,
        state=changes.get("state", MessageState.ACTIVE),
        tool_calls=(ToolCall("c", "Read", "{}"),),
    )
    return [(SourceIdentity("claude-code"), [session, prompt, answer])]


def test_records_that_agree_pass():
    expected.assert_entry(
        entry("claude_code/agentsview/tool_call_pending.jsonl"), expected.observe(records())
    )


@pytest.mark.parametrize(
    "changes", [{"answer": "Reading another"}, {"state": MessageState.REWOUND}], ids=str
)
def test_records_that_differ_fail(changes):
    with pytest.raises(AssertionError):
        expected.assert_entry(
            entry("claude_code/agentsview/tool_call_pending.jsonl"),
            expected.observe(records(**changes)),
        )


def test_the_same_body_in_two_files_counts_once():
    seen = expected.observe(records() + records())
    assert [m.uid for m in seen.messages] == ["1", "2"]


def test_every_kind_of_the_first_slice_has_entries():
    assert {k: len(expected.entries(k)) for k in ("claude_code", "codex", "hermes", "chatgpt")} == {
        "claude_code": 45,
        "codex": 30,
        "hermes": 9,
        "chatgpt": 8,
    }


def test_every_entry_is_of_a_kind_that_its_readers_tests_and_the_store_hold():
    """A sample whose expectations nobody compares would be a promise that nobody keeps."""
    with expected.CASES.open(encoding="utf-8") as lines:
        told = [json.loads(line) for line in lines]
    kinds = {entry["kind"] for entry in told if entry["confidence"] in ("high", "medium")}
    folder = Path(__file__).parent
    tests = "".join(path.read_text(encoding="utf-8") for path in sorted(folder.glob("test_*.py")))
    compared = set(re.findall(r'\bentries\("(\w+)"', tests))
    assert kinds - compared == set()
    assert kinds - set(test_samples_in_the_store.KINDS) == set()
