"""The lines of a transcript, each in some 36 bytes: where it is, what it is, what it hangs on.

A transcript of half a gigabyte has some 300,000 lines; as objects they took ten times as much.
"""

from array import array
from enum import Enum, auto

from core.sources.claude_code.texts import Turn

_NO_TIME = -(1 << 62)


class Kind(Enum):
    """What a line is for the conversation."""

    NOTHING = auto()
    USER = auto()
    ASSISTANT = auto()
    EVENT = auto()
    QUEUED_COMMAND = auto()
    ATTACHMENT = auto()
    QUEUED = auto()


_KINDS = tuple(Kind)
_TURNS = (None, *Turn)
_NUMBERS: dict[Kind | Turn | None, int] = {
    **{kind: number for number, kind in enumerate(_KINDS)},
    **{turn: number for number, turn in enumerate(_TURNS)},
}
USER, ASSISTANT = _NUMBERS[Kind.USER], _NUMBERS[Kind.ASSISTANT]
PROMPT = _NUMBERS[Turn.PROMPT]


class Place:
    """One line, to be put among the others when all is known of it.

    `parent` is the index of an earlier line or -1, `group` the number of the API message of an
    assistant line or -1, `session` 0 for the file's own conversation, else a sidechain's number.
    `uuid` is the line's id; of a line that was taken from the others only whether it has one
    is known, as `named`.
    """

    __slots__ = (
        "at_ms",
        "group",
        "kind",
        "named",
        "offset",
        "parent",
        "rewound",
        "session",
        "turn",
        "type",
        "uuid",
    )

    def __init__(self, offset: int, kind: Kind = Kind.NOTHING) -> None:
        self.offset = offset
        self.kind = kind
        self.type = 0
        self.turn: Turn | None = None
        self.uuid: str | None = None
        self.named = False
        self.parent = -1
        self.group = -1
        self.session = 0
        self.at_ms: int | None = None
        self.rewound = False


class Places:
    """All lines in file order, by column; `child` is the last line that decides over a branch.

    `kind` and `turn` are numbers: `USER`, `ASSISTANT` and `PROMPT` are those that decide.
    """

    def __init__(self) -> None:
        self.offset = array("q")
        self.at_ms = array("q")
        self.parent = array("i")
        self.child = array("i")
        self.group = array("i")
        self.session = array("i")
        self.type = array("H")
        self.kind = bytearray()
        self.turn = bytearray()
        self.named = bytearray()
        self.rewound = bytearray()

    def __len__(self) -> int:
        """Return how many lines there are."""
        return len(self.offset)

    def append(self, place: Place) -> None:
        """Add a line; what is found out about it later is `put`."""
        self.offset.append(place.offset)
        self.at_ms.append(_NO_TIME if place.at_ms is None else place.at_ms)
        self.parent.append(place.parent)
        self.child.append(-1)
        self.group.append(-1)
        self.session.append(place.session)
        self.type.append(place.type)
        self.kind.append(0)
        self.turn.append(0)
        self.named.append(place.named)
        self.rewound.append(False)

    def put(self, index: int, place: Place) -> None:
        """Store what a line turned out to be."""
        self.kind[index] = _NUMBERS[place.kind]
        self.turn[index] = _NUMBERS[place.turn]
        self.group[index] = place.group

    def __getitem__(self, index: int) -> Place:
        """Return a line; a change to it changes nothing here."""
        place = Place(self.offset[index], _KINDS[self.kind[index]])
        place.type = self.type[index]
        place.turn = _TURNS[self.turn[index]]
        place.named = bool(self.named[index])
        place.parent = self.parent[index]
        place.group = self.group[index]
        place.session = self.session[index]
        at_ms = self.at_ms[index]
        place.at_ms = None if at_ms == _NO_TIME else at_ms
        place.rewound = bool(self.rewound[index])
        return place
