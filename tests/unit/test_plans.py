"""Plans, as each agent's own call writes them down."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.plans import plan_of, read_plan
from core.sources import claude_code
from core.sources.records import MessageRecord
from core.types import PlanStatus, PlanStep, ToolCall

SAMPLES = Path(__file__).parents[1] / "data/samples"
TODO, NOW, DONE = PlanStatus.PENDING, PlanStatus.IN_PROGRESS, PlanStatus.COMPLETED


def call(name, arguments):
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return ToolCall("c1", name, text)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("update_plan", {"explanation": "why", "plan": [{"step": "a", "status": "completed"},
                                                        {"step": "b", "status": "in_progress"}]}),
        ("update_plan", {"steps": [{"title": "a", "status": "done"},
                                   {"title": "b", "status": "in-progress"}]}),
        ("TodoWrite", {"todos": [{"content": "a", "status": "completed", "activeForm": "A"},
                                 {"content": "b", "status": "in_progress", "activeForm": "B"}]}),
        ("todowrite", {"todos": [{"id": "1", "content": "a", "status": "completed"},
                                 {"id": "2", "content": "b", "status": "in_progress"}]}),
        ("todo", {"merge": True, "todos": [{"content": "a", "status": "completed"},
                                           {"content": "b", "status": "in_progress"}]}),
        ("todo_write", {"todos": [{"content": "a", "status": "completed"},
                                  {"content": "b", "status": "in_progress"}]}),
        ("write_todos", {"todos": [{"description": "a", "status": "completed"},
                                   {"description": "b", "status": "in_progress"}]}),
        ("manage_todo_list", {"todoList": [{"id": 1, "title": "a", "status": "completed"},
                                           {"id": 2, "title": "b", "status": "in-progress"}]}),
        ("functions.update_plan", {"plan": [{"step": "a", "status": "completed"},
                                            {"step": "b", "status": "in_progress"}]}),
        ("TodoWrite", {"todos": '[{"content": "a", "status": "completed"},'
                                ' {"content": "b", "status": "in_progress"}]'}),
    ],
)  # fmt: skip
def test_each_agents_plan_is_read(name, arguments):
    assert plan_of(call(name, arguments)) == (PlanStep("a", DONE), PlanStep("b", NOW))


@pytest.mark.parametrize(
    ("told", "status"),
    [
        ("pending", TODO), ("not-started", TODO), ("cancelled", PlanStatus.CANCELLED),
        ("canceled", PlanStatus.CANCELLED), ("blocked", PlanStatus.BLOCKED),
        ("InProgress", NOW), ("oracular", TODO), (7, TODO), (None, TODO),
    ],
)  # fmt: skip
def test_how_far_a_step_is(told, status):
    steps = plan_of(call("update_plan", {"plan": [{"step": "a", "status": told}]}))
    assert steps == (PlanStep("a", status),)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("Bash", {"todos": [{"content": "a"}]}),
        ("todo", {}),
        ("todo", {"todos": []}),
        ("todo", {"todos": [7, {"status": "pending"}, " "]}),
        ("TodoWrite", {"todos": "not a list"}),
        ("TodoWrite", '{"todos": [{"content": "a"'),
        ("TodoWrite", "[1]"),
        ("TodoWrite", "[" * 5_000),
        ("TodoWrite", ""),
    ],
)
def test_what_is_no_plan_is_shown_as_any_other_call(name, arguments):
    assert plan_of(call(name, arguments)) is None


def test_a_broken_entry_costs_itself_alone():
    """`claude-code-log/edge_cases.jsonl` has a text in the place of the first entry."""
    path = SAMPLES / "claude_code/claude-code-log/edge_cases.jsonl"
    calls = [c for m in claude_code.read(path) if isinstance(m, MessageRecord)
             for c in m.tool_calls if c.name == "TodoWrite"]  # fmt: skip
    plans = [plan_of(c) for c in calls]
    assert (plans[-1][0].text, plans[-1][0].status) == ("broken_todo", TODO)
    assert [(s.text, s.status) for s in plans[-1][1:3]] == [
        ("Implement core functionality", NOW), ("Add comprehensive tests", TODO)
    ]  # fmt: skip


def test_the_step_that_is_worked_on_is_the_current_one():
    steps = [{"step": s, "status": t} for s, t in (("a", "completed"), ("b", "pending"),
                                                  ("c", "in_progress"))]  # fmt: skip
    plan = read_plan(call("update_plan", {"plan": steps, "explanation": "why"}))
    assert (plan.done, plan.current.text, plan.others) == (1, "c", {"explanation": "why"})
    plan = read_plan(call("update_plan", {"plan": steps[:2]}))
    assert plan.current.text == "b"
    assert read_plan(call("update_plan", {"plan": steps[:1]})).current is None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["step", "content", "status", "title", "id"]), inner)
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["plan", "todos", "steps", "todoList"]), json_values))
def test_no_arguments_raise(arguments):
    for step in plan_of(call("TodoWrite", arguments)) or ():
        assert step.text.strip()
        assert isinstance(step.status, PlanStatus)
