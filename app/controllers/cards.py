"""The cards of maintenance about what is kept: retention, trash, sources, ledger and schedule."""

from PySide6.QtCore import QObject

from app.controllers.imports import ImportController
from app.controllers.jobs import JobsController
from app.controllers.ledger import LedgerController
from app.controllers.retention import RetentionController
from app.controllers.stored_sources import StoredSourcesController
from app.controllers.trash_can import TrashCanController
from app.controllers.undoing import Undoing
from app.dialogs import Dialogs
from app.tasks import TaskScope
from app.view_state import ViewState
from app.views.main_window import MainWindow
from core.store.store import Store


class CardControllers(QObject):
    """One controller for each card, refreshed together when the store changes."""

    def __init__(
        self,
        store: Store,
        window: MainWindow,
        dialogs: Dialogs,
        imports: ImportController,
        undoing: Undoing,
        tasks: TaskScope,
        state: ViewState,
    ) -> None:
        super().__init__(window)
        self.retention = RetentionController(store, window, dialogs, undoing, tasks, state)
        self.trash_can = TrashCanController(store, window, dialogs, tasks)
        self.sources = StoredSourcesController(store, window, imports, tasks)
        self.ledger = LedgerController(store, window, tasks)
        self.jobs = JobsController(store, window, tasks)

    def refresh(self) -> None:
        """Read anew what is shown."""
        for each in (self.retention, self.trash_can, self.sources, self.ledger, self.jobs):
            each.refresh()
