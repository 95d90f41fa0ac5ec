"""The sessions of a Hermes database: what they are, what they continue, where they ran."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from core.sources.foreign_rows import Row, Table, Value
from core.sources.instants import instant_ms
from core.sources.records import BadSourceRecord, SessionRecord
from core.types import Relation, SessionKind, TitleSource

MOST_HOPS = 100

_LINEAGE = (
    "id",
    "source",
    "parent_session_id",
    "session_key",
    "model",
    "model_config",
    "started_at",
    "ended_at",
    "end_reason",
    "cwd",
    "git_branch",
    "git_repo_root",
)
_SHOWN = ("title", "title_source", "last_activity_at", "archived", "pinned", "hidden")
_KEPT = (
    "source",
    "created_source",
    "user_id",
    "session_key",
    "chat_id",
    "chat_type",
    "thread_id",
    "display_name",
    "origin_json",
    "message_count",
    "tool_call_count",
    "api_call_count",
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
    "estimated_cost_usd",
    "actual_cost_usd",
    "profile_name",
    "rewind_count",
    "hidden",
)
_COLUMNS = tuple(dict.fromkeys((*_LINEAGE, *_SHOWN, *_KEPT)))

_RESET_REASONS = {
    "daily",
    "idle",
    "new_session",
    "resume_pending_expired",
    "session_reset",
    "session_switch",
    "suspended",
}
_KINDS = {
    "cron": SessionKind.CRON,
    "kanban": SessionKind.KANBAN,
    "subagent": SessionKind.SUBAGENT,
    "tool": SessionKind.TOOL,
}
_TITLE_SOURCES = {
    "user": TitleSource.USER,
    "llm": TitleSource.MODEL,
    "derived": TitleSource.DERIVED,
    "branch": TitleSource.DERIVED,
    "branch_fallback": TitleSource.DERIVED,
}


@dataclass(frozen=True, slots=True)
class Known:
    """What of a session decides over others and over its messages."""

    source: str
    parent: str | None
    session_key: str | None
    model: str | None
    branched_from: str | None
    delegated_from: str | None
    reset_from: str | None
    started_ms: int | None
    ended_ms: int | None
    end_reason: str | None
    place: tuple[str | None, str | None, str | None]  # cwd, branch, repository
    titled: bool


class Sessions:
    """All sessions of one database. Memory grows with their number, about 1 KB each."""

    def __init__(self, table: Table | None) -> None:
        self._table = table
        self.known: dict[str, Known] = {}
        self._continued: set[str | None] = set()
        if table is None:
            return
        for row in table.rows((*_LINEAGE, "title")):
            if isinstance(row, Row) and (native_id := _text(row.values[0])):
                self.known[native_id] = _known(dict(zip(_LINEAGE, row.values, strict=False)), row)
        self._continued = {
            child.parent
            for child in self.known.values()
            if child.parent in self.known and _not_before(child, self.known[child.parent])
        }

    def kind(self, native_id: str) -> SessionKind:
        """Return what started the session; one without a row is interactive."""
        known = self.known.get(native_id)
        if known is None:
            return SessionKind.INTERACTIVE
        if known.source in _KINDS:
            return _KINDS[known.source]
        relation = self.relation(native_id)[0]
        orphan = known.delegated_from is not None and known.parent is None
        if orphan or relation == Relation.SUBAGENT:
            return SessionKind.SUBAGENT
        return SessionKind.INTERACTIVE

    def model(self, native_id: str) -> str | None:
        """Return the model the session was run with, as far as its row tells."""
        known = self.known.get(native_id)
        return known.model if known else None

    def relation(self, native_id: str) -> tuple[Relation | None, str | None]:
        """Return how a session relates to its parent, and whether that is told or guessed.

        The first that holds: a branch, a delegated task, the continuation after a compaction,
        a new start in the same chat, anything else a subagent. A mark that names another
        session than the parent was inherited with the configuration and says nothing.
        """
        child = self.known[native_id]
        parent_id = self.parent(native_id)
        if parent_id is None:
            return None, None
        parent = self.known.get(parent_id)
        if child.branched_from == parent_id:
            return Relation.BRANCH, "explicit"
        if parent and parent.end_reason == "branched" and _not_before(child, parent):
            return Relation.BRANCH, "heuristic"
        if child.delegated_from == parent_id or child.source in ("subagent", "tool"):
            return Relation.SUBAGENT, "explicit"
        if parent and parent.end_reason == "compression":
            if _not_before(child, parent):
                return Relation.CONTINUATION, "explicit"
            # Clocks jump and gateways race; but where another begins behind the parent's end,
            # that is what goes on, and this one ran beside the parent.
            is_beside = parent_id in self._continued
            return Relation.SUBAGENT if is_beside else Relation.CONTINUATION, "heuristic"
        if child.reset_from == parent_id:
            return Relation.RESET, "explicit"
        same_chat = parent and child.session_key and child.session_key == parent.session_key
        if parent and same_chat and parent.end_reason in _RESET_REASONS:
            return Relation.RESET, "heuristic"
        return (Relation.SUBAGENT, "heuristic") if parent else (None, None)

    def parent(self, native_id: str) -> str | None:
        """Return the parent, or None where following parents would come back here."""
        parent = self.known[native_id].parent
        ancestor = parent
        for _ in range(MOST_HOPS):
            if ancestor == native_id:
                return None
            known = self.known.get(ancestor) if ancestor else None
            if known is None:
                return parent
            ancestor = known.parent
        return parent

    def records(self, titles: Mapping[str, str]) -> Iterator[SessionRecord | BadSourceRecord]:
        """Yield a record for every row, in row order; `titles` serves those without one."""
        if self._table is None:
            return
        for row in self._table.rows(_COLUMNS):
            if isinstance(row, BadSourceRecord):
                yield row
                continue
            fields = dict(zip(_COLUMNS, row.values, strict=True))
            native_id = _text(fields["id"])
            if native_id:
                yield self._record(native_id, fields, titles)
            else:
                yield BadSourceRecord(row.rowid, "a session without an id")

    def _record(
        self, native_id: str, fields: Mapping[str, Value], titles: Mapping[str, str]
    ) -> SessionRecord:
        relation, evidence = self.relation(native_id)
        cwd, branch, repository = self._place(native_id)
        title, told = _text(fields["title"]), _text(fields["title_source"])
        source = _TITLE_SOURCES.get(told or "", TitleSource.MODEL)
        if title is None:
            title = titles.get(native_id)
            source = TitleSource.DERIVED if title else TitleSource.NONE
        return SessionRecord(
            native_id,
            kind=self.kind(native_id),
            parent_native_id=self.parent(native_id),
            relation=relation,
            evidence=evidence,
            title=title,
            title_source=source,
            model=_text(fields["model"]),
            cwd=cwd,
            git_repo_root=repository,
            git_branch=branch,
            started_at_ms=instant_ms(fields["started_at"]),
            updated_at_ms=instant_ms(fields["last_activity_at"]) or instant_ms(fields["ended_at"]),
            archived=bool(fields["archived"]) or bool(fields["hidden"]),
            pinned=bool(fields["pinned"]),
            end_reason=_text(fields["end_reason"]),
            channel=self._channel(native_id),
            metadata=json.dumps(
                {k: fields[k] for k in _KEPT if fields[k] not in (None, "", 0)}, ensure_ascii=False
            ),
        )

    def _channel(self, native_id: str) -> str | None:
        """Where a session was held: its row names the program or the service it came in by.

        What names a kind of session instead (`cron`, `subagent`) is no channel.
        """
        source = self.known[native_id].source.strip().lower()
        return source if source and source not in _KINDS else None

    def _place(self, native_id: str) -> tuple[str | None, str | None, str | None]:
        """Where a session ran: its own columns, else those of the nearest ancestor with any."""
        current: str | None = native_id
        for _ in range(MOST_HOPS):
            known = self.known.get(current) if current else None
            if known is None:
                break
            if any(known.place):
                return known.place
            current = known.parent
        return None, None, None


def _known(fields: Mapping[str, Value], row: Row) -> Known:
    config = _config(fields["model_config"])
    return Known(
        source=_text(fields["source"]) or "",
        parent=_text(fields["parent_session_id"]),
        session_key=_text(fields["session_key"]),
        model=_text(fields["model"]),
        branched_from=_text(config.get("_branched_from")),
        delegated_from=_text(config.get("_delegate_from")),
        reset_from=_text(config.get("_reset_from")),
        started_ms=instant_ms(fields["started_at"]),
        ended_ms=instant_ms(fields["ended_at"]),
        end_reason=_text(fields["end_reason"]),
        place=(_text(fields["cwd"]), _text(fields["git_branch"]), _text(fields["git_repo_root"])),
        titled=_text(row.values[len(_LINEAGE)]) is not None,
    )


def _config(value: Value) -> Mapping[str, Any]:
    if not isinstance(value, str) or "_from" not in value:
        return {}
    try:
        config = json.loads(value)
    except (ValueError, RecursionError):
        return {}
    return config if isinstance(config, dict) else {}


def _not_before(child: Known, parent: Known) -> bool:
    if child.started_ms is None or parent.ended_ms is None:
        return True
    return child.started_ms >= parent.ended_ms


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value.strip() else None
