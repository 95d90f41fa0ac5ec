"""A checkbox with its words, painted as those of the table of sources."""

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QSizePolicy

from app import theme
from app.views import painting

_BOX = 16
_GAP = 8
_HEIGHT = 24
_EDGE = 4


class CheckBox(QAbstractButton):
    """Checkable; Space or a click on box or words changes it."""

    def __init__(self, words: str) -> None:
        super().__init__()
        self.setCheckable(True)
        self.setText(words)
        self.setAccessibleName(words)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self._fit)

    def sizeHint(self) -> QSize:
        words = painting.metrics("ui").horizontalAdvance(self.text())
        return QSize(round(_EDGE + _BOX + _GAP + words) + 2, _HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        on = self.isChecked()
        box = QRectF(_EDGE, (self.height() - _BOX) / 2, _BOX, _BOX)
        if self.hasFocus():
            painter.setPen(QPen(theme.color("accent"), 2))
            painter.drawRoundedRect(box.adjusted(-3, -3, 3, 3), 5, 5)
        painter.setPen(QPen(theme.color("fill" if on else "ctl"), 1))
        painter.setBrush(theme.color("fill" if on else "base"))
        painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), 3, 3)
        if on:
            theme.paint_icon(painter, "check", "on", box.adjusted(1, 1, -1, -1))
        base = painting.baseline("ui", self.height())
        painting.draw(painter, self.text(), box.right() + _GAP, self.width(), base, ink="text2")

    def _fit(self) -> None:
        self.updateGeometry()
        self.update()
