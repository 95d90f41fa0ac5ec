"""`show` prints a plan as its steps, and gives them to programs as JSON."""

import io
import json

from app.cli import documents, show
from app.cli.output import Output
from core.types import Message, MessageState, Origin, Role, TimeQuality, ToolCall, ToolStatus

PLAN = {"explanation": "tests first", "plan": [
    {"step": "Read the log", "status": "completed"},
    {"step": "Fix the\nparser \x1b[31m", "status": "in_progress"},
    {"step": "Write tests", "status": "pending"},
    {"step": "Ask", "status": "blocked"},
    {"step": "Rename", "status": "cancelled"},
]}  # fmt: skip


def message(*calls):
    return Message(1, "u1", 1, 10, 1, Role.ASSISTANT, Origin.MODEL, MessageState.ACTIVE, "", 0,
                   False, None, TimeQuality.NONE, tool_calls=calls)  # fmt: skip


CALL = ToolCall("c1", "update_plan", json.dumps(PLAN), ToolStatus.SUCCEEDED)


def test_a_plan_is_printed_step_by_step():
    out = io.StringIO()
    show._print_message(message(CALL), Output(False, False, out, io.StringIO()))
    assert out.getvalue().splitlines()[2:] == [
        "  → update_plan explanation: tests first (succeeded) 1 of 5 steps done",
        "    [x] Read the log",
        "    [>] Fix the parser \\x1b[31m (in progress)",
        "    [ ] Write tests",
        "    [!] Ask (blocked)",
        "    [-] Rename (cancelled)",
    ]


def test_a_plan_is_given_as_steps_beside_the_call():
    other = ToolCall("c2", "Bash", '{"command": "ls"}')
    planned, plain = documents.message_document(message(CALL, other))["tool_calls"]
    assert planned["plan"][:2] == [
        {"text": "Read the log", "status": "completed"},
        {"text": "Fix the\nparser \x1b[31m", "status": "in_progress"},
    ]
    assert planned["arguments"] == CALL.arguments
    assert "plan" not in plain
    (recalled,) = documents.recalled_message(message(CALL))["tool_calls"]
    assert "plan" not in recalled
