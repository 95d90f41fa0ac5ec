"""Scheduled jobs in the window: which come next, and pausing them."""

import time
from collections.abc import Sequence

import apsw
from PySide6.QtCore import QObject, QTimer

from app.messages import describe
from app.tasks import TaskScope
from app.views.main_window import MainWindow
from app.views.maintenance.jobs_sheet import JobsSheet
from core.errors import CoreError
from core.store.store import Store
from core.upkeep import schedule

_SETTLE_MS = 200
_TICK_MS = 30_000  # "in 12 min" has to become "in 11 min"


class JobsController(QObject):
    """Shows the schedule in the card of operations and in its sheet."""

    def __init__(self, store: Store, window: MainWindow, tasks: TaskScope) -> None:
        super().__init__(window)
        self._store, self._window, self._tasks = store, window, tasks
        self._card = window.maintenance.operations
        self.sheet: JobsSheet | None = None
        self._settles = QTimer(self, singleShot=True, interval=_SETTLE_MS)
        self._settles.timeout.connect(lambda: tasks.start("jobs", self._read()))
        self._tick = QTimer(self, interval=_TICK_MS)
        self._tick.timeout.connect(self.refresh)
        self._tick.start()
        self._card.jobs_asked.connect(self.open)
        window.maintenance_shown.connect(lambda shown: shown and self.refresh())

    def refresh(self) -> None:
        """Read the schedule anew, soon, where it is shown."""
        if self._window.on_maintenance():
            self._settles.start()

    async def _read(self) -> None:
        try:
            jobs = await self._store.read(schedule.jobs)
        except CoreError as error:
            self._card.message.show_notice(describe(error))
            return
        now_ms = time.time_ns() // 1_000_000
        self._card.show_jobs(jobs, now_ms)
        if self.sheet is not None:
            self.sheet.show_jobs(jobs, now_ms)

    def open(self) -> None:
        """Show every job."""
        if self.sheet is None:
            sheet = self.sheet = JobsSheet(self._window)
            sheet.pause_asked.connect(lambda ids: self._on_asked(ids, paused=True))
            sheet.resume_asked.connect(lambda ids: self._on_asked(ids, paused=False))
            sheet.finished.connect(self._on_closed)
            sheet.open()
        self._tasks.start("jobs", self._read())

    def _on_closed(self) -> None:
        self.sheet = None

    def _on_asked(self, ids: Sequence[str], *, paused: bool) -> None:
        self._tasks.start("jobs-pause", self._set_paused(tuple(ids), paused))

    async def _set_paused(self, ids: tuple[str, ...], paused: bool) -> None:
        try:
            await self._store.write(_set_all, ids, paused)
        except CoreError as error:
            self._card.message.show_notice(describe(error))
        await self._read()


def _set_all(db: apsw.Connection, ids: tuple[str, ...], paused: bool) -> None:
    for each in ids:
        schedule.set_paused(db, each, paused)
