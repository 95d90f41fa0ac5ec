"""OpenCode's messages: a record that says who and when, and parts that say what.

A tool's call and what came of it are one part, changed in place while it runs. Parts of steps,
snapshots and patches are the program's own bookkeeping: they are known, and say nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from core.sources.instants import Instant
from core.sources.loose import Json, identifier, items, json_text, mapping, number, text
from core.sources.records import MessageRecord, UnknownRecord
from core.types import MessageState, Origin, Role, TimeQuality, ToolCall, ToolStatus

_SILENT = {"agent", "patch", "retry", "snapshot", "step-finish", "step-start"}
_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT, "system": Role.SYSTEM}
_STATUSES = {
    "completed": ToolStatus.SUCCEEDED,
    "success": ToolStatus.SUCCEEDED,
    "error": ToolStatus.FAILED,
    "pending": ToolStatus.PENDING,
    "running": ToolStatus.PENDING,
}
_ORIGINS = {
    Role.USER: Origin.HUMAN,
    Role.ASSISTANT: Origin.MODEL,
    Role.SYSTEM: Origin.SYNTHETIC,
}


@dataclass(slots=True)
class Parts:
    """What the parts of one message come to; `told` are texts that the program put there."""

    texts: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    media: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    is_compaction: bool = False

    def add(self, part: Json, at: str) -> None:
        """Take in one part; `at` says where its bytes can be found."""
        kind = text(part, "type")
        if kind == "text":
            is_told = part.get("synthetic") is True or part.get("ignored") is True
            (self.told if is_told else self.texts).append(text(part, "text") or "")
        elif kind == "reasoning":
            self.reasoning.append(text(part, "text") or "")
        elif kind == "tool":
            self._add_call(part, at)
        elif kind == "file":
            self.media.append(_media(part, at))
        elif kind == "subtask":
            self.texts.append(text(part, "prompt", "description") or "")
        elif kind == "compaction":
            self.is_compaction = True
        elif kind not in _SILENT:
            self.unknown.append(f"part {kind or 'without a type'}"[:100])

    def _add_call(self, part: Json, at: str) -> None:
        state = mapping(part.get("state"))
        self.calls.append(_call(part, state))
        self.media += [_media(mapping(each), at) for each in items(state.get("attachments"))]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a message stands, and what its surroundings say of it."""

    session: str
    uid: str
    position: int
    raw_ref: str
    at: Instant = (None, TimeQuality.NONE)
    state: MessageState = MessageState.ACTIVE
    is_delegated: bool = False
    is_summary: bool = False


def created(message: Json) -> object:
    """Return what a message's own record says of when it was made."""
    time = mapping(message.get("time")) or mapping(mapping(message.get("metadata")).get("time"))
    return time.get("created")


def records(message: Json, parts: Parts, place: Place) -> Iterator[MessageRecord | UnknownRecord]:
    """Yield the message, and beside it what the program added to it and how it failed.

    One that says nothing (yet) is hidden: a step without a word, the mark of a compaction.
    """
    named = text(message, "role") or ""
    role = _ROLES.get(named, Role.SYSTEM)
    if named not in _ROLES:
        yield UnknownRecord(f"role {named}"[:100])
    yield from (UnknownRecord(what) for what in parts.unknown)
    content, told = _joined(parts.texts), _joined(parts.told)
    if not content and role == Role.USER:
        summary = mapping(message.get("summary"))
        content = "" if told else text(summary, "body", "title") or ""
    origin = _origin(role, place)
    is_told = not (content or parts.calls or parts.reasoning or parts.media) and bool(told)
    if is_told:
        content, told, origin = told, "", Origin.INJECTED
    is_mark = parts.is_compaction and role == Role.USER and not content
    says = content or parts.calls or _joined(parts.reasoning) or parts.media
    state = MessageState.HIDDEN if place.state == MessageState.ACTIVE and not says else place.state
    main = MessageRecord(
        place.session,
        place.uid,
        role,
        content,
        Origin.SYNTHETIC if is_mark else origin,
        position=place.position,
        state=state,
        created_at_ms=place.at[0],
        time_quality=place.at[1],
        model=model_of(message) if role == Role.ASSISTANT else None,
        reasoning=_joined(parts.reasoning) or None,
        tool_calls=tuple(parts.calls),
        media_refs=tuple(parts.media),
        usage=_usage(message) if role == Role.ASSISTANT else None,
        raw_ref=place.raw_ref,
    )
    yield main
    beside = replace(
        main,
        role=Role.SYSTEM,
        state=place.state,
        position=place.position + 1,
        model=None,
        reasoning=None,
        tool_calls=(),
        media_refs=(),
        usage=None,
    )
    if told:
        yield replace(beside, uid=f"{place.uid}:told", content=told, origin=Origin.INJECTED)
    if failure := _failure(message):
        uid = f"{place.uid}:error"
        yield replace(beside, uid=uid, content=failure, origin=Origin.SYNTHETIC)


def model_of(message: Json) -> str | None:
    """Return the model that a message names."""
    beside = mapping(mapping(message.get("metadata")).get("assistant"))
    return (
        text(message, "modelID")
        or text(mapping(message.get("model")), "modelID", "id")
        or text(beside, "modelID")
    )


def _origin(role: Role, place: Place) -> Origin:
    if place.is_summary:
        return Origin.SYNTHETIC
    if role == Role.USER and place.is_delegated:
        return Origin.MODEL
    return _ORIGINS[role]


def _joined(texts: list[str]) -> str:
    return "\n\n".join(each for each in texts if each)


def _call(part: Json, state: Json) -> ToolCall:
    name = text(part, "tool") or ""
    metadata = mapping(state.get("metadata"))
    status = _STATUSES.get(text(state, "status") or "", ToolStatus.UNKNOWN)
    code = number(metadata.get("exit"))
    if status == ToolStatus.SUCCEEDED and (name == "invalid" or code not in (None, 0)):
        status = ToolStatus.FAILED
    result = text(state, "error", "output") or text(metadata, "output", "preview") or ""
    if not result and (odd := state.get("error") or state.get("output")):
        result = json_text(odd)
    given = state.get("input", state.get("raw"))
    return ToolCall(identifier(part.get("callID")), name, json_text(given), status, result=result)


def _media(part: Json, at: str) -> str:
    """Name a file without its bytes, as `type; size=bytes; at=place`."""
    kind = text(part, "mime") or "file"
    url = text(part, "url") or ""
    if url.startswith("data:"):
        size = len(url.partition(",")[2]) * 3 // 4
        return f"{kind}; size={size}; at={text(part, 'filename') or at}"
    return f"{kind}; at={(url or text(part, 'filename') or at)[:2048]}"


def _usage(message: Json) -> str | None:
    """Return the tokens of an answer as the program counts them, unless it counted none."""
    tokens = mapping(message.get("tokens"))
    cache = mapping(tokens.get("cache"))
    if not any(number(n) for n in (*tokens.values(), *cache.values())):
        return None
    cost = message.get("cost")
    return json_text({**tokens, "cost": cost} if cost else tokens)


def _failure(message: Json) -> str:
    error = mapping(message.get("error"))
    name = text(error, "name") or ""
    said = text(mapping(error.get("data")), "message") or text(error, "message") or ""
    return ": ".join(each for each in (name, said) if each)
