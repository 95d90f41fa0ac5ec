"""The two pages of help: the keys, and what this program is made of."""

import platform
import sys
from importlib import metadata

from PySide6.QtCore import Qt, qVersion
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QGridLayout,
    QHBoxLayout,
    QVBoxLayout,
    QWidget,
)

from app.views.actions import sheet
from app.views.field_words import fields
from app.views.parts import Text

_COLUMNS = 3
_HEAD = 30
_PACKAGES = ("PySide6_Essentials", "apsw", "qasync", "markdown-it-py", "Pygments")


class _Sheet(QDialog):
    def __init__(self, title: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(title)
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(24, 20, 24, 16)
        self.column.setSpacing(16)
        self.column.addWidget(Text(title, "title"))

    def _close_row(self) -> None:
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        self.column.addWidget(buttons)


class ShortcutSheet(_Sheet):
    """All keys by menu, then what a query can be written with, in columns."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(self.tr("Keyboard shortcuts"), parent)
        columns = QHBoxLayout()
        columns.setSpacing(48)
        grids = [QGridLayout() for _ in range(_COLUMNS)]
        for grid in grids:
            grid.setHorizontalSpacing(24)
            grid.setVerticalSpacing(6)
            side = QVBoxLayout()
            side.addLayout(grid)
            side.addStretch(1)
            columns.addLayout(side)
        parts = {
            **sheet(),
            self.tr("In the search field"): self._field_keys(),
            self.tr("In lists"): self._list_keys(),
            self.tr("Fields of a query"): fields(),
        }
        for menu, rows in parts.items():
            grid = min(grids, key=QGridLayout.rowCount)
            start = grid.rowCount()
            head = Text(menu, "caption", "text2", bold=True)
            grid.addWidget(head, start, 0, 1, 2, Qt.AlignmentFlag.AlignBottom)
            grid.setRowMinimumHeight(start, _HEAD)
            for n, (words, keys) in enumerate(rows, start + 1):
                grid.addWidget(Text(words), n, 0)
                grid.addWidget(Text(keys, ink="text2"), n, 1)
        self.column.addLayout(columns)
        self._close_row()

    def _list_keys(self) -> list[tuple[str, str]]:
        return [
            (self.tr("Open and go there"), "Enter"),
            (self.tr("Fold or unfold a conversation's hits"), "Space"),
            (self.tr("Rename a saved search"), "F2"),
            (self.tr("Remove a saved or recent search"), "Delete"),
        ]

    def _field_keys(self) -> list[tuple[str, str]]:
        return [
            (self.tr("Search at once"), "Enter"),
            (self.tr("Take the completion"), "Tab"),
            (self.tr("Into the completions, else to the list"), "Down"),
            (self.tr("Empty: saved and recent searches"), "Down"),
            (self.tr("Close the completions, else clear the search"), "Esc"),
        ]


class AboutSheet(_Sheet):
    """Versions and licences."""

    def __init__(self, parent: QWidget, sqlite_version: str) -> None:
        super().__init__("Backscroll", parent)
        lines = [
            self.tr("Look back through your own conversations with AI agents."),
            self.tr("Licensed under MIT. Qt is used under the LGPL 3."),
            "",
            f"Python {platform.python_version()}, {sys.platform}",
            f"Qt {qVersion()}",
        ]
        if sqlite_version:
            lines.append(f"SQLite {sqlite_version}")
        lines += [f"{name} {version}" for name, version in _versions()]
        text = Text("\n".join(lines), ink="text2")
        text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.column.addWidget(text)
        self._close_row()


def _versions() -> list[tuple[str, str]]:
    found = []
    for name in _PACKAGES:
        try:
            found.append((name, metadata.version(name)))
        except metadata.PackageNotFoundError:
            continue
    return found
