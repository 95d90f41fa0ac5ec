"""Fields of a foreign record, whatever type they turn out to be of.

A program's next version may put anything anywhere: a value of a wrong type reads as if it were
missing, so that it costs itself and not its record.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

Json = Mapping[str, Any]
_NOTHING: Json = {}
_ID = re.compile(r"[^\s\x00-\x1f]{1,200}")
_encode = msgspec.json.Encoder().encode


def text(value: Json, *names: str) -> str | None:
    """Return the first of the fields that is a text with something in it."""
    for name in names:
        found = value.get(name)
        if isinstance(found, str) and found.strip():
            return found
    return None


def mapping(value: object) -> Json:
    """Return the value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else _NOTHING


def items(value: object) -> Sequence[Any]:
    """Return the value if it is a list, else an empty one."""
    return value if isinstance(value, list) else ()


def identifier(value: object) -> str | None:
    """Return the value if it can be an id: a text without white space, of at most 200."""
    return value if isinstance(value, str) and _ID.fullmatch(value) else None


def number(value: object) -> int | float | None:
    """Return the value if it is a number and no truth value."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def json_text(value: object) -> str:
    """Return the value as JSON text; a text stays as it is, nothing is an empty object."""
    if isinstance(value, str):
        return value
    try:
        return "{}" if value is None else _encode(value).decode()
    except RecursionError:
        return "(nested too deeply to show)"
