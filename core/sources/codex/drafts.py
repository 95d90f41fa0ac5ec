"""Messages of a rollout while later lines may still complete them.

Codex tells a text twice, a thought before the message it belongs to, and token counts after the
answer. A draft waits until nothing more can be added and then becomes a record. Its uid is
made of its first line alone, so that a file read while it was being written gives the same uid.
"""

from collections import ChainMap, Counter
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from hashlib import blake2b

import msgspec

from core.sources.records import MessageRecord
from core.types import MessageState, Origin, Role, TimeQuality, ToolCall, ToolStatus

HELD_DRAFTS = 256
HELD_CHARS = 1 << 20
PROMPTS = (Origin.HUMAN, Origin.MODEL)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a line stands: byte offset and length, order within the session, and when."""

    offset: int
    length: int
    ordinal: int | None
    position: int
    at_ms: int | None
    quality: TimeQuality


@dataclass(slots=True)
class Draft:
    """A message to be. `words` is what its first line says, of which its uid is made."""

    place: Place
    role: Role
    origin: Origin
    words: str
    content: str = ""
    media: tuple[str, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    call_id: str | None = None
    tool_name: str | None = None
    status: ToolStatus | None = None
    model: str | None = None
    thoughts: list[str] = field(default_factory=list)
    usage: dict[str, int] | None = None
    raw: Place | None = None  # where the text is, if not at `place`

    @property
    def is_prompt(self) -> bool:
        """Tell whether the message asks the agent for something."""
        return self.role == Role.USER and self.origin in PROMPTS


@dataclass(frozen=True, slots=True)
class Plan:
    """What is known of a session before its messages are told. Offsets are bytes.

    Lines before `skip_to` are a subagent's copy of its parent and are left out; those before
    `copy_end` are a fork's, and are the parent's own messages where `inherited` has them: by
    the part of the uid that does not name the session. Messages before `compacted_to` were
    summarized away, those within `rewound` undone.
    """

    session: str
    is_subagent: bool = False
    started_at_ms: int | None = None
    has_ordinals: bool = False
    skip_to: int = 0
    copy_end: int = 0
    inherited: Mapping[str, MessageRecord] = field(default_factory=dict)
    compacted_to: int = -1
    rewound: Sequence[tuple[int, int]] = ()


class Outbox:
    """Holds the drafts of one answer and lets them go as records, in order."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._held: list[Draft] = []
        self._held_chars = 0
        self._seen: MutableMapping[bytes, int] = Counter()
        self._copying = bool(plan.inherited)

    def __len__(self) -> int:
        """Return how many texts were told; about 150 bytes are kept of each."""
        return len(self._seen)

    def apart(self) -> "Outbox":
        """Return one with the same drafts, from which they can go without leaving this one."""
        other = copy(self)
        vars(other).update(_held=list(self._held), _seen=ChainMap({}, self._seen))
        return other

    @property
    def oldest_offset(self) -> int | None:
        """Where the first draft stands that is not a record yet."""
        return self._held[0].place.offset if self._held else None

    def add(self, draft: Draft) -> Iterator[MessageRecord]:
        """Hold the draft, and let go of those that nothing can complete any more."""
        answered = self._held and self._held[-1].role == Role.TOOL
        if (
            draft.is_prompt
            or (answered and draft.role == Role.ASSISTANT)
            or len(self._held) >= HELD_DRAFTS
            or self._held_chars > HELD_CHARS
        ):
            yield from self.release()
        self._held.append(draft)
        self._held_chars += len(draft.content)

    def holds(self, draft: Draft) -> bool:
        """Tell whether the draft can still be completed."""
        return any(held is draft for held in self._held)

    def count_tokens(self, usage: dict[str, int]) -> None:
        """Give the counts of one API answer to the last message of it."""
        for draft in reversed(self._held):
            if draft.role == Role.ASSISTANT:
                if draft.usage is None:
                    draft.usage = usage
                return

    def release(self) -> Iterator[MessageRecord]:
        """Turn everything held into records."""
        held, self._held, self._held_chars = self._held, [], 0
        for draft in held:
            yield self._record(draft)

    def _record(self, draft: Draft) -> MessageRecord:
        key = self._key(draft)
        body = MessageRecord(
            session=self._plan.session,
            uid=f"{self._plan.session}:{key}",
            role=draft.role,
            content=draft.content,
            origin=draft.origin,
            position=draft.place.position,
            state=self._state(draft.place.offset),
            created_at_ms=draft.place.at_ms,
            time_quality=draft.place.quality,
            model=draft.model,
            reasoning="\n\n".join(draft.thoughts) or None,
            tool_calls=draft.calls,
            tool_call_id=draft.call_id,
            tool_name=draft.tool_name,
            tool_status=draft.status,
            media_refs=draft.media,
            usage=msgspec.json.encode(draft.usage).decode() if draft.usage else None,
            raw_ref=_raw_ref(draft.raw or draft.place),
        )
        return self._as_the_parent_tells(body, key, draft.place.offset)

    def _key(self, draft: Draft) -> str:
        """The uid within the session: (ordinal, text), or (text, which of the equal ones)."""
        told = f"{draft.role}\0{draft.words}".encode("utf-8", "replace")
        digest = blake2b(told, digest_size=8)
        if draft.place.ordinal is not None:
            return f"{draft.place.ordinal}-{digest.hexdigest()[:8]}"
        self._seen[digest.digest()] += 1
        count = self._seen[digest.digest()]
        return digest.hexdigest() if count == 1 else f"{digest.hexdigest()}.{count}"

    def _as_the_parent_tells(self, body: MessageRecord, key: str, offset: int) -> MessageRecord:
        """The parent's message in this place, when the line is a copy of it: one body, two places.

        Where no turn says how far the copy goes, it goes as far as the texts are the same.
        """
        if not self._copying:
            return body
        original = self._plan.inherited.get(key)
        if original is None or (self._plan.copy_end and offset >= self._plan.copy_end):
            self._copying = offset < self._plan.copy_end
            return body
        return replace(
            original,
            session=body.session,
            position=body.position,
            content=body.content,
            reasoning=body.reasoning,
            tool_calls=body.tool_calls,
            media_refs=body.media_refs,
        )

    def _state(self, offset: int) -> MessageState:
        if any(start <= offset < end for start, end in self._plan.rewound):
            return MessageState.REWOUND
        if offset < self._plan.compacted_to:
            return MessageState.COMPACTED
        return MessageState.ACTIVE


def _raw_ref(place: Place) -> str | None:
    return f"{place.offset}:{place.length}" if place.length else None
