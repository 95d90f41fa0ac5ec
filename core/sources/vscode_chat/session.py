"""A chat session of VS Code as a session and its messages: a request and its answer are two."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from core.sources.genai_parts import json_text, text_or_none
from core.sources.headline import derived_title
from core.sources.instants import UNKNOWN, Instant, instant
from core.sources.records import MessageRecord, SessionRecord, UnknownRecord
from core.sources.vscode_chat.response import Answer, answer_of, markdown, path_of
from core.types import MessageState, Origin, Role, TimeQuality, TitleSource

Json = Mapping[str, Any]

PER_REQUEST = 4
"""Positions that a request takes: itself, its answer, what the program says to it."""

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_MOST_FILES = 1000


class Conversation:
    """A session in its last state, and the requests that were taken back before that."""

    def __init__(
        self, native_id: str, state: Json, undone: list[tuple[int, dict[str, Any]]], raw_ref: str
    ) -> None:
        self.native_id = native_id
        self._state = state
        self._raw_ref = raw_ref
        listed = state.get("requests")
        now = [
            (place, r, False) for place, r in enumerate(listed if isinstance(listed, list) else ())
        ]
        gone = [(place, request, True) for place, request in undone]
        # Where one request took another's place, the one that was taken back came first.
        self._requests = sorted([*gone, *now], key=lambda each: (each[0], not each[2]))
        self._model: str | None = None
        self._title: str | None = None

    def records(self, cwd: str | None, metadata: Json) -> Iterator[Any]:
        """Yield the session and its messages; nothing where nothing was asked."""
        messages: list[MessageRecord] = []
        unknown: list[UnknownRecord] = []
        for number, (_, request, undone) in enumerate(self._requests):
            if not isinstance(request, dict):
                unknown.append(UnknownRecord(f"request {type(request).__name__}"))
                continue
            answer = answer_of(request.get("response"), _metadata(request))
            unknown += [UnknownRecord(what) for what in answer.unknown]
            messages += self._turn(number * PER_REQUEST, request, answer, undone=undone)
        if messages:
            yield self._session(messages, cwd, metadata)
        yield from messages
        yield from unknown

    def _session(
        self, messages: list[MessageRecord], cwd: str | None, metadata: Json
    ) -> SessionRecord:
        title, source = text_or_none(self._state.get("customTitle")), TitleSource.MODEL
        if title is None:
            title = self._title
            source = TitleSource.DERIVED if title else TitleSource.NONE
        times = [m.created_at_ms for m in messages if m.created_at_ms is not None]
        return SessionRecord(
            self.native_id,
            title=title,
            title_source=source,
            model=self._model,
            cwd=cwd,
            started_at_ms=_at(self._state.get("creationDate"))[0],
            updated_at_ms=_at(self._state.get("lastMessageDate"))[0] or max(times, default=None),
            metadata=json_text(metadata) if metadata else None,
        )

    def _turn(
        self, position: int, request: Json, answer: Answer, *, undone: bool
    ) -> Iterator[MessageRecord]:
        uid = self._uid(text_or_none(request.get("requestId")) or f"request {position}")
        asked_at = _at(request.get("timestamp"))
        state = MessageState.REWOUND if undone else MessageState.ACTIVE
        text = _prompt(request)
        media = tuple(_media(request, self._raw_ref))
        if not undone and self._title is None:
            self._title = derived_title(text)
        yield MessageRecord(
            self.native_id,
            uid,
            Role.USER,
            text,
            Origin.HUMAN,
            position=position,
            state=state if text.strip() or media or undone else MessageState.HIDDEN,
            created_at_ms=asked_at[0],
            time_quality=asked_at[1],
            media_refs=media,
            raw_ref=self._raw_ref,
        )
        answered_at = _answered_at(request, asked_at)
        if answer.text.strip() or answer.reasoning or answer.calls:
            yield self._answer(uid, position + 1, request, answer, answered_at, state)
        event = _event(request)
        if event:
            yield MessageRecord(
                self.native_id,
                f"{uid}:event",
                Role.SYSTEM,
                event,
                Origin.SYNTHETIC,
                position=position + 2,
                state=state,
                created_at_ms=answered_at[0],
                time_quality=answered_at[1],
                raw_ref=self._raw_ref,
            )

    def _answer(
        self,
        asked: str,
        position: int,
        request: Json,
        answer: Answer,
        at: Instant,
        state: MessageState,
    ) -> MessageRecord:
        metadata = _metadata(request)
        told = (metadata.get("resolvedModel"), request.get("modelId"))
        model = next((each for each in map(text_or_none, told) if each), None)
        if state == MessageState.ACTIVE:
            self._model = model or self._model
        counts = {k: metadata[k] for k in ("promptTokens", "outputTokens") if k in metadata}
        given = text_or_none(request.get("responseId"))
        return MessageRecord(
            self.native_id,
            self._uid(given) if given else f"{asked}:response",
            Role.ASSISTANT,
            answer.text,
            Origin.MODEL,
            position=position,
            state=state,
            created_at_ms=at[0],
            time_quality=at[1],
            model=model,
            reasoning="\n\n".join(answer.reasoning) or None,
            tool_calls=tuple(answer.calls),
            usage=json_text(counts) if counts else None,
            raw_ref=self._raw_ref,
        )

    def _uid(self, given: str) -> str:
        """The id of a request or answer where it is unique in the world, else the session's."""
        return given if _UUID.search(given) else f"{self.native_id}:{given}"


def _at(value: object) -> Instant:
    """A time of the program, which counts milliseconds."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return UNKNOWN
    try:
        return instant(value / 1000)
    except OverflowError:  # an integer beyond every float
        return UNKNOWN


def _answered_at(request: Json, asked_at: Instant) -> Instant:
    """When an answer ended: as told, or by how long it took; else about when it was asked for."""
    told = request.get("modelState")
    completed = _at(told.get("completedAt")) if isinstance(told, dict) else UNKNOWN
    if completed[0] is not None or asked_at[0] is None:
        return completed
    timings = _inside(request, "result", "timings")
    took = timings.get("totalElapsed")
    if isinstance(took, int | float) and not isinstance(took, bool) and 0 <= took < 86_400_000:
        return asked_at[0] + round(took), TimeQuality.EXACT
    return asked_at[0], TimeQuality.SESSION


def _inside(value: Json, *keys: str) -> Json:
    for key in keys:
        inner = value.get(key)
        value = inner if isinstance(inner, dict) else {}
    return value


def _metadata(request: Json) -> Json:
    return _inside(request, "result", "metadata")


def _prompt(request: Json) -> str:
    message = request.get("message")
    if isinstance(message, str):
        return message
    if not isinstance(message, dict):
        return ""
    text = message.get("text")
    if isinstance(text, str) and text:
        return text
    parts = message.get("parts")
    listed = parts if isinstance(parts, list) else ()
    texts = (part.get("text") for part in listed if isinstance(part, dict))
    return "".join(each for each in texts if isinstance(each, str))


def _event(request: Json) -> str | None:
    """What the program says of how a request ended, where that was not well."""
    error = _inside(request, "result", "errorDetails").get("message")
    if told := text_or_none(markdown(error)):
        return told
    return "The request was canceled" if request.get("isCanceled") is True else None


def _media(request: Json, at: str) -> Iterator[str]:
    """References to what was attached to a request: files by their paths, pictures by where."""
    listed = _inside(request, "variableData").get("variables")
    for each in (listed if isinstance(listed, list) else [])[:_MOST_FILES]:
        if not isinstance(each, dict):
            continue
        value = each.get("value")
        path = path_of(value)
        if each.get("kind") == "image" or each.get("isImage") is True:
            kind = text_or_none(each.get("mimeType")) or "image"
            size = len(value) if isinstance(value, dict | list) and not path else 0
            yield f"{kind}; size={size}; at={path or at}"
        elif path and each.get("kind") in (None, "file", "directory", "implicit"):
            yield f"file; size=0; at={path}"
