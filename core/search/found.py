"""What a search has found, before any of it is read."""

from dataclasses import dataclass, field

from core.search.paging import Position
from core.search.route import Part
from core.types import SearchPath

UNRANKED = 1 << 62
"""The floor of a part none of whose hits are ranked."""


@dataclass(frozen=True, slots=True)
class Found:
    """A hit before it is read: which message, found how, and where it stands."""

    message_id: int
    path: SearchPath
    score: float | None
    position: Position


@dataclass(slots=True)
class Tally:
    """What is known of one part: `count` hits for sure, and all of them if `is_all`.

    `floor` is the lowest id that was ranked, 0 when nothing was left out of the ranking, and
    UNRANKED when everything was.
    """

    part: Part
    count: int = 0
    is_all: bool = False
    floor: int = 0


@dataclass(slots=True)
class Collected:
    """What was found so far; it is meant to be looked at after an interruption too.

    `found` are the hits from the page on, in the order asked for, if `is_ordered`; before that
    they are the newest ones. They are all that was asked for, or all there are, if `is_done`.
    """

    found: list[Found] = field(default_factory=list)
    is_ordered: bool = False
    is_done: bool = False
    ranked_scope: int | None = None
