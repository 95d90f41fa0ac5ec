"""The sessions, newest day first, beside an agenda of days."""

from PySide6.QtCore import QItemSelectionModel, QModelIndex, QRect, Qt, Signal
from PySide6.QtGui import QAction, QContextMenuEvent
from PySide6.QtWidgets import QAbstractItemView, QMenu, QWidget

from app.models.sessions import SessionsModel
from app.views import painting
from app.views.row_list import RowList
from app.views.session_delegate import GUTTER, SessionDelegate
from app.views.title_editor import TitleEditor
from core.types import Session

_ABOVE_LINE = 5  # the middle of a line's letters over the line they stand on


class SessionsView(RowList):
    """Shows; never asks.

    Signals:
        session_opened: a session was chosen; carries its row id in the store.
        title_entered: a title was typed in its row; carries the session's row id and the text.
    """

    session_opened = Signal(int)
    title_entered = Signal(int, str)

    def __init__(self, model: SessionsModel, parent: QWidget | None = None) -> None:
        super().__init__(self.tr("Conversations"), parent)
        self._model = model
        self._kept: tuple[int, int] | None = None
        self._kept_choice: set[int] = set()
        self.menu_actions: tuple[QAction, ...] = ()
        self.title_editor = TitleEditor(self.viewport())
        self.title_editor.entered.connect(self.title_entered)
        self.title_editor.left.connect(self.setFocus)
        self.setModel(model)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setItemDelegate(SessionDelegate(self))
        self.row_opened.connect(self._on_row_opened)
        model.modelAboutToBeReset.connect(self._keep_place)
        model.modelReset.connect(self._restore_place)

    def current_session(self) -> Session | None:
        """Return the session the list stands on."""
        return self._model.session(self.currentIndex().row())

    def chosen_sessions(self) -> list[Session]:
        """Return the sessions that are chosen, from the top."""
        rows = sorted(index.row() for index in self.selectionModel().selectedRows())
        found = (self._model.session(row) for row in rows)
        return [each for each in found if each is not None]

    def neighbour_of_choice(self) -> Session | None:
        """Return the session to stand on when those chosen are gone: the next, else the one before.

        None when all that are loaded are chosen.
        """
        rows = {index.row() for index in self.selectionModel().selectedRows()}
        if not rows:
            return None
        below = range(max(rows) + 1, self._model.rowCount())
        inside = range(max(rows), -1, -1)
        row = next((n for n in (*below[:1], *inside) if n not in rows), -1)
        return self._model.session(row)

    def select_session(self, session_id: int) -> bool:
        """Stand on a session without opening it; returns False when it is not loaded."""
        row = self._model.row_of(session_id)
        if row >= 0:
            self.select_row(row)
        return row >= 0

    def edit_title(self, session: Session) -> bool:
        """Let the title of a session be typed in its row; False where no row is shown for it."""
        row = self._model.row_of(session.id)
        if row < 0 or not self.isVisible():
            return False
        self.scrollTo(self._model.index(row))
        rect = self.visualRect(self._model.index(row))
        high = self.title_editor.sizeHint().height()
        self.title_editor.setGeometry(
            rect.left() + GUTTER - 6,
            rect.top() + int(painting.LINE_1) - _ABOVE_LINE - high // 2,
            rect.width() - GUTTER - painting.SIDE + 6,
            high,
        )
        self.title_editor.edit(session)
        return True

    def _on_row_opened(self, index: QModelIndex) -> None:
        session = self._model.session(index.row())
        if session is not None:
            self.session_opened.emit(session.id)

    def _keep_place(self) -> None:
        self.title_editor.leave()
        session = self.current_session()
        self._kept_choice = {each.id for each in self.chosen_sessions()}
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
        self.stand_on(self._model.index(row))
        if len(self._kept_choice) > 1:
            self._choose_again()
        self._silent = False
        if 0 <= top < self.viewport().height():
            self.executeDelayedItemsLayout()
            bar = self.verticalScrollBar()
            bar.setValue(bar.value() + self.visualRect(self.currentIndex()).top() - top)

    def _choose_again(self) -> None:
        select = QItemSelectionModel.SelectionFlag.Select
        for session_id in self._kept_choice:
            row = self._model.row_of(session_id)
            if row >= 0:
                self.selectionModel().select(self._model.index(row), select)

    # QListView

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Offer what can be done with the sessions chosen."""
        if not self.chosen_sessions() or not self.menu_actions:
            return
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addActions(self.menu_actions)
        menu.popup(event.globalPos())

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        super().scrollContentsBy(dx, dy)
        self.title_editor.leave()
        # The day sticks to the top: what was scrolled there has to be painted again.
        self.viewport().update(QRect(0, 0, GUTTER, 3 * painting.ROW + abs(dy)))
