"""The saved and the recent searches: beside an answer without hits, or when asked for."""

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPoint, Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QMenu, QVBoxLayout, QWidget

from app.models.recent import RecentModel
from app.models.saved import SavedModel
from app.views.field_words import FIELD_NAMES
from app.views.parts import Link, Text, rule
from app.views.search_lists import ROW, SearchList, recent_list, saved_list

_SAVED_ROWS = 8  # more of them scroll, so that the recent ones stay in view


class RecentView(QFrame):
    """Shows the saved searches above the recent ones, and the fields below.

    Signals:
        search_chosen: a recent one was pressed; carries its query.
        saved_chosen, saved_removed: so it was with a saved one; carries its id.
        recent_removed: one recent search should be forgotten; carries its query.
        clear_asked: none of the recent ones should be remembered.
        left: Esc was pressed, or Up on the first row: the field should have the focus.
    """

    search_chosen = Signal(str)
    saved_chosen = Signal(int)
    saved_removed = Signal(int)
    recent_removed = Signal(str)
    clear_asked = Signal()
    left = Signal()

    def __init__(
        self, model: RecentModel, saved: SavedModel, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setObjectName("list")
        self._model, self._saved = model, saved
        self.saved = saved_list(self.tr("Saved searches"), saved)
        self.list = recent_list(self.tr("Recent searches"), model)
        self.clear = Link(self.tr("clear"), "caption")
        self.clear.setAccessibleName(self.tr("Clear the recent searches"))
        self._nothing = Text(self.tr("What you search for will be listed here."), ink="text2")
        self._nothing.setContentsMargins(16, 8, 16, 8)
        self._nothing.setWordWrap(True)
        fields = Text(self.tr("Fields: %1").replace("%1", FIELD_NAMES), "caption", "text2")
        fields.setWordWrap(True)
        fields.setContentsMargins(16, 10, 16, 10)
        self._saved_part = QWidget()
        part = QVBoxLayout(self._saved_part)
        part.setContentsMargins(0, 0, 0, 0)
        part.setSpacing(0)
        part.addLayout(_head(self.tr("Saved searches")))
        part.addWidget(self.saved)
        part.addWidget(rule())
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self._saved_part)
        column.addLayout(_head(self.tr("Recent searches"), self.clear))
        column.addWidget(self._nothing)
        column.addWidget(self.list, 1)
        column.addWidget(rule())
        column.addWidget(fields)
        self._connect()
        self._show_parts()

    def _connect(self) -> None:
        self.list.row_opened.connect(
            lambda index: self.search_chosen.emit(index.data(RecentModel.SearchRole).query)
        )
        self.list.removed.connect(
            lambda index: self.recent_removed.emit(index.data(RecentModel.SearchRole).query)
        )
        self.saved.row_opened.connect(lambda index: self.saved_chosen.emit(_id(index)))
        self.saved.removed.connect(lambda index: self.saved_removed.emit(_id(index)))
        self.saved.passed_below.connect(lambda: _enter(self.list, 0))
        self.list.passed_above.connect(self._on_passed_above)
        self.saved.passed_above.connect(self.left)
        self.clear.clicked.connect(self.clear_asked)
        for each in (self.list, self.saved):
            each.left.connect(self.left)
            each.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
            each.customContextMenuRequested.connect(
                lambda at, asked=each: self._open_menu(asked, at)
            )
        for model in (self._model, self._saved):
            model.modelReset.connect(self._show_parts)

    def select_query(self, query: str) -> None:
        """Stand on the search that the page beside the list is about."""
        self.saved.select_row(-1)
        self.list.select_row(self._model.row_of(query))

    def front(self) -> SearchList:
        """Return the list that has the focus, else the first that has rows."""
        if self.list.hasFocus() or not self._saved.rowCount():
            return self.list
        return self.saved

    def enter(self) -> None:
        """Give the focus to the first row there is."""
        _enter(self.saved if self._saved.rowCount() else self.list, 0)

    def rename(self, search_id: int) -> None:
        """Let the name of a saved search be typed."""
        row = self._saved.row_of(search_id)
        if row >= 0:
            _enter(self.saved, row)
            self.saved.rename(self._saved.index(row))

    def is_empty(self) -> bool:
        """Tell whether nothing is saved and nothing was searched."""
        return not (self._saved.rowCount() or self._model.rowCount())

    def _show_parts(self) -> None:
        rows = self._saved.rowCount()
        has_recent = self._model.rowCount() > 0
        is_left = (self.saved.is_entered() and not rows) or (
            self.list.is_entered() and not has_recent
        )
        self._saved_part.setVisible(rows > 0)
        self.saved.setFixedHeight(ROW * max(1, min(rows, _SAVED_ROWS)))
        self.clear.setVisible(has_recent)
        self._nothing.setVisible(not has_recent)
        if is_left:
            self._move_on()

    def _move_on(self) -> None:
        """Leave a list that became empty: Qt would hand the focus to "clear"."""
        if self.is_empty():
            self.left.emit()
        else:
            self.enter()

    def _on_passed_above(self) -> None:
        if self._saved.rowCount():
            _enter(self.saved, self._saved.rowCount() - 1)
        else:
            self.left.emit()

    def _open_menu(self, asked: SearchList, at: QPoint) -> None:
        under = asked.indexAt(at)
        index = QPersistentModelIndex(under if under.isValid() else asked.currentIndex())
        if not index.isValid():
            return
        menu = QMenu(asked)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(self.tr("Search")).triggered.connect(
            lambda: asked.row_opened.emit(QModelIndex(index))
        )
        if asked is self.saved:
            rename = menu.addAction(self.tr("Rename (F2)"))
            rename.triggered.connect(lambda: asked.rename(index))
        remove = menu.addAction(self.tr("Remove (Delete)"))
        remove.triggered.connect(lambda: asked.removed.emit(QModelIndex(index)))
        menu.popup(asked.viewport().mapToGlobal(at))


def _head(words: str, link: Link | None = None) -> QHBoxLayout:
    head = QHBoxLayout()
    head.setContentsMargins(16, 8, 16, 4)
    head.addWidget(Text(words, "caption", "text2", bold=True))
    head.addStretch(1)
    if link is not None:
        head.addWidget(link, alignment=Qt.AlignmentFlag.AlignVCenter)
    return head


def _enter(wanted: SearchList, row: int) -> None:
    if wanted.model().rowCount():
        wanted.setFocus(Qt.FocusReason.OtherFocusReason)
        wanted.select_row(row)


def _id(index: QModelIndex) -> int:
    return int(index.data(SavedModel.SearchRole).id)
