"""What the lines of a Claude Code transcript say: whose words they are, and which.

A line of type `user` is a prompt, a tool's result or something that the program put there; the
content is one text or a list of blocks. Facts: 148 real files and the public reports on them.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

import msgspec

from core.sources.headline import unwrapped
from core.sources.injected import (
    CLAUDE_CODE_CARRIERS,
    CLAUDE_CODE_COMMANDS,
    CLAUDE_CODE_INJECTED,
)

Json = Mapping[str, Any]


class Turn(Enum):
    """What a line of type `user`, or a queued prompt, is."""

    PROMPT = auto()
    COMMAND = auto()
    INJECTED = auto()
    CARRIER = auto()
    RESULT = auto()
    EMPTY = auto()


@dataclass(slots=True)
class Spoken:
    """The blocks of one message, sorted by what they are, in the order they came."""

    texts: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    calls: dict[str, tuple[str | None, str, str]] = field(default_factory=dict)
    media: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)


def blocks_of(record: Json) -> Sequence[Any]:
    """Return the content blocks of a `user` or `assistant` line; a bare text is one block."""
    message = record.get("message")
    content = message.get("content") if isinstance(message, dict) else message
    if isinstance(content, str):
        return ({"type": "text", "text": content},)
    return content if isinstance(content, list) else ()


def text_of(blocks: Sequence[Any]) -> str:
    """Return the plain text of blocks, one below the other."""
    texts = [block if isinstance(block, str) else _text(block) for block in blocks]
    return "\n".join(text for text in texts if text)


def _text(block: object) -> str:
    if isinstance(block, dict) and block.get("type") == "text":
        text = block.get("text")
        return text if isinstance(text, str) else ""
    return ""


def turn_of(record: Json, blocks: Sequence[Any], text: str) -> Turn:
    """Tell what a `user` line is. A result is one even where the line says it is meta."""
    if any(is_result(block) for block in blocks):
        return Turn.RESULT
    if record.get("isCompactSummary") or text.startswith(CLAUDE_CODE_CARRIERS):
        return Turn.CARRIER
    if record.get("isMeta"):
        return Turn.INJECTED
    return typed(text, record.get("origin"), has_media=any(map(is_media, blocks)))


def typed(text: str, origin: object, *, has_media: bool = False) -> Turn:
    """Tell whether a person typed the text; `origin` is what the program says of it, if it does."""
    if isinstance(origin, dict) and origin.get("kind") not in (None, "human", "cli", "user"):
        return Turn.INJECTED
    start = text.lstrip()
    if start.startswith(CLAUDE_CODE_INJECTED):
        return Turn.INJECTED
    if start.startswith(CLAUDE_CODE_COMMANDS):
        return Turn.COMMAND
    if has_media or unwrapped(start):
        return Turn.PROMPT
    return Turn.INJECTED if start else Turn.EMPTY


def is_result(block: object) -> bool:
    """Whether the block is a tool's result."""
    return isinstance(block, dict) and block.get("type") == "tool_result"


def is_media(block: object) -> bool:
    """Whether the block is a picture or a document."""
    return isinstance(block, dict) and block.get("type") in ("image", "document")


_COMMAND_NAME = re.compile(r"<command-name>\s*(.*?)\s*</command-name>", re.DOTALL)
_COMMAND_ARGS = re.compile(r"<command-args>\s*(.*?)\s*</command-args>", re.DOTALL)


def command_of(text: str) -> tuple[str, str]:
    """Return (name with its slash, arguments) of a slash command, ('', '') if it has no name."""
    name, args = _COMMAND_NAME.search(text), _COMMAND_ARGS.search(text)
    if name is None or not name[1]:
        return "", ""
    return "/" + name[1].lstrip("/"), args[1] if args else ""


def sort_blocks(blocks: Sequence[Any], at: str, into: Spoken) -> None:
    """Add blocks to what was said; a longer snapshot of the same block takes its place.

    `at` is where the line is, for the references to media.
    """
    for block in blocks:
        kind = block.get("type") if isinstance(block, dict) else type(block).__name__
        if kind == "text":
            _grow(into.texts, block.get("text"))
        elif kind == "thinking":
            _grow(into.reasoning, block.get("thinking"))
        elif kind == "tool_use":
            call_id = block.get("id") if isinstance(block.get("id"), str) else None
            name = block.get("name") if isinstance(block.get("name"), str) else "?"
            key = call_id or f"#{len(into.calls)}"
            into.calls[key] = (call_id, name, json_text(block.get("input")))
        elif kind == "str":
            _grow(into.texts, block)
        elif is_media(block):
            add_media(block, at, into.media)
        elif kind != "redacted_thinking":
            into.unknown.append(f"block {kind}")


_COMPARED = 100
"""A message has a few blocks; one of thousands must not cost the square of them."""


def _grow(texts: list[str], text: object) -> None:
    """Append a text, unless it is a snapshot of one of the last ones, shorter or longer."""
    if not isinstance(text, str) or not text:
        return
    for place in range(max(0, len(texts) - _COMPARED), len(texts)):
        earlier = texts[place]
        if text.startswith(earlier):
            texts[place] = text
            return
        if earlier.startswith(text):
            return
    texts.append(text)


def result_of(block: Json, at: str) -> tuple[str, list[str]]:
    """Return (text, media references) of a tool's result."""
    content = block.get("content")
    if isinstance(content, str):
        return content, []
    texts: list[str] = []
    media: list[str] = []
    for part in content if isinstance(content, list) else ():
        if is_media(part):
            add_media(part, at, media)
        elif isinstance(part, dict) and part.get("type") == "tool_reference":
            texts.append(str(part.get("tool_name") or part.get("name") or ""))
        else:
            texts.append(part if isinstance(part, str) else _text(part))
    return "\n".join(text for text in texts if text), media


def add_media(block: Json, at: str, media: list[str]) -> None:
    """Add `media type; size=bytes; at=offset:length` of a picture or document."""
    source = block.get("source")
    source = source if isinstance(source, dict) else {}
    kind = source.get("media_type")
    kind = kind if isinstance(kind, str) else str(block.get("type"))
    content = source.get("data")
    size = len(content) * 3 // 4 if isinstance(content, str) else 0
    where = source.get("url") if isinstance(source.get("url"), str) else at
    reference = f"{kind}; size={size}; at={where}"
    if reference not in media:
        media.append(reference)


def attachment_text(attachment: Json) -> str:
    """Return the text of an attachment that is not a queued prompt: a file, a hook's output."""
    found: list[str] = []
    todo: list[object] = [attachment.get(key) for key in _ATTACHED]
    while todo:
        part = todo.pop(0)
        if isinstance(part, str) and part.strip():
            found.append(part)
        elif isinstance(part, dict):
            todo = [part.get(key) for key in (*_ATTACHED, "file")] + todo
        elif isinstance(part, list):
            todo = [*part, *todo]
    return "\n".join(dict.fromkeys(found))


_ATTACHED = ("content", "snippet", "text", "stdout", "stderr", "blockingError", "banner")


def event_text(record: Json) -> str:
    """Return what a `system` line tells, '' where it only measures."""
    for found in (record.get("content"), record.get("error"), record.get("message")):
        if isinstance(found, str) and found.strip():
            return found
        if isinstance(found, dict):
            told = found.get("formatted") or found.get("message")
            if isinstance(told, str) and told.strip():
                return told
    return "Conversation compacted" if record.get("subtype") == "compact_boundary" else ""


_encode = msgspec.json.Encoder().encode


def json_text(value: object) -> str:
    """Return the value as JSON text; a text stays as it is."""
    if isinstance(value, str):
        return value
    try:
        return "{}" if value is None else _encode(value).decode()
    except RecursionError:
        return "(nested too deeply to show)"
