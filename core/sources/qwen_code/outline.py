"""The outline of a Qwen Code transcript: what each line is and hangs on, without what it says.

Whether a line still counts is known only at the end of the file (a rewind takes back what stood
before it), so it is read twice: once for this, once for the texts.
"""

import re
from collections.abc import Mapping
from typing import Any

from core.sources.genai_parts import sorted_parts, text_or_none
from core.sources.headline import derived_title
from core.sources.instants import instant_ms
from core.sources.lines import JsonObject
from core.types import TitleSource

Json = Mapping[str, Any]

TYPES = frozenset({"user", "assistant", "tool_result", "system"})
MEASURES = frozenset({"ui_telemetry"})
"""System lines that only measure; an error among them is told all the same."""

_ID = re.compile(r"[\w.:-]{1,200}", re.ASCII)
_NO_TITLES = ("/clear", "/exit", "/quit", "/model")
_PROGRAMS_TURNS = frozenset({"cron", "notification"})


class Place:
    """One line: where it is, what it is, and the line it hangs on (an index, or -1)."""

    __slots__ = ("end", "key", "kind", "offset", "parent", "rewound", "subtype", "title")

    def __init__(self, offset: int, kind: str, subtype: str | None) -> None:
        self.offset = offset
        self.kind = kind
        self.subtype = subtype
        self.key: str | None = None
        self.parent = -1
        self.end = -1  # of an assistant's message: its last line
        self.rewound = False
        self.title: str | None = None

    @property
    def is_prompt(self) -> bool:
        """Whether a person speaks in the line."""
        return self.kind == "user" and self.subtype not in _PROGRAMS_TURNS


class Outline:
    """Collects the places of a file's lines, in file order, and what is told of the session."""

    def __init__(self) -> None:
        self.places: list[Place] = []
        self.results: dict[str, bool] = {}
        self.cwd: str | None = None
        self.branch: str | None = None
        self.version: str | None = None
        self.model: str | None = None
        self.started_at_ms: int | None = None
        self.updated_at_ms: int | None = None
        self.compressed_at = -1
        self._by_key: dict[str, int] = {}
        self._named: list[tuple[int, str, TitleSource]] = []
        self._answers: list[tuple[int, str]] = []
        self._models: list[tuple[int, str]] = []

    def add(self, found: JsonObject) -> str | None:
        """Take the next line in; returns the type of a line that is not known."""
        value = found.value
        kind, subtype = value.get("type"), text_or_none(value.get("subtype"))
        known = isinstance(kind, str) and kind in TYPES
        place = Place(found.offset, str(kind) if known else "", subtype)
        here = len(self.places)
        self.places.append(place)
        if not known:
            return f"type {kind}" if "type" in value else "without a type"
        self._link(value, place, here)
        self._tell(value)
        if kind == "system":
            self._system(value, place, here)
        else:
            self._spoken(value, place, here)
        return None

    def _link(self, value: Json, place: Place, here: int) -> None:
        parent, key = value.get("parentUuid"), value.get("uuid")
        if isinstance(parent, str):
            place.parent = self._by_key.get(parent, -1)
        if place.kind == "assistant":
            place.end = here
        if not isinstance(key, str) or not _ID.fullmatch(key):
            return
        place.key = key
        before = self._by_key.setdefault(key, here)
        if before != here and place.kind == "assistant" == self.places[before].kind:
            self.places[before].end = here  # it goes on: one message, written as it streams

    def _tell(self, value: Json) -> None:
        at_ms = instant_ms(value.get("timestamp"))
        if at_ms is not None:
            self.started_at_ms = min(self.started_at_ms or at_ms, at_ms)
            self.updated_at_ms = max(self.updated_at_ms or at_ms, at_ms)
        self.cwd = self.cwd or text_or_none(value.get("cwd"))
        self.branch = self.branch or text_or_none(value.get("gitBranch"))
        self.version = text_or_none(value.get("version")) or self.version

    def _system(self, value: Json, place: Place, here: int) -> None:
        payload = payload_of(value)
        if place.subtype == "rewind":
            target = payload.get("targetUuid")
            if isinstance(target, str):
                place.parent = self._by_key.get(target, place.parent)
        elif place.subtype == "custom_title":
            title = text_or_none(payload.get("customTitle"))
            by_hand = payload.get("titleSource") != "auto"
            if title:
                source = TitleSource.USER if by_hand else TitleSource.MODEL
                self._named.append((here, title.strip(), source))
        elif place.subtype == "chat_compression":
            self.compressed_at = here

    def _spoken(self, value: Json, place: Place, here: int) -> None:
        parts = sorted_parts(content_of(value), "")
        for answer in parts.responses:
            if answer.call_id:
                self.results[answer.call_id] = succeeded(value, fallback=answer.succeeded)
        if place.is_prompt:
            typed = text_or_none(payload_of(value).get("displayText")) or parts.text
            place.title = derived_title(typed)
        elif place.kind == "assistant":
            model = text_or_none(value.get("model"))
            if model:
                self._models.append((here, model))
            if not self._answers and (said := derived_title(parts.text)):
                self._answers.append((here, said))

    def settle(self) -> None:
        """Mark what was taken back: linear in the lines, without recursion.

        That is so where several prompts or answers hang on one line and the last of what hangs
        there is a prompt or a rewind; what hangs on a line that was taken back is, too.
        """
        branches: dict[int, list[int]] = {}
        for index, place in enumerate(self.places):
            opens = place.is_prompt or place.subtype == "rewind"
            first = self._by_key.get(place.key or "", index) == index
            if place.parent >= 0 and first and (opens or place.kind == "assistant"):
                branches.setdefault(place.parent, []).append(index)
        for children in branches.values():
            if self.places[children[-1]].kind != "assistant":
                for index in children[:-1]:
                    self.places[index].rewound = True
        for place in self.places:
            if place.parent >= 0 and self.places[place.parent].rewound:
                place.rewound = True
        self.model = next((m for at, m in reversed(self._models) if self._counts(at)), None)

    def _counts(self, index: int) -> bool:
        return not self.places[index].rewound

    def is_first(self, index: int) -> bool:
        """Whether no earlier line has the id of a line."""
        return self._by_key.get(self.places[index].key or "", index) == index

    def first(self, index: int) -> int:
        """Return the line that a line's message began with."""
        place = self.places[index]
        before = self._by_key.get(place.key or "", index)
        return before if self.places[before].kind == place.kind == "assistant" else index

    def title(self) -> tuple[str | None, TitleSource]:
        """Return the title given last, else one made of a prompt, a command, an answer."""
        for at, title, source in reversed(self._named):
            if self._counts(at):
                return title, source
        prompts = [p.title for p in self.places if p.title and not p.rewound]
        spoken = next((t for t in prompts if not t.startswith("/")), None)
        command = next((t for t in prompts if not t.startswith(_NO_TITLES)), None)
        derived = spoken or command or next((said for _, said in self._answers), None)
        return derived, TitleSource.DERIVED if derived else TitleSource.NONE


def content_of(value: Json) -> object:
    """Return the content of a line's message, in Google's shape."""
    message = value.get("message")
    return message.get("parts", message.get("content")) if isinstance(message, dict) else None


def payload_of(value: Json) -> Json:
    """Return what the program says beside a line's message."""
    payload = value.get("systemPayload")
    return payload if isinstance(payload, dict) else {}


def succeeded(value: Json, *, fallback: bool) -> bool:
    """Tell how a tool's call ended: as the line says, else as its response does."""
    result = value.get("toolCallResult")
    status = result.get("status") if isinstance(result, dict) else None
    return status == "success" if isinstance(status, str) else fallback
