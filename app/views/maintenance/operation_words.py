"""What was done, by whom, and what came of it, in words; jobs and their schedules too."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from PySide6.QtCore import QT_TRANSLATE_NOOP, QCoreApplication

from app import formatting
from app.text_ranges import one_line
from core.upkeep_types import Job, Operation, OperationState

_CONTEXT = "operations"
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}

_KINDS = {
    "retention.apply": QT_TRANSLATE_NOOP("operations", "Move old sessions to the trash"),
    "trash.sessions": QT_TRANSLATE_NOOP("operations", "Move sessions to the trash"),
    "trash.message": QT_TRANSLATE_NOOP("operations", "Move a message to the trash"),
    "trash.restore": QT_TRANSLATE_NOOP("operations", "Bring back from the trash"),
    "trash.empty": QT_TRANSLATE_NOOP("operations", "Empty the trash"),
    "trash.expire": QT_TRANSLATE_NOOP("operations", "Delete what was in the trash long enough"),
    "purge": QT_TRANSLATE_NOOP("operations", "Erase what was deleted"),
    "backup": QT_TRANSLATE_NOOP("operations", "Back up and prove"),
    "restore": QT_TRANSLATE_NOOP("operations", "Restore a backup"),
    "check": QT_TRANSLATE_NOOP("operations", "Check the store"),
    "check.full": QT_TRANSLATE_NOOP("operations", "Check the whole store"),
    "repair": QT_TRANSLATE_NOOP("operations", "Repair an index"),
    "salvage": QT_TRANSLATE_NOOP("operations", "Rescue a damaged store"),
    "optimize": QT_TRANSLATE_NOOP("operations", "Optimise the indexes"),
    "compact": QT_TRANSLATE_NOOP("operations", "Compact the store"),
    "backfill": QT_TRANSLATE_NOOP("operations", "Fill an index"),
    "tokenizer.install": QT_TRANSLATE_NOOP("operations", "Install the CJK tokenizer"),
    "import": QT_TRANSLATE_NOOP("operations", "Import"),
    "source.remove": QT_TRANSLATE_NOOP("operations", "Remove a source"),
    "sessions.pin": QT_TRANSLATE_NOOP("operations", "Pin a session"),
    "sessions.unpin": QT_TRANSLATE_NOOP("operations", "Unpin a session"),
}
_ACTORS = {
    "you": QT_TRANSLATE_NOOP("operations", "by you"),
    "command": QT_TRANSLATE_NOOP("operations", "by a command"),
    "schedule": QT_TRANSLATE_NOOP("operations", "by the schedule"),
    "agent": QT_TRANSLATE_NOOP("operations", "by an agent"),
    "self-check": QT_TRANSLATE_NOOP("operations", "by self-check"),
}


@dataclass(frozen=True, slots=True)
class Look:
    """Icon, word and tint of a state."""

    icon: str
    word: str
    kind: str


def tr(text: str) -> str:
    """Translate a text of this module."""
    return QCoreApplication.translate(_CONTEXT, text)


def look(state: OperationState) -> Look:
    """Return how a state is shown."""
    return {
        "running": Look("pending", tr("running"), "info"),
        "succeeded": Look("ok", tr("succeeded"), "ok"),
        "failed": Look("fail", tr("failed"), "err"),
        "pending": Look("hourglass", tr("pending"), "info"),
        "unknown": Look("unknown", tr("unknown"), "unk"),
    }[state]


def kind(name: str) -> str:
    """Return the words for a kind of operation or job; one we have none for as it is."""
    return tr(_KINDS[name]) if name in _KINDS else one_line(name)


def actor(name: str) -> str:
    """Return `by you`."""
    return tr(_ACTORS[name]) if name in _ACTORS else one_line(name)


def words(operation: Operation) -> str:
    """Return what an operation is, with the number or name that matters most."""
    found = _counted(operation) or kind(operation.kind)
    name = next(
        (
            operation.arguments[key]
            for key in ("index", "source", "name", "path")
            if isinstance(operation.arguments.get(key), str)
        ),
        "",
    )
    name = str(name).replace("\\", "/").rstrip("/").rpartition("/")[2]
    return f"{found}: {one_line(name)}" if name else found


def _counted(operation: Operation) -> str:
    count = operation.receipt.get("sessions")
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        return ""
    pairs = {
        "retention.apply": (
            tr("Move 1 old session to trash"),
            tr("Move %1 old sessions to trash"),
        ),
        "trash.sessions": (tr("Move 1 session to the trash"), tr("Move %1 sessions to the trash")),
        "trash.restore": (tr("Bring back 1 session"), tr("Bring back %1 sessions")),
        "trash.empty": (tr("Delete 1 session for good"), tr("Delete %1 sessions for good")),
    }
    return formatting.counted(count, *pairs[operation.kind]) if operation.kind in pairs else ""


def details(operation: Operation) -> str:
    """Return everything the ledger holds of an operation, line by line, for copying."""
    lines = [
        f"{operation.id}  {operation.kind}  {operation.state}  {operation.actor}",
        tr("Began: %1").replace("%1", _exact(operation.started_at_ms)),
    ]
    if operation.ended_at_ms is not None:
        lines.append(tr("Ended: %1").replace("%1", _exact(operation.ended_at_ms)))
    if operation.verified_at_ms is not None:
        lines.append(tr("Looked at: %1").replace("%1", _exact(operation.verified_at_ms)))
    if operation.outcome:
        lines.append(one_line(operation.outcome))
    lines += _listed(tr("Asked for"), operation.arguments)
    lines += _listed(tr("Receipt"), operation.receipt)
    return "\n".join(lines)


def _listed(title: str, values: Mapping[str, object]) -> list[str]:
    shown = [f"{name} = {one_line(_value(value))}" for name, value in values.items()]
    return [f"{title}: {'; '.join(shown)}"] if shown else []


def _value(value: object) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= 200 else f"{text[:199]}…"


def _exact(at_ms: int) -> str:
    return formatting.full_time(at_ms)


# Jobs


def schedule(text: str) -> str:
    """Return `every 30 min` for `every:30m`; other schedules as they are written."""
    name, _, rest = text.partition(":")
    unit, number = rest[-1:], rest[:-1]
    if name in ("every", "delay") and number.isdigit() and unit in _SECONDS:
        units = {
            "s": (tr("%1 s"), tr("%1 s")),
            "m": (tr("%1 min"), tr("%1 min")),
            "h": (tr("%1 hour"), tr("%1 hours")),
            "d": (tr("day"), tr("%1 days")),
            "w": (tr("week"), tr("%1 weeks")),
        }
        told = formatting.counted(int(number), *units[unit])
        return (tr("every %1") if name == "every" else tr("after %1")).replace("%1", told)
    return one_line(text)


def coming(at_ms: int, now_ms: int) -> str:
    """Return when something comes: `in 12 min`, `today 21:00`, `tomorrow 03:00`, `4 Dec 03:00`."""
    left_s = (at_ms - now_ms) / 1000
    if left_s <= 0:
        return tr("now")
    if left_s < _SECONDS["h"]:
        return tr("in %1 min").replace("%1", formatting.number(max(1, round(left_s / 60))))
    day, today = _day(at_ms), _day(now_ms)
    clock = formatting.clock(at_ms)
    if day == today:
        return tr("today %1").replace("%1", clock)
    if (day - today).days == 1:
        return tr("tomorrow %1").replace("%1", clock)
    return f"{formatting.short_day(day, today)} {clock}"


def _day(at_ms: int) -> date:
    return formatting.local(at_ms).date()


def job_state(job: Job) -> str:
    """Return how a job stands and what came of its last run."""
    if job.last_status == "error" and job.last_error:
        return tr("failed: %1").replace("%1", one_line(job.last_error))
    states = {
        "scheduled": tr("scheduled"),
        "running": tr("running"),
        "paused": tr("paused"),
        "completed": tr("completed"),
    }
    return states[job.state]
