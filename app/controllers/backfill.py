"""Brings indexes that are not whole to completeness, in the background, and shows how far."""

import asyncio
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
from core.types import INDEX_NAMES, IndexName, Progress, StoreStatus


class BackfillController(QObject):
    """Starts by itself when the status shows work to do, and after any interruption."""

    def __init__(self, store: Store, window: MainWindow, tasks: TaskScope) -> None:
        super().__init__(window)
        self._store, self._window, self._tasks = store, window, tasks
        self._hurried: set[IndexName] = set()
        self._one_at_a_time = asyncio.Lock()
        self._current: IndexName | None = None

    def works_on(self, name: IndexName) -> bool:
        """Tell whether this program fills this index at the moment."""
        return self._current == name

    def is_hurried(self, name: IndexName) -> bool:
        """Tell whether this index is done without pauses, before the others."""
        return name in self._hurried

    def hurry(self, name: IndexName) -> None:
        """Do this index now: before the others, without pauses, also where it was stopped."""
        if self._store.read_only_reason is None:
            self._hurried.add(name)
            self._tasks.start("backfill", self._run())  # what runs may be resting

    def calm(self, name: IndexName) -> None:
        """Take `hurry` back."""
        self._hurried.discard(name)

    def consider(self, status: StoreStatus) -> None:
        """Begin when an index of `status` is not whole and nothing else writes much."""
        idle = not self._tasks.running("import") and not self._tasks.running("backfill")
        writable = self._store.read_only_reason is None
        if idle and writable and not all(each.state == "ready" for each in status.indexes):
            self._tasks.start("backfill", self._run())

    async def _run(self) -> None:
        async with self._one_at_a_time:  # one that was cancelled lets go of the work first
            await self._fill()

    async def _fill(self) -> None:
        try:
            done: set[IndexName] = set()
            while (name := await self._next(done)) is not None:
                if await self._run_one(name):
                    done.add(name)
                    self._hurried.discard(name)
        except CoreError as error:
            self._hurried.clear()
            self._window.message_bar.show_notice(describe(error))
        finally:
            self._current = None
            if not self._tasks.running("import"):
                self._window.status_bar.hide_job()

    async def _next(self, done: set[IndexName]) -> IndexName | None:
        """Return what is to be filled next: what is hurried goes before the others."""
        hurried = tuple(name for name in INDEX_NAMES if name in self._hurried)
        names = await self._store.read(backfill.unfinished, hurried, now=True)
        names += await self._store.read(backfill.unfinished)
        return next((name for name in names if name not in done), None)

    async def _run_one(self, name: IndexName) -> bool:
        """Fill one index; return whether there is no more to do, or False to go on otherwise."""
        pace, now = Pace(time.monotonic()), name in self._hurried
        self._current = name
        holder = state.new_holder()
        steps = backfill.run(self._store, holder, (name,), now=now, waits=not now)
        async with aclosing(steps) as batches:
            async for progress in batches:
                if now and name not in self._hurried:
                    return False
                pace.note(time.monotonic(), progress.done, progress.done)
                if not self._tasks.running("import"):
                    self._show(name, progress, pace)
        return True

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
