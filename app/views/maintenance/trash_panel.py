"""The trash as a sheet: what is in it, bringing it back, emptying it."""

from dataclasses import dataclass

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from app import formatting
from app.models.sessions import source_name
from app.text_ranges import one_line
from app.views.maintenance import retention_words
from app.views.maintenance.list_sheet import Column, ListSheet, Row
from app.views.parts import Button
from core.upkeep_types import Trash, TrashItem


@dataclass(frozen=True, slots=True)
class TrashKey:
    """What names an item of the trash: a session's ref; of a message its uid and what moved it."""

    session: str
    message: str | None
    operation_id: int | None


class TrashPanel(ListSheet):
    """Shows; never asks.

    Signals:
        restore_asked: bring back those chosen; carries a list of `TrashKey`.
        empty_asked: delete everything that is in the trash now.
    """

    restore_asked = Signal(list)
    empty_asked = Signal()

    def __init__(self, parent: QWidget) -> None:
        columns = (
            Column(self.tr("Conversation")),
            Column(self.tr("Source"), 110),
            Column(self.tr("Messages"), 90, right=True),
            Column(self.tr("Size"), 100, right=True),
            Column(self.tr("Thrown away"), 110, right=True),
            Column(self.tr("Kept until"), 100, right=True),
        )
        super().__init__(self.tr("Trash"), columns, parent)
        self.restore = Button(self.tr("Restore"), icon="undo")
        self.empty = Button(self.tr("Empty now…"), icon="trash")
        self.add_action(self.restore)
        self.add_action(self.empty)
        self.restore.clicked.connect(self._on_restore)
        self.empty.clicked.connect(self.empty_asked)
        self.row_activated.connect(lambda key: self.restore_asked.emit([key]))
        self.table.itemSelectionChanged.connect(self._show_choice)
        self._show_choice()

    def show_trash(self, trash: Trash) -> None:
        """Show what the trash holds now; after a row was restored the list has the focus."""
        if self.restore.hasFocus():
            self.table.setFocus()  # Qt would hand it to the button that empties
        self.table.setEnabled(True)
        self.show_rows([Row(_key(each), self._texts(each)) for each in trash.items])
        if not trash.total:
            self.sentence.show_words(self.tr("The trash is empty."))
        else:
            words = self.tr("%1, %2. Nothing of it is found by a search.")
            words = words.replace("%1", retention_words.trash_amount(trash))
            words = words.replace("%2", formatting.size(trash.bytes))
            if trash.total > len(trash.items):
                more = self.tr("The latest %1 are listed.")
                words += " " + more.replace("%1", formatting.number(len(trash.items)))
            self.sentence.show_words(words)
        self.empty.setEnabled(trash.total > 0)
        self._show_choice()

    def show_deleting(self, fraction: float) -> None:
        """Say how far the emptying is; what is on its way out cannot be asked for."""
        words = self.tr(
            "Deleting: %1. You can close this, it goes on; what is left when the window is closed "
            "stays in the trash."
        )
        self.sentence.show_words(words.replace("%1", formatting.percent(fraction)))
        if self.empty.hasFocus() or self.table.hasFocus():
            self.close_button.setFocus()
        self.table.clearSelection()
        self.table.setEnabled(False)
        self.empty.setEnabled(False)

    def show_failure(self, words: str) -> None:
        """Say what went wrong; everything can be asked for again."""
        self.sentence.show_words(words, "err")
        self.table.setEnabled(True)
        self.empty.setEnabled(self.table.rowCount() > 0)

    def _texts(self, item: TrashItem) -> tuple[str, ...]:
        title = one_line(item.title).strip() or self.tr("Untitled")
        if item.message is not None:
            title = self.tr("A message of %1").replace("%1", title)
        return (
            title,
            source_name(item.source),
            formatting.number(item.messages),
            formatting.size(item.bytes),
            formatting.moment(item.trashed_at_ms),
            formatting.moment(item.expires_at_ms),
        )

    def _show_choice(self) -> None:
        count = len(self.chosen())
        words = self.tr("Restore")
        if count > 1:
            words = self.tr("Restore %1").replace("%1", formatting.number(count))
        self.restore.setText(words)
        self.restore.setEnabled(count > 0)

    def _on_restore(self) -> None:
        self.restore_asked.emit(self.chosen())


def _key(item: TrashItem) -> TrashKey:
    return TrashKey(item.session, item.message, item.operation_id)
