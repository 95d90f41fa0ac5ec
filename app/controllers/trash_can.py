"""The sheet of the trash: bringing back what is chosen, and emptying it."""

from collections.abc import Sequence
from contextlib import aclosing

import apsw
from PySide6.QtCore import QObject

from app import formatting
from app.dialogs import Dialogs, Question
from app.messages import describe
from app.tasks import TaskScope
from app.views.main_window import MainWindow
from app.views.maintenance import retention_words
from app.views.maintenance.trash_panel import TrashKey, TrashPanel
from core.errors import CoreError
from core.store.store import Store
from core.types import Progress
from core.upkeep import trash
from core.upkeep_types import Report, Trash

_LISTED = 1_000


class TrashCanController(QObject):
    """Opens the sheet of the trash and keeps it true while it is open."""

    def __init__(
        self, store: Store, window: MainWindow, dialogs: Dialogs, tasks: TaskScope
    ) -> None:
        super().__init__(window)
        self._store, self._window = store, window
        self._dialogs, self._tasks = dialogs, tasks
        self.panel: TrashPanel | None = None
        window.maintenance.retention.trash_asked.connect(self.open)
        window.actions_by_name["show_trash"].triggered.connect(self.open)

    def open(self) -> None:
        """Show what is in the trash."""
        if self.panel is None:
            panel = self.panel = TrashPanel(self._window)
            panel.restore_asked.connect(self._on_restore_asked)
            panel.empty_asked.connect(self._on_empty_asked)
            panel.finished.connect(self._on_closed)
            panel.open()
        self.refresh()

    def refresh(self) -> None:
        """Read the trash anew, if the sheet is open."""
        if self.panel is not None:
            self._tasks.start("trash-can", self._read())

    async def _read(self) -> None:
        try:
            held = await self._store.read(trash.contents, limit=_LISTED)
        except CoreError as error:
            self._tell(error)
            return
        if self.panel is not None:
            self.panel.show_trash(held)

    def _on_closed(self) -> None:
        self.panel = None

    def _tell(self, error: CoreError) -> None:
        if self.panel is not None:
            notice = describe(error)
            self.panel.show_failure(f"{notice.cause} {notice.consequence} {error}")
        else:
            self._window.message_bar.show_notice(describe(error))

    # Bringing back

    def _on_restore_asked(self, keys: Sequence[TrashKey]) -> None:
        if keys and not self._tasks.running("trash-restore"):
            self._tasks.start("trash-restore", self._restore(tuple(keys)))

    async def _restore(self, keys: tuple[TrashKey, ...]) -> None:
        try:
            await self._store.write(_bring_back, keys)
        except CoreError as error:
            self._tell(error)
            return
        await self._read()

    # Emptying

    def _on_empty_asked(self) -> None:
        if not self._tasks.running("trash-empty"):
            self._tasks.start("trash-empty", self._empty())

    async def _empty(self) -> None:
        try:
            held = await self._store.read(trash.contents, limit=_LISTED)
            if not held.total or not await self._dialogs.confirm(self._question(held)):
                return
            async with aclosing(self._store.steps(trash.empty, "you")) as steps:
                async for each in steps:
                    self._show_progress(each)
        except CoreError as error:
            self._tell(error)
            return
        await self._read()

    def _show_progress(self, each: Progress | Report) -> None:
        if self.panel is None:
            return
        if isinstance(each, Progress) and each.total:
            self.panel.show_deleting(each.done / each.total)

    def _question(self, held: Trash) -> Question:
        amount = (
            retention_words.trash_amount(held),
            retention_words.messages(held.messages),
            formatting.size(held.bytes),
        )
        times = [each.trashed_at_ms for each in held.items]
        first, last = formatting.full_time(min(times)), formatting.full_time(max(times))
        since = self.tr("Thrown away between %1 and %2.")
        if first == last:
            since = self.tr("Thrown away %1.")
        since = since.replace("%1", first).replace("%2", last)
        return Question(
            self.tr("Empty the trash?"),
            (
                ", ".join(dict.fromkeys(amount)),
                since,
                self.tr("This cannot be undone, and no import brings any of it back."),
                self.tr("The bytes leave the files of the store with the next erase."),
            ),
            self.tr("Empty the trash"),
        )


def _bring_back(db: apsw.Connection, keys: tuple[TrashKey, ...]) -> None:
    """Bring all of it back in the caller's transaction, or, when one is gone, nothing."""
    sessions = [trash.session_in_trash(db, key.session) for key in keys if key.message is None]
    if sessions:
        trash.restore_sessions(db, sessions, "you")
    for key in keys:
        if key.message is not None and key.operation_id is not None:
            trash.undo(db, key.operation_id, "you")
