"""The second reading of a transcript of Pi: its messages, in the order of its lines."""

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from core.sources.injected import OPENCLAW_INJECTED
from core.sources.instants import instant
from core.sources.lines import JsonObject
from core.sources.loose import Json, identifier, json_text, mapping, number, text
from core.sources.pi.outline import Outline, at, outcome
from core.sources.pi.texts import said, text_of
from core.sources.records import MessageRecord, Record, SessionRecord, UnknownRecord
from core.types import MessageState, Origin, Role, SessionKind, ToolCall, ToolStatus

_SUMMARIES = {"branchSummary", "compactionSummary"}


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a message stands: its entry's number, its line, and its part of that line."""

    index: int
    line: JsonObject
    part: int = 0


class Messages:
    """Turns the entries of an outlined transcript into messages of a session."""

    def __init__(self, outline: Outline, session: SessionRecord) -> None:
        self._outline = outline
        self._session = session
        self._equals: Counter[bytes] = Counter()
        self._open: dict[str, MessageRecord] = {}

    def records(self, index: int, line: JsonObject) -> Iterator[Record]:
        """Yield what the entry of this number says."""
        record, place = line.value, _Place(index, line)
        kind = record.get("type")
        if kind == "message":
            yield from self._message(place, mapping(record.get("message")))
        elif kind in ("compaction", "branch_summary"):
            if summary := text(record, "summary"):
                yield self._made(place, Role.SYSTEM, summary, Origin.SYNTHETIC)
        elif kind == "custom_message":
            yield from self._custom(place, record)

    def answered(self, line: JsonObject) -> Iterator[MessageRecord]:
        """Yield the earlier message whose call an entry answers, with what became of it."""
        message = mapping(line.value.get("message"))
        call = identifier(message.get("toolCallId"))
        if message.get("role") == "toolResult" and call in self._open:
            asked, status = self._open.pop(call), outcome(message)
            calls = tuple(
                replace(c, status=status) if c.id == call else c for c in asked.tool_calls
            )
            again = replace(asked, tool_calls=calls)
            self._open.update((c.id, again) for c in calls if c.id in self._open)
            yield again

    @property
    def bytes(self) -> int:
        """About how much memory this takes."""
        waiting = sum(len(each.content) for each in self._open.values())
        return 160 * len(self._equals) + 2 * waiting

    def _message(self, place: _Place, message: Json) -> Iterator[Record]:
        role = message.get("role")
        if role == "user":
            yield from self._user(place, message)
        elif role == "assistant":
            yield from self._assistant(place, message)
        elif role in ("toolResult", "tool"):
            yield from self._result(place, message)
        elif role == "bashExecution":
            yield from self._bash(place, message)
        elif role in ("custom", "hookMessage"):
            yield from self._custom(place, message)
        elif isinstance(role, str) and role in _SUMMARIES:
            if summary := text(message, "summary"):
                yield self._made(place, Role.SYSTEM, summary, Origin.SYNTHETIC)
        elif role == "system":
            if told := text_of(message.get("content")):
                yield self._made(place, Role.SYSTEM, told, Origin.SYNTHETIC)
        else:
            yield UnknownRecord(f"message {role}"[:100])

    def _user(self, place: _Place, message: Json) -> Iterator[Record]:
        found = said(message.get("content"), place.line.raw_ref)
        yield from map(_unknown, found.unknown)
        content = "\n".join(found.texts)
        origin = Origin.MODEL if self._session.kind == SessionKind.SUBAGENT else Origin.HUMAN
        if content.startswith(OPENCLAW_INJECTED):
            origin = Origin.INJECTED
        if content or found.media:
            media = tuple(found.media)
            yield self._made(place, Role.USER, content, origin, media_refs=media)

    def _assistant(self, place: _Place, message: Json) -> Iterator[Record]:
        found = said(message.get("content"), place.line.raw_ref)
        yield from map(_unknown, found.unknown)
        usage = message.get("usage")
        if found.texts or found.thoughts or found.calls or found.media:
            yield self._made(
                place,
                Role.ASSISTANT,
                "\n".join(found.texts),
                Origin.MODEL,
                model=text(message, "model"),
                reasoning="\n\n".join(found.thoughts) or None,
                tool_calls=tuple(self._call(*call) for call in found.calls),
                media_refs=tuple(found.media),
                usage=json_text(usage) if isinstance(usage, dict) and usage else None,
            )
        if error := text(message, "errorMessage"):
            after = _Place(place.index, place.line, 1)
            yield self._made(after, Role.SYSTEM, error, Origin.SYNTHETIC)

    def _call(self, call: str | None, name: str, arguments: str) -> ToolCall:
        status = self._outline.outcomes.get(call) if call else None
        return ToolCall(call, name, arguments, status or ToolStatus.UNKNOWN)

    def _result(self, place: _Place, message: Json) -> Iterator[Record]:
        found = said(message.get("content"), place.line.raw_ref)
        yield from map(_unknown, found.unknown)
        call = identifier(message.get("toolCallId"))
        named = self._outline.names.get(call) if call else None
        yield self._made(
            place,
            Role.TOOL,
            "\n".join(found.texts),
            Origin.TOOL,
            tool_call_id=call,
            tool_name=text(message, "toolName") or named,
            tool_status=outcome(message),
            media_refs=tuple(found.media),
        )

    def _bash(self, place: _Place, message: Json) -> Iterator[Record]:
        """A command that a person ran from the prompt, and what it printed."""
        if command := text(message, "command"):
            yield self._made(place, Role.USER, f"!{command}", Origin.HUMAN)
        code = number(message.get("exitCode"))
        failed = message.get("cancelled") is True or code not in (None, 0)
        unknown = code is None and not failed
        status = ToolStatus.FAILED if failed else ToolStatus.SUCCEEDED
        yield self._made(
            _Place(place.index, place.line, 1),
            Role.TOOL,
            text(message, "output") or "",
            Origin.TOOL,
            tool_name="bash",
            tool_status=ToolStatus.UNKNOWN if unknown else status,
        )

    def _custom(self, place: _Place, message: Json) -> Iterator[Record]:
        """What an extension put before the model; one that it does not display is not shown."""
        content = text_of(message.get("content"))
        if content:
            hidden = message.get("display") is False
            yield self._made(place, Role.SYSTEM, content, Origin.INJECTED, hidden=hidden)

    def _made(
        self,
        place: _Place,
        role: Role,
        content: str,
        origin: Origin,
        *,
        hidden: bool = False,
        **more: Any,
    ) -> MessageRecord:
        line = place.line
        written = at(line.value)
        at_ms, quality = instant(written)
        message = MessageRecord(
            self._session.native_id,
            self._uid(written, role, content, more),
            role,
            content,
            origin,
            position=line.offset + place.part,
            state=self._state(place.index, hidden=hidden),
            created_at_ms=at_ms,
            time_quality=quality,
            raw_ref=line.raw_ref,
            **more,
        )
        for call in message.tool_calls:
            if call.id is not None and call.status == ToolStatus.UNKNOWN:
                self._open[call.id] = message
        return message

    def _uid(self, written: object, role: Role, content: str, more: dict[str, Any]) -> str:
        """An id of what was said and when, the same in each file that holds a copy.

        Entries' own ids are unique in one file only, and a file of an old version gets them when
        it is opened by a newer one. Without a time it is of its session alone.
        """
        calls = [(call.id, call.name, call.arguments) for call in more.get("tool_calls", ())]
        when = written if instant(written)[0] is not None else self._session.native_id
        parts = (when, role, content, more.get("reasoning"), calls, more.get("tool_call_id"))
        key = hashlib.blake2b(repr(parts).encode(errors="replace"), digest_size=12).digest()
        self._equals[key] += 1
        ordinal = self._equals[key]
        return key.hex() if ordinal == 1 else f"{key.hex()}#{ordinal}"

    def _state(self, index: int, *, hidden: bool) -> MessageState:
        outline = self._outline
        if not outline.on_path[index]:
            return MessageState.OFF_BRANCH
        if hidden:
            return MessageState.HIDDEN
        return MessageState.COMPACTED if index < outline.kept_from else MessageState.ACTIVE


def _unknown(kind: str) -> UnknownRecord:
    return UnknownRecord(kind[:100])
