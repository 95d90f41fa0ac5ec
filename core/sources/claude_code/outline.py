"""The outline of a Claude Code transcript: what each line is, without what it says.

A line's place in the conversation depends on later lines (a split API message, a rewind, a
compaction, a title), so the file is read twice: once for this, once for the texts. Memory is
about 300 bytes a line, whatever the lines hold.
"""

import re
import sys
import time
from array import array
from collections.abc import Callable
from datetime import datetime
from typing import Any

from core.sources.claude_code.facts import SessionFacts
from core.sources.claude_code.places import Kind, Place, Places
from core.sources.claude_code.texts import (
    Turn,
    blocks_of,
    command_of,
    is_media,
    text_of,
    turn_of,
    typed,
)
from core.sources.instants import AHEAD_MS, EARLIEST_MS, instant_ms
from core.sources.lines import JsonObject

Json = dict[str, Any]


# Known, and without anything of the conversation in them (`progress` repeats subagent files).
SILENT_TYPES = frozenset(
    {
        "agent-setting",
        "atis-latch",
        "bridge-session",
        "file-history-delta",
        "file-history-snapshot",
        "frame-link",
        "last-prompt",
        "mode",
        "permission-mode",
        "pr-link",
        "progress",
        "relocated",
        "result",
        "started",
        "worktree-state",
    }
)
_ID = re.compile(r"[\w.:-]{1,200}", re.ASCII)


class Outline:
    """Collects the places of a file's lines, in file order, and what is said about sessions."""

    def __init__(self, stem: str) -> None:
        self.stem = stem
        self.is_agent = False
        self.places = Places()
        self.sessions = [SessionFacts(None, -1)]
        self.group_starts = array("i")
        self.group_ends = array("i")
        self.boundaries: dict[int, int] = {}
        self.call_names: dict[str, str] = {}
        self.call_groups: dict[str, int] = {}
        self.shared_calls: set[str] = set()
        self.answered: set[int] = set()
        self.changes_results = False
        self.results: dict[str, bool] = {}
        self.task_calls: dict[str, str] = {}
        self.repeated: set[str] = set()
        self.keyless: set[str] = set()
        self.said: set[int] = set()
        self.chains = 0
        self.branched: set[int] = set()
        self.ends_rewound: list[bool] = []
        self.repeats: dict[str, list[int]] = {}
        self._by_uuid: dict[int, int] = {}
        self._groups: dict[int, int] = {}
        self._types: dict[str, int] = {}
        self._prompts = 0
        self._second: tuple[str, int | None] = ("", None)
        self._latest_ms = time.time() * 1000 + AHEAD_MS
        self._add: dict[str, Callable[[Json, Place], None]] = {
            "user": self._user,
            "assistant": self._assistant,
            "system": self._event,
            "attachment": self._attachment,
            "queue-operation": self._queue_operation,
            "summary": self._summary,
            "custom-title": self._title,
            "ai-title": self._title,
            "agent-name": self._title,
        }

    def add(self, found: JsonObject) -> str | None:
        """Take the next line in; returns the type of a line that is not known."""
        record = found.value
        kind = record.get("type")
        kind = kind if isinstance(kind, str) else "without a type"
        place = Place(found.offset)
        add = self._add.get(kind)
        unknown = None if add is not None or kind in SILENT_TYPES else kind
        if unknown is None:
            self._link(record, kind, place)
        self.places.append(place)
        if add is not None:
            add(record, place)
            self.places.put(len(self.places) - 1, place)
        return unknown

    def _link(self, record: Json, kind: str, place: Place) -> None:
        parent = record.get("parentUuid") or record.get("logicalParentUuid")
        if isinstance(parent, str):
            place.parent = self._by_uuid.get(hash(parent), -1)
        uuid = record.get("uuid")
        if isinstance(uuid, str) and _ID.fullmatch(uuid):
            place.uuid, place.named = uuid, True
            place.type = self._types.setdefault(kind, len(self._types))
            before = self._by_uuid.get(hash(uuid))
            if before is not None:
                is_same = self.places.type[before] == place.type
                (self.repeated if is_same else self.keyless).add(uuid)
                self.repeats.setdefault(uuid, [before]).append(len(self.places))
            self._by_uuid[hash(uuid)] = len(self.places)
        if record.get("isSidechain") is True:
            place.session = self._sidechain(place)
        place.at_ms = self._at_ms(record.get("timestamp"))

    def _at_ms(self, moment: object) -> int | None:
        """The time of a line. All are written in one way, of which each second is read once."""
        if not isinstance(moment, str) or len(moment) != 24 or moment[19] != ".":
            return instant_ms(moment)
        second, fraction = moment[:19], moment[20:23]
        if second != self._second[0]:
            self._second = (second, self._whole_second(second))
        start = self._second[1]
        if start is None or moment[23] != "Z" or not fraction.isdecimal():
            return instant_ms(moment)
        return start + int(fraction)

    def _whole_second(self, second: str) -> int | None:
        try:
            start = int(datetime.fromisoformat(second + "+00:00").timestamp()) * 1000
        except ValueError:
            return None
        return start if EARLIEST_MS <= start <= self._latest_ms else None

    def _sidechain(self, place: Place) -> int:
        """The sidechain that a line belongs to: its parent's, else one that begins here."""
        if place.parent >= 0 and (session := self.places.session[place.parent]):
            return session
        self.sessions.append(SessionFacts(place.uuid, place.offset))
        return len(self.sessions) - 1

    def _user(self, record: Json, place: Place) -> None:
        place.kind = Kind.USER
        blocks = blocks_of(record)
        text = text_of(blocks)
        turn = place.turn = turn_of(record, blocks, text)
        if turn == Turn.PROMPT:
            self._prompts += 1
            self.said.add(hash(text.strip()))
        elif turn == Turn.RESULT:
            for block in blocks:
                if isinstance(block, dict) and isinstance(block.get("tool_use_id"), str):
                    self._result(block["tool_use_id"], block.get("is_error") is not True)
        self._tell_user(record, place, turn, text)

    def _result(self, call_id: str, succeeded: bool) -> None:
        self.results[call_id] = succeeded
        self.changes_results |= call_id in self.shared_calls
        if (group := self.call_groups.get(call_id)) is not None:
            self.answered.add(group)

    def _tell_user(self, record: Json, place: Place, turn: Turn, text: str) -> None:
        facts = self.sessions[place.session]
        facts.see(record, place.at_ms)
        if turn == Turn.PROMPT:
            facts.prompted(text)
        elif turn == Turn.COMMAND and facts.command is None:
            name, _ = command_of(text)
            facts.command = name if name not in ("", "/clear", "/exit", "/model") else None
        elif turn == Turn.INJECTED and place.session and facts.prompt is None:
            facts.prompted(text)  # what a sidechain begins with is its task, whoever wrapped it

    def _assistant(self, record: Json, place: Place) -> None:
        place.kind = Kind.ASSISTANT
        message = record.get("message")
        message = message if isinstance(message, dict) else {}
        place.group = self._group(record, message, place)
        facts = self.sessions[place.session]
        facts.see(record, place.at_ms)
        facts.models(message.get("model"))
        for block in blocks_of(record):
            kind = block.get("type") if isinstance(block, dict) else None
            if kind == "tool_use" and isinstance(block.get("id"), str):
                self._call(block["id"], block, place.group)
            elif kind == "text" and facts.answer is None:
                facts.answered(block.get("text"))

    def _call(self, call_id: str, block: Json, group: int) -> None:
        self.call_names[call_id] = sys.intern(str(block.get("name")))
        if self.call_groups.setdefault(call_id, group) != group:
            self.shared_calls.add(call_id)
        self.changes_results |= call_id in self.results
        given = block.get("input")
        if isinstance(given, dict) and isinstance(given.get("prompt"), str):
            self.task_calls.setdefault(given["prompt"], call_id)

    def _group(self, record: Json, message: Json, place: Place) -> int:
        """The API message of the line: by its id, else by the request while nobody spoke."""
        api_id, request = message.get("id"), record.get("requestId")
        group = len(self.group_ends)
        if isinstance(api_id, str) and _ID.fullmatch(api_id):
            group = self._groups.setdefault(hash((place.session, api_id)), group)
        elif isinstance(request, str) and _ID.fullmatch(request):
            key = hash((place.session, request, self._prompts))
            group = self._groups.setdefault(key, group)
        here = len(self.places) - 1
        if group == len(self.group_ends):
            self.group_starts.append(here)
            self.group_ends.append(here)
        self.group_ends[group] = here
        return group

    def _event(self, record: Json, place: Place) -> None:
        place.kind = Kind.EVENT
        self.sessions[place.session].see(record, place.at_ms)
        if record.get("subtype") == "compact_boundary":
            self.boundaries[place.session] = len(self.places) - 1

    def _attachment(self, record: Json, place: Place) -> None:
        place.kind = Kind.ATTACHMENT
        attachment = record.get("attachment")
        if not isinstance(attachment, dict):
            return
        self.sessions[place.session].see(record, place.at_ms)
        if attachment.get("type") == "queued_command":
            place.kind = Kind.QUEUED_COMMAND
            prompt = attachment.get("prompt")
            blocks = prompt if isinstance(prompt, list) else (prompt,)
            text = text_of(blocks)
            media = any(map(is_media, blocks))
            place.turn = typed(text, attachment.get("origin"), has_media=media)
            if place.turn == Turn.PROMPT:
                self.said.add(hash(text.strip()))
                self.sessions[place.session].prompted(text)

    def _queue_operation(self, record: Json, place: Place) -> None:
        content = record.get("content")
        if record.get("operation") == "enqueue" and isinstance(content, str):
            place.kind = Kind.QUEUED
            place.turn = typed(content, record.get("origin"))

    def _summary(self, record: Json, _place: Place) -> None:
        leaf, summary = record.get("leafUuid"), record.get("summary")
        if isinstance(leaf, str) and isinstance(summary, str):
            self.sessions[0].summaries[leaf] = summary

    def _title(self, record: Json, _place: Place) -> None:
        facts = self.sessions[0]
        for key, rank in (("customTitle", 0), ("agentName", 1), ("aiTitle", 1)):
            if isinstance(record.get(key), str):
                facts.titled(record[key], rank)

    def holds(self, uuid: str) -> bool:
        """Whether a line of this file has the id."""
        return hash(uuid) in self._by_uuid
