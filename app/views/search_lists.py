"""Lists of searches: rows of an icon, what is looked for, and what is known of it."""

from PySide6.QtCore import (
    QAbstractItemModel,
    QModelIndex,
    QPersistentModelIndex,
    QRect,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QKeyEvent, QPainter
from PySide6.QtWidgets import QLineEdit, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from app import formatting
from app.models.recent import RecentModel
from app.models.saved import SavedModel
from app.text_ranges import one_line
from app.views import painting
from app.views.row_list import RowList

Index = QModelIndex | QPersistentModelIndex
ROW = 40
_TEXT = 42
_NAME_CHARS = 200


class _RowDelegate(QStyledItemDelegate):
    """Paints one row; what stands where comes from the two classes below."""

    icon = ""

    def words(self, index: Index) -> tuple[str, str]:
        """Return what is looked for and the caption beside it."""
        raise NotImplementedError

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(0, ROW)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        text, beside = self.words(index)
        painter.save()
        selected = painting.ground(painter, option)
        rect = option.rect
        right, base = rect.right() + 1 - painting.SIDE, rect.top() + 25
        painting.icon(painter, self.icon, "text2", rect.left() + 16, rect.top() + 20, 16)
        taken = painting.draw(
            painter,
            one_line(beside),
            rect.left() + rect.width() // 2,
            right,
            base,
            step="caption",
            ink="text2" if selected else "text3",
            align=painting.RIGHT,
        )
        painting.draw(painter, one_line(text), rect.left() + _TEXT, right - taken - 8, base)
        painter.restore()


class _RecentDelegate(_RowDelegate):
    icon = "history"

    def words(self, index: Index) -> tuple[str, str]:
        search = index.data(RecentModel.SearchRole)
        return search.query, formatting.counted(search.hits, self.tr("%1 hit"), self.tr("%1 hits"))


class _SavedDelegate(_RowDelegate):
    icon = "bookmark"

    def words(self, index: Index) -> tuple[str, str]:
        search = index.data(SavedModel.SearchRole)
        return search.name, search.narrowed

    def createEditor(
        self, parent: QWidget, option: QStyleOptionViewItem, index: Index
    ) -> QLineEdit:
        editor = QLineEdit(parent)
        editor.setMaxLength(_NAME_CHARS)
        editor.setAccessibleName(self.tr("Name of the saved search"))
        return editor

    def updateEditorGeometry(
        self, editor: QWidget, option: QStyleOptionViewItem, index: Index
    ) -> None:
        rect = option.rect
        left = rect.left() + _TEXT - 10
        editor.setGeometry(QRect(left, rect.top() + 6, rect.right() - left - 8, 28))


class SearchList(RowList):
    """Opens a search only when it is asked for: moving over a list must not search.

    Signals:
        removed: Delete was pressed on a row.
        passed_above, passed_below: Up was pressed on the first row, Down on the last.
        left: Esc was pressed.
    """

    removed = Signal(QModelIndex)
    passed_above = Signal()
    passed_below = Signal()
    left = Signal()

    def __init__(self, name: str, model: QAbstractItemModel) -> None:
        super().__init__(name)
        self._row = -1
        self.setModel(model)
        model.modelAboutToBeReset.connect(self._keep_row)
        model.modelReset.connect(self._return_to_row)

    def _keep_row(self) -> None:
        self._row = self.currentIndex().row() if self.is_entered() else -1

    def _return_to_row(self) -> None:
        """Stand where one stood, so that Delete goes on with the row behind a removed one."""
        if self._row >= 0:
            self.select_row(min(self._row, self.model().rowCount() - 1))

    def is_entered(self) -> bool:
        """Tell whether the keys of the window go to this list."""
        return self.window().focusWidget() is self

    def currentChanged(self, current: Index, previous: Index) -> None:
        self._silent = True
        super().currentChanged(current, previous)
        self._silent = False

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, index = event.key(), self.currentIndex()
        last = self.model().rowCount() - 1
        if key == Qt.Key.Key_Space:
            self._open_current()
        elif key == Qt.Key.Key_Escape:
            self.left.emit()
        elif key == Qt.Key.Key_Delete and index.isValid():
            self.removed.emit(index)
        elif key == Qt.Key.Key_F2 and index.isValid():
            self.rename(index)
        elif key == Qt.Key.Key_Up and index.row() <= 0:
            self.passed_above.emit()
        elif key == Qt.Key.Key_Down and index.row() == last:
            self.passed_below.emit()
        else:
            super().keyPressEvent(event)

    def rename(self, index: Index) -> None:
        """Let the name of a row be typed, where the model allows it."""
        if index.flags() & Qt.ItemFlag.ItemIsEditable:
            self.edit(index)


def recent_list(name: str, model: RecentModel) -> SearchList:
    """Return the list of recent searches."""
    made = SearchList(name, model)
    made.setItemDelegate(_RecentDelegate(made))
    return made


def saved_list(name: str, model: SavedModel) -> SearchList:
    """Return the list of saved searches."""
    made = SearchList(name, model)
    made.setItemDelegate(_SavedDelegate(made))
    return made
