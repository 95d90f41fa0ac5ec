"""A sheet over the window with a table of rows and what can be done with those chosen."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QItemSelectionModel, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QHBoxLayout,
    QHeaderView,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from app import theme
from app.text_ranges import one_line, plain_tooltip
from app.views.maintenance.card import Facts
from app.views.parts import Button, Text

_ROW, _HEAD = 32, 30
_AT_ONCE = 200  # rows; 45 ms
_SIZE = (880, 560)
_INK = Qt.ItemDataRole.UserRole + 1
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its word, its width (0 takes what is left), and on which side its texts stand."""

    word: str
    width: int = 0
    right: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """A row: what it stands for, its texts, and the colour token of each that has its own."""

    key: object
    texts: tuple[str, ...]
    inks: tuple[str, ...] = ()


class ListSheet(QDialog):
    """A title, a sentence, the table, and buttons at its foot; Esc closes it.

    Signals:
        row_activated: Enter or a double click on a row; carries its key.
        more_wanted: the last row is in view and there may be more.
    """

    row_activated = Signal(object)
    more_wanted = Signal()

    def __init__(self, title: str, columns: Sequence[Column], parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(title)
        self.resize(*_SIZE)
        self._columns = tuple(columns)
        self._later: list[Row] = []
        self._were_chosen: set[object] = set()
        self._was_current: object = None
        self._turn = QTimer(self, singleShot=True, interval=0)
        self._turn.timeout.connect(self._show_some)
        self.sentence = Facts("ui", "text2", 20)
        self.table = _Table(0, len(columns))
        self.table.setAccessibleName(title)
        self.foot = QHBoxLayout()
        self.foot.setSpacing(8)
        self.close_button = Button(self.tr("Close"))
        self.close_button.clicked.connect(self.close)
        self.tools = QHBoxLayout()
        self.tools.setSpacing(8)
        column = QVBoxLayout(self)
        column.setContentsMargins(24, 20, 24, 16)
        column.setSpacing(8)
        column.addWidget(Text(title, "title"))
        column.addWidget(self.sentence)
        column.addLayout(self.tools)
        column.addWidget(self.table, 1)
        column.addSpacing(4)
        column.addLayout(self.foot)
        self._set_up(self.table)
        theme.changed.connect(self._tint)
        self.foot.addStretch(1)
        self.foot.addWidget(self.close_button)

    def _set_up(self, table: QTableWidget) -> None:
        for number, each in enumerate(self._columns):
            item = QTableWidgetItem(each.word)
            item.setTextAlignment(_RIGHT if each.right else _LEFT)
            table.setHorizontalHeaderItem(number, item)
            if each.width:
                table.setColumnWidth(number, each.width)
            else:
                header = table.horizontalHeader()
                header.setSectionResizeMode(number, QHeaderView.ResizeMode.Stretch)
        table.itemActivated.connect(lambda item: self.row_activated.emit(self._key(item.row())))
        table.verticalScrollBar().valueChanged.connect(self._on_scrolled)

    def add_action(self, button: Button) -> None:
        """Put a button at the left of the foot."""
        self.foot.insertWidget(self.foot.count() - 2, button)

    def show_rows(self, rows: Sequence[Row]) -> None:
        """Show other rows; those chosen that are still there stay chosen.

        Many come in turns of the loop: 1,000 at once held the window up for a fifth of a second.
        """
        self._were_chosen, self._was_current = (
            set(self.chosen()),
            self._key(self.table.currentRow()),
        )
        self.table.setRowCount(0)
        self._later = list(rows)
        self._show_some()

    def _show_some(self) -> None:
        rows, self._later = self._later[:_AT_ONCE], self._later[_AT_ONCE:]
        first = self.table.rowCount()
        self.append_rows(rows)
        select = QItemSelectionModel.SelectionFlag.Select | QItemSelectionModel.SelectionFlag.Rows
        for number, row in enumerate(rows, first):
            if row.key == self._was_current:
                self.table.setCurrentCell(number, 0, QItemSelectionModel.SelectionFlag.NoUpdate)
            if row.key in self._were_chosen:
                self.table.selectionModel().select(self.table.model().index(number, 0), select)
        if self._later:
            self._turn.start()

    def append_rows(self, rows: Sequence[Row]) -> None:
        """Show more rows below."""
        first = self.table.rowCount()
        self.table.setRowCount(first + len(rows))
        for number, row in enumerate(rows, first):
            for column, text in enumerate(row.texts):
                self.table.setItem(number, column, self._item(row, column, text))

    def chosen(self) -> list[object]:
        """Return the keys of the rows chosen, from the top."""
        rows = sorted(index.row() for index in self.table.selectionModel().selectedRows())
        return [self._key(row) for row in rows]

    def texts(self) -> list[tuple[str, ...]]:
        """Return the texts of all rows."""
        width = range(len(self._columns))
        return [
            tuple(self.table.item(row, column).text() for column in width)
            for row in range(self.table.rowCount())
        ]

    def _item(self, row: Row, column: int, text: str) -> QTableWidgetItem:
        item = QTableWidgetItem(one_line(text))
        item.setFlags(Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable)
        item.setTextAlignment(_RIGHT if self._columns[column].right else _LEFT)
        item.setToolTip(plain_tooltip(text))
        ink = row.inks[column] if column < len(row.inks) else ""
        item.setData(_INK, ink or ("text" if column == 0 else "text2"))
        item.setForeground(theme.color(item.data(_INK)))
        item.setData(Qt.ItemDataRole.UserRole, row.key)
        return item

    def _tint(self) -> None:
        """Paint the texts in the colours of now."""
        for row in range(self.table.rowCount()):
            for column in range(self.table.columnCount()):
                item = self.table.item(row, column)
                if item is not None:
                    item.setForeground(theme.color(item.data(_INK)))

    def _key(self, row: int) -> object:
        item = self.table.item(row, 0)
        return None if item is None else item.data(Qt.ItemDataRole.UserRole)

    def _on_scrolled(self, value: int) -> None:
        if value >= self.table.verticalScrollBar().maximum():
            self.more_wanted.emit()


class _Table(QTableWidget):
    """Whole rows, no numbers, no grid."""

    def __init__(self, rows: int, columns: int) -> None:
        super().__init__(rows, columns)
        self.setProperty("class", "sheet")
        self.setShowGrid(False)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setTabKeyNavigation(False)
        self.setWordWrap(False)
        self.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.verticalHeader().hide()
        self.verticalHeader().setDefaultSectionSize(_ROW)
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.setSectionsClickable(False)
        header.setFixedHeight(_HEAD)
        header.setFont(theme.font("caption"))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            item = self.currentItem()
            if item is not None:
                self.itemActivated.emit(item)
            return
        super().keyPressEvent(event)
