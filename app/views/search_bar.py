"""The row that never goes away: back, forward, the search of all conversations, the filters."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QWidget

from app.views.filter_chip import FilterChip
from app.views.parts import IconButton
from app.views.search_field import SearchField

HEIGHT = 56


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
        self.field.show_place(imported_so_far or self.tr("Search all conversations"))

    def set_query(self, text: str) -> None:
        """Put a query into the field as if it had been typed and entered."""
        self.field.setText(text)
        self.query_entered.emit(text)

    def focus(self) -> None:
        """Give the field the focus and select its text."""
        self.field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.field.selectAll()
