"""The sessions, newest day first, beside an agenda of days."""

from PySide6.QtCore import QModelIndex, QRect, Signal
from PySide6.QtWidgets import QWidget

from app.models.sessions import SessionsModel
from app.views import painting
from app.views.row_list import RowList
from app.views.session_delegate import GUTTER, SessionDelegate
from core.types import Session


class SessionsView(RowList):
    """Shows; never asks.

    Signals:
        session_opened: a session was chosen; carries its row id in the store.
    """

    session_opened = Signal(int)

    def __init__(self, model: SessionsModel, parent: QWidget | None = None) -> None:
        super().__init__(self.tr("Conversations"), parent)
        self._model = model
        self._kept: tuple[int, int] | None = None
        self.setModel(model)
        self.setItemDelegate(SessionDelegate(self))
        self.row_opened.connect(self._on_row_opened)
        model.modelAboutToBeReset.connect(self._keep_place)
        model.modelReset.connect(self._restore_place)

    def current_session(self) -> Session | None:
        """Return the session the list stands on."""
        return self._model.session(self.currentIndex().row())

    def select_session(self, session_id: int) -> bool:
        """Stand on a session without opening it; returns False when it is not loaded."""
        row = self._model.row_of(session_id)
        if row >= 0:
            self.select_row(row)
        return row >= 0

    def _on_row_opened(self, index: QModelIndex) -> None:
        session = self._model.session(index.row())
        if session is not None:
            self.session_opened.emit(session.id)

    def _keep_place(self) -> None:
        session = self.current_session()
        self._kept = None
        if session is not None:
            self._kept = (session.id, self.visualRect(self.currentIndex()).top())

    def _restore_place(self) -> None:
        """Stand on the same session at the same height as before the list was replaced."""
        if self._kept is None:
            return
        session_id, top = self._kept
        row = self._model.row_of(session_id)
        if row < 0:
            return
        self._silent = True
        self.setCurrentIndex(self._model.index(row))
        self._silent = False
        if 0 <= top < self.viewport().height():
            self.executeDelayedItemsLayout()
            bar = self.verticalScrollBar()
            bar.setValue(bar.value() + self.visualRect(self.currentIndex()).top() - top)

    # QListView

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        super().scrollContentsBy(dx, dy)
        # The day sticks to the top: what was scrolled there has to be painted again.
        self.viewport().update(QRect(0, 0, GUTTER, 3 * painting.ROW + abs(dy)))
