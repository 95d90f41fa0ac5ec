"""What a conversation is made of for the viewer: items, and what their rendering shares."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from app.render import runs
from app.render.runs import Marker
from app.render.sheet import Sheet, Spot
from app.render.style import Style
from core.types import Message, Role, ToolCall

ROLE_INKS = {
    Role.USER: "role_user",
    Role.ASSISTANT: "role_assistant",
    Role.TOOL: "role_tool",
    Role.SYSTEM: "role_system",
}


@dataclass(frozen=True, slots=True)
class Item:
    """One table of the document: what a row of the conversation is.

    `message_ids` are the messages it shows (a call and its result are two), `first` and
    `last` their numbers. `links` and `codes` are what its addresses stand for. `spots` are
    where its matches are, when a text is looked for in the conversation. `shows` is the
    stretch of a text that it shows: the text's key, start and end.
    """

    key: str
    html: str
    message_ids: tuple[int, ...] = ()
    first: int | None = None
    last: int | None = None
    matches: int = 0
    links: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()
    spots: tuple[Spot, ...] = ()
    shows: tuple[str, int, int] | None = None

    @property
    def is_full(self) -> bool:
        """True for a message in full, false for bookend rows, labels and gaps."""
        return self.first is not None and not self.key.startswith("b")


@dataclass(frozen=True, slots=True)
class Read:
    """Consecutive pieces that were read on of a long text.

    `start` is where the first begins in the text, in characters.
    """

    start: int
    pieces: tuple[str, ...]

    @property
    def end(self) -> int:
        """Where the last ends."""
        return self.start + sum(map(len, self.pieces))


@dataclass(frozen=True, slots=True)
class Scene:
    """What one rendering has in common for all its messages.

    `choices` are what the reader did to items by key: `fold` (toggled against its own
    default), `open`, `whole`, `raw`, `anyway`. `pieces` are how many pieces of a long text
    that is loaded are shown beyond the first, by `text_key`; `near` is what was read on behind
    that, `far` what is shown further on, with a gap before it.
    `call_texts` is set when a text is looked for in the conversation: every match is then
    marked once, where it is read, and it gives the texts of a call that are looked through.
    """

    style: Style
    marker: Marker = runs.no_marks
    anchor_id: int | None = None
    folder: str = ""
    model: str = ""
    choices: Mapping[str, frozenset[str]] = field(default_factory=dict)
    pieces: Mapping[str, int] = field(default_factory=dict)
    near: Mapping[str, Read] = field(default_factory=dict)
    far: Mapping[str, Read] = field(default_factory=dict)
    call_texts: Callable[[ToolCall], list[str]] | None = None

    @property
    def is_finding(self) -> bool:
        """True when a text is looked for in the conversation."""
        return self.call_texts is not None

    def sheet(self, key: str, *, on_ground: bool = False, family: str = "") -> Sheet:
        """Return an empty sheet for an item."""
        return Sheet(key, self.style, self.marker, on_ground, family, apart=self.is_finding)

    def shown_of(self, key: str) -> int:
        """Return how many pieces of a text are shown."""
        return 1 + self.pieces.get(key, 0)

    def chose(self, key: str, choice: str) -> bool:
        """Tell whether the reader chose this for the item."""
        return choice in self.choices.get(key, ())


def item(
    sheet: Sheet,
    html: str,
    message: Message,
    *,
    ids: tuple[int, ...] = (),
    last: int | None = None,
    shows: tuple[str, int, int] | None = None,
) -> Item:
    """Return the item written on `sheet`, standing for `message` (and up to number `last`)."""
    return Item(
        key=sheet.key,
        html=html,
        message_ids=ids or (message.id,),
        first=message.number,
        last=message.number if last is None else last,
        matches=sheet.matches,
        links=tuple(sheet.links),
        codes=tuple(sheet.codes),
        spots=tuple(sheet.spots),
        shows=shows,
    )
