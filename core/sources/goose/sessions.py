"""Goose's sessions: a row of a database, or the first line of an old file."""

from datetime import UTC, datetime

from core.sources.instants import Instant, instant
from core.sources.json_value import json_value
from core.sources.loose import Json, json_text, mapping, text
from core.sources.records import SessionRecord
from core.types import Relation, SessionKind, TitleSource

SESSION = (
    "id", "name", "description", "user_set_name", "session_type", "working_dir", "created_at",
    "updated_at", "parent_session_id", "archived_at", "provider_name", "model_config_json",
    "total_tokens", "accumulated_total_tokens", "schedule_id",
)  # fmt: skip
"""The columns that tell of a session; an old file's first line has keys of these names."""

_KEPT = ("provider_name", "total_tokens", "accumulated_total_tokens", "schedule_id")
_KINDS = {
    "scheduled": SessionKind.CRON,
    "sub_agent": SessionKind.SUBAGENT,
    "hidden": SessionKind.TOOL,
}
_PLACEHOLDERS = {"cli session", "new chat", "new session"}


def session_record(native_id: str, fields: Json) -> SessionRecord:
    """Return the session that a row, or an old file's first line, tells."""
    names = (text(fields, "name"), text(fields, "description"))
    given = (n for n in names if n and n != native_id and n.strip().lower() not in _PLACEHOLDERS)
    title = next(given, None)
    source = TitleSource.USER if fields.get("user_set_name") in (1, True) else TitleSource.MODEL
    parent = text(fields, "parent_session_id", "parent_id")
    parent = parent if parent != native_id else None
    model = fields.get("model_config_json")
    kept = {k: fields[k] for k in _KEPT if isinstance(fields.get(k), str | int)}
    return SessionRecord(
        native_id,
        kind=_KINDS.get(text(fields, "session_type") or "", SessionKind.INTERACTIVE),
        parent_native_id=parent,
        relation=Relation.SUBAGENT if parent else None,
        evidence="explicit" if parent else None,
        title=title,
        title_source=source if title else TitleSource.NONE,
        model=text(mapping(json_value(model) if isinstance(model, str) else model), "model_name"),
        cwd=text(fields, "working_dir"),
        started_at_ms=_utc(fields.get("created_at"))[0],
        updated_at_ms=_utc(fields.get("updated_at"))[0],
        archived=_utc(fields.get("archived_at"))[0] is not None,
        metadata=json_text(kept) if kept else None,
    )


def _utc(value: object) -> Instant:
    """Return the time of a session: a text, in UTC where it names no zone."""
    try:
        told = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        told = None
    if told is not None and told.tzinfo is None:
        return instant(told.replace(tzinfo=UTC).isoformat())
    return instant(value)
