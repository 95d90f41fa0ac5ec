"""A sheet that tells why a conversation is not seen: one asks, the findings are listed."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QDialog,
    QFrame,
    QHBoxLayout,
    QLineEdit,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from app.text_ranges import one_line
from app.views.parts import Badge, Button, Text, rule
from app.views.why_words import foot, said
from core.source_types import Absence, AbsenceFinding

_SIZE = (720, 480)
_BADGE_WIDTH = 148


class WhySheet(QDialog):
    """Shows; never asks the store.

    Signals:
        asked: look for this id, title or words.
        acted: do what a finding offers; carries the finding.
    """

    asked = Signal(str)
    acted = Signal(object)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(self.tr("Why isn't it here?"))
        self.resize(*_SIZE)
        self.field = QLineEdit()
        self.field.setPlaceholderText(self.tr("an id, a title, or words as they were said"))
        self.field.setAccessibleName(self.windowTitle())
        self.look = Button(self.tr("Find out"), "primary", "search")
        self.look.setAutoDefault(False)
        self.note = Text("", "caption", "text2")
        self.note.setWordWrap(True)
        self.found = QVBoxLayout()
        self.found.setSpacing(0)
        close = Button(self.tr("Close"))
        close.setAutoDefault(False)
        close.clicked.connect(self.close)
        self._build(close)
        self.look.clicked.connect(self._on_asked)
        self.field.returnPressed.connect(self._on_asked)

    def _build(self, close: Button) -> None:
        asking = QHBoxLayout()
        asking.setSpacing(8)
        asking.addWidget(self.field, 1)
        asking.addWidget(self.look)
        ground = QWidget()
        ground.setLayout(self.found)
        self.found.setContentsMargins(0, 0, 0, 0)
        self.found.addStretch(1)
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setWidget(ground)
        last = QHBoxLayout()
        last.addWidget(self.note, 1)
        last.addWidget(close, 0, Qt.AlignmentFlag.AlignBottom)
        column = QVBoxLayout(self)
        column.setContentsMargins(24, 20, 24, 16)
        column.setSpacing(12)
        column.addWidget(Text(self.windowTitle(), "title"))
        column.addLayout(asking)
        column.addWidget(area, 1)
        column.addLayout(last)

    def show_looking(self, text: str) -> None:
        """Say that it is being looked for."""
        self.field.setText(text)
        self.look.setEnabled(False)
        self._clear()
        self.note.setText(self.tr("Looking in the store and in the files of every known place…"))

    def show_absence(self, absence: Absence) -> None:
        """Show what was found out."""
        self.look.setEnabled(True)
        self._clear()
        for finding in absence.findings:
            self.found.insertWidget(self.found.count() - 1, self._row(finding, absence))
            self.found.insertWidget(self.found.count() - 1, rule())
        self.note.setText(one_line(foot(absence)))
        self.note.set_ink("text2" if absence.complete else "warn")

    def show_trouble(self, words: str) -> None:
        """Say why it could not be looked for."""
        self.look.setEnabled(True)
        self.note.setText(one_line(words))
        self.note.set_ink("err")

    def words(self) -> list[str]:
        """Return the sentences shown."""
        rows = (self.found.itemAt(n).widget() for n in range(self.found.count()))
        return [each.accessibleName() for each in rows if each and each.accessibleName()]

    def _row(self, finding: AbsenceFinding, absence: Absence) -> QWidget:
        shown = said(finding, absence)
        result = QWidget()
        result.setAccessibleName(f"{shown.word}: {shown.sentence}")
        side = QWidget()
        side.setFixedWidth(_BADGE_WIDTH)
        badge = QHBoxLayout(side)
        badge.setContentsMargins(0, 0, 0, 0)
        badge.addWidget(Badge(shown.icon, shown.word, shown.kind))
        badge.addStretch(1)
        sentence = Text(shown.sentence)
        sentence.setWordWrap(True)
        sentence.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        row = QHBoxLayout(result)
        row.setContentsMargins(0, 10, 0, 10)
        row.setSpacing(8)
        row.addWidget(side, 0, Qt.AlignmentFlag.AlignTop)
        row.addWidget(sentence, 1)
        if shown.action:
            button = Button(shown.action, "small")
            button.setAutoDefault(False)
            button.setAccessibleDescription(shown.sentence)
            button.clicked.connect(lambda: self.acted.emit(finding))
            row.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)
        return result

    def _clear(self) -> None:
        while self.found.count() > 1:
            widget = self.found.takeAt(0).widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()

    def _on_asked(self) -> None:
        text = self.field.text().strip()
        if text:
            self.asked.emit(text)
