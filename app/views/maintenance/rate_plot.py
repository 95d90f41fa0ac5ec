"""A small plot of how fast an index was filled over the last minutes."""

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from app import formatting, theme
from app.views import painting

HEIGHT = 36
SPAN = 180
"""Samples that fit: one a second, three minutes."""

_GUTTER = 56
_TOP = 6.0
_FOOT = 4.0
_LEAST = 2


class RatePlot(QWidget):
    """Rows a second, the latest at the right; the highest is named at the left."""

    def __init__(self) -> None:
        super().__init__()
        self._rates: tuple[float, ...] = ()
        self.setFixedHeight(HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_rates(self, rates: Sequence[float]) -> None:
        """Show rates, one for each second."""
        self._rates = tuple(rates[-SPAN:])
        top = formatting.number(round(max(self._rates, default=0.0)))
        words = self.tr("Rows indexed a second over the last minutes, %1 at most")
        self.setAccessibleName(words.replace("%1", top))
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        if len(self._rates) < _LEAST:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        top = _nice(max(self._rates))
        floor = self.height() - _FOOT
        for value in (top, 0.0):
            y = self._y(value, top)
            painter.fillRect(
                QRectF(_GUTTER, round(y), self.width() - _GUTTER, 1), theme.color("line")
            )
            words = self.tr("%1/s").replace("%1", formatting.number(round(value))) if value else "0"
            painting.draw(
                painter,
                words,
                0,
                _GUTTER - 8,
                y + 4,
                step="micro",
                ink="text3",
                align=painting.RIGHT,
            )
        points = [QPointF(self._x(n), self._y(rate, top)) for n, rate in enumerate(self._rates)]
        area = QPolygonF([QPointF(points[0].x(), floor), *points, QPointF(points[-1].x(), floor)])
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.color("infobg"))
        painter.drawPolygon(area)
        painter.setPen(QPen(theme.color("accent"), 1.5))
        painter.drawPolyline(points)

    def _x(self, n: int) -> float:
        step = (self.width() - _GUTTER) / (SPAN - 1)
        return self.width() - (len(self._rates) - 1 - n) * step

    def _y(self, value: float, top: float) -> float:
        floor = self.height() - _FOOT
        return floor - (floor - _TOP) * value / top


def _nice(value: float) -> float:
    """Return the next 1, 2 or 5 followed by noughts that is no smaller."""
    step = 10.0
    while step * 10 < value:
        step *= 10
    return next((step * n for n in (1, 2, 5, 10) if step * n >= value), step * 10)
