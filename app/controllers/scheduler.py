"""Runs scheduled upkeep while the window is open: one job at a time, behind everything else."""

import asyncio
import time
from collections.abc import Callable
from contextlib import aclosing

from PySide6.QtCore import QObject

from app import formatting
from app.messages import Notice, describe
from app.tasks import TaskScope
from app.views.main_window import MainWindow
from core.errors import CoreError
from core.store.store import Store
from core.types import Progress
from core.upkeep import firing, runs
from core.upkeep_types import Job, Report

SETTLE_S = 10.0
"""How long the window is left alone after its start."""

_LONGEST_S = 60.0  # the clock may be set, and the machine sleep: neither is told to a timer
_SHORTEST_S = 1.0
_BUSY_S = 2.0
_SEARCH_S = 0.2
_REST_S = 0.25
_GAP_S = 30.0
_JUMP_S = 60.0
_BUSY_TASKS = ("import", "search", "search-more", "upkeep")


class SchedulerController(QObject):
    """Wakes for the next job that is due, at most once a minute while there is none.

    A job waits for imports, searches and what the user has done, and rests between its steps.
    Cancelling it, as closing the window does, ends it at a safe point: it stays due, and the
    ledger says so.
    """

    def __init__(
        self,
        store: Store,
        window: MainWindow,
        tasks: TaskScope,
        *,
        clock: Callable[[], float] = time.time,
        settle_s: float | None = None,
    ) -> None:
        super().__init__(window)
        self._store, self._window, self._tasks = store, window, tasks
        self._clock, self._settle_s = clock, SETTLE_S if settle_s is None else settle_s
        self._woken = asyncio.Event()
        self._ahead_s = clock() - time.monotonic()
        self._fired: dict[str, float] = {}
        self._told: set[str] = set()
        self._shows = False
        self._running: Job | None = None

    def start(self) -> None:
        """Put right what programs that died left behind, and begin to run what is due."""
        if self._store.read_only_reason is None:
            self._tasks.start("scheduler", self._run())

    def wake(self) -> None:
        """Look anew when the next job is due: somebody changed the store."""
        self._woken.set()

    def closing_words(self) -> Notice | None:
        """Return what is said while the window closes, None where no job runs."""
        if self._running is None:
            return None
        words = self.tr("It stops at a safe point and is done again later: %1")
        cause = self.tr("Closing as soon as what runs has stopped.")
        return Notice("info", cause, words.replace("%1", self._name(self._running)), "")

    async def _run(self) -> None:
        is_ready = False
        while self._store.read_only_reason is None:
            try:
                if not is_ready:
                    await self._store.write(firing.prepare, now_ms=self._now_ms())
                    is_ready = True
                    await asyncio.sleep(self._settle_s)
                await self._run_due()
                await self._wait()
            except CoreError as error:
                self._tell("scheduler", describe(error))
                is_ready = False  # the end of what ran may not have been kept
                await asyncio.sleep(_LONGEST_S)

    async def _run_due(self) -> None:
        for job in await self._store.read(runs.due, self._now_ms()):
            while any(map(self._tasks.running, _BUSY_TASKS)):
                await asyncio.sleep(_BUSY_S)
            # However the clock is set, and however often: not the same job twice in a breath.
            last_s = self._fired.get(job.id)
            if last_s is None or time.monotonic() - last_s > _GAP_S:
                self._fired[job.id] = time.monotonic()
                await self._fire(job)

    async def _fire(self, job: Job) -> None:
        self._running = job
        try:
            fired = self._store.steps(firing.fire, job, now_ms=self._now_ms)
            async with aclosing(fired) as steps:
                async for step in steps:
                    if isinstance(step, Report):
                        self._report(job, step)
                    else:
                        self._show(job, step)
                    await self._rest()
        finally:
            self._running = None
            self._hide()

    async def _rest(self) -> None:
        """Let others go first between two steps."""
        await asyncio.sleep(_REST_S if self._tasks.running("backfill") else 0)
        while self._tasks.running("search") or self._tasks.running("search-more"):
            await asyncio.sleep(_SEARCH_S)

    async def _wait(self) -> None:
        """Return when the next job is due, the store was changed, or a minute has passed."""
        ahead_s = self._clock() - time.monotonic()
        if abs(ahead_s - self._ahead_s) > _JUMP_S:
            await self._store.write(runs.recover, now_ms=self._now_ms())
        self._ahead_s = ahead_s
        self._woken.clear()
        due_at_ms = await self._store.read(runs.next_due_at_ms)
        left_s = _LONGEST_S if due_at_ms is None else due_at_ms / 1000 - self._clock()
        await asyncio.sleep(_SHORTEST_S)
        try:
            async with asyncio.timeout(min(max(0.0, left_s - _SHORTEST_S), _LONGEST_S)):
                await self._woken.wait()
        except TimeoutError:
            return

    def _now_ms(self) -> int:
        return round(self._clock() * 1000)

    # What is shown

    def _show(self, job: Job, step: Progress) -> None:
        if self._tasks.running("import") or self._tasks.running("backfill"):
            return
        self._shows = True
        fraction = min(1.0, step.done / step.total) if step.total else None
        percent = "" if fraction is None else formatting.percent(fraction)
        self._window.status_bar.show_job(self._name(job), fraction, percent, "")

    def _hide(self) -> None:
        shows, self._shows = self._shows, False
        if shows and not (self._tasks.running("import") or self._tasks.running("backfill")):
            self._window.status_bar.hide_job()

    def _report(self, job: Job, report: Report) -> None:
        if report.facts["status"] != "error":
            self._told.discard(job.id)
            return
        cause = self.tr("Scheduled upkeep went wrong: %1.").replace("%1", self._name(job))
        consequence = self.tr("It is tried again at its next time.")
        self._tell(job.id, Notice("warn", cause, consequence, f"{job.id}: {report.outcome}"))

    def _tell(self, what: str, words: Notice) -> None:
        """Say once what goes wrong; again only after it went well."""
        if what not in self._told:
            self._told.add(what)
            self._window.message_bar.show_notice(words)

    def _name(self, job: Job) -> str:
        names = {
            "trash.expire": self.tr("Emptying the trash"),
            "retention.apply": self.tr("Retention"),
            "purge": self.tr("Erasing"),
            "backup": self.tr("Backup"),
            "optimize": self.tr("Merging indexes"),
            "check": self.tr("Check"),
        }
        return names.get(job.kind, job.kind)
