"""A switch: on or off at once, without a button that confirms it."""

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QSizePolicy

from app import theme

_WIDTH, _HEIGHT = 38, 24
_TRACK = QRectF(3, 3, 32, 18)
_KNOB = 12


class Switch(QAbstractButton):
    """A checkable button of 38×24 px; `name` is what a screen reader says."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setCheckable(True)
        self.setAccessibleName(name)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)

    def sizeHint(self) -> QSize:
        return QSize(_WIDTH, _HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        on = self.isChecked()
        if self.hasFocus():
            painter.setPen(QPen(theme.color("accent"), 2))
            painter.drawRoundedRect(_TRACK.adjusted(-2, -2, 2, 2), 11, 11)
        painter.setPen(QPen(theme.color("fill" if on else "ctl"), 1))
        painter.setBrush(theme.color("fill" if on else "track"))
        painter.drawRoundedRect(_TRACK.adjusted(0.5, 0.5, -0.5, -0.5), 8.5, 8.5)
        left = _TRACK.right() - 3 - _KNOB if on else _TRACK.left() + 3
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.color("on" if on else "text2"))
        painter.drawEllipse(QRectF(left, _TRACK.top() + 3, _KNOB, _KNOB))
