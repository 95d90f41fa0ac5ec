"""One bubble of Cursor's editor as a message of the common model."""

from collections.abc import Iterator

from core.sources.instants import Instant, instant
from core.sources.json_value import json_value
from core.sources.loose import Json, identifier, items, json_text, mapping, number, text
from core.sources.records import MessageRecord, UnknownRecord
from core.sources.uids import Uids
from core.types import MessageState, Origin, Role, ToolCall, ToolStatus

_ROLES = {1: Role.USER, 2: Role.ASSISTANT}
_STATUSES = {
    "completed": ToolStatus.SUCCEEDED,
    "success": ToolStatus.SUCCEEDED,
    "cancelled": ToolStatus.FAILED,
    "error": ToolStatus.FAILED,
    "failed": ToolStatus.FAILED,
    "rejected": ToolStatus.FAILED,
    "loading": ToolStatus.PENDING,
    "pending": ToolStatus.PENDING,
    "running": ToolStatus.PENDING,
}


def message_of(
    bubble: Json, bubble_id: str | None, session: str, uids: Uids, *, is_delegated: bool = False
) -> Iterator[MessageRecord | UnknownRecord]:
    """Yield the message of a bubble; its place is the caller's to set.

    One that says nothing (yet) is hidden.
    """
    kind = bubble.get("type")
    role = _ROLES.get(kind) if isinstance(kind, int) else None
    if role is None:
        yield UnknownRecord(f"bubble type {kind}"[:100])
        role = Role.SYSTEM
    content = text(bubble, "text", "rawText") or ""
    call = _call(mapping(bubble.get("toolFormerData")))
    thinking = bubble.get("thinking")
    reasoning = thinking if isinstance(thinking, str) else text(mapping(thinking), "text")
    media = tuple(_media(each, bubble_id or session) for each in items(bubble.get("images")))
    at = instant(bubble.get("createdAt"))
    says = content or call or reasoning or media
    origin = {Role.USER: Origin.HUMAN, Role.ASSISTANT: Origin.MODEL}.get(role, Origin.SYNTHETIC)
    yield MessageRecord(
        session,
        uids.of(bubble_id, role, content, json_text(bubble.get("toolFormerData"))),
        role,
        content,
        Origin.MODEL if is_delegated and role == Role.USER else origin,
        state=MessageState.ACTIVE if says else MessageState.HIDDEN,
        created_at_ms=at[0],
        time_quality=at[1],
        model=text(mapping(bubble.get("modelInfo")), "modelName"),
        reasoning=reasoning or None,
        tool_calls=(call,) if call is not None else (),
        media_refs=media,
        usage=_usage(mapping(bubble.get("tokenCount"))),
        raw_ref=f"bubbleId:{session}:{bubble_id}" if bubble_id else None,
    )


def panel_message(
    bubble: Json, session: str, uids: Uids, at: Instant
) -> Iterator[MessageRecord | UnknownRecord]:
    """Yield the message of a bubble of the panel of 2023, which has the time of its tab."""
    kind = text(bubble, "type") or ""
    role = {"user": Role.USER, "ai": Role.ASSISTANT}.get(kind, Role.SYSTEM)
    if role == Role.SYSTEM:
        yield UnknownRecord(f"bubble type {kind}"[:100])
    content = text(bubble, "text", "rawText") or ""
    origin = {Role.USER: Origin.HUMAN, Role.ASSISTANT: Origin.MODEL}.get(role, Origin.SYNTHETIC)
    yield MessageRecord(
        session,
        uids.of(identifier(bubble.get("id")), role, content),
        role,
        content,
        origin,
        state=MessageState.ACTIVE if content else MessageState.HIDDEN,
        created_at_ms=at[0],
        time_quality=at[1],
        model=text(bubble, "modelType") if role == Role.ASSISTANT else None,
    )


def _call(data: Json) -> ToolCall | None:
    name = text(data, "name")
    if name is None and identifier(data.get("toolCallId")) is None:
        return None
    status = _STATUSES.get((text(data, "status") or "").lower(), ToolStatus.UNKNOWN)
    arguments = text(data, "rawArgs") or json_text(data.get("params"))
    said = data.get("result")
    result = json_text(said) if said else ""
    if status == ToolStatus.SUCCEEDED and "error" in mapping(json_value(result)):
        status = ToolStatus.FAILED
    return ToolCall(
        identifier(data.get("toolCallId")), name or "", arguments, status, result=result
    )


def _media(image: object, at: str) -> str:
    """Name a picture without its bytes, as `type; size=bytes; at=place`."""
    if isinstance(image, str):
        return f"image; size={len(image) * 3 // 4}; at={at}"
    told = mapping(image)
    size = len(text(told, "data") or "") * 3 // 4
    return f"{text(told, 'mimeType') or 'image'}; size={size}; at={text(told, 'path') or at}"


def _usage(tokens: Json) -> str | None:
    return json_text(tokens) if any(number(count) for count in tokens.values()) else None
