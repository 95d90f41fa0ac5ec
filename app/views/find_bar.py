"""Find in the open conversation: a row above the text."""

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLineEdit, QWidget

from app import formatting, theme
from app.views.parts import Icon, IconButton, Text

_DEBOUNCE_MS = 150
_FIELD_PX = 280
_NOTE_MS = 2_500


class FindBar(QFrame):
    """Shows; finds nothing itself.

    Signals:
        text_edited: the words changed and rested for 150 ms; carries them.
        next_asked, previous_asked: another match is wanted.
        closed: the bar was closed.
    """

    text_edited = Signal(str)
    next_asked = Signal()
    previous_asked = Signal()
    closed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("findbar")
        self.setFixedHeight(40)
        self.field = QLineEdit(placeholderText=self.tr("Find in this conversation"))
        self.field.setAccessibleName(self.tr("Find in this conversation"))
        self.field.setFixedWidth(_FIELD_PX)
        self.count = Text("", "caption", "text2")
        self.note = Text("", "caption", "text3")
        self.previous = IconButton("chevron-up", self.tr("Previous match"), 28)
        self.next = IconButton("chevron-down", self.tr("Next match"), 28)
        self.close_button = IconButton("close", self.tr("Close find"), 28)
        row = QHBoxLayout(self)
        row.setContentsMargins(24, 0, 16, 0)
        row.setSpacing(8)
        row.addWidget(Icon("search", "text3"))
        row.addWidget(self.field)
        row.addWidget(self.count)
        row.addWidget(self.previous)
        row.addWidget(self.next)
        row.addWidget(self.note)
        row.addStretch(1)
        row.addWidget(self.close_button)
        self._rest = QTimer(self, singleShot=True, interval=_DEBOUNCE_MS)
        self._rest.timeout.connect(self._tell)
        self._note_ends = QTimer(self, singleShot=True, interval=_NOTE_MS)
        self._note_ends.timeout.connect(lambda: self.note.setText(""))
        # textChanged stays silent while an input method composes.
        self.field.textChanged.connect(self._rest.start)
        self.previous.clicked.connect(self.previous_asked)
        self.next.clicked.connect(self.next_asked)
        self.close_button.clicked.connect(self.close_bar)
        theme.changed.connect(self._on_theme_changed)
        self._on_theme_changed()
        self.hide()

    def open_bar(self, text: str = "") -> None:
        """Show the bar with the focus in its field, and with `text` in it if there is any."""
        self.show()
        if text:
            self.field.setText(text)
        self.field.selectAll()
        self.field.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def close_bar(self) -> None:
        """Hide the bar; what it marked is no longer wanted."""
        if self.isHidden():
            return
        self._rest.stop()
        self.hide()
        self.field.blockSignals(True)
        self.field.clear()
        self.field.blockSignals(False)
        self.count.setText("")
        self.note.setText("")
        self.closed.emit()

    def show_count(self, number: int, total: int, *, whole: bool, note: str = "") -> None:
        """Show which match of how many; until `whole` they are still being counted.

        `note` is said for a moment: that one went round the end.
        """
        if not self.field.text().strip():
            text = ""
        elif not total:
            text = self.tr("no match") if whole else self.tr("counting…")
        else:
            text = self.tr("%1 of %2") if whole else self.tr("%1 of %2 so far")
            text = text.replace("%1", formatting.number(number))
            text = text.replace("%2", formatting.number(total))
        ink = "err" if whole and not total else "text2"
        self.count.set_ink(ink)
        self.count.setText(text)
        self.note.setText(note)
        for button in (self.previous, self.next):
            button.setEnabled(total > 0)
        if note:
            self._note_ends.start()
        self.field.setAccessibleDescription(f"{text} {note}".strip())

    def _tell(self) -> None:
        self.text_edited.emit(self.field.text())

    def _on_theme_changed(self) -> None:
        tokens = theme.current()
        self.setStyleSheet(
            f"QFrame#findbar {{ background: {tokens.panel}; border: 0; "
            f"border-bottom: 1px solid {tokens.line}; }}"
        )

    # QWidget

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = event.key()
        if key == Qt.Key.Key_Escape:
            self.close_bar()
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._on_enter(backwards=bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier))
        else:
            super().keyPressEvent(event)

    def _on_enter(self, *, backwards: bool) -> None:
        if self._rest.isActive():
            self._rest.stop()
            self._tell()
        elif backwards:
            self.previous_asked.emit()
        else:
            self.next_asked.emit()
