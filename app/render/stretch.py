"""How much of a long text is shown: its beginning, and what was asked for further on.

A text is shown in pieces that are quick to lay out, in order, none of it twice. What is left
out between them, and behind the last one, is named by the piece before it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from app.render import blocks, cost, words
from app.render.item import Scene
from app.render.sheet import Sheet
from app.render.style import link, pad
from app.render.words import translate

FAR_END = 1
"""The number in the address of the link that stands behind what is shown further on."""


@dataclass(frozen=True, slots=True)
class Text:
    """A text of a message by its key, as far as it is loaded, and its whole length.

    `is_code` tells that it is set as code.
    """

    message_id: int
    part: str
    key: str
    loaded: str
    length: int
    is_code: bool = False

    def pieces(
        self, text: str, most: int | None = None, ranges: Sequence[tuple[int, int]] = ()
    ) -> list[str]:
        """Return a part of it in pieces that are quick to show, as `cost.pieces`."""
        return cost.pieces(text, most, ranges, is_code=self.is_code)


@dataclass(frozen=True, slots=True)
class Left:
    """What is left out behind a piece: so many characters, `ahead` of which come next."""

    characters: int
    ahead: int
    is_behind_far: bool
    is_last: bool


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a text that is shown, and what is left out behind it."""

    text: Text
    start: int
    shown: str
    left: Left | None = None

    @property
    def key(self) -> str:
        """The key of the item that shows it; of the first, that of the text."""
        return f"{self.text.key}.{self.start}" if self.start else self.text.key

    @property
    def shows(self) -> tuple[str, int, int]:
        """The stretch of the text that it shows, as items name it."""
        return self.text.key, self.start, self.start + len(self.shown)

    @property
    def left_key(self) -> str:
        """The key of the item behind it that names what is left out."""
        return f"{self.text.key}.left{FAR_END if self.left and self.left.is_behind_far else ''}"

    @property
    def origin(self) -> tuple[int, str, int]:
        """Where it begins, as a spot."""
        return self.text.message_id, self.text.part, self.start


def pieces_of(scene: Scene, text: Text) -> list[Piece]:
    """Return the pieces of a text that are shown, at least one."""
    near, far = scene.near.get(text.key), scene.far.get(text.key)
    stop = text.length if far is None else far.start
    count = scene.shown_of(text.key)
    head = text.pieces(text.loaded[:stop], count + 1, head_ranges(scene, text.loaded[:stop]))
    made: list[Piece] = []
    at = 0
    for shown in head[:count]:
        made.append(Piece(text, at, shown))
        at += len(shown)
    for shown in near.pieces if near is not None and near.start == at else ():
        made.append(Piece(text, at, shown))
        at += len(shown)
    if at < stop:
        ahead = len(head[count]) if count < len(head) else cost.PIECE_CHARS
        left = Left(stop - at, min(ahead, stop - at), is_behind_far=False, is_last=far is None)
        made[-1] = Piece(text, made[-1].start, made[-1].shown, left)
    if far is None:
        return made
    at = far.start
    for shown in far.pieces:
        made.append(Piece(text, at, shown))
        at += len(shown)
    if at < text.length:
        ahead = min(cost.PIECE_CHARS, text.length - at)
        left = Left(text.length - at, ahead, is_behind_far=True, is_last=True)
        made[-1] = Piece(text, made[-1].start, made[-1].shown, left)
    return made


def head_ranges(scene: Scene, text: str) -> list[tuple[int, int]]:
    """Return the matches that no cut may go through."""
    return sorted(scene.marker(text)) if scene.is_finding else []


def left_line(sheet: Sheet, piece: Piece) -> str:
    """Return the line that shows more of a text; '' where nothing is left out.

    It is an item of its own, so that the piece before it is not laid out again.
    """
    left = piece.left
    if left is None:
        return ""
    accent, key = sheet.style.tokens.accent, piece.text.key
    address = f"do:rest/{key}/{FAR_END}" if left.is_behind_far else f"do:rest/{key}"
    parts = [link(address, words.rest(left.ahead, left.characters), accent)]
    if left.is_last and left.characters > 2 * cost.PIECE_CHARS:
        parts.append(link(f"do:end/{key}", translate("viewer", "show the end"), accent))
    dot = (
        f'{pad(count=2)}<span style="color:{sheet.style.tokens.line2}">\u2022</span>{pad(count=2)}'
    )
    line = dot.join(parts)
    if left.is_last:
        return blocks.note(sheet, line, top=0)
    edge = f"1px dashed {sheet.style.tokens.line2}"
    return (
        f'{blocks.TABLE} style="margin:8px 0"><tr><td align="center" style="border-top:{edge};'
        f'border-bottom:{edge};padding:4px;{sheet.style.caption()}">{line}</td></tr></table>'
    )
