"""Hermes rows as messages of the common model."""

from dataclasses import dataclass, field

from core.sources.headline import derived_title
from core.sources.hermes.content import (
    Fields,
    calls_of,
    reasoning_of,
    status_of,
    usage_of,
    words_of,
)
from core.sources.injected import HERMES_CARRIERS, HERMES_HARNESS, HERMES_INJECTED
from core.sources.instants import Instant
from core.sources.records import MessageRecord, UnknownRecord
from core.types import MessageState, Origin, Provenance, Role, SessionKind

HUMAN_KINDS = {"steer"}
"""Values of `display_kind` that mark a person's own words, sent while the model worked."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a row stands and what its surroundings say of it."""

    session: str
    kind: SessionKind
    uid: str
    position: int
    at: Instant
    raw_ref: str
    model: str | None = None
    state: MessageState = MessageState.ACTIVE
    display_kind: str | None = None
    provenance: Provenance = Provenance.OBSERVED


@dataclass(slots=True)
class Turns:
    """Makes messages of the rows of many sessions, row by row in order.

    It remembers in which sessions the model is answering its own harness, and the titles that
    sessions without one would get.
    """

    titles: dict[str, str] = field(default_factory=dict)
    _fallback: dict[str, str] = field(default_factory=dict)
    _in_harness: set[str] = field(default_factory=set)

    def read(self, fields: Fields, place: Place) -> tuple[MessageRecord, list[UnknownRecord]]:
        """Return the message of one row, and what in it was not understood."""
        words = words_of(fields, place.raw_ref)
        named = str(fields.get("role") or "").lower()
        role = _ROLES.get(named, Role.SYSTEM)
        unknown = [UnknownRecord(what) for what in words.unknown]
        if named not in _ROLES:
            unknown.append(UnknownRecord(f"role {named}"))
        is_tool = role == Role.TOOL
        message = MessageRecord(
            place.session,
            place.uid,
            role,
            words.text,
            self._origin(role, words.text, fields, place),
            position=place.position,
            state=place.state,
            provenance=place.provenance,
            created_at_ms=place.at[0],
            time_quality=place.at[1],
            model=place.model if role == Role.ASSISTANT else None,
            reasoning=reasoning_of(fields),
            tool_calls=calls_of(fields) if role == Role.ASSISTANT else (),
            tool_call_id=_named(fields, "tool_call_id") if is_tool else None,
            tool_name=(_named(fields, "tool_name") or _named(fields, "name")) if is_tool else None,
            tool_status=status_of(fields, words.text) if is_tool else None,
            media_refs=tuple(words.media),
            usage=usage_of(fields),
            raw_ref=place.raw_ref,
        )
        self._remember_title(message)
        return message, unknown

    def title(self, session: str) -> str | None:
        """Return the title made of what was read: the first prompt, else the first answer."""
        return self.titles.get(session) or self._fallback.get(session)

    def _origin(self, role: Role, text: str, fields: Fields, place: Place) -> Origin:
        origin = _plain_origin(role, text, fields, place)
        if role == Role.USER:
            if text.startswith(HERMES_HARNESS):
                self._in_harness.add(place.session)
                return Origin.SYNTHETIC
            if origin != Origin.SYNTHETIC:
                self._in_harness.discard(place.session)
        elif place.session in self._in_harness:
            return Origin.SYNTHETIC
        return origin

    def _remember_title(self, message: MessageRecord) -> None:
        if message.state not in (MessageState.ACTIVE, MessageState.COMPACTED):
            return
        into = {Role.USER: self.titles, Role.ASSISTANT: self._fallback}.get(message.role)
        spoken = message.origin in (Origin.HUMAN, Origin.MODEL)
        if into is not None and spoken and message.session not in into:
            title = derived_title(message.content)
            if title:
                into[message.session] = title


_ROLES = {
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
    "tool": Role.TOOL,
    "function": Role.TOOL,
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
}


def _plain_origin(role: Role, text: str, fields: Fields, place: Place) -> Origin:
    event = place.display_kind is not None and place.display_kind not in HUMAN_KINDS
    carrier = bool(fields.get("_compressed_summary")) or text.startswith(HERMES_CARRIERS)
    if role == Role.SYSTEM or event or carrier:
        return Origin.SYNTHETIC
    if role == Role.TOOL:
        return Origin.TOOL
    if role == Role.ASSISTANT:
        return Origin.MODEL
    if text.startswith(HERMES_INJECTED):
        return Origin.INJECTED
    return Origin.MODEL if place.kind == SessionKind.SUBAGENT else Origin.HUMAN


def _named(fields: Fields, key: str) -> str | None:
    value = fields.get(key)
    return value if isinstance(value, str) and value else None
