"""From a reader's record to the columns of `messages`."""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

from core.sources.records import MessageRecord, SessionRecord
from core.store.keys import HAS_CJK, LONG
from core.text import INDEXED_CHARS, TOOL_INDEXED_CHARS, has_cjk, project, tool_calls_text
from core.types import MessageState, Origin, Role, ToolCall, ToolStatus

VISIBLE = frozenset({MessageState.ACTIVE, MessageState.COMPACTED})
"""The states that lists, windows and counts show."""

R = TypeVar("R", MessageRecord, SessionRecord, ToolCall)

_FARTHEST = 1 << 62
"""No position is farther from 0; SQLite's integers end at twice that."""

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class Body(NamedTuple):
    """The columns of `messages` that a record decides, in the table's order."""

    uid: str
    content_hash: bytes
    role: str
    origin: str
    state: str
    provenance: str
    tool_call_id: str | None
    tool_name: str | None
    tool_status: str | None
    model: str | None
    created_at_ms: int | None
    time_quality: str
    text_flags: int
    usage: str | None
    raw_ref: str | None
    content: str
    search_text: str | None
    tool_calls_text: str | None
    reasoning: str | None
    tool_calls: str | None
    media_refs: str | None


@dataclass(slots=True)
class Incoming:
    """A record on its way into the store, without lone surrogates.

    `state` and `seq` are where it will be stored; they may come to differ from the record's.
    """

    record: MessageRecord
    session_id: int
    content_hash: bytes
    state: MessageState
    seq: int | None

    @property
    def is_turn(self) -> bool:
        """True for what a person typed."""
        return self.record.role == Role.USER and self.record.origin == Origin.HUMAN


def incoming(record: MessageRecord, session_id: int) -> Incoming:
    """Return the record as it can be stored, with the hash that identifies its content."""
    try:
        _narrow_text(record).encode()
        found = content_hash(record)
    except UnicodeEncodeError:
        record = clean_fields(record)
        found = content_hash(record)
    position = record.position
    if position is not None and not -_FARTHEST <= position <= _FARTHEST:
        position = max(-_FARTHEST, min(position, _FARTHEST))
        record = replace(record, position=position)
    return Incoming(record, session_id, found, record.state, position)


def content_hash(record: MessageRecord) -> bytes:
    """Return 16 bytes that are equal for equal content, whatever became of its tool calls.

    Raises:
        UnicodeEncodeError: some text holds a lone surrogate.
    """
    calls = [(call.id, call.name, call.arguments) for call in record.tool_calls]
    parts = (
        record.role,
        record.content,
        record.reasoning or "",
        _json(calls) if calls else "",
        record.tool_name or "",
    )
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=16).digest()


def body(message: Incoming) -> Body:
    """Return the columns of a message; this is where its searchable text is made."""
    record = message.record
    searchable = project(record.content)
    calls = tool_calls_text(record.tool_calls) if record.tool_calls else None
    cap = TOOL_INDEXED_CHARS if record.role == Role.TOOL else INDEXED_CHARS
    is_cut = len(searchable) > cap or len(calls or "") >= INDEXED_CHARS
    holds_cjk = has_cjk(searchable) or has_cjk(calls or "") or has_cjk(record.tool_name or "")
    return Body(
        uid=record.uid,
        content_hash=message.content_hash,
        role=record.role,
        origin=record.origin,
        state=message.state,
        provenance=record.provenance,
        tool_call_id=record.tool_call_id,
        tool_name=record.tool_name,
        tool_status=record.tool_status,
        model=record.model,
        created_at_ms=record.created_at_ms,
        time_quality=record.time_quality,
        text_flags=(HAS_CJK if holds_cjk else 0) | (LONG if is_cut else 0),
        usage=record.usage,
        raw_ref=record.raw_ref,
        content=record.content,
        search_text=None if searchable == record.content else searchable,
        tool_calls_text=calls,
        reasoning=record.reasoning,
        tool_calls=stored_calls(record.tool_calls),
        media_refs=_json(record.media_refs) if record.media_refs else None,
    )


def stored_calls(calls: Sequence[ToolCall]) -> str | None:
    """Return tool calls as they are stored: a JSON list, or None for none."""
    if not calls:
        return None
    return _json(
        [
            (call.id, call.name, call.arguments, call.status, *([call.result] * bool(call.result)))
            for call in calls
        ]
    )


def read_calls(stored: str | None) -> tuple[ToolCall, ...]:
    """Return tool calls from what `stored_calls` made of them."""
    if stored is None:
        return ()
    return tuple(
        ToolCall(call_id, name, arguments, ToolStatus(status), result=result[0] if result else "")
        for call_id, name, arguments, status, *result in json.loads(stored)
    )


def read_media(stored: str | None) -> tuple[str, ...]:
    """Return media references from the column."""
    return () if stored is None else tuple(json.loads(stored))


def clean(text: str) -> str:
    """Return `text` with each lone surrogate as U+FFFD."""
    return text if text.isascii() else _LONE_SURROGATE.sub("\ufffd", text)


def clean_fields(record: R) -> R:
    """Return a record whose texts are all clean, those within its tool calls too."""
    changed: dict[str, Any] = {}
    for name in record.__dataclass_fields__:
        value = getattr(record, name)
        if (cleaned := _cleaned(value)) is not value and cleaned != value:
            changed[name] = cleaned
    return replace(record, **changed) if changed else record


def _cleaned(value: Any) -> Any:
    if type(value) is str:
        return clean(value)
    if isinstance(value, ToolCall):
        return clean_fields(value)
    if isinstance(value, tuple):
        return tuple(map(_cleaned, value))
    return value


def _narrow_text(record: MessageRecord) -> str:
    """Return every text of the record that `content_hash` does not read, in one."""
    texts = (record.uid, record.model, record.tool_call_id, record.usage, record.raw_ref)
    return "".join(text for text in (*texts, *record.media_refs) if text)


_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
