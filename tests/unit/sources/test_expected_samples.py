"""The harness of expected samples tells right from wrong."""

import pytest

from core.sources.records import MessageRecord, SessionRecord, SourceIdentity
from core.types import MessageState, Origin, Role, TitleSource, ToolCall
from tests.unit.sources import expected

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
