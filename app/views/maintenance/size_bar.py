"""Where a store's bytes are: a stacked bar, and its legend in words."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QRect, QRectF, QSize
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app import formatting, theme
from app.text_ranges import visible
from app.views import painting
from app.views.maintenance.card import hatch

_BAR = 20
_PITCH = 20
_GAP = 10
_SWATCH = 10
_LEAST_PX = 3


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the bar, and what it is called.

    `ink` is a colour token, `hatched` for what does not answer, or `outline` for what is not a
    table. `note` says what it is or does.
    """

    name: str
    bytes: int
    ink: str
    note: str = ""
    is_code: bool = True


class SizeBar(QWidget):
    """Bar and legend, drawn together so that a part and its words have one colour."""

    def __init__(self) -> None:
        super().__init__()
        self._parts: tuple[Part, ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def show_parts(self, parts: Sequence[Part]) -> None:
        """Show parts, from left to right and from top to bottom."""
        if len(parts) != len(self._parts):
            self.updateGeometry()
        self._parts = tuple(parts)
        words = [f"{each.name} {each.note} {formatting.size(each.bytes)}" for each in parts]
        self.setAccessibleName(", ".join(" ".join(word.split()) for word in words))
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(200, _BAR + _GAP + _PITCH * len(self._parts))

    def minimumSizeHint(self) -> QSize:
        return QSize(120, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        for part, box in zip(self._parts, self._boxes(), strict=True):
            _fill(painter, part, box)
        for n, part in enumerate(self._parts):
            self._paint_row(painter, part, _BAR + _GAP + n * _PITCH)

    def _boxes(self) -> list[QRect]:
        """Return the parts of the bar, a pixel apart, none thinner than can be seen."""
        total = sum(part.bytes for part in self._parts) or 1
        room = self.width() - len(self._parts) + 1
        widths = [max(_LEAST_PX, round(room * part.bytes / total)) for part in self._parts]
        if widths:
            largest = widths.index(max(widths))
            widths[largest] = max(_LEAST_PX, widths[largest] + room - sum(widths))
        boxes, left = [], 0
        for width in widths:
            boxes.append(QRect(left, 0, width, _BAR))
            left += width + 1
        return boxes

    def _paint_row(self, painter: QPainter, part: Part, top: int) -> None:
        _fill(painter, part, QRect(0, top + (_PITCH - _SWATCH) // 2, _SWATCH, _SWATCH))
        base = top + painting.baseline("caption", _PITCH)
        size = formatting.size(part.bytes)
        right = self.width() - painting.metrics("caption").horizontalAdvance(size) - 12
        painting.draw(painter, size, 0, self.width(), base, step="caption", align=painting.RIGHT)
        left = 18.0
        font = theme.code_font("caption") if part.is_code else theme.font("caption")
        painter.setFont(font)
        painter.setPen(theme.color("text"))
        name = visible(part.name)
        painter.drawText(QRectF(left, top, max(0.0, right - left), _PITCH), 0x81, name)
        left += painter.fontMetrics().horizontalAdvance(name) + 8
        painting.draw(painter, part.note, left, right, base, step="caption", ink="text2")


def _fill(painter: QPainter, part: Part, box: QRect) -> None:
    if part.ink == "hatched":
        hatch(painter, box)
    elif part.ink in ("outline", "tint2"):
        painter.fillRect(box, theme.color("bar"))
        inside = "track" if part.ink == "outline" else part.ink
        painter.fillRect(box.adjusted(1, 1, -1, -1), theme.color(inside))
    else:
        painter.fillRect(box, theme.color(part.ink))
