"""What a ChatGPT message says, by content type.

Types come and go with every product of OpenAI's; one that is not known keeps whatever text it
has and is counted. Text stays as it is, citation marks from the private use area included:
they are not ours to take out.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from core.types import ToolStatus

Json = Mapping[str, Any]

NO_TOOL = {"all", "assistant", ""}
"""Recipients that make a message an answer; any other is the name of a tool that is called."""

_FAILED = {"cancelled", "error", "failed", "failed_with_in_kernel_exception", "timeout"}


@dataclass(slots=True)
class Said:
    """A message's words. `is_context` marks what was put before the model, not said by anyone."""

    texts: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    media: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    is_context: bool = False
    is_event: bool = False
    is_error: bool = False

    @property
    def text(self) -> str:
        """The text as it is shown and searched."""
        return "\n".join(self.texts)


def said_by(message: Json) -> Said:
    """Return what a message says, with the media it names."""
    said = Said()
    content = message.get("content")
    if isinstance(content, str):
        said.texts.append(content)
    elif isinstance(content, dict):
        kind = content.get("content_type")
        read = _READERS.get(kind) if isinstance(kind, str) else None
        if read is None:
            said.unknown.append(f"content {kind}" if isinstance(kind, str) else "content")
            read = _read_any
        read(content, said)
    _add_attachments(_mapping(message.get("metadata")), said)
    return said


def tool_called(message: Json) -> str | None:
    """Return the name of the tool that a message is sent to, or None."""
    recipient = message.get("recipient")
    return recipient if isinstance(recipient, str) and recipient not in NO_TOOL else None


def status_of(message: Json, said: Said) -> ToolStatus:
    """Return how a tool ended: what it reports of itself, else whether it finished."""
    metadata = _mapping(message.get("metadata"))
    result = _mapping(metadata.get("aggregate_result")).get("status", metadata.get("status"))
    if said.is_error or (isinstance(result, str) and result in _FAILED):
        return ToolStatus.FAILED
    status = message.get("status")
    if result == "success" or status == "finished_successfully":
        return ToolStatus.SUCCEEDED
    return ToolStatus.PENDING if status == "in_progress" else ToolStatus.UNKNOWN


def _read_parts(content: Json, said: Said) -> None:
    parts = content.get("parts")
    for part in parts if isinstance(parts, list) else [content.get("text")]:
        if isinstance(part, str):
            if part:
                said.texts.append(part)
        elif isinstance(part, dict):
            _read_part(part, said)
        elif part is not None:
            said.unknown.append(f"part {type(part).__name__}")


def _read_part(part: Json, said: Said) -> None:
    kind, text = part.get("content_type"), part.get("text")
    if isinstance(text, str) and text:
        said.texts.append(text)
    pointers = list(_pointers(part))
    said.media += pointers
    if not pointers and not isinstance(text, str):
        said.unknown.append(f"part {kind}" if isinstance(kind, str) else "part")


def _pointers(part: Json) -> Iterator[str]:
    """Name every asset of a part, as `type; size=bytes; at=pointer`."""
    pointer = part.get("asset_pointer")
    if isinstance(pointer, str):
        kind = str(part.get("content_type") or "asset").removesuffix("_asset_pointer")
        yield _reference(kind, part.get("size_bytes"), pointer)
    for inner in part.values():
        if isinstance(inner, dict) and "asset_pointer" in inner:
            yield from _pointers(inner)


def _reference(kind: str, size: object, at: str) -> str:
    told = f"; size={size}" if isinstance(size, int) else ""
    return f"{kind}{told}; at={at}"


def _add_attachments(metadata: Json, said: Said) -> None:
    for attachment in _mappings(metadata.get("attachments")):
        key, name = attachment.get("id"), attachment.get("name")
        if isinstance(key, str) and any(key in reference for reference in said.media):
            continue
        at = " ".join(t for t in (key, name) if isinstance(t, str))
        kind = attachment.get("mime_type")
        said.media.append(
            _reference(kind if isinstance(kind, str) else "file", attachment.get("size"), at)
        )
    for result in _mappings(_mapping(metadata.get("aggregate_result")).get("messages")):
        if isinstance(url := result.get("image_url"), str):
            said.media.append(_reference("image", None, url[:2048]))


def _fields(*names: str) -> Callable[[Json, Said], None]:
    def read(content: Json, said: Said) -> None:
        said.texts += [t for n in names if isinstance(t := content.get(n), str) and t]

    return read


def _read_thoughts(content: Json, said: Said) -> None:
    for thought in _mappings(content.get("thoughts")):
        said.reasoning += [
            t for n in ("summary", "content") if isinstance(t := thought.get(n), str) and t
        ]


def _read_recap(content: Json, said: Said) -> None:
    said.is_event = True
    _fields("content")(content, said)


def _read_context(content: Json, said: Said) -> None:
    said.is_context = True
    for value in content.values():
        if isinstance(value, str) and value and value != content.get("content_type"):
            said.texts.append(value)
        elif isinstance(value, dict | list) and value:
            said.texts.append(json.dumps(value, ensure_ascii=False))


def _read_error(content: Json, said: Said) -> None:
    said.is_error = True
    _fields("name", "text")(content, said)


def _read_output(content: Json, said: Said) -> None:
    said.media += _pointers(content)
    _fields("text", "result")(content, said)


def _read_any(content: Json, said: Said) -> None:
    if isinstance(content.get("parts"), list):
        _read_parts(content, said)
    else:
        _fields("text", "content", "result", "summary")(content, said)
        said.media += _pointers(content)


_READERS: dict[str, Callable[[Json, Said], None]] = {
    "text": _read_parts,
    "multimodal_text": _read_parts,
    "code": _fields("text"),
    "execution_output": _fields("text"),
    "citable_code_output": _fields("output_str", "text"),
    "thoughts": _read_thoughts,
    "reasoning_recap": _read_recap,
    "tether_quote": _fields("title", "url", "text"),
    "tether_browsing_display": _fields("result", "summary"),
    "tether_browsing_code": _fields("text"),
    "sonic_webpage": _fields("title", "url", "text", "snippet"),
    "user_editable_context": _read_context,
    "model_editable_context": _read_context,
    "system_error": _read_error,
    "computer_output": _read_output,
}


def _mapping(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def _mappings(value: object) -> Iterator[Json]:
    parts = value if isinstance(value, list) else []
    return (part for part in parts if isinstance(part, dict))
