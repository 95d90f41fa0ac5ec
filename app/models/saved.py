"""The saved searches, in the order they were saved."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QAbstractListModel, QModelIndex, QPersistentModelIndex, Qt, Signal

from app.text_ranges import one_line, plain_tooltip

Index = QModelIndex | QPersistentModelIndex
NO_INDEX = QModelIndex()


@dataclass(frozen=True, slots=True)
class SavedRow:
    """A saved search as a row: its name, what it asks, and what it is narrowed to in words."""

    id: int
    name: str
    query: str
    narrowed: str = ""


class SavedModel(QAbstractListModel):
    """Holds the searches it is given; fetches nothing itself.

    Signals:
        renamed: another name was typed for one; carries its id and the name.
    """

    SearchRole = Qt.ItemDataRole.UserRole + 1
    renamed = Signal(int, str)

    def __init__(self) -> None:
        super().__init__()
        self._searches: list[SavedRow] = []

    def replace(self, searches: Sequence[SavedRow]) -> None:
        """Show other searches."""
        if list(searches) != self._searches:
            self.beginResetModel()
            self._searches = list(searches)
            self.endResetModel()

    def row_of(self, search_id: int) -> int:
        """Return the row of a search, or -1."""
        return next((n for n, each in enumerate(self._searches) if each.id == search_id), -1)

    # QAbstractItemModel

    def rowCount(self, parent: Index = NO_INDEX) -> int:
        return 0 if parent.isValid() else len(self._searches)

    def flags(self, index: Index) -> Qt.ItemFlag:
        return super().flags(index) | Qt.ItemFlag.ItemIsEditable

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid() or index.row() >= len(self._searches):
            return None
        search = self._searches[index.row()]
        if role == self.SearchRole:
            return search
        if role == Qt.ItemDataRole.EditRole:
            return search.name
        if role == Qt.ItemDataRole.DisplayRole:
            return one_line(search.name)
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tooltip(
                " · ".join(each for each in (search.query, search.narrowed) if each)
            )
        if role == Qt.ItemDataRole.AccessibleTextRole:
            asked = search.query if search.query != search.name else ""
            parts = (search.name, asked, search.narrowed)
            return ", ".join(one_line(each) for each in parts if each)
        return None

    def setData(self, index: Index, value: object, role: int = Qt.ItemDataRole.EditRole) -> bool:
        """Ask for another name; the row changes when it is stored."""
        if role != Qt.ItemDataRole.EditRole or not index.isValid():
            return False
        search, name = self._searches[index.row()], " ".join(str(value).split())
        if name and name != search.name:
            self.renamed.emit(search.id, name)
        return True
