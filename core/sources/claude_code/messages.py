"""The second reading of a Claude Code transcript: its messages, with their texts.

Lines of one API message become one message, which is yielded when its last line has been read;
`position` is the offset of its first.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from core.errors import SourceError
from core.sources.claude_code import texts
from core.sources.claude_code.outline import Outline
from core.sources.claude_code.places import Kind, Place
from core.sources.claude_code.texts import Spoken, Turn
from core.sources.lines import JsonObject
from core.sources.records import (
    BadSourceRecord,
    MessageRecord,
    ReadTo,
    Record,
    Remark,
    UnknownRecord,
)
from core.types import MessageState, Origin, Role, TimeQuality, ToolCall, ToolStatus

PROGRESS_BYTES = 1 << 20
_SHOWN_ATTACHMENTS = frozenset(
    {"edited_text_file", "file", "nested_memory", "pdf_reference", "selected_lines_in_ide"}
)
_ORIGINS = {
    Turn.PROMPT: Origin.HUMAN,
    Turn.COMMAND: Origin.HUMAN,
    Turn.INJECTED: Origin.INJECTED,
    Turn.CARRIER: Origin.SYNTHETIC,
    Turn.EMPTY: Origin.HUMAN,
}


@dataclass(slots=True)
class _Draft:
    """An API message of which more lines are to come."""

    index: int
    place: Place
    raw_ref: str
    spoken: Spoken = field(default_factory=Spoken)
    usage: dict[str, int] = field(default_factory=dict)
    model: str | None = None
    synthetic: bool = False


class Messages:
    """Turns the lines of an outlined file into messages."""

    def __init__(self, path: str, outline: Outline) -> None:
        self._path = path
        self._outline = outline
        self._drafts: dict[int, _Draft] = {}
        self._contents: dict[str, int] = {}
        self._tasked: set[int] = set()

    def read(
        self, lines: Iterable[JsonObject | BadSourceRecord | Remark], total: int
    ) -> Iterator[Record]:
        """Yield the messages of exactly the lines of the outline.

        Raises:
            SourceError: they are no longer where they were.
        """
        places = self._outline.places
        index, reached, reported = 0, 0, 0
        for line in lines:
            if index == len(places):
                break
            if not isinstance(line, JsonObject):
                continue  # told at the first reading
            if line.offset != places.offset[index]:
                break
            yield from self._line(index, places[index], line)
            index += 1
            if line.terminated:
                reached = line.offset + line.length + 1
            if reached - reported >= PROGRESS_BYTES:
                reported = reached
                yield ReadTo(min(reached, total), total)
        if index < len(places):
            raise SourceError(f"{self._path} changed while it was being read", path=self._path)

    def read_new(self, first: int, lines: Iterable[JsonObject]) -> Iterator[Record]:
        """Yield the messages of lines that were added to the outline behind its first ones."""
        for index, line in enumerate(lines, first):
            yield from self._line(index, self._outline.places[index], line)

    def read_again(self, group: int, lines: Iterable[tuple[int, JsonObject]]) -> Iterator[Record]:
        """Take up the earlier lines of an API message; yield it if no new ones belong to it."""
        places = self._outline.places
        for index, line in lines:
            for record in self._line(index, places[index], line):
                if isinstance(record, MessageRecord):  # what else there was is told already
                    yield record
        if (draft := self._drafts.get(group)) is not None:
            draft.spoken.unknown.clear()

    def _line(self, index: int, place: Place, line: JsonObject) -> Iterator[Record]:
        place.uuid = line.value["uuid"] if place.named else None
        if place.kind == Kind.ASSISTANT:
            yield from self._assistant(index, place, line)
        elif place.kind == Kind.USER:
            yield from self._user(index, place, line)
        elif place.kind == Kind.EVENT:
            yield self._event(index, place, line)
        elif place.kind == Kind.QUEUED_COMMAND:
            prompt = line.value["attachment"].get("prompt")
            blocks = prompt if isinstance(prompt, list) else (prompt,)
            yield from self._prompt(index, place, line, blocks)
        elif place.kind == Kind.ATTACHMENT:
            yield from self._attachment(index, place, line)
        elif place.kind == Kind.QUEUED:
            yield from self._queued(index, place, line)

    def _assistant(self, index: int, place: Place, line: JsonObject) -> Iterator[Record]:
        record = line.value
        draft = self._drafts.get(place.group)
        if draft is None:
            draft = self._drafts[place.group] = _Draft(index, place, line.raw_ref)
        message = record.get("message")
        if isinstance(message, dict):
            model, usage = message.get("model"), message.get("usage")
            if isinstance(model, str):
                draft.model = model
            if isinstance(usage, dict):
                _take_larger(draft.usage, usage)
        if record.get("isApiErrorMessage") is True or draft.model == "<synthetic>":
            draft.synthetic = True
        texts.sort_blocks(texts.blocks_of(record), line.raw_ref, draft.spoken)
        if self._outline.group_ends[place.group] == index:
            del self._drafts[place.group]
            yield from map(UnknownRecord, draft.spoken.unknown)
            yield self._answer(draft)

    def _answer(self, draft: _Draft) -> MessageRecord:
        spoken = draft.spoken
        said = spoken.texts or spoken.reasoning or spoken.calls or spoken.media
        message = self._message(
            draft.index,
            draft.place,
            draft.raw_ref,
            Role.ASSISTANT,
            "\n\n".join(spoken.texts),
            Origin.SYNTHETIC if draft.synthetic else Origin.MODEL,
            hidden=not said,
            model=draft.model,
            reasoning="\n\n".join(spoken.reasoning) or None,
            tool_calls=tuple(self._call(*call) for call in spoken.calls.values()),
            media_refs=tuple(spoken.media),
            usage=texts.json_text(draft.usage) if draft.usage else None,
        )
        return self._distinct(message)

    def _call(self, call_id: str | None, name: str, arguments: str) -> ToolCall:
        succeeded = self._outline.results.get(call_id) if call_id else None
        return ToolCall(call_id, name, arguments, _status(succeeded))

    def _user(self, index: int, place: Place, line: JsonObject) -> Iterator[Record]:
        blocks = texts.blocks_of(line.value)
        if place.turn == Turn.RESULT:
            yield from self._results(index, place, line, blocks)
        elif place.turn == Turn.EMPTY and not texts.text_of(blocks):
            yield UnknownRecord("user without content")
        else:
            yield from self._prompt(index, place, line, blocks)

    def _results(
        self, index: int, place: Place, line: JsonObject, blocks: Any
    ) -> Iterator[MessageRecord]:
        results = [block for block in blocks if texts.is_result(block)]
        for number, block in enumerate(results):
            content, media = texts.result_of(block, line.raw_ref)
            call_id = block.get("tool_use_id")
            call_id = call_id if isinstance(call_id, str) else None
            message = self._message(
                index,
                place,
                line.raw_ref,
                Role.TOOL,
                content,
                Origin.TOOL,
                tool_call_id=call_id,
                tool_name=self._outline.call_names.get(call_id) if call_id else None,
                tool_status=_status(block.get("is_error") is not True),
                media_refs=tuple(media),
            )
            yield self._distinct(_part(message, number, f":{number}"))
        beside = texts.text_of(blocks)
        if beside.strip():  # what a person added to a result, or the program did
            turn = texts.typed(beside, line.value.get("origin"))
            message = self._message(index, place, line.raw_ref, Role.USER, beside, _ORIGINS[turn])
            yield self._distinct(_part(message, len(results), ":text"))

    def _prompt(
        self, index: int, place: Place, line: JsonObject, blocks: Any
    ) -> Iterator[MessageRecord]:
        content = texts.text_of(blocks)
        media: list[str] = []
        for block in filter(texts.is_media, blocks):
            texts.add_media(block, line.raw_ref, media)
        turn = place.turn or Turn.EMPTY
        if turn == Turn.COMMAND:
            content = " ".join(filter(None, texts.command_of(content))) or content
        message = self._message(
            index,
            place,
            line.raw_ref,
            Role.USER,
            content,
            self._origin(place, turn),
            hidden=turn == Turn.EMPTY,
            media_refs=tuple(media),
        )
        yield self._distinct(message)

    def _origin(self, place: Place, turn: Turn) -> Origin:
        """Whose words a prompt holds: a subagent's are its parent's, and it begins with one."""
        if not self._outline.is_agent and place.session == 0:
            return _ORIGINS[turn]
        first = place.session not in self._tasked
        self._tasked.add(place.session)
        return Origin.MODEL if first or turn == Turn.PROMPT else _ORIGINS[turn]

    def _event(self, index: int, place: Place, line: JsonObject) -> MessageRecord:
        content = texts.event_text(line.value)
        name, arguments = texts.command_of(content)
        told = f"{name} {arguments}".strip() if name else content
        measured = str(line.value.get("subtype") or "event").replace("_", " ")
        message = self._message(
            index,
            place,
            line.raw_ref,
            Role.SYSTEM,
            told or measured,
            Origin.SYNTHETIC,
            hidden=not told,
        )
        return self._distinct(message)

    def _attachment(self, index: int, place: Place, line: JsonObject) -> Iterator[MessageRecord]:
        attachment = line.value.get("attachment")
        content = texts.attachment_text(attachment) if isinstance(attachment, dict) else ""
        if not content or not isinstance(attachment, dict):
            return
        name = attachment.get("displayPath") or attachment.get("filename")
        kind = attachment.get("type")
        shown = isinstance(kind, str) and kind in _SHOWN_ATTACHMENTS
        yield self._distinct(
            self._message(
                index,
                place,
                line.raw_ref,
                Role.SYSTEM,
                f"{name}\n{content}" if isinstance(name, str) else content,
                Origin.INJECTED,
                hidden=not shown,
            )
        )

    def _queued(self, index: int, place: Place, line: JsonObject) -> Iterator[MessageRecord]:
        """A prompt that was typed but never sent; one that was sent stands elsewhere."""
        content = line.value["content"]
        if place.turn == Turn.PROMPT and hash(content.strip()) not in self._outline.said:
            yield self._message(
                index, place, line.raw_ref, Role.SYSTEM, content, Origin.HUMAN, hidden=True
            )

    def _message(
        self,
        index: int,
        place: Place,
        raw_ref: str,
        role: Role,
        content: str,
        origin: Origin,
        *,
        hidden: bool = False,
        **more: Any,
    ) -> MessageRecord:
        outline = self._outline
        state = MessageState.ACTIVE
        if place.rewound:
            state = MessageState.REWOUND
        elif hidden:
            state = MessageState.HIDDEN
        elif index < outline.boundaries.get(place.session, -1):
            state = MessageState.COMPACTED
        known = place.at_ms is not None
        return MessageRecord(
            outline.sessions[place.session].native_id(outline.stem),
            place.uuid or f"{outline.stem}@{place.offset}",
            role,
            content,
            origin,
            position=place.offset,
            state=state,
            created_at_ms=place.at_ms,
            time_quality=TimeQuality.EXACT if known else TimeQuality.NONE,
            raw_ref=raw_ref,
            **more,
        )

    def _distinct(self, message: MessageRecord) -> MessageRecord:
        """Give a message that repeats an id with other words an id of its own."""
        if message.uid.split(":", 1)[0] not in self._outline.repeated:
            return message
        content = hash((message.role, message.content, message.reasoning, message.tool_calls))
        if self._contents.setdefault(message.uid, content) == content:
            return message
        return replace(message, uid=f"{message.uid}@{message.position}")


def _part(message: MessageRecord, number: int, suffix: str) -> MessageRecord:
    """One of several messages that a line holds; the first keeps the line's id and place."""
    if number == 0:
        return message
    place = (message.position or 0) + number
    return replace(message, uid=message.uid + suffix, position=place)


def _status(succeeded: bool | None) -> ToolStatus:
    if succeeded is None:
        return ToolStatus.UNKNOWN
    return ToolStatus.SUCCEEDED if succeeded else ToolStatus.FAILED


def _take_larger(counts: dict[str, int], usage: dict[str, Any]) -> None:
    """Token counts grow while a message streams: the largest of its lines is the message's."""
    for name, count in usage.items():
        if isinstance(count, int) and not isinstance(count, bool):
            counts[name] = max(count, counts.get(name, 0))
