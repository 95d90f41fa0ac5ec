"""What a Gemini CLI recording tells about its session, and what kind of record one is."""

from collections.abc import Mapping
from typing import Any

from core.sources.genai_parts import text_or_none
from core.sources.instants import instant_ms

Json = Mapping[str, Any]

_ROLES = {
    "user": "user",
    "gemini": "assistant",
    "model": "assistant",
    "assistant": "assistant",
    "info": "event",
    "error": "event",
    "warning": "event",
}


def speaker(value: Json) -> str | None:
    """Return 'user', 'assistant' or 'event', None for a message of a type that is not known."""
    kind = value.get("type", value.get("role"))
    return _ROLES.get(kind) if isinstance(kind, str) else None


def is_message(value: Json) -> bool:
    """Whether an object is a message, of whatever type: it has words or an id of its own."""
    has_words = any(key in value for key in ("content", "parts", "toolCalls"))
    return has_words and ("type" in value or "role" in value)


class Facts:
    """What is told of the session; a later word counts, except for its id and beginning."""

    def __init__(self) -> None:
        self.session: str | None = None
        self.project_hash: str | None = None
        self.summary: str | None = None
        self.kind: str | None = None
        self.directories: tuple[str, ...] = ()
        self.started_at_ms: int | None = None
        self.updated_at_ms: int | None = None

    def tell(self, value: Json) -> None:
        """Take in the first line, a patch, or the object of an old recording."""
        self.session = self.session or text_or_none(value.get("sessionId"))
        self.project_hash = self.project_hash or text_or_none(value.get("projectHash"))
        self.summary = text_or_none(value.get("summary")) or self.summary
        self.kind = text_or_none(value.get("kind")) or self.kind
        directories = value.get("directories")
        if isinstance(directories, list):
            self.directories = tuple(d for d in directories if isinstance(d, str))[:100]
        began = value.get("startTime", value.get("start_time"))
        self.started_at_ms = self.started_at_ms or instant_ms(began)
        self.updated_at_ms = instant_ms(value.get("lastUpdated")) or self.updated_at_ms
