"""Reads what is new at the watched places, as long as the window is open, and tells how it goes."""

import asyncio
import logging
import time
from contextlib import aclosing

from PySide6.QtCore import QObject, Signal

from app import formatting
from app.controllers.imports import ImportController
from app.controllers.status import StatusController
from app.tasks import TaskScope
from app.views.main_window import MainWindow
from core.errors import CoreError
from core.history import watched
from core.source_types import Noticed, WatchState
from core.sources import watching
from core.store.store import Store
from core.types import Progress

_AGAIN_S = 30.0
_LONG_S = 1.0  # a reading that takes longer is shown
_log = logging.getLogger(__name__)


class WatchingController(QObject):
    """Watches for as long as no other program does.

    Signals:
        changed: how the places are watched is other than before.
        noticed: something new was read; carries what it came to.
    """

    changed = Signal()
    noticed = Signal(object)

    def __init__(
        self,
        store: Store,
        window: MainWindow,
        imports: ImportController,
        status: StatusController,
        tasks: TaskScope,
    ) -> None:
        super().__init__(window)
        self._store, self._window, self._imports = store, window, imports
        self._status, self._tasks = status, tasks
        self._wake = asyncio.Event()
        self._since: float | None = None
        self.state = WatchState()
        imports.finished.connect(self._wake.set)
        imports.place_imported.connect(self._on_place_imported)

    def start(self) -> None:
        """Begin to watch, where the store can be written."""
        if self._store.read_only_reason is None:
            self._tasks.start("watching", self._run())

    def look_again(self) -> None:
        """Look at once which places are to be watched."""
        self._wake.set()

    async def _run(self) -> None:
        while True:
            told = watching.watch(
                self._store,
                "window",
                self._wake,
                lambda: not self._imports.running,
                self._on_progress,
            )
            try:
                async with aclosing(told) as found:
                    async for each in found:
                        self._take(each)
            except CoreError as error:
                _log.warning("watching ended, and is begun again: %s", error)
                self._take(WatchState())
            await asyncio.sleep(_AGAIN_S)

    def _take(self, told: WatchState | Noticed) -> None:
        if isinstance(told, WatchState):
            self.state = told
            self._status.show_watching(self.words())
            self.changed.emit()
            return
        self._end_progress()
        if told.trouble or (told.report is not None and told.report.files):
            self.noticed.emit(told)

    def _on_progress(self, now: Progress) -> None:
        """Show at the foot of the window how far a reading is that takes long."""
        at = time.monotonic()
        if self._since is None:
            self._since = at
        took_s = at - self._since
        if took_s < _LONG_S or self._imports.running:
            return
        fraction = min(1.0, now.done / now.total) if now.total else 0.0
        left = formatting.remaining(took_s * (1 - fraction) / fraction) if fraction else ""
        name, percent = self.tr("Reading what is new"), formatting.percent(fraction)
        self._window.status_bar.show_job(name, fraction, percent, left)

    def _end_progress(self) -> None:
        was_long = self._since is not None and time.monotonic() - self._since >= _LONG_S
        self._since = None
        if was_long and not self._imports.running:
            self._window.status_bar.hide_job()

    def words(self) -> str:
        """Return what the foot of the window says: how many places are watched, '' for none."""
        count = self.state.watching
        if not count:
            return ""
        if self.state.held_by is not None:
            return formatting.counted(
                count,
                self.tr("%1 source watched by another program"),
                self.tr("%1 sources watched by another program"),
            )
        return formatting.counted(
            count, self.tr("watching %1 source"), self.tr("watching %1 sources")
        )

    def _on_place_imported(self, path: str, kind: str) -> None:
        """Keep watching a place where its program goes on writing, once it was imported."""
        self._tasks.start(f"keep {path}", self._keep(path, kind))

    async def _keep(self, path: str, kind: str) -> None:
        try:
            await self._store.write(watched.watch, path, kind)
        except CoreError as error:
            _log.warning("%s is not watched: %s", path, error)
        self._wake.set()
