"""The lines of one rollout, told as messages.

A rollout holds what the model saw (`response_item`) and what the screen showed (`event_msg`);
most texts are in both, some in one only. They are paired one by one: equal texts of one turn,
or two that stand beside each other. Content is the model's; of a prompt that was told in two
ways, what the person typed.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from copy import copy
from typing import Any

from core.sources.codex import texts
from core.sources.codex.calls import Calls
from core.sources.codex.drafts import PROMPTS, Draft, Outbox, Place, Plan
from core.sources.codex.kinds import CALLS, OUTPUTS, QUIET_EVENTS, QUIET_ITEMS, QUIET_LINES
from core.sources.codex.survey import is_bare_meta
from core.sources.codex.texts import is_injected, mapping, same_words, string
from core.sources.codex.tokens import Tokens
from core.sources.codex.twins import Telling, Twins
from core.sources.instants import instant
from core.sources.lines import JsonObject
from core.sources.records import MessageRecord, UnknownRecord
from core.types import MessageState, Origin, Role, TimeQuality

Told = Iterator[MessageRecord | UnknownRecord]
Payload = Mapping[str, Any]


class Walk:
    """Takes lines in order and tells messages. One per rollout.

    After the last line `finish` tells what was held. `model`, `cwd`, `first_prompt`,
    `first_answer`, `first_at_ms`, `last_at_ms` and `tokens` are then those of the session.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._outbox = Outbox(plan)
        self._calls = Calls()
        self._position = -1
        self._here = Place(0, 0, None, 0, plan.started_at_ms, TimeQuality.SESSION)
        self._twins = Twins()
        self._thoughts: list[tuple[Place, str]] = []
        self._thought_words: deque[str] = deque(maxlen=64)
        self._spoke = True
        self._turn_starts: list[int] = []
        self.rewound: list[tuple[int, int]] = []
        self.model: str | None = None
        self.cwd: str | None = None
        self.first_prompt: str | None = None
        self.first_answer: str | None = None
        self.first_at_ms: int | None = None
        self.last_at_ms: int | None = None
        self.tokens = Tokens()

    @property
    def told_to(self) -> int:
        """Everything before this offset has been told."""
        held = self._outbox.oldest_offset
        waiting = [self._thoughts[0][0].offset] if self._thoughts else []
        return min([self._here.offset, *waiting, *([held] if held is not None else [])])

    def line(self, found: JsonObject) -> Told:
        """Tell what the line completes."""
        value = found.value
        payload = mapping(value.get("payload"))
        self._here = self._place(found, payload)
        if found.offset < self._plan.skip_to:
            return
        kind = texts.type_of(value)
        match kind:
            case "response_item":
                yield from self._item(payload)
            case "event_msg":
                yield from self._event(payload)
            case "turn_context":
                self._turn_context(mapping(payload.get("turn_context")) or payload)
            case "compacted":
                yield from self._compacted(payload)
            case _ if kind in QUIET_LINES or "record_type" in value or is_bare_meta(value):
                pass
            case "error":
                yield from self._note(string(value.get("text")) or string(value.get("message")))
            case _ if "role" in value or kind in CALLS or kind in OUTPUTS or kind == "reasoning":
                self.model = string(value.get("model")) or self.model
                yield from self._item(value)
            case _:
                yield UnknownRecord(str(kind))

    @property
    def bytes(self) -> int:
        """About how much memory the walk takes."""
        return 20_000 + 300 * len(self._outbox)

    def apart(self) -> "Walk":
        """Return one that has come as far: it can be finished while this one may go on."""
        other = copy(self)
        vars(other).update(_outbox=self._outbox.apart(), _twins=copy(self._twins))
        return other

    def finish(self) -> Told:
        """Tell what is still held; the walk is over."""
        yield from self._think()
        yield from self._told(self._outbox.release())

    def _place(self, found: JsonObject, payload: Payload) -> Place:
        value = found.value
        ordinal = value.get("ordinal")
        ordinal = ordinal if isinstance(ordinal, int) and self._plan.has_ordinals else None
        if self._plan.has_ordinals:
            self._position = max(self._position + 1, ordinal if ordinal is not None else 0)
        else:
            self._position = found.offset
        told = value.get("timestamp") or value.get("created_at") or payload.get("timestamp")
        at_ms, quality = instant(told)
        if at_ms is None and self._here.at_ms is not None:
            at_ms, quality = self._here.at_ms, TimeQuality.SESSION
        if at_ms is not None:
            self.first_at_ms = self.first_at_ms or at_ms
            self.last_at_ms = at_ms
        return Place(found.offset, found.length, ordinal, self._position, at_ms, quality)

    # What the model saw

    def _item(self, payload: Payload) -> Told:
        kind = texts.type_of(payload)
        if kind in CALLS:
            yield from self._call(payload, CALLS[kind])
        elif kind in OUTPUTS:
            yield from self._output(payload)
        elif kind == "message" or (kind is None and "role" in payload):
            yield from self._message(payload)
        elif kind == "reasoning":
            for part in (*_list(payload.get("summary")), *_list(payload.get("content"))):
                self._thought(texts.content_of(part).text)
        elif kind == "agent_message":
            text = texts.content_of(payload.get("content")).text
            yield from self._note(text, Origin.INJECTED)
        elif kind == "token_count":
            self._count(self.tokens.counted(payload))
        elif kind not in QUIET_ITEMS:
            yield UnknownRecord(f"response_item/{kind}")

    def _message(self, payload: Payload) -> Told:
        content = texts.content_of(payload.get("content", payload.get("message")))
        for kind in content.unknown:
            yield UnknownRecord(f"content/{kind[:80]}")
        text, media = content.text, tuple(content.media)
        match payload.get("role"):
            case "user":
                yield from self._say(Role.USER, text, media, (False, is_injected(content.texts)))
            case "assistant":
                yield from self._say(Role.ASSISTANT, text, media, (False, False))
            case "developer" | "system":
                yield from self._note(text, Origin.INJECTED)
            case role:
                yield UnknownRecord(f"role/{str(role)[:80]}")

    def _call(self, payload: Payload, name: str) -> Told:
        call = self._calls.made(payload, name, f"@{self._here.offset}")
        words = f"{call.name}\0{call.id}\0{call.arguments}"
        media = ("image/png",) if payload.get("type") == "image_generation_call" else ()
        draft = self._answer(words)
        draft.calls, draft.media = (call,), media
        yield from self._add(draft)

    def _output(self, payload: Payload) -> Told:
        for key in ("output", "result", "tools", "content"):
            if key in payload:
                break
        output = texts.output_of(payload.get(key))
        call_id, name = self._calls.answered(payload)
        draft = Draft(self._here, Role.TOOL, Origin.TOOL, f"{call_id}\0{output.text}")
        draft.content, draft.media, draft.status = output.text, output.media, output.status
        draft.call_id, draft.tool_name = call_id, name
        yield from self._add(draft)

    def _compacted(self, payload: Payload) -> Told:
        yield from self._think()
        self._twins.end_turn()
        yield from self._note(string(payload.get("message")))

    # What the screen showed

    def _event(self, payload: Payload) -> Told:
        kind = texts.type_of(payload)
        text = payload.get("message", payload.get("text"))
        match kind:
            case "user_message":
                media = [texts.media_of(m) for key in ("images", "local_images")
                         for m in _list(payload.get(key))]  # fmt: skip
                spoken = string(text) or ""
                injected = payload.get("kind") not in (None, "plain") or is_injected([spoken])
                yield from self._say(Role.USER, spoken, tuple(media), (True, injected))
            case "agent_message":
                yield from self._say(Role.ASSISTANT, string(text) or "", (), (True, False))
            case "agent_reasoning" | "agent_reasoning_raw_content":
                self._thought(string(payload.get("text")) or "")
            case "token_count":
                self._count(self.tokens.told(payload.get("info")))
            case "task_complete" | "turn_complete" | "turn_aborted":
                yield from self._end_turn(string(payload.get("last_agent_message")))
            case "task_started" | "turn_started":
                self._twins.part()
            case "thread_rolled_back":
                yield from self._roll_back(payload.get("num_turns"))
            case "item_completed":
                yield from self._completed(mapping(payload.get("item")))
            case "error":
                error = mapping(payload.get("error"))
                yield from self._note(string(text) or string(error.get("message")))
            case _ if kind not in QUIET_EVENTS:
                yield UnknownRecord(f"event_msg/{kind}")

    def _completed(self, item: Payload) -> Told:
        """An item of the screen as a whole; only texts are told, the rest are calls' twins."""
        content = texts.content_of(item.get("content", item.get("text")))
        match item.get("type"):
            case "UserMessage":
                way = (True, is_injected(content.texts))
                yield from self._say(Role.USER, content.text, tuple(content.media), way)
            case "AgentMessage" | "Plan":
                yield from self._say(Role.ASSISTANT, content.text, (), (True, False))
            case "Reasoning":
                for text in _list(item.get("summary_text")):
                    self._thought(string(text) or "")

    def _end_turn(self, last_words: str | None) -> Told:
        yield from self._think()
        if last_words and not self._spoke:
            yield from self._say(Role.ASSISTANT, last_words, (), (True, False))
        self._twins.end_turn()

    def _roll_back(self, turns: object) -> Told:
        yield from self._think()
        self._twins.end_turn()
        if isinstance(turns, int) and turns > 0 and self._turn_starts:
            self.rewound.append((self._turn_starts[-turns:][0], self._here.offset))
            del self._turn_starts[-turns:]

    def _count(self, usage: dict[str, int]) -> None:
        if usage:
            self._outbox.count_tokens(usage)

    # Texts

    def _say(self, role: Role, text: str, media: tuple[str, ...], way: tuple[bool, bool]) -> Told:
        """Tell a text unless its twin was told; `way` is (told as an event, injected)."""
        if not text.strip() and not media:
            return
        is_event, injected = way
        words = same_words(text)
        twin = self._twins.take(role, words, is_event=is_event, injected=injected)
        if twin is not None:
            self._merge(twin, text, media, way)
            return
        if role == Role.ASSISTANT:
            draft = self._answer(words)
        else:
            draft = Draft(self._here, role, self._origin(text, injected=injected), words)
        draft.content, draft.media = text, media
        yield from self._add(draft)
        self._twins.add(Telling(is_event, words, draft))

    def _origin(self, text: str, *, injected: bool) -> Origin:
        if injected:
            return Origin.INJECTED
        if texts.is_summary(text):
            return Origin.SYNTHETIC
        return Origin.MODEL if self._plan.is_subagent else Origin.HUMAN

    def _merge(
        self, twin: Telling, text: str, media: tuple[str, ...], way: tuple[bool, bool]
    ) -> None:
        """Complete a text by its other telling, unless it is a record already."""
        draft = twin.draft
        if not self._outbox.holds(draft):
            return
        is_event, injected = way
        words = same_words(text)
        event, item = (words, twin.words) if is_event else (twin.words, words)
        if is_event == (draft.role == Role.USER and event not in item):
            draft.content, draft.raw = text, self._here
        if media and (not is_event or not draft.media):
            draft.media = media
        if injected:
            draft.origin = Origin.INJECTED
            if self._turn_starts[-1:] == [draft.place.offset]:
                self._turn_starts.pop()

    def _note(self, text: str | None, origin: Origin = Origin.SYNTHETIC) -> Told:
        """Tell what neither the person nor the model said to the other."""
        if text and text.strip():
            draft = Draft(self._here, Role.SYSTEM, origin, same_words(text), text)
            yield from self._add(draft)

    # Drafts

    def _answer(self, words: str) -> Draft:
        """A draft of the model's, with the thoughts that led to it."""
        thoughts, self._thoughts = self._thoughts, []
        place = thoughts[0][0] if thoughts else self._here
        first_words = same_words(thoughts[0][1]) if thoughts else words
        return Draft(
            place,
            Role.ASSISTANT,
            Origin.MODEL,
            first_words,
            model=self.model,
            thoughts=[text for _, text in thoughts],
            raw=self._here,
        )

    def _thought(self, text: str) -> None:
        words = same_words(text)
        if words and words not in self._thought_words:
            self._thought_words.append(words)
            self._thoughts.append((self._here, text))

    def _think(self) -> Told:
        """Tell thoughts that led to nothing."""
        if self._thoughts:
            yield from self._add(self._answer(""))

    def _add(self, draft: Draft) -> Told:
        if draft.role == Role.USER:
            yield from self._think()
        if draft.is_prompt:
            self._turn_starts.append(draft.place.offset)
            self._spoke = False
        elif draft.role == Role.ASSISTANT and draft.content:
            self._spoke = True
        self._twins.step_past(draft)
        yield from self._told(self._outbox.add(draft))

    def _told(self, records: Iterator[MessageRecord]) -> Iterator[MessageRecord]:
        for record in records:
            own = record.uid.startswith(f"{self._plan.session}:")
            if own and record.state != MessageState.REWOUND:
                if record.role == Role.USER and record.origin in PROMPTS:
                    self.first_prompt = self.first_prompt or texts.title_of(record.content)
                elif record.role == Role.ASSISTANT and record.content:
                    self.first_answer = self.first_answer or texts.title_of(record.content)
            yield record

    def _turn_context(self, context: Payload) -> None:
        self.model = string(context.get("model")) or self.model
        self.cwd = self.cwd or string(context.get("cwd"))


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
