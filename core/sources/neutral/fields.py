"""The fields of the neutral format, each checked, and what is wrong said in words."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, TypeVar, overload

from core.sources.instants import instant
from core.types import TimeQuality, ToolCall, ToolStatus

Json = Mapping[str, Any]
E = TypeVar("E", bound=StrEnum)
MOST_DIGITS = 20
_UNITS = ((1e11, 1.0), (1e14, 1e3), (1e17, 1e6), (1e20, 1e9))  # s, ms, µs, ns


class FieldError(ValueError):
    """A field holds what it may not; the message names it."""


@overload
def choice(value: Json, name: str, of: type[E], default: E, *, required: bool = False) -> E: ...
@overload
def choice(value: Json, name: str, of: type[E], default: None) -> E | None: ...


def choice(
    value: Json, name: str, of: type[E], default: E | None, *, required: bool = False
) -> E | None:
    """Return the member that a field names, the default if it is missing or null."""
    found = value.get(name)
    if found is None and not required:
        return default
    try:
        return of(str(found))
    except ValueError:
        allowed = ", ".join(of)
        what = f"{name} is missing" if found is None else f"{name} is {_shown(found)}"
        raise FieldError(f"{what}; it is one of {allowed}") from None


def text(value: Json, name: str, *, required: bool = False) -> str | None:
    """Return a field that holds text, None if it is missing or null."""
    found = value.get(name)
    if found is None and not required:
        return None
    if not isinstance(found, str):
        what = "missing" if found is None else f"{_shown(found)}, not text"
        raise FieldError(f"{name} is {what}")
    if required and not found:
        raise FieldError(f"{name} is empty")
    return found


def moment(value: Json) -> tuple[int | None, TimeQuality]:
    """Return `created_at`: ISO 8601 or milliseconds; what is no believable time is left out.

    A number that would be a time before 2000, or after 5138, is of the unit that fits.
    """
    found = value.get("created_at")
    if isinstance(found, str) and found.strip().isdecimal() and len(found) <= MOST_DIGITS:
        found = int(found)
    if isinstance(found, int | float) and not isinstance(found, bool):
        for below, per_second in _UNITS:
            if found < below:
                return instant(found / per_second)
        return None, TimeQuality.NONE
    return instant(found)


def tool_calls(value: Json) -> tuple[ToolCall, ...]:
    """Return `tool_calls`: {id, name, arguments, status, result} each, or of OpenAI's shape."""
    found = value.get("tool_calls")
    if found is None:
        return ()
    if not isinstance(found, list):
        raise FieldError(f"tool_calls is {_shown(found)}, not a list")
    return tuple(_tool_call(each) for each in found)


def _tool_call(found: object) -> ToolCall:
    if not isinstance(found, dict):
        raise FieldError(f"tool_calls holds {_shown(found)}, not an object")
    function = found.get("function")
    function = function if isinstance(function, dict) else found
    name = text(function, "name", required=True) or ""
    arguments = function.get("arguments")
    if arguments is None:
        arguments = ""
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False)
    return ToolCall(
        text(found, "id"),
        name,
        arguments,
        choice(found, "status", ToolStatus, ToolStatus.UNKNOWN),
        result=text(found, "result") or "",
    )


def to_iso(moment_ms: int) -> str:
    """Return ISO 8601 in UTC, with milliseconds and `Z`."""
    found = datetime.fromtimestamp(moment_ms / 1000, UTC)
    return found.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _shown(found: object) -> str:
    shown = repr(found)
    return shown if len(shown) <= 60 else shown[:59] + "…"
