"""The second reading of a log of Copilot CLI: its messages, in the order of their lines."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from core.sources.copilot_cli import kinds
from core.sources.copilot_cli.outline import Outline, is_injected, outcome
from core.sources.instants import instant
from core.sources.lines import JsonObject
from core.sources.loose import Json, identifier, items, json_text, mapping, number, text
from core.sources.records import MessageRecord
from core.types import MessageState, Origin, Role, ToolStatus

_ENDS_THOUGHT = ("assistant.turn_end", "session.resume", "session.shutdown")
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


class Events:
    """Turns the lines of an outlined log into messages."""

    def __init__(self, outline: Outline) -> None:
        self._outline = outline
        self._contents: dict[str, int] = {}
        self._counted: set[str] = set()
        self._thoughts: dict[str, list[tuple[JsonObject, str]]] = {}
        self._open: dict[str, MessageRecord] = {}

    def records(self, line: JsonObject) -> Iterator[MessageRecord]:
        """Yield what one event says."""
        kind = line.value.get("type")
        data = mapping(line.value.get("data"))
        if kind == "user.message":
            yield from self._user(line, data)
        elif kind == "assistant.message":
            yield from self._assistant(line, data)
        elif kind == "assistant.reasoning":
            if thought := text(data, "content"):
                self._thoughts.setdefault(self._outline.lane(line.value), []).append(
                    (line, thought)
                )
        elif kind == "tool.execution_start":
            call = identifier(data.get("toolCallId"))
            if self._outline.stands_alone(call):
                made = self._outline.call(call, data.get("arguments"), text(data, "toolName"))
                yield from self._message(line, Role.ASSISTANT, "", Origin.MODEL, tool_calls=(made,))
        elif kind == "tool.execution_complete":
            yield from self._result(line, data)
        elif kind in _ENDS_THOUGHT:
            yield from self._alone(self._outline.lane(line.value))
        elif kind in ("system.message", "system.notification"):
            if told := text(data, "content"):
                yield from self._message(line, Role.SYSTEM, told, Origin.INJECTED)
        elif isinstance(kind, str) and kind in kinds.EVENTS:
            yield from self._event(line, kind, data)

    def answered(self, line: JsonObject) -> Iterator[MessageRecord]:
        """Yield the earlier message whose call an event answers, with what became of it."""
        data = mapping(line.value.get("data"))
        call = identifier(data.get("toolCallId"))
        if line.value.get("type") == "tool.execution_complete" and call in self._open:
            asked = self._open[call]
            if (status := outcome(data)) == ToolStatus.UNKNOWN:
                return
            calls = tuple(
                replace(c, status=status) if c.id == call else c for c in asked.tool_calls
            )
            again = replace(asked, tool_calls=calls)
            del self._open[call]
            self._open.update((c.id, again) for c in calls if c.id in self._open)
            yield again

    @property
    def bytes(self) -> int:
        """About how much memory this takes."""
        waiting = sum(len(each.content) for each in self._open.values())
        return 200 * (len(self._contents) + len(self._counted)) + 2 * waiting

    def _alone(self, lane: str) -> Iterator[MessageRecord]:
        for line, thought in self._thoughts.pop(lane, ()):
            yield from self._message(line, Role.ASSISTANT, "", Origin.MODEL, reasoning=thought)

    def _user(self, line: JsonObject, data: Json) -> Iterator[MessageRecord]:
        lane = self._outline.lane(line.value)
        yield from self._alone(lane)
        media = tuple(_media(each, line.raw_ref) for each in items(data.get("attachments")))
        origin = Origin.INJECTED if is_injected(data) else Origin.MODEL if lane else Origin.HUMAN
        content = text(data, "content") or ""
        if content or media:
            yield from self._message(line, Role.USER, content, origin, media_refs=media)

    def _assistant(self, line: JsonObject, data: Json) -> Iterator[MessageRecord]:
        outline = self._outline
        own = text(data, "reasoningText")
        before = [each for _, each in self._thoughts.pop(outline.lane(line.value), ())]
        thoughts = [each for each in before if own is None or each.strip() not in own]
        calls = [
            outline.call(
                identifier(request.get("toolCallId")),
                request.get("arguments"),
                text(request, "name"),
            )
            for request in map(mapping, items(data.get("toolRequests")))
            if request
        ]
        calls += outline.added.get(line.offset, ())
        reasoning = "\n\n".join([*thoughts, *([own] if own else [])])
        content = text(data, "content") or ""
        if content or calls or reasoning:
            yield from self._message(
                line,
                Role.ASSISTANT,
                content,
                Origin.MODEL,
                model=text(data, "model"),
                reasoning=reasoning or None,
                tool_calls=tuple(calls),
                usage=self._usage(data),
            )

    def _usage(self, data: Json) -> str | None:
        """The tokens of an API message, at the first event that tells of it."""
        tokens = number(data.get("outputTokens"))
        api_id = identifier(data.get("apiCallId")) or identifier(data.get("messageId"))
        if tokens is None or (api_id is not None and api_id in self._counted):
            return None
        if api_id is not None:
            self._counted.add(api_id)
        return json_text({"output_tokens": tokens})

    def _result(self, line: JsonObject, data: Json) -> Iterator[MessageRecord]:
        call = identifier(data.get("toolCallId"))
        outline = self._outline
        yield from self._message(
            line,
            Role.TOOL,
            _output(data),
            Origin.TOOL,
            tool_call_id=call,
            tool_name=(outline.names.get(call) if call else None) or text(data, "toolName"),
            tool_status=outcome(data),
        )

    def _event(self, line: JsonObject, kind: str, data: Json) -> Iterator[MessageRecord]:
        yield from self._alone(self._outline.lane(line.value))
        told = text(data, "summaryContent", "message", "error", "reason", "summary")
        content = told if kind == "session.compaction_complete" else None
        if content is None:
            content = f"{kinds.EVENTS[kind]}: {told}" if told else kinds.EVENTS[kind]
        yield from self._message(line, Role.SYSTEM, content, Origin.SYNTHETIC)

    def _message(
        self, line: JsonObject, role: Role, content: str, origin: Origin, **more: Any
    ) -> Iterator[MessageRecord]:
        outline = self._outline
        lane = outline.lane(line.value)
        session = outline.conversation(lane)
        told = hash((role, content, more.get("reasoning"), more.get("tool_calls")))
        uid = identifier(line.value.get("id"))
        if uid is None:
            uid = f"{session}@{line.offset}"
        elif not _UUID.fullmatch(uid):
            uid = f"{session}:{uid}"  # not unique in the world, as far as can be seen
        if (before := self._contents.get(uid)) is not None:
            if before == told:
                return  # the line stands twice
            uid = f"{uid}@{line.offset}"
        self._contents[uid] = told
        at_ms, quality = instant(line.value.get("timestamp"))
        message = MessageRecord(
            session,
            uid,
            role,
            content,
            origin,
            position=line.offset,
            state=self._state(line.offset, lane),
            created_at_ms=at_ms,
            time_quality=quality,
            raw_ref=line.raw_ref,
            **more,
        )
        for call in message.tool_calls:
            if call.id is not None and call.status == ToolStatus.UNKNOWN:
                self._open[call.id] = message
        yield message

    def _state(self, offset: int, lane: str) -> MessageState:
        outline = self._outline
        if any(since <= offset < until for since, until in outline.removed):
            return MessageState.REWOUND
        if not lane and offset < outline.compacted_to:
            return MessageState.COMPACTED
        return MessageState.ACTIVE


def _media(attachment: object, at: str) -> str:
    """The reference to an attachment: what it is, how large, and where."""
    given = mapping(attachment)
    kind = text(given, "mimeType", "type") or "attachment"
    where = text(given, "path", "filePath", "url", "displayName") or at
    content = given.get("data")
    size = f" size={len(content) * 3 // 4};" if isinstance(content, str) else ""
    return f"{kind};{size} at={where}"


def _output(data: Json) -> str:
    """What a tool gave back, and what went wrong.

    The model is given `content`; `detailedContent` is what a person saw of the same, mostly more.
    """
    given = data.get("result")
    result = mapping(given)
    short = given if isinstance(given, str) else text(result, "content") or ""
    long = text(result, "detailedContent") or ""
    parts = [long] if short and short.strip() in long else [short, long]
    error = data.get("error")
    told = error if isinstance(error, str) else text(mapping(error), "message", "code") or ""
    if told and not any(told in part for part in parts):
        parts.append(told)
    return "\n\n".join(part for part in parts if part)
