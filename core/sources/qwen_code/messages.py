"""The second reading of a Qwen Code transcript: its messages, with their texts.

Lines of one id that a model wrote while it streamed become one message at the place of the
first, yielded when the last has been read.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from core.errors import SourceError
from core.sources.genai_parts import Parts, json_text, sorted_parts, text_or_none
from core.sources.injected import QWEN_CODE_WRAPPED
from core.sources.instants import instant
from core.sources.lines import JsonObject
from core.sources.qwen_code.outline import (
    MEASURES,
    Outline,
    Place,
    content_of,
    payload_of,
    succeeded,
)
from core.sources.records import MessageRecord, ReadTo, Record, UnknownRecord
from core.types import MessageState, Origin, Role, ToolCall, ToolStatus

Json = Mapping[str, Any]

PROGRESS_BYTES = 1 << 20
_STATUSES = {True: ToolStatus.SUCCEEDED, False: ToolStatus.FAILED, None: ToolStatus.UNKNOWN}
_TOLD_OF_ITSELF = frozenset({"custom_title", "rewind", "session_artifact_snapshot"})
_SHOWN = frozenset({"chat_compression", "slash_command"})


@dataclass(slots=True)
class _Draft:
    """A model's message of which more lines are to come."""

    value: Json
    raw_ref: str
    texts: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    calls: dict[str, tuple[str | None, str, str]] = field(default_factory=dict)
    media: list[str] = field(default_factory=list)
    model: str | None = None
    usage: str | None = None

    def take(self, value: Json, said: Parts) -> None:
        """Add what one line holds; a longer writing of a text takes the shorter one's place."""
        _grow(self.texts, said.text)
        for thought in said.thoughts:
            _grow(self.thoughts, thought)
        for call in said.calls:
            self.calls[call[0] or f"#{len(self.calls)}"] = call
        self.media += (each for each in said.media if each not in self.media)
        self.model = text_or_none(value.get("model")) or self.model
        usage = value.get("usageMetadata")
        if isinstance(usage, dict) and usage:
            self.usage = json_text(usage)


class Messages:
    """Turns the lines of an outlined file into messages."""

    def __init__(self, path: str, stem: str, outline: Outline) -> None:
        self._path = path
        self._stem = stem
        self._outline = outline
        self._drafts: dict[int, _Draft] = {}
        self._contents: dict[str, int] = {}

    def read(self, lines: Iterable[object], total: int) -> Iterator[Record]:
        """Yield the messages of exactly the lines of the outline.

        Raises:
            SourceError: they are no longer where they were.
        """
        places, index, reached, told = self._outline.places, 0, 0, 0
        for line in lines:
            if index == len(places):
                break
            if not isinstance(line, JsonObject):
                continue  # told at the first reading
            if line.offset != places[index].offset:
                break
            yield from self._line(index, places[index], line)
            index += 1
            if line.terminated:
                reached = line.offset + line.length + 1
            if reached - told >= PROGRESS_BYTES:
                told = reached
                yield ReadTo(min(reached, total), total)
        if index < len(places):
            raise SourceError(f"{self._path} changed while it was being read", path=self._path)
        yield ReadTo(min(reached, total), total)

    def _line(self, index: int, place: Place, line: JsonObject) -> Iterator[Record]:
        if place.kind == "system":
            yield from self._system(index, line)
        elif place.kind:
            said = sorted_parts(content_of(line.value), line.raw_ref)
            yield from map(UnknownRecord, said.unknown)
            if place.kind == "assistant":
                yield from self._assistant(index, line, said)
            elif said.responses:
                yield from self._results(index, line, said)
            elif place.kind == "user":
                yield from self._user(index, place, line, said)
            else:
                yield UnknownRecord("tool_result without a response")

    def _assistant(self, index: int, line: JsonObject, said: Parts) -> Iterator[MessageRecord]:
        first = self._outline.first(index)
        draft = self._drafts.get(first)
        if draft is None:
            draft = self._drafts[first] = _Draft(line.value, line.raw_ref)
        draft.take(line.value, said)
        if self._outline.places[first].end != index:
            return
        del self._drafts[first]
        results = self._outline.results
        calls = tuple(
            ToolCall(*call, _STATUSES[results.get(call[0] or "")]) for call in draft.calls.values()
        )
        yield self._message(
            first,
            draft.value,
            draft.raw_ref,
            Role.ASSISTANT,
            "\n\n".join(draft.texts),
            Origin.MODEL,
            hidden=not (draft.texts or draft.thoughts or calls or draft.media),
            model=draft.model,
            reasoning="\n\n".join(draft.thoughts) or None,
            tool_calls=calls,
            media_refs=tuple(draft.media),
            usage=draft.usage,
        )

    def _results(self, index: int, line: JsonObject, said: Parts) -> Iterator[MessageRecord]:
        beside = line.value.get("toolCallResult")
        shown = beside.get("resultDisplay") if isinstance(beside, dict) else None
        for number, answer in enumerate(said.responses):
            text = answer.text or (shown if isinstance(shown, str) else "")
            well = succeeded(line.value, fallback=answer.succeeded)
            yield self._message(
                index,
                line.value,
                line.raw_ref,
                Role.TOOL,
                text,
                Origin.TOOL,
                number=number,
                tool_call_id=answer.call_id,
                tool_name=answer.name,
                tool_status=_STATUSES[well],
                media_refs=tuple(said.media) if number == 0 else (),
            )

    def _user(
        self, index: int, place: Place, line: JsonObject, said: Parts
    ) -> Iterator[MessageRecord]:
        own = [text for text in said.texts if not text.lstrip().startswith(QWEN_CODE_WRAPPED)]
        typed = text_or_none(payload_of(line.value).get("displayText"))
        text = typed or "".join(own)
        yield self._message(
            index,
            line.value,
            line.raw_ref,
            Role.USER,
            text,
            Origin.HUMAN if place.is_prompt else Origin.INJECTED,
            hidden=not (text.strip() or said.media),
            media_refs=tuple(said.media),
        )
        more = "\n".join(each for each in said.texts if each.strip() not in text)
        if more:  # what hooks, and files that were named, put beside the prompt
            yield self._message(
                index,
                line.value,
                line.raw_ref,
                Role.SYSTEM,
                more,
                Origin.INJECTED,
                number=1,
                hidden=True,
            )

    def _system(self, index: int, line: JsonObject) -> Iterator[Record]:
        subtype = self._outline.places[index].subtype or "event"
        payload = payload_of(line.value)
        event = payload.get("uiEvent")
        error = event.get("error_message") if isinstance(event, dict) else None
        if subtype in MEASURES and not (isinstance(error, str) and error.strip()):
            return
        known = subtype in _TOLD_OF_ITSELF or subtype in _SHOWN or subtype in MEASURES
        if not known:
            yield UnknownRecord(f"system {subtype}"[:100])
        text = error if isinstance(error, str) and subtype in MEASURES else _told(subtype, payload)
        yield self._message(
            index,
            line.value,
            line.raw_ref,
            Role.SYSTEM,
            text,
            Origin.SYNTHETIC,
            hidden=subtype not in _SHOWN and subtype not in MEASURES,
        )

    def _message(
        self,
        index: int,
        value: Json,
        raw_ref: str,
        role: Role,
        content: str,
        origin: Origin,
        *,
        number: int = 0,
        hidden: bool = False,
        **more: Any,
    ) -> MessageRecord:
        place = self._outline.places[index]
        state = MessageState.ACTIVE
        if place.rewound:
            state = MessageState.REWOUND
        elif hidden:
            state = MessageState.HIDDEN
        elif index < self._outline.compressed_at:
            state = MessageState.COMPACTED
        at_ms, quality = instant(value.get("timestamp"))
        uid = f"{place.key or f'{self._stem}@{place.offset}'}{f':{number}' if number else ''}"
        # An id that comes again with other words names another message.
        words = hash((role, content, more.get("tool_calls")))
        if self._contents.setdefault(uid, words) != words:
            uid = f"{uid}@{place.offset}"
        return MessageRecord(
            self._stem,
            uid,
            role,
            content,
            origin,
            position=place.offset + number,
            state=state,
            created_at_ms=at_ms,
            time_quality=quality,
            raw_ref=raw_ref,
            **more,
        )


def _grow(texts: list[str], text: str) -> None:
    """Append a text, unless it is a writing of the last one, shorter or longer."""
    if not text:
        return
    if texts and text.startswith(texts[-1]):
        texts[-1] = text
    elif not (texts and texts[-1].startswith(text)):
        texts.append(text)


def _told(subtype: str, payload: Json) -> str:
    """What a line of the program tells, its own name where it tells nothing."""
    if subtype == "chat_compression":
        return "The conversation was compressed"
    for key in ("rawCommand", "customTitle", "summary", "message", "text", "displayText"):
        if text := text_or_none(payload.get(key)):
            items = payload.get("outputHistoryItems")
            return "\n".join([text, *_outputs(items if isinstance(items, list) else [])])
    return subtype.replace("_", " ")


def _outputs(items: list[Any]) -> Iterator[str]:
    for item in items:
        text = item.get("text") if isinstance(item, dict) else None
        if isinstance(text, str) and text.strip():
            yield text
