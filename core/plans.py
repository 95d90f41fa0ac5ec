"""Plans: the steps that a model writes down for itself, read from the call that tells them.

Codex and MoviePilot call `update_plan`, Claude Code `TodoWrite`, OpenCode `todowrite`, Hermes
`todo`, Gemini CLI `write_todos`, Qwen Code `todo_write`, VS Code `manage_todo_list`. All give a
list of steps with a text and a status each, under names of their own.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from core.types import PlanStatus, PlanStep, ToolCall

READ_CHARS = 1 << 20
"""Arguments longer than this are no plan that anybody made."""

_TOOLS = frozenset({"updateplan", "todowrite", "todo", "writetodos", "managetodolist"})
_LISTS = ("plan", "todos", "steps", "todoList", "todo_list", "items")
_TEXTS = ("step", "content", "title", "text", "description", "task")
_STATUSES = {
    "pending": PlanStatus.PENDING,
    "inprogress": PlanStatus.IN_PROGRESS,
    "active": PlanStatus.IN_PROGRESS,
    "running": PlanStatus.IN_PROGRESS,
    "completed": PlanStatus.COMPLETED,
    "complete": PlanStatus.COMPLETED,
    "done": PlanStatus.COMPLETED,
    "blocked": PlanStatus.BLOCKED,
    "failed": PlanStatus.BLOCKED,
    "cancelled": PlanStatus.CANCELLED,
    "canceled": PlanStatus.CANCELLED,
    "skipped": PlanStatus.CANCELLED,
}


@dataclass(frozen=True, slots=True)
class Plan:
    """The steps of a plan in order, and the call's other arguments by name (an explanation)."""

    steps: tuple[PlanStep, ...]
    others: Mapping[str, object]

    @property
    def done(self) -> int:
        """How many steps are completed."""
        return sum(step.status is PlanStatus.COMPLETED for step in self.steps)

    @property
    def current(self) -> PlanStep | None:
        """The step that is worked on, else the first that is still to do."""
        for status in (PlanStatus.IN_PROGRESS, PlanStatus.BLOCKED, PlanStatus.PENDING):
            for step in self.steps:
                if step.status is status:
                    return step
        return None


def plan_of(call: ToolCall) -> tuple[PlanStep, ...] | None:
    """Return the steps that a call writes down, None for a call that is no plan."""
    plan = read_plan(call)
    return None if plan is None else plan.steps


def read_plan(call: ToolCall) -> Plan | None:
    """Return the plan that a call writes down, None for a call that is none.

    It is one by its tool's name and by what it gives: without a step that has a text, it is
    shown as any other call. A status that is missing, or that nobody knows, is `pending`; an
    entry that is no step is left out. Never raises; some 20 µs for an ordinary plan.
    """
    if _plain(call.name.rpartition(".")[2]) not in _TOOLS or len(call.arguments) > READ_CHARS:
        return None
    named = _decoded(call.arguments)
    if not isinstance(named, dict):
        return None
    key = next((each for each in _LISTS if named.get(each)), None)
    if key is None:
        return None
    listed = named[key]
    if isinstance(listed, str):  # some models write the list as a text
        listed = _decoded(listed)
    found = map(_step, listed) if isinstance(listed, list) else ()
    steps = tuple(step for step in found if step is not None)
    others = {name: value for name, value in named.items() if name != key}
    return Plan(steps, others) if steps else None


def _decoded(text: str) -> object:
    try:
        return msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return None


def _step(value: object) -> PlanStep | None:
    if isinstance(value, str):
        return PlanStep(value, PlanStatus.PENDING) if value.strip() else None
    if not isinstance(value, dict):
        return None
    texts = (value.get(name) for name in _TEXTS)
    text = next((each for each in texts if isinstance(each, str) and each.strip()), None)
    if text is None:
        return None
    told = value.get("status")
    status = _STATUSES.get(_plain(told)) if isinstance(told, str) else None
    return PlanStep(text, status or PlanStatus.PENDING)


def _plain(name: str) -> str:
    """A name without case, hyphens and underscores."""
    return name.replace("_", "").replace("-", "").lower()
