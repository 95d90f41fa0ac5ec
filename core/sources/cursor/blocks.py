"""Contents of Cursor's agent: a text, or a list of blocks, in each of its spellings.

Transcripts say `tool_use` and `tool_result`, the databases of the command line `tool-call` and
`tool-result`. What a person typed stands in `<user_query>`, what was sent along around it.
"""

import re
from dataclasses import dataclass, field

from core.sources.injected import CURSOR_INJECTED
from core.sources.loose import Json, identifier, items, json_text, mapping, text
from core.types import ToolCall

_QUERY = re.compile(r"<user_query>\n?(.*?)\n?</user_query>", re.DOTALL)
_CALLS = {"tool-call", "tool_call", "tool_use"}
_RESULTS = {"tool-result", "tool_result"}
_MEDIA = {"document", "file", "image"}
_SILENT = {"redacted-reasoning", "redacted_thinking"}


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool gave back."""

    call_id: str | None
    name: str | None
    said: str
    failed: bool
    media: tuple[str, ...] = ()


@dataclass(slots=True)
class Blocks:
    """The blocks of one message, sorted by what they are, in the order they came."""

    texts: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    media: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)

    @property
    def content(self) -> str:
        """Everything that was said."""
        return "\n\n".join(each for each in self.texts if each)

    @property
    def reasoning(self) -> str | None:
        """Everything that was thought, as far as it can be read."""
        return "\n\n".join(each for each in self.thoughts if each) or None


def blocks_of(content: object, at: str) -> Blocks:
    """Return the blocks of a message; `at` says where its bytes can be found."""
    found = Blocks()
    if isinstance(content, str):
        found.texts.append(content)
    for block in items(content):
        if isinstance(block, str):
            found.texts.append(block)
        else:
            _add(found, mapping(block), at)
    return found


def _add(found: Blocks, block: Json, at: str) -> None:
    kind = text(block, "type")
    if kind == "text":
        found.texts.append(text(block, "text") or "")
    elif kind in ("thinking", "reasoning"):
        found.thoughts.append(text(block, "thinking", "text") or "")
    elif kind in _CALLS:
        found.calls.append(_call(block))
    elif kind in _RESULTS:
        found.results.append(_result(block, at))
    elif kind in _MEDIA:
        found.media.append(_media(block, kind or "", at))
    elif kind not in _SILENT:
        found.unknown.append(f"block {kind or 'without a type'}"[:100])
        found.texts.append(text(block, "text") or "")


def typed(texts: list[str]) -> tuple[str, str]:
    """Return what a person typed, and what the program sent along."""
    ours: list[str] = []
    added: list[str] = []
    for each in texts:
        queries = _QUERY.findall(each)
        if queries:
            ours += queries
            added.append(_QUERY.sub("", each).strip())
        else:
            (added if each.lstrip().startswith(CURSOR_INJECTED) else ours).append(each)
    return "\n\n".join(filter(None, ours)), "\n\n".join(filter(None, added))


def _call(block: Json) -> ToolCall:
    given = next((block[key] for key in ("input", "args", "arguments") if key in block), None)
    key = next((block[k] for k in ("toolCallId", "id", "tool_call_id") if k in block), None)
    return ToolCall(identifier(key), text(block, "toolName", "name") or "", json_text(given))


def _result(block: Json, at: str) -> Result:
    key = next((block[k] for k in ("toolCallId", "tool_use_id", "id") if k in block), None)
    said = next((block[k] for k in ("result", "content", "output") if k in block), None)
    media: list[str] = []
    if parts := items(said):
        said = "\n\n".join(filter(None, (_said(mapping(p) or p, media, at) for p in parts)))
    failed = block.get("is_error") is True or block.get("isError") is True
    name = text(block, "toolName", "name")
    told = "" if said is None else json_text(said)
    return Result(identifier(key), name, told, failed, tuple(media))


def _said(part: object, media: list[str], at: str) -> str:
    """Return what a part of a result says; a picture is named among the media instead."""
    if isinstance(part, dict) and text(part, "type") in _MEDIA:
        media.append(_media(part, str(part["type"]), at))
        return ""
    return text(mapping(part), "text") or ("" if part in (None, {}, []) else json_text(part))


def _media(block: Json, kind: str, at: str) -> str:
    """Name a picture or file without its bytes, as `type; size=bytes; at=place`."""
    source = mapping(block.get("source"))
    named = text(block, "mediaType", "mimeType", "media_type") or text(source, "media_type")
    bytes_ = text(block, "data", "image") or text(source, "data") or ""
    return f"{named or kind}; size={len(bytes_) * 3 // 4}; at={at}"
