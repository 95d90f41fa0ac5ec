"""Brings indexes that are not whole to completeness, in the background, and shows how far."""

import time
from contextlib import aclosing

from PySide6.QtCore import QObject

from app import formatting
from app.controllers.pace import Pace
from app.messages import describe
from app.tasks import TaskScope
from app.views.main_window import MainWindow
from core.errors import CoreError
from core.index import backfill, state
from core.store.store import Store
from core.types import IndexName, Progress, StoreStatus


class BackfillController(QObject):
    """Starts by itself when the status shows work to do, and after any interruption."""

    def __init__(self, store: Store, window: MainWindow, tasks: TaskScope) -> None:
        super().__init__(window)
        self._store, self._window, self._tasks = store, window, tasks

    def consider(self, status: StoreStatus) -> None:
        """Begin when an index of `status` is not whole and nothing else writes much."""
        idle = not self._tasks.running("import") and not self._tasks.running("backfill")
        writable = self._store.read_only_reason is None
        if idle and writable and not all(each.state == "ready" for each in status.indexes):
            self._tasks.start("backfill", self._run())

    async def _run(self) -> None:
        try:
            names = await self._store.read(backfill.unfinished)
            for name in names:
                await self._run_one(name)
        except CoreError as error:
            self._window.message_bar.show_notice(describe(error))
        finally:
            if not self._tasks.running("import"):
                self._window.status_bar.hide_job()

    async def _run_one(self, name: IndexName) -> None:
        pace = Pace(time.monotonic())
        steps = backfill.run(self._store, state.new_holder(), (name,), waits=True)
        async with aclosing(steps) as batches:
            async for progress in batches:
                pace.note(time.monotonic(), progress.done, progress.done)
                if not self._tasks.running("import"):
                    self._show(name, progress, pace)

    def _show(self, name: IndexName, progress: Progress, pace: Pace) -> None:
        names = {
            "messages_fts": self.tr("Word index"),
            "messages_fts_trigram": self.tr("Trigram index"),
            "messages_fts_cjk": self.tr("CJK index"),
        }
        total = progress.total or 0
        fraction = progress.done / total if total else 1.0
        left_s = pace.left_s(total) if fraction < 1 else None
        left = "" if left_s is None else formatting.remaining(left_s)
        self._window.status_bar.show_job(names[name], fraction, formatting.percent(fraction), left)
