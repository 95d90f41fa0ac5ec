"""A Gemini CLI recording folded to what it says at its end.

Since version 0.40 a recording is a replay log: the first line tells of the session, a line with
an id writes that message again as it grows (the last counts, at the place of the first),
`{"$set": …}` changes what is told of the session and may replace all messages, and
`{"$rewindTo": id}` takes back that message and all later ones (all, where the id is unknown).
What was taken back or left out by a replacement is kept as such.

The fold keeps where messages are, not what they say: some 500 bytes each.
"""

import io
from collections.abc import Iterator
from typing import Any, BinaryIO

from core.errors import SourceError
from core.sources.gemini_cli.facts import Facts, is_message
from core.sources.lines import JsonObject, objects

Json = dict[str, Any]


class Slot:
    """One message: where its last writing is, and whether it was taken back.

    `index` is its place in the list of messages of a `$set`, None for a line of its own.
    """

    __slots__ = ("index", "key", "length", "offset", "rewound")

    def __init__(self, key: str | None, found: JsonObject, index: int | None) -> None:
        self.key = key
        self.rewound = False
        self.moved(found, index)

    def moved(self, found: JsonObject, index: int | None) -> None:
        """Let a later writing of the message take the place of the earlier."""
        self.offset, self.length, self.index = found.offset, found.length, index


class Fold:
    """Takes in the objects of a replay log in order."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self._left: list[Slot] = []  # what a whole list left out, all of it taken back
        self._slots: list[Slot] = []
        self._active: dict[str, Slot] = {}

    @property
    def slots(self) -> list[Slot]:
        """All messages, in their order."""
        return [*self._left, *self._slots]

    def add(self, found: JsonObject) -> str | None:
        """Take in the next object; returns the type of one that is not known."""
        value = found.value
        if "$set" in value:
            self._set(found, value["$set"])
        elif "$rewindTo" in value:
            self._rewind(value["$rewindTo"])
        elif is_message(value):
            self._upsert(value, found, None)
        elif "sessionId" in value or "startTime" in value:
            self.facts.tell(value)
        else:
            return f"type {value.get('type')}" if "type" in value else "without a type"
        return None

    def _set(self, found: JsonObject, patch: object) -> None:
        if not isinstance(patch, dict):
            return
        self.facts.tell(patch)
        messages = patch.get("messages")
        if not isinstance(messages, list):
            return
        before, self._slots, self._active = self._slots, [], {}
        known = {slot.key: slot for slot in before if slot.key and not slot.rewound}
        kept: set[int] = set()
        for index, message in enumerate(messages):
            if not isinstance(message, dict):
                continue
            slot = known.pop(_key(message) or "", None)
            if slot is not None:
                kept.add(id(slot))
                slot.moved(found, index)
                self._slots.append(slot)
                self._active[slot.key or ""] = slot
            else:
                self._upsert(message, found, index)
        dropped = [slot for slot in before if id(slot) not in kept]
        for slot in dropped:
            slot.rewound = True
        self._left += dropped

    def _rewind(self, key: object) -> None:
        target = self._active.get(key) if isinstance(key, str) else None
        reached = target is None
        for slot in self._slots:
            reached = reached or slot is target
            if reached and not slot.rewound:
                slot.rewound = True
                self._active.pop(slot.key or "", None)

    def _upsert(self, value: Json, found: JsonObject, index: int | None) -> None:
        key = _key(value)
        slot = self._active.get(key) if key else None
        if slot is not None:
            slot.moved(found, index)
            return
        slot = Slot(key, found, index)
        self._slots.append(slot)
        if key:
            self._active[key] = slot


def _key(value: Json) -> str | None:
    key = value.get("id")
    return key if isinstance(key, str) and key else None


def values(stream: BinaryIO, slots: list[Slot], path: str) -> Iterator[tuple[Slot, Json]]:
    """Yield the messages of a fold, read again from where they are.

    Raises:
        SourceError: they are no longer there.
    """
    at: tuple[int, int] | None = None
    line: Json | None = None
    for slot in slots:
        if (slot.offset, slot.length) != at:
            at = (slot.offset, slot.length)
            line = _object(stream, slot)
        value: object = line
        if slot.index is not None and line is not None:
            patch = line.get("$set")
            messages = patch.get("messages") if isinstance(patch, dict) else None
            is_there = isinstance(messages, list) and slot.index < len(messages)
            value = messages[slot.index] if is_there and isinstance(messages, list) else None
        if not isinstance(value, dict) or _key(value) != slot.key:
            raise SourceError(f"{path} changed while it was being read", path=path)
        yield slot, value


def _object(stream: BinaryIO, slot: Slot) -> Json | None:
    stream.seek(slot.offset)
    raw = io.BytesIO(stream.read(slot.length))
    for found in objects(raw, lambda _: True):
        if isinstance(found, JsonObject):
            return found.value
    return None
