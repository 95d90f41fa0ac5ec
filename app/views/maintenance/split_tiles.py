"""How the tokenizer cuts a text: its letters in tiles, its tokens as brackets on two lanes."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app import theme
from app.text_ranges import visible
from app.views import painting

_TILE = 30
_GAP = 4
_WIDEST, _NARROWEST = 60.0, 26.0
_LANES = (38, 64)
HEIGHT = _LANES[1] + 22


@dataclass(frozen=True, slots=True)
class SplitToken:
    """One token and the letters of the text it was made of: [start, end)."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Split:
    """A text and its tokens in order; `problem` says why it could not be cut."""

    text: str
    tokens: tuple[SplitToken, ...]
    problem: str = ""


class SplitTiles(QWidget):
    """Paints as many letters as there is room for; words are one tile, pairs overlap.

    Signals:
        fitted: there is other room, so `drawn` may be another.
    """

    fitted = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._split = Split("", ())
        self._tiles: tuple[tuple[int, int], ...] = ()
        self.setFixedHeight(HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def show_split(self, split: Split) -> None:
        """Show how a text is cut."""
        self._split, self._tiles = split, tiles(split)
        self.setAccessibleName(", ".join(visible(token.text) for token in split.tokens))
        self.update()

    def drawn(self) -> tuple[int, int]:
        """Return how many letters, spaces not counted, are drawn, and how many there are."""
        lengths = [end - start for start, end in self._tiles]
        return sum(lengths[: len(self._boxes())]), sum(lengths)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.fitted.emit()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        boxes = self._boxes()
        for (start, end), box in zip(self._tiles, boxes, strict=False):
            painter.setPen(QPen(theme.color("line"), 1))
            painter.setBrush(theme.color("sunken"))
            painter.drawRoundedRect(box, 2, 2)
            self._paint_text(painter, visible(self._split.text[start:end]), box)
        for n, token in enumerate(self._split.tokens):
            self._paint_token(painter, n, token, boxes)

    def _boxes(self) -> list[QRectF]:
        """Return the tiles that fit into the width, from left to right."""
        wanted = [self._width_of(start, end) for start, end in self._tiles]
        room = self.width() - 1.0
        scale = min(1.0, (room - _GAP * len(wanted)) / sum(wanted)) if wanted else 1.0
        boxes, left = [], 0.5
        for width in wanted:
            shown = max(_NARROWEST, width * scale)
            if left + shown > room + 0.5:
                break
            boxes.append(QRectF(left, 0.5, shown, _TILE))
            left += shown + _GAP
        return boxes

    def _width_of(self, start: int, end: int) -> float:
        if end - start == 1:
            return _WIDEST
        return max(
            _WIDEST, painting.metrics("lead").horizontalAdvance(self._split.text[start:end]) + 20
        )

    def _paint_text(self, painter: QPainter, text: str, box: QRectF) -> None:
        font = theme.font("ui")
        font.setPointSizeF(14 if len(text) == 1 else 10.5)
        painter.setFont(font)
        painter.setPen(theme.color("text"))
        shown = painter.fontMetrics().elidedText(
            text, Qt.TextElideMode.ElideRight, int(box.width()) - 6
        )
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter, shown)

    def _paint_token(
        self, painter: QPainter, n: int, token: SplitToken, boxes: Sequence[QRectF]
    ) -> None:
        under = [
            box
            for (start, end), box in zip(self._tiles, boxes, strict=False)
            if start < token.end and end > token.start
        ]
        last_start = self._tiles[len(boxes) - 1][1] if boxes else 0
        if not under or token.end > last_start:
            return
        left, right = under[0].left() + 6, under[-1].right() - 6
        top = _LANES[n % 2] + 0.5
        painter.setPen(QPen(theme.color("text3"), 1.5))
        corners = (left, top - 5), (left, top), (right, top), (right, top - 5)
        painter.drawPolyline([QPointF(x, y) for x, y in corners])
        text = painting.metrics("caption").elidedText(
            visible(token.text), Qt.TextElideMode.ElideRight, max(24.0, right - left + 24)
        )
        width = painting.metrics("caption").horizontalAdvance(text)
        start = (left + right - width) / 2
        painting.draw(
            painter, text, start, start + width + 1, top + 15, step="caption", ink="text2"
        )


def tiles(split: Split) -> tuple[tuple[int, int], ...]:
    """Return the tiles as ranges of letters: one for each word, else one for each letter.

    Letters that belong to no token are tiles of their own; spaces are none.
    """
    found: list[tuple[int, int]] = []
    place = 0
    while place < len(split.text):
        words = [each for each in split.tokens if each.start == place]
        end = place + 1
        if words and _stands_alone(split, words[0]):
            end = words[0].end
        if not split.text[place:end].isspace():
            found.append((place, end))
        place = end
    return tuple(found)


def _stands_alone(split: Split, token: SplitToken) -> bool:
    """Tell whether a token shares no letter with another: then it is a word, not a pair."""
    return all(
        other is token or other.end <= token.start or other.start >= token.end
        for other in split.tokens
    )
