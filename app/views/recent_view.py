"""The recent searches: shown beside an answer without hits."""

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QPainter
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from app import formatting
from app.models.recent import RecentModel
from app.text_ranges import one_line
from app.views import painting
from app.views.parts import Link, Text
from app.views.row_list import RowList

Index = QModelIndex | QPersistentModelIndex
_ROW = 40


class _RecentDelegate(QStyledItemDelegate):
    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(0, _ROW)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        search = index.data(RecentModel.SearchRole)
        painter.save()
        selected = painting.ground(painter, option)
        rect = option.rect
        right, base = rect.right() + 1 - painting.SIDE, rect.top() + 25
        painting.icon(painter, "history", "text2", rect.left() + 16, rect.top() + 20, 16)
        taken = painting.draw(
            painter,
            formatting.counted(search.hits, self.tr("%1 hit"), self.tr("%1 hits")),
            rect.left(),
            right,
            base,
            step="caption",
            ink="text2" if selected else "text3",
            align=painting.RIGHT,
        )
        painting.draw(painter, one_line(search.query), rect.left() + 42, right - taken - 8, base)
        painter.restore()


class _RecentList(RowList):
    """Opens a search only when it is asked for: moving over a list must not search."""

    def currentChanged(self, current: Index, previous: Index) -> None:
        self._silent = True
        super().currentChanged(current, previous)
        self._silent = False

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Space:
            self._open_current()
            return
        super().keyPressEvent(event)


class RecentView(QFrame):
    """Shows the recent searches, with how many hits each had.

    Signals:
        search_chosen: one was pressed; carries its query.
        clear_asked: none of them should be remembered.
    """

    search_chosen = Signal(str)
    clear_asked = Signal()

    def __init__(self, model: RecentModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("list")
        self._model = model
        self.list = _RecentList(self.tr("Recent searches"))
        self.list.setModel(model)
        self.list.setItemDelegate(_RecentDelegate(self))
        self.clear = Link(self.tr("clear"), "caption")
        self.clear.setAccessibleName(self.tr("Clear the recent searches"))
        head = QHBoxLayout()
        head.setContentsMargins(16, 8, 16, 4)
        head.addWidget(Text(self.tr("Recent searches"), "caption", "text2", bold=True))
        head.addStretch(1)
        head.addWidget(self.clear, alignment=Qt.AlignmentFlag.AlignVCenter)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(head)
        column.addWidget(self.list, 1)
        self.list.row_opened.connect(self._on_row_opened)
        self.clear.clicked.connect(self.clear_asked)

    def select_query(self, query: str) -> None:
        """Stand on the search that the page beside the list is about."""
        self.list.select_row(self._model.row_of(query))

    def _on_row_opened(self, index: QModelIndex) -> None:
        self.search_chosen.emit(index.data(RecentModel.SearchRole).query)
