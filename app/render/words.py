"""The viewer's own words, translated. Safe off the GUI thread: translate() is."""

from PySide6.QtCore import QCoreApplication

from app import formatting
from core.types import PlanStatus, Role, ToolStatus

translate = QCoreApplication.translate


def role(value: Role) -> str:
    """Return who speaks."""
    return {
        Role.USER: translate("viewer", "User"),
        Role.ASSISTANT: translate("viewer", "Assistant"),
        Role.TOOL: translate("viewer", "Tool"),
        Role.SYSTEM: translate("viewer", "System"),
    }[value]


def status(value: ToolStatus) -> str:
    """Return how a tool call ended."""
    return {
        ToolStatus.SUCCEEDED: translate("viewer", "succeeded"),
        ToolStatus.FAILED: translate("viewer", "failed"),
        ToolStatus.PENDING: translate("viewer", "pending"),
        ToolStatus.UNKNOWN: translate("viewer", "unknown"),
    }[value]


def plan_status(value: PlanStatus) -> str:
    """Return how far a step of a plan is."""
    return {
        PlanStatus.PENDING: translate("viewer", "to do"),
        PlanStatus.IN_PROGRESS: translate("viewer", "in progress"),
        PlanStatus.COMPLETED: translate("viewer", "done"),
        PlanStatus.BLOCKED: translate("viewer", "blocked"),
        PlanStatus.CANCELLED: translate("viewer", "canceled"),
    }[value]


def steps_done(count: int, total: int) -> str:
    """Return `2 of 5 done`."""
    text = translate("viewer", "%1 of %2 done")
    return text.replace("%1", formatting.number(count)).replace("%2", formatting.number(total))


def steps_not_shown(count: int) -> str:
    """Return `12 more steps`."""
    return formatting.counted(
        count, translate("viewer", "%1 more step"), translate("viewer", "%1 more steps")
    )


def copy() -> str:
    """Return the link that copies a block."""
    return translate("viewer", "copy")


def messages(count: int) -> str:
    """Return `54 messages`."""
    return formatting.counted(
        count, translate("viewer", "%1 message"), translate("viewer", "%1 messages")
    )


def characters(count: int) -> str:
    """Return `2,318 characters`."""
    return formatting.counted(
        count, translate("viewer", "%1 character"), translate("viewer", "%1 characters")
    )


def first_of(count: int, total: int) -> str:
    """Return `first 3 of 190`."""
    text = translate("viewer", "first %1 of %2")
    return text.replace("%1", formatting.number(count)).replace("%2", formatting.number(total))


def last_of(count: int, total: int) -> str:
    """Return `last 3 of 190`."""
    text = translate("viewer", "last %1 of %2")
    return text.replace("%1", formatting.number(count)).replace("%2", formatting.number(total))


def rest(count: int, left: int) -> str:
    """Return the link that shows `count` of the `left` characters that were cut."""
    if count >= left:
        return translate("viewer", "show the rest (%1)").replace("%1", characters(left))
    text = translate("viewer", "show %1 more of %2")
    return text.replace("%1", formatting.number(count)).replace("%2", characters(left))


def image_not_loaded(what: str) -> str:
    """Return what stands in a picture's place."""
    return translate("viewer", "image not loaded: %1").replace("%1", what)


def file_not_loaded(what: str) -> str:
    """Return what stands in a file's place."""
    return translate("viewer", "file not loaded: %1").replace("%1", what)


def lines(count: int) -> str:
    """Return `14 lines`."""
    return formatting.counted(
        count, translate("viewer", "%1 line"), translate("viewer", "%1 lines")
    )


def span(first: int, last: int) -> str:
    """Return `characters 16,385–32,768`."""
    text = translate("viewer", "characters %1–%2")
    return text.replace("%1", formatting.number(first)).replace("%2", formatting.number(last))


def render_anyway() -> str:
    """Return the link that has a heavy text formatted all the same."""
    return translate("viewer", "render anyway")


def thinking() -> str:
    """Return the name of a model's reasoning."""
    return translate("viewer", "Thinking")
