"""The places history can be imported from, what is chosen, and how far each import has come."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from PySide6.QtCore import QAbstractListModel, QModelIndex, QPersistentModelIndex, Qt, Signal

from app import formatting
from app.text_ranges import plain_tooltip
from core.types import FoundSource

Index = QModelIndex | QPersistentModelIndex
NO_INDEX = QModelIndex()

State = Literal["ready", "waiting", "importing", "imported", "partial", "failed", "unreadable"]
Watch = Literal["", "on", "paused", "missing"]
CHOOSABLE: frozenset[State] = frozenset({"ready", "imported", "partial", "failed"})


@dataclass(frozen=True, slots=True)
class SourceRow:
    """One place. `fraction` is how much of it has been read, None while that is not known.

    `watch` tells whether what is new there is read by itself, `watch_note` how if not as usual;
    `live` that its program goes on writing there. `read_at_ms` is when it was read last, and
    `trouble` what of it could not be. `source` names what the store has of it, '' for nothing.
    """

    found: FoundSource
    state: State
    chosen: bool
    messages: int | None = None
    sessions: int | None = None
    fraction: float | None = None
    note: str = ""
    watch: Watch = ""
    watch_note: str = ""
    live: bool = False
    read_at_ms: int | None = None
    trouble: str = ""
    source: str = ""

    @property
    def was_read(self) -> bool:
        """Whether all of it was read before, just now or at another time; no import stopped."""
        is_known = self.state == "ready" and self.read_at_ms is not None and not self.note
        return is_known or self.state in ("imported", "partial")


class SourcesModel(QAbstractListModel):
    """Holds the places it is given; fetches nothing itself.

    Signals:
        choice_changed: a place was chosen or left out.
    """

    RowRole = Qt.ItemDataRole.UserRole + 1
    choice_changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._rows: list[SourceRow] = []

    def replace(self, found: Sequence[FoundSource]) -> None:
        """Show the places found, then those that were added; what is known of a place stays.

        A place that is new and can be imported is chosen.
        """
        known = {row.found.path: row for row in self._rows}
        self.beginResetModel()
        rows = {each.path: known.get(each.path) or self._fresh(each) for each in found}
        self._rows = list(
            (rows | {path: known[path] for path in known if path not in rows}).values()
        )
        self.endResetModel()
        self.choice_changed.emit()

    def add(self, found: Sequence[FoundSource]) -> None:
        """Add places below; one that is listed already is only chosen."""
        for each in found:
            row = self.row_of(each.path)
            if row >= 0:
                self.update(row, chosen=self._rows[row].state in CHOOSABLE)
                continue
            self.beginInsertRows(NO_INDEX, len(self._rows), len(self._rows))
            self._rows.append(self._fresh(each))
            self.endInsertRows()
        self.choice_changed.emit()

    def rows(self) -> tuple[SourceRow, ...]:
        """Return all places in order."""
        return tuple(self._rows)

    def row_of(self, path: str) -> int:
        """Return the row of a place, or -1."""
        return next((n for n, each in enumerate(self._rows) if each.found.path == path), -1)

    def chosen(self) -> list[int]:
        """Return the rows that an import would read now: those not read whole, else all chosen."""
        able = [n for n, each in enumerate(self._rows) if each.chosen and each.state in CHOOSABLE]
        return [n for n in able if self._rows[n].state != "imported"] or able

    def update(self, row: int, **changes: object) -> None:
        """Change fields of one place."""
        changed = replace(self._rows[row], **changes)  # type: ignore[arg-type]
        if changed == self._rows[row]:
            return
        self._rows[row] = changed
        index = self.index(row)
        self.dataChanged.emit(index, index)

    def toggle(self, row: int) -> None:
        """Choose a place or leave it out; one that cannot be imported stays left out."""
        if self._rows[row].state in CHOOSABLE:
            self.update(row, chosen=not self._rows[row].chosen)
            self.choice_changed.emit()

    @staticmethod
    def _fresh(found: FoundSource) -> SourceRow:
        state: State = "ready" if found.importable else "unreadable"
        return SourceRow(
            found, state, found.importable, sessions=found.sessions, note=found.reason or ""
        )

    # QAbstractItemModel

    def rowCount(self, parent: Index = NO_INDEX) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def flags(self, index: Index) -> Qt.ItemFlag:
        if not index.isValid():
            return Qt.ItemFlag.NoItemFlags
        flags = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
        return flags | Qt.ItemFlag.ItemIsUserCheckable

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid() or index.row() >= len(self._rows):
            return None
        row = self._rows[index.row()]
        if role == self.RowRole:
            return row
        if role == Qt.ItemDataRole.DisplayRole:
            return row.found.name
        if role == Qt.ItemDataRole.CheckStateRole:
            return Qt.CheckState.Checked if row.chosen else Qt.CheckState.Unchecked
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tooltip(row.trouble or row.watch_note or row.note or row.found.path)
        if role == Qt.ItemDataRole.AccessibleTextRole:
            size = formatting.size(row.found.size_bytes)
            parts = (row.found.name, row.found.path, size, row.state, row.note)
            watch = {"": "", "on": self.tr("watched"), "paused": self.tr("watching is paused")}
            told = watch.get(row.watch, self.tr("not there now"))
            return ", ".join(each for each in (*parts, told, row.trouble) if each)
        return None

    def setData(self, index: Index, value: object, role: int = Qt.ItemDataRole.EditRole) -> bool:
        if not index.isValid() or role != Qt.ItemDataRole.CheckStateRole:
            return False
        if self._rows[index.row()].chosen != (value == Qt.CheckState.Checked):
            self.toggle(index.row())
        return True
