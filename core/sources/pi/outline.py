"""The first reading of a transcript of Pi: its tree, and what entries say of others.

An entry names its parent, which stands before it. Some writers name the call that a result
belongs to, or the session itself; what names nothing that is there follows the line before it.
"""

from array import array
from dataclasses import dataclass, field
from pathlib import Path

from core.sources.headline import derived_title
from core.sources.injected import OPENCLAW_INJECTED
from core.sources.instants import instant_ms
from core.sources.lines import JsonObject
from core.sources.loose import Json, identifier, items, mapping, text
from core.sources.pi.texts import moment, text_of
from core.types import ToolStatus

KNOWN = frozenset(
    {
        "branch_summary",
        "compaction",
        "credential_pin",
        "custom",
        "custom_message",
        "discovered_builtin_tool_selection",
        "label",
        "mcp_tool_selection",
        "message",
        "mode_change",
        "model_change",
        "model_usage",
        "reset_boundary",
        "service_tier_change",
        "session",
        "session_info",
        "session_init",
        "thinking_level_change",
        "title_change",
        "ttsr_injection",
    }
)
"""Entries of Pi and Oh-My-Pi; those that are no message and no summary tell nothing shown."""

_NO_PARENT = -1


def is_entry(value: Json) -> bool:
    """Whether an object found behind damage is an entry, not a part of one."""
    return isinstance(value.get("type"), str) and ("id" in value or "timestamp" in value)


@dataclass(slots=True)
class Outline:
    """The facts about one transcript. Entries are counted from 0, the header is one.

    `on_path` tells of each entry whether it leads to the last one, `kept_from` is the first that
    the last compaction on that path left as it was, or 0.
    """

    path: Path
    header: Json = field(default_factory=dict)
    on_path: bytearray = field(default_factory=bytearray)
    kept_from: int = 0
    title: str | None = None
    made_title: str | None = None
    model: str | None = None
    prompt: str | None = None
    answer: str | None = None
    started_at_ms: int | None = None
    updated_at_ms: int | None = None
    outcomes: dict[str, ToolStatus] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    _parents: "array[int]" = field(default_factory=lambda: array("q"))
    _ids: dict[str, int] = field(default_factory=dict)
    _compactions: list[tuple[int, Json]] = field(default_factory=list)
    _linked: bool = False
    _has_roots: bool = False

    def add(self, line: JsonObject) -> str | None:
        """Take an entry in; return its type where that is not known."""
        record, index = line.value, len(self._parents)
        kind = record.get("type")
        if kind == "session" and not self.header:
            self.header = record
        parent = self._parent(record, index)
        self._has_roots = self._has_roots or (parent == _NO_PARENT and index > 1)
        self._parents.append(parent)
        own = identifier(record.get("id"))
        if own is not None and kind != "session":
            self._ids[own] = index
        self._see(instant_ms(record.get("timestamp")))
        if kind == "message":
            self._message(mapping(record.get("message")), index)
        elif kind == "compaction":
            self._compactions.append((index, record))
        elif kind == "session_info":
            self.title = text(record, "name") or self.title
        elif kind == "title_change":
            self.made_title = text(record, "title") or self.made_title
        elif kind == "model_change":
            self.model = text(record, "modelId", "model") or self.model
        if isinstance(kind, str):
            return None if kind in KNOWN else kind
        return f"{type(kind).__name__} as type"

    def _parent(self, record: Json, index: int) -> int:
        """The entry that this one follows: the one it names, else the line before it."""
        if "parentId" in record and record["parentId"] is None:
            return _NO_PARENT
        named = record.get("parentId")
        found = self._ids.get(named) if isinstance(named, str) else None
        if found is not None:
            self._linked = True
            return found
        return index - 1

    def _see(self, at_ms: int | None) -> None:
        if at_ms is not None:
            self.started_at_ms = min(self.started_at_ms or at_ms, at_ms)
            self.updated_at_ms = max(self.updated_at_ms or at_ms, at_ms)

    def _message(self, message: Json, index: int) -> None:
        role = message.get("role")
        if role == "user":
            told = text_of(message.get("content"))
            if self.prompt is None and not told.startswith(OPENCLAW_INJECTED):
                self.prompt = derived_title(told)
        elif role == "assistant":
            self.model = text(message, "model") or self.model
            self.answer = self.answer or derived_title(text_of(message.get("content")))
            for block in map(mapping, items(message.get("content"))):
                call = identifier(block.get("id"))
                if block.get("type") == "toolCall" and call is not None:
                    self.names[call] = text(block, "name") or "?"
                    self._ids.setdefault(call, index)
        elif role == "toolResult" and (call := identifier(message.get("toolCallId"))):
            self.outcomes[call] = outcome(message)

    def settle(self) -> None:
        """Tell the path to the last entry from the branches, once all is read."""
        count = len(self._parents)
        self.on_path = bytearray(count)
        at = count - 1
        while at >= 0:
            self.on_path[at] = 1
            parent = self._parents[at]
            # Where no entry names another, none of them says anything by having no parent.
            at = parent if self._linked or parent != _NO_PARENT else at - 1
        for index, record in self._compactions:
            if self.on_path[index]:
                self.kept_from = max(self.kept_from, self._first_kept(index, record))

    def _first_kept(self, index: int, record: Json) -> int:
        named = record.get("firstKeptEntryId")
        if isinstance(named, str) and named in self._ids:
            return self._ids[named]
        ordinal = record.get("firstKeptEntryIndex")  # versions 1 and 2
        if isinstance(ordinal, int) and not isinstance(ordinal, bool) and 0 <= ordinal <= index:
            return ordinal
        return index

    def changes_earlier(self, record: Json) -> bool:
        """Tell whether an entry that is not taken in yet changes where earlier ones stand.

        So does one that does not follow the last, and a compaction.
        """
        if record.get("type") == "compaction" or not self._parents:
            return True
        was_linked = self._linked
        parent = self._parent(record, len(self._parents))
        now_linked, self._linked = self._linked, was_linked
        if parent == _NO_PARENT:
            return was_linked
        if now_linked and not was_linked and self._has_roots:
            return True
        return parent != len(self._parents) - 1

    def go_on(self) -> None:
        """Take what was added since the path was told as its end."""
        self.on_path.extend(b"\1" * (len(self._parents) - len(self.on_path)))

    @property
    def bytes(self) -> int:
        """About how much memory this takes."""
        return 10_000 + 160 * len(self._ids) + 10 * len(self._parents) + 200 * len(self.names)


def outcome(message: Json) -> ToolStatus:
    """Return how a result says that its call ended."""
    return ToolStatus.FAILED if message.get("isError") is True else ToolStatus.SUCCEEDED


def at(record: Json) -> object:
    """Return the time of an entry as it stands there: its own, else its message's."""
    own = record.get("timestamp")
    return own if own is not None else moment(mapping(record.get("message")).get("timestamp"))
