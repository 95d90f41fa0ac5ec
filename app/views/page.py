"""A page of the reading surface: left-aligned, no wider than can be read, scrolls when small."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from app.views.parts import Text

READ_WIDTH = 776
_TOP = 36
_SIDE = 24


class Page(QScrollArea):
    """A column of widgets, `width` px at most, centred as a block in the space there is."""

    def __init__(self, width: int = READ_WIDTH, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("page")
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        ground = QWidget(objectName="page")
        column = QWidget()
        column.setMaximumWidth(width)
        self.column = QVBoxLayout(column)
        self.column.setContentsMargins(0, _TOP, 0, 32)
        self.column.setSpacing(0)
        row = QHBoxLayout(ground)
        row.setContentsMargins(_SIDE, 0, _SIDE, 0)
        row.addStretch(1)
        row.addWidget(column, 1000)
        row.addStretch(1)
        self.setWidget(ground)


class EmptyState(Page):
    """A fact as title and one sentence, for a place where nothing is to be seen yet."""

    def __init__(self, title: str = "", sentence: str = "") -> None:
        super().__init__()
        self.title = Text(title, "display")
        self.title.setWordWrap(True)
        self.sentence = Text(sentence, "lead", "text2")
        self.sentence.setWordWrap(True)
        self.column.addWidget(self.title)
        self.column.addSpacing(8)
        self.column.addWidget(self.sentence)
        self.column.addStretch(1)

    def show_words(self, title: str, sentence: str) -> None:
        """Show another fact."""
        self.title.setText(title)
        self.sentence.setText(sentence)
