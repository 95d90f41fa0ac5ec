"""The whole session as a strip beside the viewer: the truth its scroll bar cannot tell."""

from dataclasses import dataclass

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QHelpEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from app import formatting, theme

WIDTH = 24
_MARGIN = 12
_FRAME = (16, 24)  # width, least height of the frame that stands for the view
_BAR = 8
_TICK = (14, 3)
_ANCHOR = (18, 4)


@dataclass(frozen=True, slots=True)
class RailState:
    """Message numbers, all 1-based: what is loaded, where the hits are, what is in view."""

    total: int = 0
    loaded: tuple[tuple[int, int], ...] = ()
    hits: tuple[int, ...] = ()
    anchor: int | None = None


class Rail(QWidget):
    """Paints the session; a click goes to the message at that height.

    Signals:
        number_asked: a place was clicked; carries the message number there.
    """

    number_asked = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._state = RailState()
        self._view = (0.0, 0.0)
        self._ticks_of: tuple[RailState, int] | None = None
        self._ticks: list[int] = []
        self.setFixedWidth(WIDTH)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Expanding)
        self.setAccessibleName(self.tr("Place in the conversation"))
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # the outline does the same by keyboard
        self.setMouseTracking(True)
        theme.changed.connect(self.update)

    def show_state(self, state: RailState) -> None:
        """Show another session, or other parts of it loaded."""
        if state != self._state:
            self._state = state
            self.setAccessibleDescription(self._spoken())
            self.update()

    def show_view(self, first: float, last: float) -> None:
        """Move the frame: the message numbers at the top and the bottom of the view."""
        if (first, last) != self._view:
            self._view = (first, last)
            self.update()

    def _spoken(self) -> str:
        state = self._state
        if state.anchor is None:
            return formatting.counted(state.total, self.tr("%1 message"), self.tr("%1 messages"))
        text = self.tr("message %1 of %2").replace("%1", formatting.number(state.anchor))
        return text.replace("%2", formatting.number(state.total))

    def height_of(self, number: float) -> float:
        """Return where a message number lies, in pixels from the top."""
        track = self.height() - 2 * _MARGIN
        return _MARGIN + track * (number - 1) / max(1, self._state.total)

    def number_at(self, y: float) -> int:
        """Return the message number at a height."""
        track = max(1, self.height() - 2 * _MARGIN)
        number = 1 + int((y - _MARGIN) / track * self._state.total)
        return min(max(1, number), max(1, self._state.total))

    # QWidget

    def sizeHint(self) -> QSize:
        return QSize(WIDTH, 200)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and self._state.total:
            self.number_asked.emit(self._near_hit(event.position().y()))

    def _near_hit(self, y: float) -> int:
        """Return the number of a hit's tick under the pointer, else the place's own."""
        near = [(abs(self.height_of(hit + 0.5) - y), hit) for hit in self._state.hits]
        closest = min(near, default=(99.0, 0))
        return closest[1] if closest[0] <= _TICK[1] else self.number_at(y)

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and self._state.total:
            assert isinstance(event, QHelpEvent)
            number = formatting.number(self._near_hit(event.pos().y()))
            QToolTip.showText(event.globalPos(), f"#{number}", self)
            return True
        return super().event(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), theme.color("panel"))
        painter.fillRect(0, 0, 1, self.height(), theme.color("line"))
        painter.fillRect(self.width() - 1, 0, 1, self.height(), theme.color("line"))
        if not self._state.total:
            return
        middle = self.width() / 2
        self._paint_track(painter, middle)
        for y in self._tick_rows():
            self._paint_tick(painter, middle, y)
        if self._state.anchor is not None:
            self._paint_box(painter, middle, self._state.anchor, "accent", _ANCHOR)
        self._paint_view(painter, middle)

    def _paint_track(self, painter: QPainter, middle: float) -> None:
        pen = QPen(theme.color("line2"), 1.5)
        pen.setCapStyle(Qt.PenCapStyle.FlatCap)
        pen.setDashPattern([1.5, 2.5])
        painter.setPen(pen)
        painter.drawLine(round(middle), _MARGIN, round(middle), self.height() - _MARGIN)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.color("bar"))
        for first, last in self._state.loaded:
            top, bottom = self.height_of(first), self.height_of(last + 1)
            rect = QRectF(middle - _BAR / 2, top, _BAR, max(4.0, bottom - top))
            painter.drawRoundedRect(rect, 2, 2)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)

    def _tick_rows(self) -> list[int]:
        """Return the heights of the hits, each once: thousands of them share few pixels."""
        if self._ticks_of != (self._state, self.height()):
            self._ticks_of = (self._state, self.height())
            self._ticks = sorted({round(self.height_of(hit + 0.5)) for hit in self._state.hits})
        return self._ticks

    def _paint_tick(self, painter: QPainter, middle: float, y: int) -> None:
        width, height = _TICK
        rect = QRectF(middle - width / 2, y - height // 2, width, height)
        painter.fillRect(rect.adjusted(-0.5, -0.5, 0.5, 0.5), theme.color("mark"))
        painter.fillRect(rect, theme.color("markcur"))

    def _paint_box(
        self, painter: QPainter, middle: float, number: int, ink: str, size: tuple[int, int]
    ) -> None:
        y = round(self.height_of(number + 0.5))
        painter.fillRect(
            QRectF(middle - size[0] / 2, y - size[1] / 2, size[0], size[1]), theme.color(ink)
        )

    def _paint_view(self, painter: QPainter, middle: float) -> None:
        top, bottom = self.height_of(self._view[0]), self.height_of(self._view[1])
        width, least = _FRAME
        if bottom - top < least:
            centre = (top + bottom) / 2
            top, bottom = centre - least / 2, centre + least / 2
        top = max(2.0, top)
        rect = QRectF(middle - width / 2, top, width, min(bottom, self.height() - 2.0) - top)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(theme.color("text3"), 1.25))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(rect, 4, 4)
