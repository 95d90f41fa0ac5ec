"""A chat as web services and their copies keep it: messages with links, a session around them.

A reader says of each message what it is and how it hangs on the others; the order, the path
that is shown, ids and titles are made here, the same for every one of them.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from core.sources import loose
from core.sources.headline import derived_title
from core.sources.instants import UNKNOWN, Instant
from core.sources.message_tree import UNLINKED, Link, walk
from core.sources.records import MessageRecord, SessionRecord, UnknownRecord
from core.types import MessageState, Origin, Role, TitleSource, ToolCall, ToolStatus

UNKNOWN_CHARS = 100

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


@dataclass(slots=True)
class Said:
    """What one message says, in the order it came. `unknown` counts what was not understood."""

    texts: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    media: list[str] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The text as it is shown and searched."""
        return "\n\n".join(self.texts)

    @property
    def is_empty(self) -> bool:
        """Whether it shows nothing at all."""
        return not (self.text.strip() or self.reasoning or self.media or self.calls)

    def add_text(self, text: object) -> None:
        """Take in a text; what is none, or blank, is left out."""
        if isinstance(text, str) and text.strip():
            self.texts.append(text)

    def add_reasoning(self, text: object) -> None:
        """Take in reasoning; what is no text, or blank, is left out."""
        if isinstance(text, str) and text.strip():
            self.reasoning.append(text)

    def add_media(self, kind: object, at: object, size: object = None) -> None:
        """Name a file or picture, once; inline bytes are only counted."""
        place = at if isinstance(at, str) else ""
        if place.startswith("data:"):
            kind, size, place = place[5:].partition(";")[0], len(place) * 3 // 4, "inline"
        name = kind if isinstance(kind, str) and kind.strip() else "file"
        told = f"; size={size}" if isinstance(size, int) and not isinstance(size, bool) else ""
        reference = f"{name[:100]}{told}; at={place[:2048].strip()}"
        if reference not in self.media:
            self.media.append(reference)

    def answer(self, call_id: str | None, name: str | None, result: str, failed: bool) -> None:
        """Give a result to its call: by id, else to the first unanswered one of that name.

        One that answers no call is kept as a call of which only the result is known.
        """
        status = ToolStatus.FAILED if failed else ToolStatus.SUCCEEDED
        for place, call in enumerate(self.calls):
            is_open = call.status in (ToolStatus.UNKNOWN, ToolStatus.PENDING)
            fits = call.id == call_id if call_id else name in (None, call.name)
            if is_open and fits:
                self.calls[place] = replace(call, status=status, result=result)
                return
        self.calls.append(ToolCall(call_id, name or "", "", status, result=result))

    def note(self, what: str) -> None:
        """Count something that is not known."""
        self.unknown.append(what[:UNKNOWN_CHARS])


@dataclass(slots=True)
class Turn:
    """One message of a chat. `key` is its id within the chat; None where it has none."""

    key: str | None
    role: Role
    said: Said
    link: Link = UNLINKED
    at: Instant = UNKNOWN
    model: str | None = None
    usage: str | None = None
    raw_ref: str | None = None
    origin: Origin | None = None


_ORIGINS = {
    Role.USER: Origin.HUMAN,
    Role.ASSISTANT: Origin.MODEL,
    Role.TOOL: Origin.TOOL,
    Role.SYSTEM: Origin.SYNTHETIC,
}


def records(
    session: SessionRecord, turns: Sequence[Turn], current: object = None
) -> Iterator[SessionRecord | MessageRecord | UnknownRecord]:
    """Yield the session, then every message of every branch in the tree's order.

    A session without a title is called by its first prompt on the path. Of several messages
    with one id and one text the first is kept; other texts are messages of their own.

    Args:
        session: what the source says of it.
        turns: its messages, in the source's order.
        current: the key of the leaf whose path is shown; where it is none, the newest leaf.
    """
    named = _keyed(turns)
    messages = []
    for step in walk({key: turn.link for key, turn in named.items()}, current):
        state = MessageState.ACTIVE if step.on_path else MessageState.OFF_BRANCH
        messages.append(_message(session, step.key, step.position, state, named[step.key]))
    if session.title is None:
        prompts = (derived_title(m.content) for m in messages if _is_prompt(m))
        title = next((each for each in prompts if each), None)
        source = TitleSource.DERIVED if title else TitleSource.NONE
        session = replace(session, title=title, title_source=source)
    yield session
    yield from messages
    for turn in turns:
        yield from map(UnknownRecord, turn.said.unknown)


def derived_id(*told: object) -> str:
    """Return an id made of what never changes of a thing, for one that has none."""
    return "derived-" + _hash(loose.json_text(list(told)))


def _keyed(turns: Sequence[Turn]) -> dict[str, Turn]:
    named: dict[str, Turn] = {}
    equals: Counter[str] = Counter()
    for turn in turns:
        body = f"{turn.role}\0{turn.said.text}"
        if turn.key is None:
            equals[body] += 1
            named[derived_id(body, equals[body])] = turn
        elif turn.key not in named:
            named[turn.key] = turn
        elif (named[turn.key].role, named[turn.key].said) != (turn.role, turn.said):
            named[f"{turn.key}:{_hash(body + repr(turn.said.reasoning))}"] = turn
    return named


def _message(
    session: SessionRecord, key: str, position: int, state: MessageState, turn: Turn
) -> MessageRecord:
    said = turn.said
    return MessageRecord(
        session.native_id,
        key if _UUID.fullmatch(key) else f"{session.native_id}:{key}",
        turn.role,
        said.text,
        turn.origin or _ORIGINS[turn.role],
        position=position,
        state=MessageState.HIDDEN if said.is_empty else state,
        created_at_ms=turn.at[0],
        time_quality=turn.at[1],
        model=turn.model if turn.role == Role.ASSISTANT else None,
        reasoning="\n\n".join(said.reasoning) or None,
        tool_calls=tuple(said.calls),
        media_refs=tuple(said.media),
        usage=turn.usage,
        raw_ref=turn.raw_ref,
        as_of_ms=session.updated_at_ms if session.is_snapshot else None,
    )


def _is_prompt(message: MessageRecord) -> bool:
    return (message.role, message.origin, message.state) == (
        Role.USER,
        Origin.HUMAN,
        MessageState.ACTIVE,
    )


def _hash(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=12).hexdigest()
