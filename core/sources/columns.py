"""What columns of other programs' tables hold: JSON as text, calls of tools, times in ms.

A value of a wrong type reads as if it were missing, so that it costs itself and not its row.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from core.sources.instants import UNKNOWN, Instant, instant
from core.sources.lines import too_deep, without_surrogates
from core.types import ToolCall, ToolStatus

MEDIA_CHARS = 2048
_NOT_JSON = object()


def loaded(value: object) -> object:
    """Return what a column of JSON holds: None for none, a text that is no JSON as it is.

    JSON that holds JSON as a text is opened a second time; anything else stays as it is.
    """
    for _ in range(2):
        if not isinstance(value, str):
            break
        found = _decoded(value)
        if found is _NOT_JSON:
            break
        value = found
    return value


def is_damaged(value: object) -> bool:
    """Tell whether a column of lists or objects holds a text that is neither."""
    return isinstance(value, str) and bool(value.strip()) and isinstance(loaded(value), str)


def text(value: object) -> str | None:
    """Return a text with something in it, a whole number as its digits, else None."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return without_surrogates(value) if isinstance(value, str) and value.strip() else None


def ms(value: object) -> Instant:
    """Return the time that a number of milliseconds since 1970 tells."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return UNKNOWN
    if isinstance(value, bool) or not isinstance(value, int | float):
        return UNKNOWN
    try:
        return instant(value / 1000)
    except OverflowError:  # a whole number beyond every float
        return UNKNOWN


def calls(value: object) -> tuple[ToolCall, ...]:
    """Return the calls of a list, or of the JSON of one; a text that is no JSON is one call.

    Shapes: `{id, name, arguments | args | input}` and `{id, function: {name, arguments}}`.
    """
    found = loaded(value)
    if isinstance(found, str):
        return (ToolCall(None, "", without_surrogates(found)),) if found.strip() else ()
    return tuple(call(each) for each in mappings(found))


def call(value: Mapping[str, Any], status: ToolStatus = ToolStatus.UNKNOWN) -> ToolCall:
    """Return one call of either shape."""
    function = value.get("function")
    named: Mapping[str, Any] = function if isinstance(function, dict) else value
    given = next((named[key] for key in ("arguments", "args", "input") if key in named), None)
    key = text(value.get("id")) or text(value.get("call_id"))
    return ToolCall(key, text(named.get("name")) or "", json_text(given), status)


def json_text(value: object) -> str:
    """Return a value as the text of its JSON; a text stays as it is, nothing is ''."""
    if value is None:
        return ""
    return without_surrogates(
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    )


def mappings(value: object) -> Iterator[dict[str, Any]]:
    """Yield the objects of a list; a single object is yielded alone."""
    each: object
    for each in value if isinstance(value, list) else [value]:
        if isinstance(each, dict):
            yield each


def media(value: object) -> str | None:
    """Name a file or picture without its bytes: its path or address, else its kind and size."""
    if isinstance(value, dict):
        keys = ("path", "url", "file_path", "file_url", "image_url", "source", "data", "name")
        value = next((value[key] for key in keys if value.get(key)), None)
        if isinstance(value, dict):
            value = value.get("url")
    if not isinstance(value, str) or not value.strip():
        return None
    if value.startswith("data:"):
        head, _, payload = value[5:].partition(",")
        return f"{without_surrogates(head[:100])}; size={len(payload) * 3 // 4}"
    return without_surrogates(value[:MEDIA_CHARS])


def _decoded(value: str) -> object:
    if too_deep(value.encode("utf-8", "replace")):
        return _NOT_JSON
    try:
        return json.loads(value, strict=False)
    except (ValueError, RecursionError):
        return _NOT_JSON
