"""What an agent may ask for: the tools' parameters, and what is made of the values given.

A model gets numbers and choices wrong now and then: those are put right silently, since the
answer shows what was done. What would answer another question than the one that was meant, a
date that is none or a name that nobody has, is refused in words.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal, get_args

from app.cli.arguments import roles_named
from core.errors import QueryError
from core.search.times import parse_time
from core.types import RecallDetail, RecallRequest, Sort

READ_CHARS = 12_000
"""The most characters of a message that are read at once."""

Part = Literal["content", "reasoning", "tool_calls"]

_MOST_INT = 2**31 - 1
_WHOLE = re.compile(r"\s*[+-]?\d{1,18}\s*")
_DEFAULT = RecallRequest()
_READ_DEFAULT = 8_000


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """A part of a text of a message that is asked for."""

    session: str
    message: str
    part: Part = "content"
    offset: int = 0
    chars: int = _READ_DEFAULT


@dataclass(frozen=True, slots=True)
class MoveRequest:
    """A session and the project it is to be in; '' for where its source has it."""

    session: str
    project: str


def recall_request(given: Mapping[str, Any], now_ms: int) -> RecallRequest:
    """Return what the arguments of `session_search` ask for.

    Args:
        given: the arguments, without the cursor.
        now_ms: the moment that ages like 7d count back from.

    Raises:
        QueryError: an argument has no meaning, and no other was plainly meant.
    """
    _refuse_unknown(given, SEARCH_PARAMETERS)
    session, around = _text(given, "session"), _text(given, "around")
    if around is not None and session is None:
        raise QueryError("around names a message of a session: session is needed too")
    roles = _texts(given, "roles")
    return RecallRequest(
        query=_text(given, "query") or "",
        session=session,
        around=around,
        window=_number(given, "window", _DEFAULT.window, 1, 20),
        limit=_number(given, "limit", _DEFAULT.limit, 1, 10),
        sort=_choice(given, "sort", get_args(Sort)),
        detail=_choice(given, "detail", get_args(RecallDetail)),
        roles=roles_named(roles) if roles else _DEFAULT.roles,
        sources=_texts(given, "sources"),
        projects=_texts(given, "projects"),
        since_ms=_time(given, "since", now_ms),
        until_ms=_time(given, "until", now_ms),
        exclude_sessions=_texts(given, "exclude_sessions"),
        current_session=_text(given, "current_session"),
        active=_flag(given, "active"),
    )


def project_request(given: Mapping[str, Any], now_ms: int) -> RecallRequest:
    """Return what the arguments of `project_history_search` ask for: recall within one project.

    Raises:
        QueryError: as `recall_request`; no project is named.
    """
    _refuse_unknown(given, PROJECT_PARAMETERS)
    project = _text(given, "project")
    if project is None:
        raise QueryError("project is needed: the name of one, as answers give it")
    others = {name: value for name, value in given.items() if name != "project"}
    return replace(recall_request(others, now_ms), projects=(project.strip(),))


def move_request(given: Mapping[str, Any]) -> MoveRequest:
    """Return what the arguments of `project_session_move` ask for.

    Raises:
        QueryError: session or project is missing, or no text.
    """
    _refuse_unknown(given, MOVE_PARAMETERS)
    session, project = _text(given, "session"), given.get("project")
    if session is None:
        raise QueryError("session is needed: session_search gives it")
    if not isinstance(project, str):
        raise QueryError('project is needed: a name, or "" for where the source has the session')
    return MoveRequest(session, project)


def read_request(given: Mapping[str, Any]) -> ReadRequest:
    """Return what the arguments of `read_message` ask for.

    Raises:
        QueryError: an argument has no meaning, or one that is needed is missing.
    """
    _refuse_unknown(given, READ_PARAMETERS)
    session, message = _text(given, "session"), _text(given, "message")
    if session is None or message is None:
        raise QueryError("session and message are needed: session_search gives both")
    return ReadRequest(
        session=session,
        message=message,
        part=_choice(given, "part", get_args(Part)),
        offset=_number(given, "offset", 0, 0, _MOST_INT),
        chars=_number(given, "chars", _READ_DEFAULT, 1, READ_CHARS),
    )


def operation_request(given: Mapping[str, Any]) -> int:
    """Return the number that the arguments of `get_operation` ask for.

    Raises:
        QueryError: it is missing, or no number.
    """
    _refuse_unknown(given, OPERATION_PARAMETERS)
    value = given.get("operation")
    if isinstance(value, str) and _WHOLE.fullmatch(value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= _MOST_INT:
        raise QueryError("operation is needed: the whole number of one, from 1 on")
    return value


def _refuse_unknown(given: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    for name in given:
        if name not in known:
            raise QueryError(f"there is no parameter {name[:80]!r}: {', '.join(known)}")


def _text(given: Mapping[str, Any], name: str) -> str | None:
    """Return a text that says something; None where it is left out."""
    value = given.get(name)
    if value is None:
        return None
    if not isinstance(value, str):
        raise QueryError(f"{name} must be a text")
    return value if value.strip() else None


def _texts(given: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return a list of texts; a text with commas is one, too."""
    value = given.get(name)
    if value is None:
        return ()
    items = value.split(",") if isinstance(value, str) else value
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        raise QueryError(f"{name} must be a list of texts")
    return tuple(item.strip() for item in items if item.strip())


def _number(given: Mapping[str, Any], name: str, default: int, least: int, most: int) -> int:
    """Return a whole number within its bounds; what is none counts as left out."""
    value = given.get(name)
    if isinstance(value, str) and _WHOLE.fullmatch(value):
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return default
    return max(least, min(most, value))


def _flag(given: Mapping[str, Any], name: str) -> bool:
    """Return whether something is plainly wanted."""
    value = given.get(name)
    return value is True or (isinstance(value, str) and value.strip().lower() == "true")


def _choice(given: Mapping[str, Any], name: str, choices: tuple[Any, ...]) -> Any:
    """Return one of the choices; what is none of them is the first."""
    value = given.get(name)
    named = value.strip().lower() if isinstance(value, str) else None
    return named if named in choices else choices[0]


def _time(given: Mapping[str, Any], name: str, now_ms: int) -> int | None:
    value = _text(given, name)
    if value is None:
        return None
    return parse_time(value[:100], now=datetime.fromtimestamp(now_ms / 1000, UTC).astimezone())


def _names(description: str) -> dict[str, Any]:
    return {"type": "array", "items": {"type": "string"}, "description": description}


_TIME = "a date (2026-11-29, local), an ISO time with zone, or an age: 24h, 7d, 2w, 3mo"

SEARCH_PARAMETERS: dict[str, Any] = {
    "query": {
        "type": "string",
        "description": 'Words that must all occur. "exact phrase", prefix*, AND, OR, NOT, '
        "-word and ( ) work, as do role: source: project: session: title: tool: model: before: "
        "after:. Chinese, Japanese and Korean match from one character on. At most 2,048 "
        "characters are looked at. Not used beside session: to search within one, write "
        "session:ID here.",
    },
    "session": {"type": "string", "description": "A session from an earlier answer, to read it."},
    "around": {
        "type": "string",
        "description": "A message of that session: read what surrounds it.",
    },
    "window": {
        "type": "integer",
        "minimum": 1,
        "maximum": 20,
        "default": 5,
        "description": "Messages on each side.",
    },
    "active": {
        "type": "boolean",
        "default": False,
        "description": "Of session, only what was said since it was last reset.",
    },
    "limit": {
        "type": "integer",
        "minimum": 1,
        "maximum": 10,
        "default": 3,
        "description": "Sessions.",
    },
    "sort": {"type": "string", "enum": list(get_args(Sort)), "default": "relevance"},
    "detail": {
        "type": "string",
        "enum": list(get_args(RecallDetail)),
        "default": "adaptive",
        "description": "adaptive: only the first result with what surrounds it. full: all.",
    },
    "roles": _names("user, assistant, tool, system; user and assistant if left out."),
    "sources": _names("Kinds of programs, such as claude-code, codex, hermes, chatgpt."),
    "projects": _names("Names of project folders."),
    "since": {"type": "string", "description": f"Not before: {_TIME}."},
    "until": {"type": "string", "description": f"Before: {_TIME}."},
    "exclude_sessions": _names("Sessions already seen, up to 20; what belongs to them, too."),
    "current_session": {
        "type": "string",
        "description": "The session you are in: what you still have before you is left out.",
    },
    "cursor": {
        "type": "string",
        "description": "The cursor of the page before, beside the same other arguments.",
    },
}

PROJECT_PARAMETERS: dict[str, Any] = {
    "project": {
        "type": "string",
        "description": "The name of a project, exactly as answers give it. Nothing outside of it"
        " is in the answer.",
    },
    **{name: each for name, each in SEARCH_PARAMETERS.items() if name != "projects"},
}

MOVE_PARAMETERS: dict[str, Any] = {
    "session": {"type": "string", "description": "The session, from an answer."},
    "project": {
        "type": "string",
        "description": "The project it is to be in, known or new; an empty text takes it back to"
        " where its source has it.",
    },
}

READ_PARAMETERS: dict[str, Any] = {
    "session": {"type": "string", "description": "The session, from an answer."},
    "message": {"type": "string", "description": "The message, from an answer."},
    "offset": {
        "type": "integer",
        "minimum": 0,
        "default": 0,
        "description": "Where to begin, in Unicode characters: next_offset or next of an answer.",
    },
    "chars": {
        "type": "integer",
        "minimum": 1,
        "maximum": READ_CHARS,
        "default": _READ_DEFAULT,
        "description": "How many characters.",
    },
    "part": {
        "type": "string",
        "enum": list(get_args(Part)),
        "default": "content",
        "description": "Which text of the message: tool_calls is all its calls as JSON.",
    },
}

OPERATION_PARAMETERS: dict[str, Any] = {
    "operation": {
        "type": "integer",
        "minimum": 1,
        "description": "The number of an operation, as backscroll operations list shows it.",
    },
}
