"""The hits of a search, grouped by session."""

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QWidget

from app.models.hits import HitsModel
from app.views.hit_delegate import HitDelegate
from app.views.row_list import RowList


class HitsView(RowList):
    """Shows; never asks.

    Signals:
        hit_opened: a hit was chosen; carries message and session row ids.
        session_opened: a session whose title matches was chosen; carries its row id.
    """

    hit_opened = Signal(int, int)
    session_opened = Signal(int)

    def __init__(self, model: HitsModel, parent: QWidget | None = None) -> None:
        super().__init__(self.tr("Hits"), parent)
        self._model = model
        self.setModel(model)
        self.setItemDelegate(HitDelegate(self))
        self.row_opened.connect(self._on_row_opened)
        self.doubleClicked.connect(self._on_double_clicked)

    def select_message(self, message_id: int) -> bool:
        """Stand on a hit without opening it; returns False when it is not loaded."""
        row = self._model.row_of(message_id)
        if row >= 0:
            self.select_row(row)
        return row >= 0

    def place(self) -> tuple[int | None, int]:
        """Return where one stands: the message, None for no hit, and how far it is scrolled."""
        index = self.currentIndex()
        hit = self._model.hit(index.row()) if index.isValid() else None
        return (None if hit is None else hit.message_id), self.verticalScrollBar().value()

    def return_to(self, place: tuple[int | None, int]) -> None:
        """Stand where one stood before other rows were shown, as far as it is still there."""
        message_id, scrolled = place
        if message_id is not None:
            self.select_message(message_id)
        self.verticalScrollBar().setValue(scrolled)

    def step_hit(self, steps: int) -> None:
        """Go to the next or previous hit, over the rows of the groups."""
        row = self.currentIndex().row() + steps
        while 0 <= row < self._model.rowCount():
            if self._model.hit(row) is not None:
                self.stand_on(self._model.index(row))
                return
            row += steps

    def _on_row_opened(self, index: QModelIndex) -> None:
        hit, group = self._model.hit(index.row()), self._model.group(index.row())
        if hit is not None:
            self.hit_opened.emit(hit.message_id, hit.session_id)
        elif not group.hits:
            self.session_opened.emit(group.session_id)

    def _on_clicked(self, index: QModelIndex) -> None:
        if self._model.hit(index.row()) is None and self._model.group(index.row()).hits:
            self._rest.stop()
            self._model.toggle(index.row())
            return
        super()._on_clicked(index)

    def _on_double_clicked(self, index: QModelIndex) -> None:
        if self._model.hit(index.row()) is not None:
            self.row_entered.emit(index)

    # QListView

    def keyPressEvent(self, event: QKeyEvent) -> None:
        index = self.currentIndex()
        if index.isValid() and self._model.hit(index.row()) is None:
            expanded = bool(index.data(HitsModel.ExpandedRole))
            folds = event.key() == Qt.Key.Key_Left and expanded
            unfolds = event.key() == Qt.Key.Key_Right and not expanded
            if folds or unfolds or event.key() == Qt.Key.Key_Space:
                self._model.toggle(index.row())
                return
        super().keyPressEvent(event)
