"""The whole ledger as a sheet: page by page, by outcome, with the receipt of each entry."""

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from app import formatting, theme
from app.views.choice_button import ChoiceButton
from app.views.maintenance import operation_words
from app.views.maintenance.list_sheet import Column, ListSheet, Row
from app.views.parts import BADGE_INKS, Button
from core.upkeep_types import Operation, OperationState

_STATES: tuple[OperationState, ...] = ("running", "succeeded", "failed", "pending", "unknown")
_DETAILS_HEIGHT = 118
_FILTER_WIDTH = 220


class LedgerSheet(ListSheet):
    """Shows; never asks.

    Signals:
        states_chosen: show only these outcomes; carries them as a list, all when empty.
        verify_asked: look what came of an operation; carries it.
    """

    states_chosen = Signal(list)
    verify_asked = Signal(object)

    def __init__(self, parent: QWidget) -> None:
        columns = (
            Column(self.tr("Operation")),
            Column(self.tr("By"), 130),
            Column(self.tr("Began"), 110, right=True),
            Column(self.tr("Outcome"), 110),
        )
        super().__init__(self.tr("Operations"), columns, parent)
        self._operations: dict[int, Operation] = {}
        self.filter = ChoiceButton(self.tr("Outcomes"), self.tr("all outcomes"))
        self.filter.setFixedWidth(_FILTER_WIDTH)
        self.filter.show_options([(each, operation_words.look(each).word) for each in _STATES], ())
        self.tools.addWidget(self.filter)
        self.tools.addStretch(1)
        self.details = QPlainTextEdit()
        self.details.setProperty("class", "log")
        self.details.setReadOnly(True)
        self.details.setFixedHeight(_DETAILS_HEIGHT)
        self.details.setFont(theme.code_font("caption"))
        self.details.setTabChangesFocus(True)
        self.details.setAccessibleName(self.tr("Receipt"))
        self.layout().insertWidget(self.layout().count() - 2, self.details)
        self.verify = Button(self.tr("Verify"), icon="verify")
        self.copy = Button(self.tr("Copy"), icon="copy")
        self.add_action(self.verify)
        self.add_action(self.copy)
        self.filter.chosen.connect(self.states_chosen)
        self.verify.clicked.connect(self._on_verify)
        self.copy.clicked.connect(self._on_copy)
        self.table.itemSelectionChanged.connect(self._show_choice)
        self._show_choice()

    def show_operations(self, operations: Sequence[Operation], total: int) -> None:
        """Show the first page of `total` in all, whatever the filter."""
        self._operations = {each.id: each for each in operations}
        words = formatting.counted(
            total, self.tr("%1 operation is kept."), self.tr("%1 operations are kept.")
        )
        self.sentence.show_words(words)
        self.show_rows([self._row(each) for each in operations])
        if operations and not self.chosen():
            self.table.selectRow(0)
        self._show_choice()

    def append_operations(self, operations: Sequence[Operation]) -> None:
        """Show the next page below."""
        self._operations |= {each.id: each for each in operations}
        self.append_rows([self._row(each) for each in operations])

    def last_id(self) -> int | None:
        """Return the number of the oldest operation shown."""
        return min(self._operations, default=None)

    def current(self) -> Operation | None:
        """Return the operation that is chosen, where it is one."""
        chosen = self.chosen()
        return self._operations.get(int(str(chosen[0]))) if len(chosen) == 1 else None

    def _row(self, operation: Operation) -> Row:
        look = operation_words.look(operation.state)
        texts = (
            operation_words.words(operation),
            operation_words.actor(operation.actor),
            formatting.moment(operation.started_at_ms),
            look.word,
        )
        return Row(operation.id, texts, ("", "", "", BADGE_INKS[look.kind]))

    def _show_choice(self) -> None:
        operation = self.current()
        self.details.setPlainText(operation_words.details(operation) if operation else "")
        self.copy.setEnabled(operation is not None)
        can_look = operation is not None and operation.state in ("unknown", "pending")
        self.verify.setEnabled(can_look)

    def _on_verify(self) -> None:
        operation = self.current()
        if operation is not None:
            self.verify_asked.emit(operation)

    def _on_copy(self) -> None:
        QGuiApplication.clipboard().setText(self.details.toPlainText())
