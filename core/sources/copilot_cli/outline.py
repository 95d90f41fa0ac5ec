"""The first reading of a log of Copilot CLI: what its events say of the session and of others.

A call's outcome, a rewind, a compaction and the title stand behind the messages they are about.
"""

from dataclasses import dataclass, field
from pathlib import Path

from core.sources.copilot_cli import kinds, workspace
from core.sources.headline import derived_title
from core.sources.instants import instant_ms
from core.sources.lines import JsonObject, without_surrogates
from core.sources.loose import Json, identifier, items, json_text, mapping, text
from core.types import ToolCall, ToolStatus

_CHANGING = frozenset({"session.compaction_complete", "session.snapshot_rewind"})


@dataclass(slots=True)
class Facts:
    """What was said of one conversation: the session's own, or that of a subagent."""

    started_at_ms: int | None = None
    updated_at_ms: int | None = None
    model: str | None = None
    prompt: str | None = None
    answer: str | None = None
    agent: str | None = None

    def see(self, at_ms: int | None) -> None:
        """Take in when something happened."""
        if at_ms is not None:
            self.started_at_ms = min(self.started_at_ms or at_ms, at_ms)
            self.updated_at_ms = max(self.updated_at_ms or at_ms, at_ms)


@dataclass(slots=True)
class Outline:
    """The facts about one log. A lane is '' for the session, else the call of a subagent.

    `added` are calls that no message requested, by the offset of the message that came before
    them. `removed` are ranges of offsets that were rewound, `compacted_to` is where the last
    compaction is.
    """

    path: Path
    native_id: str | None = None
    start: Json = field(default_factory=dict)
    context: Json = field(default_factory=dict)
    usage: Json = field(default_factory=dict)
    title: str | None = None
    compacted_to: int = -1
    lanes: dict[str, Facts] = field(default_factory=lambda: {"": Facts()})
    outcomes: dict[str, ToolStatus] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    added: dict[int, list[ToolCall]] = field(default_factory=dict)
    removed: list[tuple[int, int]] = field(default_factory=list)
    _requested: set[str] = field(default_factory=set)
    _started: dict[str, tuple[int | None, object]] = field(default_factory=dict)
    _last: dict[str, int] = field(default_factory=dict)
    _offsets: dict[str, int] = field(default_factory=dict)
    _agents: dict[str, str] = field(default_factory=dict)

    @property
    def session(self) -> str:
        """The session's id: what its first event says, else the name of its folder or file."""
        if self.native_id:
            return self.native_id
        by_name = self.path.parent.name if self.path.name == "events.jsonl" else self.path.stem
        return without_surrogates(by_name) or "session"

    def lane(self, record: Json) -> str:
        """Return whose event it is: '' or the call that the subagent works for."""
        call = identifier(mapping(record.get("data")).get("parentToolCallId"))
        agent = identifier(record.get("agentId"))
        if call is not None:
            return call
        return self._agents.get(agent, agent) if agent else ""

    def conversation(self, lane: str) -> str:
        """Return the id of the session that a lane is told in."""
        return f"{self.session}#{lane}" if lane else self.session

    def add(self, line: JsonObject) -> str | None:
        """Take an event in; return its type where that is not known."""
        record = line.value
        kind = record.get("type")
        if not isinstance(kind, str):
            return f"{type(kind).__name__} as type"
        data = mapping(record.get("data"))
        if event_id := identifier(record.get("id")):
            self._offsets.setdefault(event_id, line.offset)
        if kind == "session.start" and self.native_id is None:
            self.native_id = identifier(data.get("sessionId"))
            self.start = data
        if kind in kinds.FACTS:
            self._fact(kind, record, data, line.offset)
        facts = self.lanes.setdefault(self.lane(record), Facts())
        facts.see(instant_ms(record.get("timestamp")))
        if kind in kinds.SPOKEN:
            self._spoken(kind, record, data, line.offset)
        return None if kind in kinds.KNOWN else kind

    def _fact(self, kind: str, record: Json, data: Json, offset: int) -> None:
        main = self.lanes[""]
        if kind in ("session.start", "session.resume"):
            main.model = text(data, "selectedModel") or main.model
            self.context = {**mapping(data.get("context")), **self.context}
        elif kind == "session.context_changed":
            self.context = {**data, **self.context}
        elif kind == "session.model_change":
            main.model = text(data, "newModel") or main.model
        elif kind == "session.title_changed":
            self.title = text(data, "title") or self.title
        elif kind == "session.shutdown":
            self.usage = data
        elif kind == "session.compaction_complete":
            if data.get("success") is not False:
                self.compacted_to = offset
        elif kind == "session.snapshot_rewind":
            since = self._offsets.get(str(data.get("upToEventId")))
            if since is not None:
                self.removed.append((since, offset))
        elif kind == "subagent.started" and (call := identifier(data.get("toolCallId"))):
            if agent := identifier(record.get("agentId")):
                self._agents[agent] = call
            facts = self.lanes.setdefault(call, Facts())
            facts.agent = text(data, "agentDisplayName", "agentName")

    def _spoken(self, kind: str, record: Json, data: Json, offset: int) -> None:
        lane = self.lane(record)
        facts = self.lanes[lane]
        call = identifier(data.get("toolCallId"))
        if kind == "user.message":
            told = text(data, "content")
            if facts.prompt is None and told and not is_injected(data):
                facts.prompt = derived_title(told)
        elif kind == "assistant.message":
            self._last[lane] = offset
            facts.model = text(data, "model") or facts.model
            facts.answer = facts.answer or derived_title(text(data, "content") or "")
            for request in map(mapping, items(data.get("toolRequests"))):
                if asked := identifier(request.get("toolCallId")):
                    self._requested.add(asked)
                    self._started.pop(asked, None)
                    self.names.setdefault(asked, text(request, "name") or "?")
        elif kind == "tool.execution_start" and call:
            self.names[call] = text(data, "toolName") or self.names.get(call, "?")
            if call not in self._requested:
                self._started.setdefault(call, (self._last.get(lane), data.get("arguments")))
        elif kind == "tool.execution_complete" and call:
            self.outcomes[call] = outcome(data)

    def settle(self) -> None:
        """Give every call that started unasked to the message before it, once all is read."""
        for call, (before, arguments) in self._started.items():
            if before is not None:
                self.added.setdefault(before, []).append(self.call(call, arguments))

    def stands_alone(self, call: str | None) -> bool:
        """Whether a started call is in no message: nobody asked, and none came before it."""
        return call is None or self._started.get(call, (0, None))[0] is None

    def changes_earlier(self, record: Json) -> bool:
        """Tell whether an event that is not taken in yet changes more than calls it answers."""
        kind, data = record.get("type"), mapping(record.get("data"))
        call = identifier(data.get("toolCallId"))
        if kind in _CHANGING or (kind == "session.start" and self.native_id is None):
            return True
        if kind == "subagent.started":
            return identifier(record.get("agentId")) in self.lanes
        if kind == "tool.execution_start":
            return call is not None and call not in self._requested
        if kind == "tool.execution_complete":
            return self.outcomes.get(call or "", outcome(data)) != outcome(data)
        return kind == "assistant.message" and any(
            request.get("toolCallId") in self._started
            for request in map(mapping, items(data.get("toolRequests")))
            if isinstance(request.get("toolCallId"), str)
        )

    @property
    def bytes(self) -> int:
        """About how much memory this takes."""
        calls = len(self.names) + len(self._requested)
        return 10_000 + 200 * len(self._offsets) + 200 * calls

    def call(self, call: str | None, arguments: object, name: str | None = None) -> ToolCall:
        """Return a call with what became of it."""
        status = self.outcomes.get(call, ToolStatus.UNKNOWN) if call else ToolStatus.UNKNOWN
        named = name or (self.names.get(call) if call else None) or "?"
        return ToolCall(call, named, json_text(arguments), status)


def is_injected(data: Json) -> bool:
    """Whether a `user.message` says that no person typed it."""
    source = data.get("source")
    return isinstance(source, str) and source.startswith(kinds.INJECTED_SOURCES)


def outcome(data: Json) -> ToolStatus:
    """Return how a `tool.execution_complete` says that the call ended."""
    success = data.get("success")
    if not isinstance(success, bool):
        return ToolStatus.FAILED if data.get("error") else ToolStatus.UNKNOWN
    return ToolStatus.SUCCEEDED if success else ToolStatus.FAILED


def told_beside(path: Path) -> dict[str, str]:
    """Return what the workspace file beside a session's events tells of it."""
    return workspace.beside(path) if path.name == "events.jsonl" else {}
