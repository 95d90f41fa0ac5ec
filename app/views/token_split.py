"""How the CJK index sees a word: characters in tiles, overlapping pairs with their counts."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from app import formatting, theme
from app.views import painting

_TILE_WIDTH = 60
_TILE_HEIGHT = 32
_STEP = 64
_LANES = (40, 74)
_MARGIN = 6


@dataclass(frozen=True, slots=True)
class Pair:
    """Two neighbouring characters and how many messages hold them side by side."""

    text: str
    hits: int


class TokenSplit(QWidget):
    """Paints one run of characters; a pair that never occurs stands out by colour and by 0."""

    def __init__(self) -> None:
        super().__init__()
        self._characters = ""
        self._pairs: tuple[Pair, ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def show_run(self, characters: str, pairs: Sequence[Pair]) -> None:
        """Show a run of at most a dozen characters and its pairs from left to right."""
        self._characters = characters
        self._pairs = tuple(pairs)
        self.setFixedSize(self.sizeHint())
        self.setAccessibleName(
            ", ".join(f"{pair.text} {formatting.number(pair.hits)}" for pair in pairs)
        )
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(max(1, len(self._characters)) * _STEP, _LANES[1] + 26)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        big = theme.font("ui")
        big.setPointSizeF(15)
        for n, character in enumerate(self._characters):
            tile = QRectF(n * _STEP + 0.5, 0.5, _TILE_WIDTH, _TILE_HEIGHT)
            painter.setPen(QPen(theme.color("line"), 1))
            painter.setBrush(theme.color("sunken"))
            painter.drawRoundedRect(tile, 2, 2)
            painter.setPen(theme.color("text"))
            painter.setFont(big)
            painter.drawText(tile, Qt.AlignmentFlag.AlignCenter, character)
        for n, pair in enumerate(self._pairs):
            self._paint_pair(painter, n, pair)

    def _paint_pair(self, painter: QPainter, n: int, pair: Pair) -> None:
        top = _LANES[n % 2] + 0.5
        left = n * _STEP + _MARGIN
        right = (n + 1) * _STEP + _TILE_WIDTH - _MARGIN
        ink = "text3" if pair.hits else "err"
        painter.setPen(QPen(theme.color(ink), 1.5))
        painter.drawPolyline(
            [
                QPointF(left, top - 5),
                QPointF(left, top),
                QPointF(right, top),
                QPointF(right, top - 5),
            ]
        )
        count = formatting.number(pair.hits)
        plain = painting.metrics("caption").horizontalAdvance(pair.text + "  ")
        width = plain + painting.metrics("caption", bold=True).horizontalAdvance(count)
        start = (left + right - width) / 2
        colour = "text2" if pair.hits else "err"
        painting.draw(painter, pair.text, start, right + 40, top + 17, step="caption", ink=colour)
        painting.draw(
            painter,
            count,
            start + plain,
            right + 80,
            top + 17,
            step="caption",
            ink=colour,
            bold=True,
        )
