"""Goose's messages: a role, a time, and a list of contents of many types.

A tool's result is a content of the next message of role `user`; here it is a message of its
own, linked by the call's id. `metadata_json` tells who sees a message: what the model no longer
sees was summarized away, what the person never saw was said by the program.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from core.sources.headline import derived_title
from core.sources.instants import Instant
from core.sources.loose import Json, identifier, items, json_text, mapping, text
from core.sources.records import MessageRecord, UnknownRecord
from core.sources.uids import Uids
from core.types import MessageState, Origin, Role, SessionKind, ToolCall, ToolStatus

_NOTES = {
    "contextLengthExceeded",
    "conversationCompacted",
    "error",
    "summarizationRequested",
    "systemNotification",
}
_SILENT = {"actionRequired", "redactedThinking", "toolConfirmationRequest"}
_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT, "system": Role.SYSTEM}
_ORIGINS = {
    Role.USER: Origin.HUMAN,
    Role.ASSISTANT: Origin.MODEL,
    Role.SYSTEM: Origin.SYNTHETIC,
}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a message stands: `position` has room for its results behind it."""

    position: int
    at: Instant
    raw_ref: str


@dataclass(slots=True)
class _Contents:
    texts: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    results: list[Json] = field(default_factory=list)
    media: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)

    def add(self, part: Json, at: str) -> None:
        kind = text(part, "type")
        if kind == "text":
            self.texts.append(text(part, "text") or "")
        elif kind in ("thinking", "reasoning"):
            self.thoughts.append(text(part, "thinking", "text") or "")
        elif kind in ("toolRequest", "frontendToolRequest"):
            self.calls.append(_call(part))
        elif kind == "toolResponse":
            self.results.append(part)
        elif kind in ("image", "document"):
            self.media.append(_media(part, at))
        elif kind in _NOTES:
            self.notes.append(text(part, "msg", "message") or "")
        elif kind not in _SILENT:
            self.unknown.append(f"content {kind or 'without a type'}"[:100])


@dataclass(slots=True)
class Talk:
    """One session while its messages are read in order."""

    session: str
    kind: SessionKind = SessionKind.INTERACTIVE
    title: str | None = None
    _uids: Uids = field(init=False)
    _tools: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._uids = Uids(self.session)

    def records(
        self, native_id: str | None, named: str, content: object, metadata: Json, place: Place
    ) -> Iterator[MessageRecord | UnknownRecord]:
        """Yield the message, unless it holds results alone, and then each result it holds."""
        role = _ROLES.get(named, Role.SYSTEM)
        if named not in _ROLES:
            yield UnknownRecord(f"role {named}"[:100])
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        found = _Contents()
        for part in items(content):
            found.add(mapping(part), place.raw_ref)
        yield from (UnknownRecord(what) for what in found.unknown)
        main = self._message(native_id, role, found, metadata, place, json_text(content))
        says = main.content or main.reasoning or main.tool_calls or main.media_refs
        if says or not found.results:
            hidden = MessageState.HIDDEN if main.state == MessageState.ACTIVE else main.state
            yield main if says else replace(main, state=hidden)
        for number, part in enumerate(found.results, 1):
            yield self._result(part, main, number)
        spoken = main.role == Role.USER and main.origin in (Origin.HUMAN, Origin.MODEL)
        if self.title is None and spoken:
            self.title = derived_title(main.content)

    def _message(
        self,
        native_id: str | None,
        role: Role,
        found: _Contents,
        metadata: Json,
        place: Place,
        words: str,
    ) -> MessageRecord:
        texts, origin = _joined(found.texts), _ORIGINS[role]
        if role == Role.USER and self.kind == SessionKind.SUBAGENT:
            origin = Origin.MODEL
        if notes := _joined(found.notes):
            origin = origin if texts else Origin.SYNTHETIC
            texts = texts or notes
        state = MessageState.ACTIVE
        if metadata.get("userVisible") is False:
            state, origin = MessageState.HIDDEN, Origin.SYNTHETIC
        elif metadata.get("agentVisible") is False and not notes:
            state = MessageState.COMPACTED
        self._tools.update({call.id: call.name for call in found.calls if call.id})
        return MessageRecord(
            self.session,
            self._uids.of(native_id, role, words),
            role,
            texts,
            origin,
            position=place.position,
            state=state,
            created_at_ms=place.at[0],
            time_quality=place.at[1],
            reasoning=_joined(found.thoughts) or None,
            tool_calls=tuple(found.calls) if role == Role.ASSISTANT else (),
            media_refs=tuple(found.media),
            raw_ref=place.raw_ref,
        )

    def _result(self, part: Json, main: MessageRecord, number: int) -> MessageRecord:
        call_id = identifier(part.get("id"))
        result = mapping(part.get("toolResult"))
        said, media, failed = _outcome(result, main.raw_ref or "")
        position = main.position or 0
        return replace(
            main,
            uid=f"{main.uid}:{call_id or number}",
            role=Role.TOOL,
            content=said,
            origin=Origin.TOOL,
            position=position + min(number, 1000),
            reasoning=None,
            tool_calls=(),
            tool_call_id=call_id,
            tool_name=self._tools.get(call_id or ""),
            tool_status=ToolStatus.FAILED if failed else ToolStatus.SUCCEEDED,
            media_refs=tuple(media),
        )


def _joined(texts: list[str]) -> str:
    return "\n\n".join(each for each in texts if each)


def _call(part: Json) -> ToolCall:
    """Return a call; one that the program could not make out says why instead of arguments."""
    told = mapping(part.get("toolCall"))
    value = mapping(told.get("value")) or (told if "name" in told else {})
    name = text(value, "name") or ""
    if told.get("status") == "error":
        reason = text(told, "error") or ""
        return ToolCall(identifier(part.get("id")), name, "{}", ToolStatus.FAILED, result=reason)
    return ToolCall(identifier(part.get("id")), name, json_text(value.get("arguments")))


def _outcome(result: Json, at: str) -> tuple[str, list[str], bool]:
    """Return what a tool gave back, the media in it, and whether it failed."""
    if result.get("status") == "error":
        return text(result, "error") or "", [], True
    value = result.get("value")
    inner = mapping(value)
    parts = items(inner.get("content")) if "content" in inner else items(value)
    texts, media = [], []
    for part in map(mapping, parts):
        resource = mapping(part.get("resource"))
        if said := text(part, "text") or text(resource, "text"):
            texts.append(said)
        elif part.get("type") in ("image", "audio"):
            media.append(_media(part, at))
    if not parts and value not in (None, [], {}):
        texts.append(json_text(value))
    return "\n\n".join(texts), media, inner.get("isError") is True


def _media(part: Json, at: str) -> str:
    """Name a picture without its bytes, as `type; size=bytes; at=place`."""
    size = len(text(part, "data") or "") * 3 // 4
    return f"{text(part, 'mimeType', 'mime_type') or 'media'}; size={size}; at={at}"
