"""A list of rows of one height: what the lists of sessions, hits and searches have in common."""

from PySide6.QtCore import (
    QItemSelectionModel,
    QModelIndex,
    QPersistentModelIndex,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import QFocusEvent, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QListView, QScrollBar, QWidget

from app import theme

Index = QModelIndex | QPersistentModelIndex

_SETTLE_MS = 90
_BAR_WIDTH = 10


class RowList(QListView):
    """Opens what the keyboard or the mouse rests on, not what a held key runs over.

    Signals:
        row_opened: a row was clicked, or the arrow keys came to rest on it.
        row_entered: Enter was pressed on a row: the focus should follow.
    """

    row_opened = Signal(QModelIndex)
    row_entered = Signal(QModelIndex)

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self.setUniformItemSizes(True)
        self.setMouseTracking(True)
        self._overlay = QScrollBar(Qt.Orientation.Vertical, self)
        self._follow_scroll_bar()
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setTextElideMode(Qt.TextElideMode.ElideRight)
        self._silent = False
        self._rest = QTimer(self, singleShot=True, interval=_SETTLE_MS)
        self._rest.timeout.connect(self._open_current)
        self.clicked.connect(self._on_clicked)
        theme.changed.connect(self._on_theme_changed)

    def _follow_scroll_bar(self) -> None:
        """Lay a thin bar over the rows' right margin: rows stay as wide as the list."""
        own = self.verticalScrollBar()
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        own.rangeChanged.connect(self._on_range_changed)
        own.valueChanged.connect(self._overlay.setValue)
        self._overlay.valueChanged.connect(own.setValue)
        self._overlay.hide()

    def _on_range_changed(self, low: int, high: int) -> None:
        self._overlay.setRange(low, high)
        self._overlay.setPageStep(self.verticalScrollBar().pageStep())
        self._overlay.setSingleStep(self.verticalScrollBar().singleStep())
        self._overlay.setVisible(high > low)

    def select_row(self, row: int) -> None:
        """Make `row` the current one and show it, without opening it; -1 selects nothing."""
        self._silent = True
        if row < 0:
            self.clearSelection()
            self.setCurrentIndex(QModelIndex())
        else:
            index = self.model().index(row, 0)
            self.stand_on(index)
            self.scrollTo(index)
        self._silent = False
        self._rest.stop()

    def step(self, rows: int) -> None:
        """Move the current row and open the one it comes to."""
        count = self.model().rowCount()
        if count:
            row = self.currentIndex().row()
            row = 0 if row < 0 else min(max(row + rows, 0), count - 1)
            self.stand_on(self.model().index(row, 0))

    def stand_on(self, index: QModelIndex) -> None:
        """Make a row the current one and the only one chosen, whatever keys are held.

        `setCurrentIndex` adds to what is chosen while Ctrl is down, as after Ctrl+Z.
        """
        only = QItemSelectionModel.SelectionFlag.ClearAndSelect
        self.selectionModel().setCurrentIndex(index, only)

    def _open_current(self) -> None:
        index = self.currentIndex()
        if index.isValid() and not self._is_choosing():
            self.row_opened.emit(index)

    def _on_clicked(self, index: QModelIndex) -> None:
        self._rest.stop()
        if not self._is_choosing():
            self.row_opened.emit(index)

    def _is_choosing(self) -> bool:
        """Tell whether several rows are chosen: none of them is meant to be opened."""
        return len(self.selectionModel().selectedRows()) > 1

    def _on_theme_changed(self) -> None:
        self.scheduleDelayedItemsLayout()
        self.viewport().update()

    # QListView

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._overlay.setGeometry(self.width() - _BAR_WIDTH, 0, _BAR_WIDTH, self.height())
        self._on_range_changed(
            self.verticalScrollBar().minimum(), self.verticalScrollBar().maximum()
        )

    def currentChanged(self, current: Index, previous: Index) -> None:
        super().currentChanged(current, previous)
        if not self._silent and current.isValid():
            self._rest.start()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            index = self.currentIndex()
            if index.isValid():
                self._rest.stop()
                self.row_opened.emit(index)
                self.row_entered.emit(index)
            return
        super().keyPressEvent(event)

    def keyboardSearch(self, search: str) -> None:
        """Letters belong to the search field, not to a jump within the loaded rows."""

    def focusInEvent(self, event: QFocusEvent) -> None:
        self._silent = True  # Qt makes the first row the current one, which opens nothing
        super().focusInEvent(event)
        self._silent = False
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.viewport().update()
