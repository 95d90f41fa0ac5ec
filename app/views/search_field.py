"""The field of the search of all conversations."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QFocusEvent, QInputMethodEvent, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QLineEdit

from app import theme
from app.views.field_words import FIELD_NAMES
from app.views.parts import Icon, Text


class SearchField(QLineEdit):
    """The search of all conversations.

    While an input method composes, nothing is emitted: `textEdited` comes with the commit.

    Signals:
        entered: Enter was pressed.
        left: Esc was pressed on an empty field.
        list_wanted: the Down key was pressed: the list should have the focus.
        searches_wanted: the same on an empty field: what was searched before is wanted.
        save_pressed: the bookmark was pressed.
    """

    entered = Signal()
    left = Signal()
    list_wanted = Signal()
    searches_wanted = Signal()
    save_pressed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.is_composing = False
        self._place = self.tr("Search all conversations")
        self._is_saved = False
        self.setObjectName("search")
        self.setFont(theme.font("search"))
        self.setFixedHeight(40)
        self.setAccessibleName(self._place)
        icon = Icon("search")
        icon.setParent(self)
        icon.move(13, 12)
        self._clear = QAction(self.tr("Clear the search"), self)
        self.save = QAction(self)
        for action in (self._clear, self.save):
            self.addAction(action, QLineEdit.ActionPosition.TrailingPosition)
        self._clear.triggered.connect(self.clear)
        self.save.triggered.connect(self.save_pressed)
        self._hint = Text("Ctrl+K", "caption", "text3")
        self._hint.setParent(self)
        self._hint.adjustSize()
        self.textChanged.connect(self._on_text_changed)
        theme.changed.connect(self._tint)
        self.show_saved(is_saved=False)
        self._on_text_changed("")
        self._show_place()

    def show_place(self, words: str) -> None:
        """Say in the empty field what a search would look through."""
        self._place = words
        self._show_place()

    def show_saved(self, *, is_saved: bool) -> None:
        """Show whether what the field holds is a saved search, with its filters and order."""
        self._is_saved = is_saved
        words = (
            self.tr("This search is saved; press to remove it (Ctrl+S)")
            if is_saved
            else self.tr("Save this search with its filters and order (Ctrl+S)")
        )
        self.save.setText(words)
        self.save.setToolTip(words)
        self._tint()

    def left_of(self, start: int) -> int:
        """Return the x of the character at `start` (UTF-16), which stands before the cursor."""
        typed = self.text()[start : self.cursorPosition()]
        return self.cursorRect().center().x() - self.fontMetrics().horizontalAdvance(typed)

    def _tint(self) -> None:
        self._clear.setIcon(theme.icon("close"))
        name, ink = ("bookmark-filled", "accent") if self._is_saved else ("bookmark", "text2")
        self.save.setIcon(theme.icon(name, ink))

    def _on_text_changed(self, text: str) -> None:
        self._hint.setVisible(not text and not self.hasFocus())
        self._clear.setVisible(bool(text))
        self.save.setVisible(bool(text.strip()))

    def _show_place(self) -> None:
        words = self._place
        if self.hasFocus():
            words = f"{words}   {FIELD_NAMES}"
        self.setPlaceholderText(words)

    # QWidget

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._hint.move(
            self.width() - self._hint.width() - 12, (self.height() - self._hint.height()) // 2
        )

    def inputMethodEvent(self, event: QInputMethodEvent) -> None:
        self.is_composing = bool(event.preeditString())
        super().inputMethodEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self._show_place()
        self._on_text_changed(self.text())

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._show_place()
        self._on_text_changed(self.text())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            if self.text():
                self.clear()
            else:
                self.left.emit()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.entered.emit()
        elif event.key() == Qt.Key.Key_Down:
            (self.list_wanted if self.text().strip() else self.searches_wanted).emit()
        else:
            super().keyPressEvent(event)
