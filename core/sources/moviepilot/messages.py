"""LangChain messages, as `messages_to_dict` writes them, as messages of the common model.

Shape: `{type: human|ai|tool|system, data: {content, id, name, tool_calls, tool_call_id, status,
additional_kwargs, response_metadata, usage_metadata, …}}`; content is a text or a list of blocks.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from core.sources import columns
from core.sources.lines import without_surrogates
from core.sources.records import MessageRecord
from core.types import Origin, Role, ToolCall, ToolStatus

Json = Mapping[str, Any]

_ROLES = {
    "human": (Role.USER, Origin.HUMAN),
    "user": (Role.USER, Origin.HUMAN),
    "ai": (Role.ASSISTANT, Origin.MODEL),
    "assistant": (Role.ASSISTANT, Origin.MODEL),
    "tool": (Role.TOOL, Origin.TOOL),
    "function": (Role.TOOL, Origin.TOOL),
    "system": (Role.SYSTEM, Origin.INJECTED),
}
_OUTCOMES = {
    "success": ToolStatus.SUCCEEDED,
    "succeeded": ToolStatus.SUCCEEDED,
    "error": ToolStatus.FAILED,
    "failed": ToolStatus.FAILED,
    "pending": ToolStatus.PENDING,
    "unknown": ToolStatus.UNKNOWN,
}
_SUMMARY = "summarization"
_OBSERVATION = "moviepilot_tool_observation"
_OUTCOME = "moviepilot_execution_outcome"


@dataclass(slots=True)
class Said:
    """One message of a list: what it says, and the types of what was not understood in it."""

    kind: str
    fields: Json
    role: Role
    origin: Origin
    text: str = ""
    reasoning: str | None = None
    media: list[str] = field(default_factory=list)
    calls: tuple[ToolCall, ...] = ()
    unknown: list[str] = field(default_factory=list)

    @property
    def uid(self) -> str | None:
        """The message's own id, often none."""
        return columns.text(self.fields.get("id"))

    @property
    def is_spoken(self) -> bool:
        """Whether people see it as a turn: a person's words, or an answer with a text."""
        return self.origin in (Origin.HUMAN, Origin.MODEL) and bool(self.text.strip())


def said(value: object) -> Said | str:
    """Return one element of the list; the type of one that is no message, in words."""
    if not isinstance(value, dict):
        return "a message that is no object"
    kind = str(value.get("type") or value.get("role") or "").lower()
    kind = kind.removesuffix("chunk").removesuffix("message")
    if kind not in _ROLES:
        return f"message {kind[:80]}"
    fields: Json = _object(value.get("data")) or _object(value.get("kwargs")) or value
    role, origin = _ROLES[kind]
    extra = _object(fields.get("additional_kwargs"))
    if extra.get("lc_source") == _SUMMARY:
        origin = Origin.SYNTHETIC
    elif role == Role.USER and extra.get(_OBSERVATION) is True:
        origin = Origin.INJECTED
    found = Said(kind, fields, role, origin)
    texts, thoughts = _blocks(fields.get("content"), found)
    found.text = without_surrogates("\n".join(texts))
    thought = columns.text(extra.get("reasoning_content"))
    found.reasoning = without_surrogates("\n\n".join(thoughts)) or thought
    if role == Role.ASSISTANT:
        found.calls = _calls(fields)
    return found


def record(found: Said, session: str, uid: str, **place: Any) -> MessageRecord:
    """Return the message of the common model; `place` is where and when it stands."""
    is_tool, is_model = found.role == Role.TOOL, found.role == Role.ASSISTANT
    return MessageRecord(
        session,
        uid,
        found.role,
        found.text,
        found.origin,
        model=_model(found.fields) if is_model else None,
        reasoning=found.reasoning,
        tool_calls=found.calls,
        tool_call_id=columns.text(found.fields.get("tool_call_id")) if is_tool else None,
        tool_name=columns.text(found.fields.get("name")) if is_tool else None,
        tool_status=_outcome(found.fields) if is_tool else None,
        media_refs=tuple(found.media),
        usage=_usage(found.fields) if is_model else None,
        **place,
    )


def outcome(word: object) -> ToolStatus:
    """Return what a word says of how a tool ended."""
    return (
        _OUTCOMES.get(word.lower(), ToolStatus.UNKNOWN)
        if isinstance(word, str)
        else (ToolStatus.UNKNOWN)
    )


def _outcome(fields: Json) -> ToolStatus:
    explicit = _object(fields.get("additional_kwargs")).get(_OUTCOME)
    return outcome(explicit) if isinstance(explicit, str) else outcome(fields.get("status"))


def _blocks(content: object, found: Said) -> tuple[list[str], list[str]]:
    """Return the texts and the thoughts of a content; media and what is unknown is noted."""
    texts: list[str] = []
    thoughts: list[str] = []
    for block in content if isinstance(content, list) else [content]:
        if isinstance(block, str):
            texts.append(block)
        elif isinstance(block, dict):
            _block(block, texts, thoughts, found)
        elif block is not None:
            texts.append(columns.json_text(block))
    return texts, thoughts


def _block(block: Json, texts: list[str], thoughts: list[str], found: Said) -> None:
    kind, words = str(block.get("type") or "").lower(), block.get("text")
    thought = block.get("thinking", block.get("reasoning"))
    if isinstance(thought, str):
        thoughts.append(thought)
    elif isinstance(words, str):
        texts.append(words)
    elif kind in ("image", "image_url", "input_image", "file", "audio", "video"):
        found.media.append(columns.media(dict(block)) or kind)
    elif kind not in ("tool_use", "tool_call", "thinking", "reasoning", "redacted_thinking"):
        texts.append(columns.json_text(block))
        found.unknown.append(f"content part {kind[:80]}")


def _calls(fields: Json) -> tuple[ToolCall, ...]:
    called = [columns.call(each) for each in columns.mappings(fields.get("tool_calls"))]
    # What could not be parsed was never run.
    broken = [
        columns.call(each, ToolStatus.FAILED)
        for each in columns.mappings(fields.get("invalid_tool_calls"))
    ]
    return (*called, *broken)


def _model(fields: Json) -> str | None:
    told = _object(fields.get("response_metadata"))
    return columns.text(told.get("model_name")) or columns.text(told.get("model"))


def _usage(fields: Json) -> str | None:
    told = _object(fields.get("response_metadata")).get("token_usage")
    used = _object(fields.get("usage_metadata")) or _object(told)
    return without_surrogates(json.dumps(used)) if used else None


def _object(value: object) -> Json:
    return value if isinstance(value, dict) else {}
