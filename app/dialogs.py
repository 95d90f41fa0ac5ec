"""Every dialog, opened without a nested event loop: `await` one, never `exec()` it.

A nested loop inside a coroutine leaves the other tasks of the loop suspended for ever.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QDate, QObject, Qt
from PySide6.QtWidgets import (
    QComboBox,
    QDateEdit,
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QFormLayout,
    QVBoxLayout,
    QWidget,
)

from app.views.parts import Link, Text

_SHEET_WIDTH = 460
_PROJECT_CHARS = 200  # as the store takes


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked before something that cannot be undone: with counts, dates and bytes.

    `facts` are lines, `action` the word on the button that does it.
    """

    title: str
    facts: tuple[str, ...]
    action: str


async def opened(dialog: QDialog) -> bool:
    """Show `dialog` window-modal; returns True when it was accepted."""
    done: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    def finish(result: int) -> None:
        if not done.done():
            done.set_result(result == QDialog.DialogCode.Accepted)

    dialog.finished.connect(finish)
    dialog.open()
    try:
        return await done
    finally:
        dialog.deleteLater()


class Dialogs(QObject):
    """Asks the user; tests put an object with the same methods in its place."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._parent = parent

    async def choose_files(self) -> list[Path]:
        """Return the files to import; empty when the user changed their mind."""
        return await self._choose(self.tr("Add files"), QFileDialog.FileMode.ExistingFiles)

    async def choose_folder(self) -> list[Path]:
        """Return the folder to import, as a list; empty when the user changed their mind."""
        return await self._choose(self.tr("Add a folder"), QFileDialog.FileMode.Directory)

    async def choose_days(self, first: QDate, last: QDate) -> tuple[QDate, QDate] | None:
        """Return a first and a last day, both included, or None."""
        dialog = QDialog(self._parent)
        dialog.setWindowTitle(self.tr("Dates"))
        edits = [QDateEdit(day) for day in (first, last)]
        for edit in edits:
            edit.setCalendarPopup(True)
        form = QFormLayout(dialog)
        form.addRow(self.tr("From"), edits[0])
        form.addRow(self.tr("To"), edits[1])
        buttons = QDialogButtonBox(
            QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel
        )
        buttons.accepted.connect(dialog.accept)
        buttons.rejected.connect(dialog.reject)
        form.addRow(buttons)
        if not await opened(dialog):
            return None
        days = sorted((edit.date() for edit in edits), key=QDate.toJulianDay)
        return days[0], days[1]

    async def choose_project(self, now: str, known: Sequence[str]) -> str | None:
        """Return the name of a project, known or typed; '' for the source's own, None for no."""
        dialog = QDialog(self._parent)
        dialog.setWindowTitle(self.tr("Move to a project"))
        field = QComboBox(editable=True)
        field.addItems(list(known))
        field.setCurrentText(now)
        field.setMinimumWidth(_SHEET_WIDTH)
        field.setMaxVisibleItems(12)
        field.setAccessibleName(self.tr("Project"))
        line = field.lineEdit()
        line.setMaxLength(_PROJECT_CHARS)
        line.setPlaceholderText(self.tr("the project of its source"))
        line.selectAll()
        back = Link(self.tr("Back to the project of its source"))
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        move = buttons.addButton(self.tr("Move"), QDialogButtonBox.ButtonRole.AcceptRole)
        move.setDefault(True)
        buttons.accepted.connect(dialog.accept)
        buttons.rejected.connect(dialog.reject)
        back.setAutoDefault(False)
        back.clicked.connect(line.clear)
        back.clicked.connect(dialog.accept)
        column = QVBoxLayout(dialog)
        column.setContentsMargins(24, 20, 24, 16)
        column.setSpacing(8)
        column.addWidget(Text(self.tr("Move to a project"), "head"))
        column.addWidget(Text(self.tr("Choose one, or type a new name."), ink="text2"))
        column.addWidget(field)
        column.addWidget(back, 0, Qt.AlignmentFlag.AlignLeft)
        column.addSpacing(8)
        column.addWidget(buttons)
        field.setFocus()
        return field.currentText() if await opened(dialog) else None

    async def confirm(self, question: Question) -> bool:
        """Return whether the user wants it done; Esc and Cancel, which has the focus, say no."""
        dialog = QDialog(self._parent)
        dialog.setWindowTitle(question.title)
        column = QVBoxLayout(dialog)
        column.setContentsMargins(24, 20, 24, 16)
        column.setSpacing(8)
        column.addWidget(Text(question.title, "head"))
        for fact in question.facts:
            line = Text(fact, ink="text2")
            line.setWordWrap(True)
            line.setMinimumWidth(_SHEET_WIDTH)
            column.addWidget(line)
        column.addSpacing(8)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        go_on = buttons.addButton(question.action, QDialogButtonBox.ButtonRole.AcceptRole)
        go_on.setAutoDefault(False)
        buttons.accepted.connect(dialog.accept)
        buttons.rejected.connect(dialog.reject)
        column.addWidget(buttons)
        cancel = buttons.button(QDialogButtonBox.StandardButton.Cancel)
        cancel.setDefault(True)
        cancel.setFocus()
        return await opened(dialog)

    async def _choose(self, title: str, mode: QFileDialog.FileMode) -> list[Path]:
        dialog = QFileDialog(self._parent, title)
        dialog.setFileMode(mode)
        if mode == QFileDialog.FileMode.Directory:
            dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        if not await opened(dialog):
            return []
        return [Path(name) for name in dialog.selectedFiles()]
