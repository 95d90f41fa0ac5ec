"""What is shown over the window while files are dragged over it."""

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app import theme
from app.views.parts import Icon, Text

_MARGIN = 16
_RADIUS = 10
_VEIL = 0.96


class DropHint(QWidget):
    """Covers its parent, and says what a drop would do."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        title = Text(self.tr("Drop to import"), "title")
        sentence = Text(
            self.tr("Files, folders and zips. They are only read, never changed."), "lead", "text2"
        )
        column = QVBoxLayout(self)
        column.setSpacing(8)
        column.addStretch(1)
        for part in (Icon("import", "accent", 32), title, sentence):
            column.addWidget(part, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addStretch(1)
        self.hide()

    def cover(self) -> None:
        """Come over all of the parent."""
        self.setGeometry(self.parentWidget().rect())
        self.show()
        self.raise_()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        veil = theme.color("base")
        veil.setAlphaF(_VEIL)
        painter.fillRect(self.rect(), veil)
        painter.setPen(QPen(theme.color("accent"), 2, Qt.PenStyle.DashLine))
        frame = QRectF(self.rect()).adjusted(_MARGIN, _MARGIN, -_MARGIN, -_MARGIN)
        painter.drawRoundedRect(frame, _RADIUS, _RADIUS)
