"""What has to be known of a rollout before its first message can be told.

Later lines change what earlier ones are: a compaction, a roll-back, a new title; and where a
copied history ends shows only at the first turn of its own. One cheap pass over the bytes finds
them; only lines that name such a thing are decoded.
"""

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.sources.codex import rollout_files
from core.sources.codex.texts import mapping, string
from core.sources.lines import JsonObject, Readable, lines, objects, whole
from core.sources.records import BadSourceRecord

JsonDict = dict[str, Any]

ENVELOPES = frozenset(
    {"session_meta", "turn_context", "response_item", "event_msg", "compacted", "world_state"}
)
_EXEC_TURNS = ("turn.started", "turn.completed", "turn.failed")
_FIRST_LINES = 20
_CREDENTIALS = re.compile(r"(?<=://)[^/@]*@")


def is_record(value: JsonDict) -> bool:
    """Tell whether an object found behind damage is a record, not a part of one."""
    return isinstance(value.get("type"), str) and (
        "payload" in value or "timestamp" in value or "role" in value
    )


def is_exec_stream(value: JsonDict) -> bool:
    """Tell whether the object is a line of what `codex exec --json` prints."""
    kind = str(value.get("type"))
    if kind.startswith("item."):
        return isinstance(value.get("item"), dict)
    return kind in _EXEC_TURNS or (kind == "thread.started" and "thread_id" in value)


def is_bare_meta(value: JsonDict) -> bool:
    """Tell whether it is the first line of a session of mid-2025: a header without envelope."""
    return "id" in value and "timestamp" in value and not {"type", "role", "payload"} & set(value)


@dataclass(slots=True)
class Survey:
    """The facts about one rollout. Offsets are bytes of its plain text.

    `turns` are the places where a turn is named, with its id. `compacted_to` is the offset of
    the last compaction, -1 without one.
    """

    meta: JsonDict = field(default_factory=dict)
    late_meta: JsonDict = field(default_factory=dict)
    copied_from: str | None = None
    thread_name: str | None = None
    compacted_to: int = -1
    rolls_back: bool = False
    has_ordinals: bool = False
    turns: list[tuple[int, str]] = field(default_factory=list)

    def note(self, offset: int, value: JsonDict) -> None:
        """Take up what one line tells."""
        payload = mapping(value.get("payload"))
        kind = value.get("type")
        if kind == "event_msg":
            self._note_event(offset, payload)
        elif kind == "session_meta":
            self._note_meta(dict(payload))
        elif kind == "turn_context" and (turn := string(payload.get("turn_id"))):
            self.turns.append((offset, turn))
        elif kind == "compacted" or (
            kind == "response_item" and payload.get("type") in ("compaction", "context_compaction")
        ):
            self.compacted_to = offset

    def only_grew(self, lines: Iterable[JsonObject]) -> bool:
        """Take up new lines; return whether they leave what earlier ones told as it is.

        A header, a compaction and a roll-back do not, and one without its end is no line yet.
        """
        before = (self.late_meta, self.copied_from, self.compacted_to)
        rolled_back, self.rolls_back = self.rolls_back, False
        whole = True
        for line in lines:
            self.note(line.offset, line.value)
            whole = line.terminated
        is_same = before == (self.late_meta, self.copied_from, self.compacted_to)
        grew = whole and is_same and not self.rolls_back
        self.rolls_back |= rolled_back
        return grew

    def _note_meta(self, meta: JsonDict) -> None:
        told = thread_id(meta)
        if not self.meta:
            self.meta = meta
        elif told in (None, thread_id(self.meta)):
            self.late_meta = meta
        else:
            self.copied_from = self.copied_from or told

    def _note_event(self, offset: int, payload: Any) -> None:
        match payload.get("type"):
            case "context_compacted":
                self.compacted_to = offset
            case "thread_rolled_back":
                self.rolls_back = True
            case "thread_name_updated":
                name = payload.get("thread_name", payload.get("name"))
                self.thread_name = string(name) or self.thread_name
            case "task_started" | "turn_started":
                if turn := string(payload.get("turn_id")):
                    self.turns.append((offset, turn))


def thread_id(meta: JsonDict) -> str | None:
    """Return a header's thread: `session_id` is the ROOT thread's and counts only alone."""
    return string(meta.get("id")) or string(meta.get("session_id"))


def survey(path: Path) -> Survey:
    """Pass over a rollout once. Memory is bounded by its longest line.

    A damaged archive is surveyed up to the damage; reading it tells of that.
    """
    found = Survey()
    with rollout_files.opened(path) as stream, suppress(EOFError, rollout_files.UnpackError):
        for number, line in enumerate(lines(stream)):
            if isinstance(line, BadSourceRecord):
                continue
            if number == 0 or _tells(line.raw):
                _take_up(found, line.offset, whole(line.raw), is_first=number == 0)
    return found


def _tells(raw: bytes) -> bool:
    """Tell whether the line may be of use; the search for a word is much cheaper than decoding."""
    return (
        b"session_meta" in raw
        or b"compact" in raw
        or b"thread_" in raw
        or b"turn_context" in raw
        or b"_started" in raw
    )


def _take_up(found: Survey, offset: int, value: JsonDict | None, *, is_first: bool) -> None:
    if value is None:
        return
    if is_first:
        found.has_ordinals = isinstance(value.get("ordinal"), int)
        if is_bare_meta(value):
            found.meta = value
            return
    found.note(offset, value)


def first_objects(stream: Readable) -> Iterator[JsonDict]:
    """Yield the objects of the first lines, however long the first one is."""
    for number, found in enumerate(objects(stream, is_record)):
        if isinstance(found, JsonObject):
            yield found.value
        if number == _FIRST_LINES:
            return


def end_of_copy(found: Survey, parent_turns: frozenset[str]) -> int:
    """Return the offset where the copy of the parent's history ends, 0 without a copy.

    A copy consists of the parent's turns; the first turn the parent does not know is the
    child's own. Without one the whole file is a copy so far.
    """
    copied = [offset for offset, turn in found.turns if turn in parent_turns]
    if not copied:
        return 0
    own = [offset for offset, turn in found.turns if turn not in parent_turns]
    return min(own) if own else 1 << 62


def metadata_of(meta: JsonDict, **more: object) -> str:
    """Return the source's own facts about a session as JSON, without texts and credentials."""
    kept = ("originator", "cli_version", "source", "thread_source", "model_provider", "agent_path")
    facts: JsonDict = {key: meta[key] for key in kept if meta.get(key) is not None}
    git = mapping(meta.get("git"))
    if git.get("commit_hash"):
        facts["git_commit"] = git["commit_hash"]
    if url := string(git.get("repository_url")):
        facts["git_repository"] = _CREDENTIALS.sub("", url)
    facts.update({key: value for key, value in more.items() if value})
    return json.dumps(facts, ensure_ascii=False, sort_keys=True)
