"""What can be chosen for the word one is typing."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QAbstractListModel, QModelIndex, QPersistentModelIndex, Qt

from app import formatting
from app.text_ranges import one_line

Index = QModelIndex | QPersistentModelIndex
NO_INDEX = QModelIndex()


@dataclass(frozen=True, slots=True)
class Offer:
    """One choice: the text it puts into the field, how it is shown, and what is said beside it."""

    text: str
    shown: str
    beside: str = ""


class ChoicesModel(QAbstractListModel):
    """Holds the choices it is given; fetches nothing itself."""

    OfferRole = Qt.ItemDataRole.UserRole + 1

    def __init__(self) -> None:
        super().__init__()
        self._offers: list[Offer] = []

    def replace(self, offers: Sequence[Offer]) -> None:
        """Hold other choices."""
        self.beginResetModel()
        self._offers = list(offers)
        self.endResetModel()

    def offer(self, row: int) -> Offer:
        """Return the choice of a row."""
        return self._offers[row]

    # QAbstractItemModel

    def rowCount(self, parent: Index = NO_INDEX) -> int:
        return 0 if parent.isValid() else len(self._offers)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid() or index.row() >= len(self._offers):
            return None
        offer = self._offers[index.row()]
        if role == self.OfferRole:
            return offer
        if role == Qt.ItemDataRole.DisplayRole:
            return one_line(offer.shown)
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return ", ".join(one_line(each) for each in (offer.shown, offer.beside) if each)
        return None


def counted(count: int | None) -> str:
    """Return a count as it stands beside a choice."""
    return "" if count is None else formatting.number(count)
