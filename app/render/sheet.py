"""What one item's HTML refers to, gathered while it is written."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from app.render import runs
from app.render.runs import Marker, Run
from app.render.style import Style

MOST_MARKS = 1_000  # more spans than this would hold up the layout, and nobody steps through them


Spot = tuple[int, str, int]
"""Where a match is: message id, part of the message, offset in that part."""


@dataclass(slots=True)
class Sheet:
    """The page an item is written on.

    `key` names the item in addresses. `on_ground` is true on a coloured band, where code
    stands on `base`. `cjk_family` is the family of CJK characters where the text asks for
    another than the user's. `links` and `codes` are what `do:link/<key>/<n>` and
    `do:code/<key>/<n>` stand for: the addresses themselves never enter the HTML.
    With `apart` matches that touch are marked each for itself, and `spots` are where the
    marks are, as far as that is known. `found` counts what the marker finds.
    """

    key: str
    style: Style
    marker: Marker = runs.no_marks
    on_ground: bool = False
    cjk_family: str = ""
    matches: int = 0
    links: list[str] = field(default_factory=list)
    codes: list[str] = field(default_factory=list)
    apart: bool = False
    spots: list[Spot] = field(default_factory=list)
    found: int = 0

    def text(self, parts: Sequence[Run], *, code: bool = False, origin: Spot | None = None) -> str:
        """Return runs as HTML with the matches marked, 1,000 in an item at most; counts them.

        `origin` is where the text begins, if the spots of its matches are to be known.
        """
        if self.cjk_family and not code:
            parts = runs.in_family(parts, self.cjk_family)
        whole = runs.text_of(parts)
        found = self.marker(whole)
        self.found += len(found)
        ranges = runs.tidy(found, len(whole), apart=self.apart)[: MOST_MARKS - self.matches]
        self.matches += len(ranges)
        if origin is not None:
            message_id, part, at = origin
            self.spots += [(message_id, part, at + start) for start, _ in ranges]
        return runs.html(parts, ranges, self.style.tokens, code=code)

    def unmarked(self, parts: Sequence[Run]) -> str:
        """Return runs as HTML without marks."""
        if self.cjk_family:
            parts = runs.in_family(parts, self.cjk_family)
        return runs.html(parts, (), self.style.tokens)

    def words(self, text: str) -> str:
        """Return untrusted text as HTML without marks (names, numbers, labels)."""
        return runs.html([Run(text)], (), self.style.tokens)

    def link(self, target: str) -> str:
        """Return the address that stands for `target`."""
        self.links.append(target)
        return f"do:link/{self.key}/{len(self.links) - 1}"

    def code(self, text: str) -> str:
        """Return the address that copies `text`."""
        self.codes.append(text)
        return f"do:code/{self.key}/{len(self.codes) - 1}"

    def act(self, action: str) -> str:
        """Return the address of an action on this item."""
        return f"do:{action}/{self.key}"
