"""The recent searches, newest first."""

from collections.abc import Sequence

from PySide6.QtCore import QAbstractListModel, QModelIndex, QPersistentModelIndex, Qt

from app import formatting
from app.text_ranges import one_line
from app.view_state import RecentSearch

Index = QModelIndex | QPersistentModelIndex
NO_INDEX = QModelIndex()


class RecentModel(QAbstractListModel):
    """Holds the searches it is given; fetches nothing itself."""

    SearchRole = Qt.ItemDataRole.UserRole + 1

    def __init__(self) -> None:
        super().__init__()
        self._searches: list[RecentSearch] = []

    def replace(self, searches: Sequence[RecentSearch]) -> None:
        """Show other searches."""
        self.beginResetModel()
        self._searches = list(searches)
        self.endResetModel()

    def row_of(self, query: str) -> int:
        """Return the row of a query, or -1."""
        return next((n for n, each in enumerate(self._searches) if each.query == query), -1)

    # QAbstractItemModel

    def rowCount(self, parent: Index = NO_INDEX) -> int:
        return 0 if parent.isValid() else len(self._searches)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid() or index.row() >= len(self._searches):
            return None
        search = self._searches[index.row()]
        if role == self.SearchRole:
            return search
        if role == Qt.ItemDataRole.DisplayRole:
            return one_line(search.query)
        if role == Qt.ItemDataRole.AccessibleTextRole:
            hits = formatting.counted(search.hits, self.tr("%1 hit"), self.tr("%1 hits"))
            return f"{one_line(search.query)}, {hits}"
        return None
