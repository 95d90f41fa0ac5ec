"""The ledger in the window: the latest operations, all of them, and looking what became of one."""

import apsw
from PySide6.QtCore import QObject, QTimer

from app.messages import describe
from app.tasks import TaskScope
from app.views.main_window import MainWindow
from app.views.maintenance.ledger_sheet import LedgerSheet
from app.views.maintenance.operations_card import SHOWN
from core.errors import CoreError
from core.store.store import Store
from core.upkeep import ledger, operations
from core.upkeep_types import Operation, OperationState

PAGE = 100
_SETTLE_MS = 200


class LedgerController(QObject):
    """Fills the card of operations and its sheet; looks, never repeats anything."""

    def __init__(self, store: Store, window: MainWindow, tasks: TaskScope) -> None:
        super().__init__(window)
        self._store, self._window, self._tasks = store, window, tasks
        self._card = window.maintenance.operations
        self.sheet: LedgerSheet | None = None
        self._states: tuple[OperationState, ...] = ()
        self._is_whole = False
        self._settles = QTimer(self, singleShot=True, interval=_SETTLE_MS)
        self._settles.timeout.connect(lambda: tasks.start("ledger", self._read()))
        self._card.all_asked.connect(self.open)
        self._card.verify_asked.connect(self._on_verify_asked)
        window.maintenance_shown.connect(lambda shown: shown and self.refresh())

    def refresh(self) -> None:
        """Read the ledger anew, soon, where it is shown."""
        if self._window.on_maintenance():
            self._settles.start()

    async def _read(self) -> None:
        try:
            latest, total = await self._store.read(_latest, SHOWN, ())
            self._card.show_operations(latest, total)
            if self.sheet is not None:
                shown = max(PAGE, self.sheet.table.rowCount())
                page, total = await self._store.read(_latest, shown, self._states)
                if self.sheet is not None:
                    self._is_whole = len(page) < shown
                    self.sheet.show_operations(page, total)
        except CoreError as error:
            self._card.message.show_notice(describe(error))

    def open(self) -> None:
        """Show the whole ledger."""
        if self.sheet is None:
            self._states = ()
            sheet = self.sheet = LedgerSheet(self._window)
            sheet.states_chosen.connect(self._on_states_chosen)
            sheet.more_wanted.connect(self._on_more_wanted)
            sheet.verify_asked.connect(self._on_verify_asked)
            sheet.finished.connect(self._on_closed)
            sheet.open()
        self._tasks.start("ledger", self._read())

    def _on_closed(self) -> None:
        self.sheet = None

    def _on_states_chosen(self, states: list[OperationState]) -> None:
        self._states = tuple(states)
        self._tasks.start("ledger", self._read())

    def _on_more_wanted(self) -> None:
        if not self._is_whole and not self._tasks.running("ledger-more"):
            self._tasks.start("ledger-more", self._read_more())

    async def _read_more(self) -> None:
        before = self.sheet.last_id() if self.sheet is not None else None
        if before is None:
            return
        try:
            page = await self._store.read(
                ledger.listing, limit=PAGE, before=before, states=self._states
            )
        except CoreError as error:
            self._card.message.show_notice(describe(error))
            return
        self._is_whole = len(page) < PAGE
        if self.sheet is not None:
            self.sheet.append_operations(page)

    # Looking

    def _on_verify_asked(self, operation: Operation) -> None:
        self._tasks.start(f"verify-{operation.id}", self._verify(operation.id))

    async def _verify(self, operation_id: int) -> None:
        try:
            found = await self._store.write(operations.verify, operation_id, "you")
        except CoreError as error:
            self._card.message.show_notice(describe(error))
        else:
            self._card.tell(found)
        await self._read()


def _latest(
    db: apsw.Connection, limit: int, states: tuple[OperationState, ...]
) -> tuple[tuple[Operation, ...], int]:
    """Return the latest operations in these states, and how many there are in all."""
    return ledger.listing(db, limit=limit, states=states), ledger.total(db)
