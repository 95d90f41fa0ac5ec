"""The messages of a Gemini CLI recording, one for each of its own.

A tool's call and result stand in the record of the model that asked: the result goes with the
call. What the program said (`info`, `error`, `warning`) is an event.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from core.sources.gemini_cli.facts import speaker
from core.sources.genai_parts import (
    Parts,
    json_text,
    name_of,
    response_text,
    sorted_parts,
    text_or_none,
)
from core.sources.headline import derived_title
from core.sources.injected import GEMINI_CLI_CARRIERS, GEMINI_CLI_INJECTED
from core.sources.instants import instant
from core.sources.records import MessageRecord, UnknownRecord
from core.types import MessageState, Origin, Role, ToolCall, ToolStatus

Json = Mapping[str, Any]

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_STATUSES = {
    "success": ToolStatus.SUCCEEDED,
    "error": ToolStatus.FAILED,
    "cancelled": ToolStatus.FAILED,
    "canceled": ToolStatus.FAILED,
}
_NO_TITLES = ("/clear", "/exit", "/quit", "/model")


class Messages:
    """Turns the values of one session into messages, in order, and remembers its headline."""

    def __init__(self, session: str, *, is_agent: bool = False) -> None:
        self.session = session
        self.model: str | None = None
        self._is_agent = is_agent
        self._prompt: str | None = None
        self._command: str | None = None
        self._answer: str | None = None
        self._position = 0
        self._uids: Counter[str] = Counter()

    @property
    def title(self) -> str | None:
        """A headline made of what was said: a prompt, a command, an answer."""
        return self._prompt or self._command or self._answer

    def records(
        self, value: Json, raw_ref: str, *, rewound: bool = False
    ) -> Iterator[MessageRecord | UnknownRecord]:
        """Yield what one message of the recording holds."""
        said = sorted_parts(value.get("content", value.get("parts")), raw_ref)
        yield from map(UnknownRecord, said.unknown)
        who = speaker(value)
        state = MessageState.REWOUND if rewound else MessageState.ACTIVE
        if who == "user":
            yield from self._user(value, said, raw_ref, state)
        elif who == "assistant":
            yield self._assistant(value, said, raw_ref, state)
        elif who == "event":
            yield self._message(
                value, Role.SYSTEM, said.text, Origin.SYNTHETIC, raw_ref, _seen(state, said)
            )
        else:
            kind = value.get("type", value.get("role"))
            yield UnknownRecord(f"type {kind}"[:100])

    def _user(
        self, value: Json, said: Parts, raw_ref: str, state: MessageState
    ) -> Iterator[MessageRecord]:
        for number, answer in enumerate(said.responses):
            yield self._message(
                value,
                Role.TOOL,
                answer.text,
                Origin.TOOL,
                raw_ref,
                state,
                part=f":{number}",
                tool_call_id=answer.call_id,
                tool_name=answer.name,
                tool_status=ToolStatus.SUCCEEDED if answer.succeeded else ToolStatus.FAILED,
            )
        if said.responses and not said.text.strip():
            return
        typed = sorted_parts(value.get("displayContent"), raw_ref).text
        text = typed if typed.strip() else said.text
        origin = self._origin(text)
        if origin == Origin.HUMAN and state == MessageState.ACTIVE:
            self._prompted(text)
        media = tuple(said.media)
        shown = _seen(state, said)
        yield self._message(value, Role.USER, text, origin, raw_ref, shown, media_refs=media)
        if text != said.text and said.text.strip():  # with the files that the program read for it
            yield self._message(
                value,
                Role.SYSTEM,
                said.text,
                Origin.INJECTED,
                raw_ref,
                state if state == MessageState.REWOUND else MessageState.HIDDEN,
                part=":sent",
            )

    def _origin(self, text: str) -> Origin:
        start = text.lstrip()
        if start.startswith(GEMINI_CLI_CARRIERS):
            return Origin.SYNTHETIC
        if start.startswith(GEMINI_CLI_INJECTED):
            return Origin.INJECTED
        if self._is_agent:  # what a subagent is asked, its parent says
            self._prompt = self._prompt or derived_title(text)
            return Origin.MODEL
        return Origin.HUMAN

    def _prompted(self, text: str) -> None:
        line = derived_title(text)
        if line is None or not line.startswith("/"):
            self._prompt = self._prompt or line
        elif not line.startswith(_NO_TITLES):
            self._command = self._command or line

    def _assistant(
        self, value: Json, said: Parts, raw_ref: str, state: MessageState
    ) -> MessageRecord:
        listed = value.get("toolCalls")
        listed = listed if isinstance(listed, list) else ()
        calls = [_call(call) for call in listed if isinstance(call, dict)]
        calls += [ToolCall(*call) for call in said.calls]
        thoughts = [*said.thoughts, *_thoughts(value.get("thoughts"))]
        if state == MessageState.ACTIVE:
            self.model = text_or_none(value.get("model")) or self.model
            self._answer = self._answer or derived_title(said.text)
        tokens = value.get("tokens")
        is_empty = not (calls or thoughts or said.media)
        return self._message(
            value,
            Role.ASSISTANT,
            said.text,
            Origin.MODEL,
            raw_ref,
            _seen(state, said) if is_empty else state,
            model=text_or_none(value.get("model")),
            reasoning="\n\n".join(thoughts) or None,
            tool_calls=tuple(calls),
            media_refs=tuple(said.media),
            usage=json_text(tokens) if isinstance(tokens, dict) and tokens else None,
        )

    def _message(
        self,
        value: Json,
        role: Role,
        content: str,
        origin: Origin,
        raw_ref: str,
        state: MessageState,
        *,
        part: str = "",
        **more: Any,
    ) -> MessageRecord:
        at_ms, quality = instant(value.get("timestamp", value.get("ts")))
        self._position += 1
        return MessageRecord(
            self.session,
            self._uid(value, role, content, part),
            role,
            content,
            origin,
            position=self._position,
            state=state,
            created_at_ms=at_ms,
            time_quality=quality,
            raw_ref=raw_ref,
            **more,
        )

    def _uid(self, value: Json, role: Role, content: str, part: str) -> str:
        """The message's id; one that comes again, after it was taken back, is told apart."""
        told = text_or_none(value.get("id"))
        if told is None:
            words = f"{self.session}\0{role}\0{content}"
            made = hashlib.blake2b(words.encode(errors="replace"), digest_size=12).hexdigest()
            uid = f"{self.session}:{made}{part}"
        else:
            uid = f"{told if _UUID.fullmatch(told) else f'{self.session}:{told}'}{part}"
        self._uids[uid] += 1
        return uid if self._uids[uid] == 1 else f"{uid}@{self._uids[uid]}"


def _seen(state: MessageState, said: Parts) -> MessageState:
    """Hide what shows nothing."""
    if state == MessageState.ACTIVE and not (said.text.strip() or said.media):
        return MessageState.HIDDEN
    return state


def _thoughts(value: object) -> Iterator[str]:
    for thought in value if isinstance(value, list) else ():
        if isinstance(thought, str):
            yield thought
        elif isinstance(thought, dict):
            told = (thought.get("subject"), thought.get("description"), thought.get("text"))
            text = "\n".join(each for each in told if isinstance(each, str) and each)
            if text:
                yield text


def _call(call: Json) -> ToolCall:
    """A call with what came of it; the text for the model, else the one for the screen."""
    answers = sorted_parts(call.get("result"), "")
    result = "\n".join(
        text for text in (*(each.text for each in answers.responses), *answers.texts) if text
    )
    if not result:
        shown = call.get("resultDisplay")
        result = response_text(shown) if isinstance(shown, str | dict | list) else ""
    status = call.get("status")
    known = _STATUSES.get(status) if isinstance(status, str) else None
    if known is None and answers.responses:
        known = _STATUSES["success" if all(r.succeeded for r in answers.responses) else "error"]
    args = json_text(call.get("args"))
    call_id = text_or_none(call.get("id"))
    return ToolCall(call_id, name_of(call), args, known or ToolStatus.UNKNOWN, result=result)
