"""A user's history store: `agent/runtime/history/users/<key>/state.db`, `user_version` 1.

Evidence: the program's own schema (app/agent/history, 2026). Rows never change but for two
flags. The rows it moved in from its main database have provenance `legacy_snapshot`; they were
said before what it has seen itself, though their row ids may be higher. Their time is when the
session was last active, in whole seconds; where that was not known it is the clock of its own
import, with fractions, and says nothing.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

import apsw

from core.errors import SourceError
from core.sources import columns
from core.sources.foreign_rows import Row, Table, Value
from core.sources.headline import derived_title
from core.sources.instants import UNKNOWN, Instant, instant, instant_ms
from core.sources.lines import without_surrogates
from core.sources.moviepilot.messages import outcome
from core.sources.records import (
    BadSourceRecord,
    MessageRecord,
    ReadTo,
    Record,
    SessionRecord,
    UnknownRecord,
)
from core.types import (
    MessageState,
    Origin,
    Provenance,
    Relation,
    Role,
    SessionKind,
    TimeQuality,
    TitleSource,
)

NEWEST = 1
UNNAMED = "未命名会话"
"""The title that the program gives where it has none."""
LEGACY_POSITION = 1 << 39
OBSERVED_POSITION = 1 << 40
"""Added to row ids: what was moved in stands before what the program saw itself."""

_PROGRESS_ROWS = 200
_TITLE_ROWS = 200
_LEGACY = Provenance.LEGACY_SNAPSHOT.value

_SESSION = (
    "id",
    "source",
    "title",
    "model",
    "started_at",
    "last_active",
    "parent_session_id",
    "end_reason",
)
_MESSAGE = (
    "session_id",
    "message_uid",
    "role",
    "content",
    "tool_call_id",
    "tool_name",
    "tool_calls",
    "tool_status",
    "timestamp",
    "provenance",
    "active",
    "compacted",
)
_ROLES = {
    "user": (Role.USER, Origin.HUMAN),
    "assistant": (Role.ASSISTANT, Origin.MODEL),
    "tool": (Role.TOOL, Origin.TOOL),
    "system": (Role.SYSTEM, Origin.INJECTED),
}
_KINDS = {
    "cron": SessionKind.CRON,
    "kanban": SessionKind.KANBAN,
    "subagent": SessionKind.SUBAGENT,
    "tool": SessionKind.TOOL,
}

Fields = Mapping[str, Value]


def records(db: apsw.Connection, path: Path) -> Iterator[Record]:
    """Yield the sessions of a store, those that were deleted there, and the messages.

    Memory: one row, and the name of each session.

    Raises:
        SourceError: it has no such tables, or a newer version wrote it.
    """
    version = db.execute("PRAGMA user_version").get
    if isinstance(version, int) and version > NEWEST:
        raise SourceError(
            f"{path} has version {version}, this version reads {NEWEST}", path=str(path)
        )
    try:
        sessions, messages = Table(db, "sessions"), Table(db, "messages")
    except SourceError as error:
        raise SourceError(f"{path} is no history store: {error}", path=str(path)) from error
    titles, seen = _titles(messages)
    known: dict[str, SessionKind] = {}
    for row in sessions.rows(_SESSION):
        if isinstance(row, BadSourceRecord):
            yield row
            continue
        fields = dict(zip(_SESSION, row.values, strict=True))
        name = columns.text(fields["id"])
        if name is None:
            yield BadSourceRecord(row.rowid, "sessions: a row without an id")
            continue
        session = _session(name, fields, titles.get(name), is_seen=name in seen)
        known[name] = session.kind
        yield session
    for name in deleted(db):
        if name not in known:
            yield SessionRecord(name, deleted_at_source=True)
    yield from _messages(messages, known)


def _messages(messages: Table, kinds: Mapping[str, SessionKind]) -> Iterator[Record]:
    done = 0
    for done, row in enumerate(messages.rows(_MESSAGE), 1):
        if isinstance(row, BadSourceRecord):
            yield row
            continue
        fields = dict(zip(_MESSAGE, row.values, strict=True))
        name = columns.text(fields["session_id"])
        if name is None:
            yield BadSourceRecord(row.rowid, "messages: a row without a session")
            continue
        yield from _message(name, row.rowid, fields, kinds.get(name, SessionKind.INTERACTIVE))
        if done % _PROGRESS_ROWS == 0:
            yield ReadTo(done)
    yield ReadTo(done, done)


def _message(session: str, rowid: int, fields: Fields, kind: SessionKind) -> Iterator[Record]:
    named = (columns.text(fields["role"]) or "").lower()
    role, origin = _ROLES.get(named, (Role.SYSTEM, Origin.SYNTHETIC))
    if role == Role.USER and kind == SessionKind.SUBAGENT:
        origin = Origin.MODEL
    is_legacy, is_tool = _is_legacy(fields), role == Role.TOOL
    at_ms, quality = _time(fields["timestamp"], is_legacy=is_legacy)
    yield MessageRecord(
        session,
        columns.text(fields["message_uid"]) or f"row:{rowid}",
        role,
        _content(fields["content"]),
        origin,
        position=(LEGACY_POSITION if is_legacy else OBSERVED_POSITION) + max(0, rowid),
        state=_state(fields),
        provenance=Provenance.LEGACY_SNAPSHOT if is_legacy else Provenance.OBSERVED,
        created_at_ms=at_ms,
        time_quality=quality,
        tool_calls=columns.calls(fields["tool_calls"]) if role == Role.ASSISTANT else (),
        tool_call_id=columns.text(fields["tool_call_id"]) if is_tool else None,
        tool_name=columns.text(fields["tool_name"]) if is_tool else None,
        tool_status=outcome(fields["tool_status"]) if is_tool else None,
        raw_ref=f"rowid:{rowid}",
    )
    if named not in _ROLES:
        yield UnknownRecord(f"role {named[:80]}")
    if columns.is_damaged(fields["tool_calls"]):
        yield UnknownRecord("tool_calls that are not JSON")


def _session(name: str, fields: Fields, derived: str | None, *, is_seen: bool) -> SessionRecord:
    title, told = columns.text(fields["title"]), TitleSource.MODEL
    if title is None or title == UNNAMED:
        title = derived or title
        told = TitleSource.DERIVED if derived else TitleSource.NONE
    origin = columns.text(fields["source"]) or ""
    kind = _KINDS.get(origin.lower(), SessionKind.INTERACTIVE)
    parent = columns.text(fields["parent_session_id"])
    relation = Relation.SUBAGENT if kind == SessionKind.SUBAGENT else Relation.CONTINUATION
    started = fields["started_at"] if is_seen or _is_whole(fields["started_at"]) else None
    return SessionRecord(
        name,
        kind=kind,
        parent_native_id=parent if parent != name else None,
        relation=relation if parent and parent != name else None,
        evidence=None if not parent or parent == name else _evidence(kind),
        title=title,
        title_source=told,
        model=columns.text(fields["model"]),
        started_at_ms=instant_ms(started),
        updated_at_ms=instant_ms(fields["last_active"]) if is_seen or started else None,
        end_reason=columns.text(fields["end_reason"]),
        channel=origin or None,
    )


def _evidence(kind: SessionKind) -> str:
    return "explicit" if kind == SessionKind.SUBAGENT else "heuristic"


def _titles(messages: Table) -> tuple[dict[str, str], set[str]]:
    """Return titles made of first prompts, and the sessions the program saw itself."""
    titles: dict[str, str] = {}
    seen: set[str] = set()
    asked: dict[str, int] = {}
    for row in messages.rows(("session_id", "role", "provenance", "content")):
        if not isinstance(row, Row) or (name := columns.text(row.values[0])) is None:
            continue
        if row.values[2] != _LEGACY:
            seen.add(name)
        asked[name] = asked.get(name, 0) + 1
        if name not in titles and row.values[1] == "user" and asked[name] <= _TITLE_ROWS:
            title = derived_title(_content(row.values[3]))
            if title:
                titles[name] = title
    return titles, seen


def deleted(db: apsw.Connection) -> Iterator[str]:
    """Yield the sessions that the user deleted; the program keeps their ids alone."""
    try:
        table = Table(db, "deleted_sessions")
    except SourceError:
        return
    for row in table.rows(("id",)):
        if isinstance(row, Row) and (name := columns.text(row.values[0])):
            yield name


def _is_legacy(fields: Fields) -> bool:
    return fields["provenance"] == _LEGACY


def _time(value: Value, *, is_legacy: bool) -> Instant:
    if not is_legacy:
        return instant(value)
    at_ms = instant_ms(value) if _is_whole(value) else None
    return (at_ms, TimeQuality.SESSION) if at_ms is not None else UNKNOWN


def _is_whole(value: Value) -> bool:
    return isinstance(value, int) or (isinstance(value, float) and value.is_integer())


def _state(fields: Fields) -> MessageState:
    if fields["compacted"] in (1, True):
        return MessageState.COMPACTED
    return MessageState.REWOUND if fields["active"] == 0 else MessageState.ACTIVE


def _content(value: Value) -> str:
    if isinstance(value, str):
        return without_surrogates(value)
    return "" if value is None else str(value)
