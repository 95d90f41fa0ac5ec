"""Hits grouped by session, as one list of rows of equal height: a group row, then its hits."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QAbstractListModel, QModelIndex, QPersistentModelIndex, Qt, Signal

from app import formatting
from app.models.sessions import source_name
from app.text_ranges import one_line
from core.types import Hit

Index = QModelIndex | QPersistentModelIndex
NO_INDEX = QModelIndex()


@dataclass(frozen=True, slots=True)
class HitGroup:
    """One session's hits. `title_marks` are character ranges of `title`, which is safe to show.

    `open_ended` is true while later pages may hold more hits of this session. A group without
    hits is a session whose title matches. `program` is what people call where it was held.
    """

    session_id: int
    title: str
    title_marks: tuple[tuple[int, int], ...]
    source: str
    project: str
    at_ms: int | None
    hits: tuple[Hit, ...]
    open_ended: bool = False
    program: str = ""


class HitsModel(QAbstractListModel):
    """Holds the groups it is given; fetches nothing itself.

    Signals:
        more_wanted: the view reached the last row and more hits may exist.
    """

    GroupRole = Qt.ItemDataRole.UserRole + 1
    HitRole = Qt.ItemDataRole.UserRole + 2
    ExpandedRole = Qt.ItemDataRole.UserRole + 3
    more_wanted = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._groups: list[HitGroup] = []
        self._folded: set[int] = set()
        self._rows: list[tuple[int, int]] = []  # (group, hit), hit -1 for the group's own row
        self._complete = True

    def replace(self, groups: Sequence[HitGroup], *, complete: bool) -> None:
        """Show other groups, all unfolded."""
        self.beginResetModel()
        self._groups = list(groups)
        self._folded.clear()
        self._rows = self._rows_from(0)
        self._complete = complete
        self.endResetModel()

    def append(self, groups: Sequence[HitGroup], *, complete: bool) -> None:
        """Add the groups of the next page below; rows already shown never move."""
        self._complete = complete
        if not groups:
            return
        start = len(self._groups)
        self._groups.extend(groups)
        rows = self._rows_from(start)
        self.beginInsertRows(NO_INDEX, len(self._rows), len(self._rows) + len(rows) - 1)
        self._rows.extend(rows)
        self.endInsertRows()

    def toggle(self, row: int) -> None:
        """Fold or unfold the group whose own row is `row`; any other row is left alone."""
        group, hit = self._rows[row]
        count = len(self._groups[group].hits)
        if hit != -1 or not count:
            return
        if group in self._folded:
            self.beginInsertRows(NO_INDEX, row + 1, row + count)
            self._folded.discard(group)
            self._rows[row + 1 : row + 1] = [(group, each) for each in range(count)]
            self.endInsertRows()
        else:
            self.beginRemoveRows(NO_INDEX, row + 1, row + count)
            self._folded.add(group)
            del self._rows[row + 1 : row + 1 + count]
            self.endRemoveRows()
        index = self.index(row)
        self.dataChanged.emit(index, index)

    def groups(self) -> list[HitGroup]:
        """Return all groups in order."""
        return list(self._groups)

    def group(self, row: int) -> HitGroup:
        """Return the group that `row` belongs to."""
        return self._groups[self._rows[row][0]]

    def hit(self, row: int) -> Hit | None:
        """Return the hit at `row`, or None on a group's own row."""
        group, hit = self._rows[row]
        return None if hit == -1 else self._groups[group].hits[hit]

    def row_of(self, message_id: int) -> int:
        """Return the first row that shows a message, or -1."""
        for row in range(len(self._rows)):
            hit = self.hit(row)
            if hit is not None and hit.message_id == message_id:
                return row
        return -1

    def _rows_from(self, start: int) -> list[tuple[int, int]]:
        return [
            (group, hit)
            for group in range(start, len(self._groups))
            for hit in range(-1, len(self._groups[group].hits))
        ]

    # QAbstractItemModel

    def rowCount(self, parent: Index = NO_INDEX) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid() or index.row() >= len(self._rows):
            return None
        row = index.row()
        if role == self.HitRole:
            return self.hit(row)
        if role == self.GroupRole:
            return self.group(row)
        if role == self.ExpandedRole:
            return self._rows[row][0] not in self._folded
        if role == Qt.ItemDataRole.DisplayRole:
            hit = self.hit(row)
            return self.group(row).title if hit is None else one_line(hit.snippet)
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return self._spoken(row)
        return None

    def canFetchMore(self, parent: Index = NO_INDEX) -> bool:
        return not parent.isValid() and not self._complete

    def fetchMore(self, parent: Index = NO_INDEX) -> None:
        self._complete = True  # until append() says otherwise: ask once per page
        self.more_wanted.emit()

    def _spoken(self, row: int) -> str:
        group, hit = self.group(row), self.hit(row)
        if hit is None:
            count = formatting.counted(len(group.hits), self.tr("%1 hit"), self.tr("%1 hits"))
            program = group.program or source_name(group.source)
            return ", ".join(each for each in (group.title, program, group.project, count) if each)
        when = "" if hit.created_at_ms is None else formatting.full_time(hit.created_at_ms)
        return ", ".join(each for each in (hit.role.value, when, one_line(hit.snippet)) if each)
