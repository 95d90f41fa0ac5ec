"""The row that never goes away: back, forward, the search of all conversations, the filters."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLineEdit, QWidget

from app import theme
from app.views.filter_chip import FilterChip
from app.views.parts import Icon, IconButton, Text

HEIGHT = 56


class SearchField(QLineEdit):
    """The search of all conversations.

    While an input method composes, nothing is emitted: `textEdited` comes with the commit.

    Signals:
        entered: Enter was pressed.
        left: Esc was pressed on an empty field.
        list_wanted: the Down key was pressed: the list should have the focus.
    """

    entered = Signal()
    left = Signal()
    list_wanted = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("search")
        self.setFont(theme.font("search"))
        self.setFixedHeight(40)
        self.setAccessibleName(self.tr("Search all conversations"))
        icon = Icon("search")
        icon.setParent(self)
        icon.move(13, 12)
        self._clear = QAction(self.tr("Clear the search"), self)
        self.addAction(self._clear, QLineEdit.ActionPosition.TrailingPosition)
        self._clear.triggered.connect(self.clear)
        self._hint = Text("Ctrl+K", "caption", "text3")
        self._hint.setParent(self)
        self._hint.adjustSize()
        self.textChanged.connect(self._on_text_changed)
        theme.changed.connect(self._tint)
        self._tint()
        self._on_text_changed("")

    def _tint(self) -> None:
        self._clear.setIcon(theme.icon("close"))

    def _on_text_changed(self, text: str) -> None:
        self._hint.setVisible(not text)
        self._clear.setVisible(bool(text))

    # QWidget

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._hint.move(
            self.width() - self._hint.width() - 12, (self.height() - self._hint.height()) // 2
        )

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            if self.text():
                self.clear()
            else:
                self.left.emit()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.entered.emit()
        elif event.key() == Qt.Key.Key_Down:
            self.list_wanted.emit()
        else:
            super().keyPressEvent(event)


class SearchBar(QFrame):
    """Shows; never asks. Everything it wants leaves as a signal.

    Signals:
        query_edited: the text changed; carries the text.
        query_entered: Enter was pressed; carries the text.
        back_asked, forward_asked: the anchor viewed before, or after.
    """

    query_edited = Signal(str)
    query_entered = Signal(str)
    back_asked = Signal()
    forward_asked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("searchrow")
        self.setFixedHeight(HEIGHT)
        self.back = IconButton("back", self.tr("Back (Alt+Left)"))
        self.forward = IconButton("forward", self.tr("Forward (Alt+Right)"))
        self.field = SearchField()
        self.project = FilterChip(self.tr("Project"))
        self.source = FilterChip(self.tr("Source"))
        self.role = FilterChip(self.tr("Role"))
        self.date = FilterChip(self.tr("Date"), exclusive=True)
        row = QHBoxLayout(self)
        row.setContentsMargins(16, 4, 16, 12)
        row.setSpacing(0)
        row.addWidget(self.back)
        row.addWidget(self.forward)
        row.addSpacing(8)
        row.addWidget(self.field, 1)
        for chip in self.chips():
            row.addSpacing(8)
            row.addWidget(chip)
        self.back.clicked.connect(self.back_asked)
        self.forward.clicked.connect(self.forward_asked)
        self.field.textChanged.connect(self.query_edited)
        self.field.entered.connect(lambda: self.query_entered.emit(self.field.text()))
        self.show_history(can_back=False, can_forward=False)
        self.show_place(None)

    def chips(self) -> tuple[FilterChip, ...]:
        """Return the filters in their order."""
        return self.project, self.source, self.role, self.date

    def show_history(self, *, can_back: bool, can_forward: bool) -> None:
        """Enable the arrows that lead somewhere."""
        self.back.setEnabled(can_back)
        self.forward.setEnabled(can_forward)

    def show_place(self, imported_so_far: str | None) -> None:
        """Say in the empty field what a search would look through."""
        self.field.setPlaceholderText(imported_so_far or self.tr("Search all conversations"))

    def set_query(self, text: str) -> None:
        """Put a query into the field as if it had been typed and entered."""
        self.field.setText(text)
        self.query_entered.emit(text)

    def focus(self) -> None:
        """Give the field the focus and select its text."""
        self.field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.field.selectAll()
