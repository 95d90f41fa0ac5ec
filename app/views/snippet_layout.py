"""A snippet in two lines of equal pitch, with its matches marked and never elided away."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF
from PySide6.QtGui import QFont, QPainter, QTextCharFormat, QTextLayout, QTextOption

from app import theme
from app.text_ranges import one_line, to_utf16

Range = tuple[int, int]

_LEAD = 12  # characters kept before the first match when the start has to be cut
_ELLIPSIS = "…"


@dataclass(frozen=True, slots=True)
class LaidOut:
    """Lines ready to be drawn, each with its own layout so that it can be elided by itself."""

    lines: tuple[QTextLayout, ...]

    def draw(self, painter: QPainter, left: float, baselines: Sequence[float]) -> None:
        """Draw each line with its first line's baseline at the given height."""
        for layout, base in zip(self.lines, baselines, strict=False):
            line = layout.lineAt(0)
            layout.draw(painter, QPointF(left, base - line.ascent()))


def lay_out(
    text: str, marks: Sequence[Range], font: QFont, width: float, *, lines: int = 2
) -> LaidOut:
    """Return `text` in at most `lines` lines of `width` px, the first match in sight.

    Args:
        text: stored text; line ends and control characters are made harmless here.
        marks: character ranges of `text`, in order, disjoint.
        font: of the text; the text scale is part of it.
        width: of a line, in px.
        lines: how many lines there is room for.
    """
    plain = one_line(text)
    cut = _start(plain, marks, font, width, lines)
    if cut:
        shift = cut - len(_ELLIPSIS)
        plain = _ELLIPSIS + plain[cut:]
        marks = [(a - shift, b - shift) for a, b in marks if b > cut]
    ends = _breaks(plain, font, width, lines)
    result = []
    for n, (start, end) in enumerate(ends):
        last = n == lines - 1
        part = plain[start:] if last else plain[start:end]
        shown = _fitted(part, font, width) if last and end < len(plain) else part.rstrip()
        limit = len(shown) - (1 if shown.endswith(_ELLIPSIS) and last else 0)
        inside = [
            (max(a - start, 0), min(b - start, limit))
            for a, b in marks
            if b > start and a - start < limit
        ]
        result.append(_line(shown, inside, font))
    return LaidOut(tuple(result))


def _start(text: str, marks: Sequence[Range], font: QFont, width: float, lines: int) -> int:
    """Return where the text shown has to begin for the first match to be seen whole."""
    if not marks:
        return 0
    first, end = marks[0]
    ends = _breaks(text, font, width, lines)
    room = ends[-1][1] if ends else 0
    if room >= len(text) or end < room - 1:
        return 0
    start = max(0, first - _LEAD)
    space = text.find(" ", start, first)
    return start if space == -1 else space + 1


def _breaks(text: str, font: QFont, width: float, lines: int) -> list[Range]:
    """Return the character ranges of the first `lines` lines of `text`."""
    option = QTextOption()
    option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
    layout = QTextLayout(text, font)
    layout.setTextOption(option)
    layout.beginLayout()
    found = []
    for _ in range(lines):
        line = layout.createLine()
        if not line.isValid():
            break
        line.setLineWidth(width)
        found.append((line.textStart(), line.textStart() + line.textLength()))
    layout.endLayout()
    units = [0]
    for char in text:
        units.append(units[-1] + (2 if ord(char) > 0xFFFF else 1))
    if units[-1] == len(text):
        return found
    where = {unit: index for index, unit in enumerate(units)}
    return [(where.get(a, len(text)), where.get(b, len(text))) for a, b in found]


def _fitted(text: str, font: QFont, width: float) -> str:
    """Return the longest start of `text` that fits with an ellipsis behind it."""
    low, high = 0, min(len(text), 400)
    while low < high:
        middle = (low + high + 1) // 2
        if _width(text[:middle].rstrip() + _ELLIPSIS, font) <= width:
            low = middle
        else:
            high = middle - 1
    return text[:low].rstrip() + _ELLIPSIS


def _width(text: str, font: QFont) -> float:
    layout = _line(text, [], font)
    return layout.lineAt(0).naturalTextWidth()


def _line(text: str, marks: Sequence[Range], font: QFont) -> QTextLayout:
    layout = QTextLayout(text, font)
    option = QTextOption()
    option.setWrapMode(QTextOption.WrapMode.NoWrap)
    layout.setTextOption(option)
    layout.setFormats(mark_formats(text, marks))
    layout.beginLayout()
    layout.createLine().setLineWidth(1e6)
    layout.endLayout()
    return layout


def mark_formats(text: str, marks: Sequence[Range]) -> list[QTextLayout.FormatRange]:
    """Return the formats that mark character ranges of `text` in the highlighter's colour."""
    look = QTextCharFormat()
    look.setBackground(theme.color("mark"))
    look.setForeground(theme.color("marktext"))
    result = []
    for start, end in to_utf16(text, marks):
        found = QTextLayout.FormatRange()
        found.start, found.length, found.format = start, end - start, look
        result.append(found)
    return result
