"""Below the table of places: what a program writes that is not known, and what is missing."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLineEdit

from app.text_ranges import visible
from app.views.parts import Button, Icon, Link, Text

_WHY_WIDTH = 420


class Drift(QFrame):
    """Says that a program writes what its reader does not know: its format may have changed.

    Signals:
        asked: show the report of that source; carries its name.
    """

    asked = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("class", "message")
        self.setProperty("kind", "warn")
        self.words = Text("")
        self.words.setWordWrap(True)
        self._source = ""
        self.link = Link(self.tr("Show"))
        self.link.clicked.connect(lambda: self.asked.emit(self._source))
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 8, 12, 8)
        row.setSpacing(8)
        row.addWidget(Icon("unknown", "warn"))
        row.addWidget(self.words, 1)
        row.addWidget(self.link)

    def show_words(self, words: str, source: str) -> None:
        """Show the sentence about a source; '' hides it."""
        self._source = source
        self.words.setText(visible(words))
        self.setAccessibleName(words)
        self.setVisible(bool(words))


class Why(QFrame):
    """Where one asks for a conversation that is not seen.

    Signals:
        asked: carries an id, a title or words.
    """

    asked = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.field = QLineEdit()
        self.field.setPlaceholderText(self.tr("an id, a title, or words as they were said"))
        self.field.setAccessibleName(self.tr("Why isn't my conversation here?"))
        self.field.setMaximumWidth(_WHY_WIDTH)
        self.look = Button(self.tr("Find out"), icon="search")
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        row.addWidget(Text(self.tr("Why isn't my conversation here?"), bold=True))
        row.addSpacing(4)
        row.addWidget(self.field, 1)
        row.addWidget(self.look)
        row.addStretch(1)
        self.look.clicked.connect(self._on_asked)
        self.field.returnPressed.connect(self._on_asked)

    def _on_asked(self) -> None:
        self.asked.emit(self.field.text().strip())
