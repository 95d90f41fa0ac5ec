r"""What a Hermes row says: its text, calls and outcome, from a database or an old file.

A database keeps lists and dictionaries as JSON text (content behind the mark ``\0json:``), the
old files as they are; both are read here. SQL takes the mark's NUL for the end of the text,
so it is looked for in Python only.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from core.sources.lines import without_surrogates
from core.types import ToolCall, ToolStatus

JSON_MARK = "\0json:"

FIELDS = (
    "role",
    "content",
    "tool_call_id",
    "tool_calls",
    "tool_name",
    "finish_reason",
    "token_count",
    "reasoning",
    "reasoning_content",
    "reasoning_details",
    "codex_reasoning_items",
    "codex_message_items",
    "api_content",
    "effect_disposition",
)
"""The columns, and keys of the old files, that a row's words are made of."""

_FAILED = {"blocked", "cancelled", "denied", "error", "failed", "failure", "timeout"}
_SUCCEEDED = {"completed", "done", "ok", "success", "succeeded"}
_PENDING = {"dispatched", "pending", "queued", "running", "started"}

Fields = Mapping[str, Any]


@dataclass(slots=True)
class Content:
    """A text with its media, and the types of the parts that were not understood."""

    text: str = ""
    media: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)


def content_of(value: object, at: str) -> Content:
    """Return the content of a row; `at` says where bytes that are left out can be found."""
    found = Content()
    raw = value if isinstance(value, str) else ""
    if raw.startswith(JSON_MARK):
        value = _loaded(raw[len(JSON_MARK) :])
        if isinstance(value, str):
            found.unknown.append("content that is not JSON")
    try:
        texts = list(_texts(value, found, at))
    except RecursionError:
        return Content(without_surrogates(raw), [], ["content nested too deep"])
    found.text = without_surrogates("\n".join(texts))
    return found


def words_of(fields: Fields, at: str) -> Content:
    """Return what a row is shown with: its content, or what stands in for an empty one.

    Answers of some providers are only in `codex_message_items`; the text sent to a provider
    (`api_content`, with injected context) is the last resort.
    """
    found = content_of(fields.get("content"), at)
    if found.text.strip() or found.media:
        return found
    items = _loaded(fields.get("codex_message_items"))
    parts = [p for i in _mappings(items) for p in _mappings(i.get("content"))]
    text = "\n".join(t for p in parts if isinstance(t := p.get("text"), str) and t)
    if not text and not fields.get("tool_calls"):
        sent = content_of(fields.get("api_content"), at)
        text, found.media = sent.text, sent.media
    if text.strip():
        found.text = without_surrogates(text)
    return found


def reasoning_of(fields: Fields) -> str | None:
    """Return the readable reasoning, each text once; what a provider encrypted is left out."""
    texts = [t for key in ("reasoning", "reasoning_content") if (t := _string(fields.get(key)))]
    if not texts:
        details = _mappings(_loaded(fields.get("reasoning_details")))
        texts = [t for d in details if (t := _string(d.get("text")) or _string(d.get("summary")))]
    if not texts:
        items = list(_mappings(_loaded(fields.get("codex_reasoning_items"))))
        summaries = [s for i in items for s in _mappings(i.get("summary"))]
        texts = [t for s in (*items, *summaries) if (t := _string(s.get("text")))]
    once: list[str] = []
    for text in texts:
        if not any(text.strip() in other for other in once):
            once = [other for other in once if other.strip() not in text] + [text]
    return without_surrogates("\n\n".join(once)) or None


def calls_of(fields: Fields) -> tuple[ToolCall, ...]:
    """Return the calls a row makes; one whose JSON is broken keeps its text as arguments."""
    value = fields.get("tool_calls")
    loaded = _loaded(value)
    if isinstance(loaded, str):
        return (ToolCall(None, "", without_surrogates(loaded)),) if loaded.strip() else ()
    return tuple(_call(each) for each in _mappings(loaded))


def status_of(fields: Fields, text: str) -> ToolStatus:
    """Return how a tool ended, as far as its result tells.

    Terminal tools answer with JSON that has `exit_code` and `error`, others with `success` or
    `status`; a warning may follow the JSON. Plain text tells nothing unless it is Hermes' own
    report of a failure.
    """
    if str(fields.get("finish_reason")).lower() in _FAILED:
        return ToolStatus.FAILED
    if text.startswith(("Error executing tool", "[Tool execution failed")):
        return ToolStatus.FAILED
    found = _first_object(text)
    code, success, status = found.get("exit_code"), found.get("success"), found.get("status")
    word = status.lower() if isinstance(status, str) else ""
    if (_is_number(code) and code != 0) or success is False or found.get("error"):
        return ToolStatus.FAILED
    if word in _FAILED:
        return ToolStatus.FAILED
    if word in _PENDING:
        return ToolStatus.PENDING
    if _is_number(code) or success is True or word in _SUCCEEDED:
        return ToolStatus.SUCCEEDED
    applied = str(fields.get("effect_disposition")).lower() == "applied"
    return ToolStatus.SUCCEEDED if applied else ToolStatus.UNKNOWN


def usage_of(fields: Fields) -> str | None:
    """Return the estimate of a row's tokens as JSON; exact sums exist per session only."""
    count = fields.get("token_count")
    return json.dumps({"estimated_tokens": count}) if _is_number(count) else None


def _texts(value: object, found: Content, at: str) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for part in value:
            yield from _texts(part, found, at)
    elif isinstance(value, dict):
        yield from _part_texts(value, found, at)
    elif value is not None:
        yield json.dumps(value)


def _part_texts(part: dict[str, Any], found: Content, at: str) -> Iterator[str]:
    kind, text = part.get("type"), part.get("text")
    media = next((part[k] for k in ("image_url", "input_audio", "file", "source") if k in part), 0)
    if media:
        found.media.append(_media(str(kind or "media"), media, at))
    if isinstance(text, str):
        yield text
    elif "content" in part:
        yield from _texts(part["content"], found, at)
    elif not media:
        found.unknown.append(f"content part {kind}" if isinstance(kind, str) else "content")
        yield json.dumps(part, ensure_ascii=False)


def _media(kind: str, media: object, at: str) -> str:
    """Name a picture or file without its bytes, as `type; size=bytes; at=place`."""
    address = media
    if isinstance(media, dict):
        address = next((media[k] for k in ("url", "data", "file_data") if k in media), None)
    if not isinstance(address, str):
        return f"{kind}; at={at}"
    if address.startswith("data:"):
        head, _, payload = address[5:].partition(",")
        return f"{head.partition(';')[0] or kind}; size={len(payload) * 3 // 4}; at={at}"
    if "://" in address[:16]:
        return f"{kind}; at={without_surrogates(address[:2048])}"
    return f"{kind}; size={len(address) * 3 // 4}; at={at}"


def _call(call: dict[str, Any]) -> ToolCall:
    function = call.get("function")
    named = function if isinstance(function, dict) else call
    arguments = named.get("arguments", named.get("input"))
    if not isinstance(arguments, str):
        arguments = "" if arguments is None else json.dumps(arguments, ensure_ascii=False)
    key = _string(call.get("id")) or _string(call.get("call_id"))
    return ToolCall(key, _string(named.get("name")) or "", without_surrogates(arguments))


def _loaded(value: object) -> object:
    """What a JSON text means; anything else, and a text that is no JSON, as it is."""
    if not isinstance(value, str) or not value:
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _first_object(text: str) -> dict[str, Any]:
    if not text.lstrip().startswith("{"):
        return {}
    try:
        value, _ = json.JSONDecoder(strict=False).raw_decode(text, text.index("{"))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _mappings(value: object) -> Iterator[dict[str, Any]]:
    parts = value if isinstance(value, list) else [value]
    return (part for part in parts if isinstance(part, dict))


def _string(value: object) -> str:
    return without_surrogates(value) if isinstance(value, str) else ""


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
