"""Values of retention, sources and operations for pictures of the maintenance page."""

from app.views.maintenance.sources_card import SourceLine, SourcesShown
from core.upkeep_types import (
    Job,
    MonthOfSessions,
    Operation,
    RetentionPreview,
    RetentionRule,
    Trash,
)
from tests.gui.upkeep_values import MB, NOW_MS

DAY_MS = 86_400_000
_GOING = (4, 7, 11, 9, 14, 19, 0, 0, 0, 0, 0, 0)
_STAYING = (0, 0, 0, 0, 0, 0, 22, 17, 25, 31, 28, 38)


def preview(**changes) -> RetentionPreview:
    """What a rule of 180 days would move to the trash."""
    months = tuple(
        MonthOfSessions(
            2025 + (n + 11) // 12, (n + 11) % 12 + 1, going, going * MB, staying, staying * MB
        )
        for n, (going, staying) in enumerate(zip(_GOING, _STAYING, strict=True))
    )
    values = {
        "rule": RetentionRule(180),
        "token": "t",
        "cutoff_at_ms": NOW_MS - 181 * DAY_MS,
        "sessions": 71,
        "messages": 9_310,
        "bytes": 64 * MB,
        "oldest_at_ms": NOW_MS - 362 * DAY_MS,
        "newest_at_ms": NOW_MS - 182 * DAY_MS,
        "kept_pinned": 12,
        "kept_running": 1,
        "kept_by_lineage": 0,
        "kept_without_time": 0,
        "all_messages": 181_240,
        "needs_confirmation": False,
        "refused": "",
        "months": months,
    }
    return RetentionPreview(**(values | changes))


def trash(total: int = 3) -> Trash:
    """What was moved to the trash three days ago."""
    expiry = NOW_MS + 4 * DAY_MS if total else None
    return Trash((), total, 41 * total, total * MB, expiry, 411 if total else None)


def operation(number: int, kind: str, state: str, ago_ms: int, **changes) -> Operation:
    """An operation that began so long ago."""
    began = NOW_MS - ago_ms
    ended = None if state in ("running", "unknown") else began + 20_000
    values = {"arguments": {}, "actor": "you", "token": "t", "ended_at_ms": ended}
    return Operation(id=number, kind=kind, state=state, started_at_ms=began, **(values | changes))


def good_operations() -> tuple[Operation, ...]:
    """What a well kept store has done lately."""
    return (
        operation(412, "backfill", "running", 60_000, actor="schedule"),
        operation(411, "tokenizer.install", "succeeded", 300_000),
        operation(410, "check.full", "succeeded", 3_600_000, actor="schedule"),
        operation(409, "optimize", "succeeded", 6 * 3_600_000, actor="schedule"),
        operation(408, "backup", "succeeded", 2 * DAY_MS),
        operation(407, "trash.sessions", "succeeded", 2 * DAY_MS),
        operation(406, "import", "succeeded", 3 * DAY_MS),
        operation(405, "compact", "succeeded", 4 * DAY_MS),
    )


def bad_operations() -> tuple[Operation, ...]:
    """What went wrong, or nobody knows of."""
    return (
        operation(412, "repair", "running", 60_000),
        operation(411, "purge", "pending", 300_000, outcome="a reader is open"),
        operation(410, "check.full", "failed", 3_600_000, outcome="found damage"),
        operation(409, "compact", "unknown", 3 * DAY_MS),
        operation(408, "import", "failed", 4 * DAY_MS, outcome="2 files end inside a record"),
        operation(407, "backup", "failed", 5 * DAY_MS, outcome="the disk is full"),
    )


def jobs(**changes) -> tuple[Job, ...]:
    """The schedule: a backup comes next."""
    values = {"next_fire_at_ms": NOW_MS + 1_200_000, "last_status": "ok"}
    return (
        Job("backup", "backup", "every:30m", {}, "scheduled", **(values | changes)),
        Job(
            "optimize",
            "optimize",
            "cron:0 3 * * 0",
            {},
            "scheduled",
            next_fire_at_ms=NOW_MS + DAY_MS,
        ),
    )


def good_sources() -> SourcesShown:
    """Five sources, all read whole."""
    return SourcesShown(
        (
            SourceLine("claude-code", "Claude Code", "once", 12, 3, 598, 0, NOW_MS - 60_000),
            SourceLine("codex", "Codex", "once", 0, 1, 207, 0, NOW_MS - 60_000),
            SourceLine("hermes", "Hermes", "once", 4, 0, 297, 0, NOW_MS - 12_000),
            SourceLine("chatgpt", "ChatGPT export", "once", 83, 0, 0, 0, NOW_MS - 18 * DAY_MS),
        )
    )


def bad_sources() -> SourcesShown:
    """Sources of which something could not be read."""
    lines = good_sources().lines
    failed = SourceLine("claude-ai", "Claude export", "once", 35, 0, 0, 2, NOW_MS - 21 * DAY_MS)
    return SourcesShown(
        (*lines[:3], failed),
        "Claude export: 2 files were not read. What could be read is kept.",
        "7 records of kinds not known yet were left where they are (Codex 6, Hermes 1)",
    )
