"""The outline of a conversation: its opening, its hits or prompts, its resolution."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from PySide6.QtCore import QAbstractListModel, QModelIndex, QPersistentModelIndex, Qt

from app.text_ranges import one_line

Index = QModelIndex | QPersistentModelIndex
NO_INDEX = QModelIndex()


class Row(Enum):
    """What a row of the outline is."""

    HEADING = "heading"
    ENTRY = "entry"


@dataclass(frozen=True, slots=True)
class OutlineRow:
    """A heading with its facts, or a message with its number and a few of its words.

    `bold` are character ranges of `text`: what matched. `icon` and `ink` say who speaks.
    """

    kind: Row
    text: str
    facts: str = ""
    number: int = 0
    message_id: int = 0
    icon: str = ""
    ink: str = ""
    bold: tuple[tuple[int, int], ...] = ()


def heading(text: str, facts: str) -> OutlineRow:
    """Return a heading."""
    return OutlineRow(Row.HEADING, text, facts)


class OutlineModel(QAbstractListModel):
    """Holds the rows it is given."""

    RowRole = Qt.ItemDataRole.UserRole + 1

    def __init__(self) -> None:
        super().__init__()
        self._rows: list[OutlineRow] = []

    def replace(self, rows: Sequence[OutlineRow]) -> None:
        """Show other rows; rows that stay the same keep selection and place."""
        if list(rows) == self._rows:
            return
        self.beginResetModel()
        self._rows = list(rows)
        self.endResetModel()

    def row(self, row: int) -> OutlineRow | None:
        """Return a row, or None when there is none."""
        return self._rows[row] if 0 <= row < len(self._rows) else None

    def row_of(self, number: int) -> int:
        """Return the row that stands for message `number`, the middle part's first; or -1.

        A message can be in two parts (a hit in the opening): the hits and prompts tell more.
        """
        found = [
            row
            for row, each in enumerate(self._rows)
            if each.kind is Row.ENTRY and each.number == number
        ]
        headings = [row for row, each in enumerate(self._rows) if each.kind is Row.HEADING]
        ends = [*headings[2:], len(self._rows)]
        middle = range(headings[1], ends[0]) if len(headings) > 1 else range(0)
        return next((row for row in found if row in middle), found[0] if found else -1)

    # QAbstractItemModel

    def rowCount(self, parent: Index = NO_INDEX) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        row = self.row(index.row()) if index.isValid() else None
        if row is None:
            return None
        if role == self.RowRole:
            return row
        if role == Qt.ItemDataRole.DisplayRole:
            return one_line(row.text)
        if role == Qt.ItemDataRole.AccessibleTextRole:
            if row.kind is Row.HEADING:
                return f"{row.text}, {row.facts}"
            return f"#{row.number}, {one_line(row.text)}"
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        row = self.row(index.row()) if index.isValid() else None
        if row is None or row.kind is Row.HEADING:
            return Qt.ItemFlag.ItemIsEnabled if row is not None else Qt.ItemFlag.NoItemFlags
        return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
