"""What can be imported, and importing it: batch by batch, with progress, pause and cancel."""

import asyncio
import time
from collections.abc import Sequence
from contextlib import ExitStack, aclosing
from pathlib import Path
from typing import NamedTuple

from PySide6.QtCore import QObject, Signal

from app.controllers.described import described
from app.controllers.import_ledger import recorded
from app.controllers.import_words import merged, report_notice, source_outcome
from app.controllers.pace import Pace
from app.dialogs import Dialogs
from app.messages import describe
from app.models.sources import SourcesModel
from app.tasks import TaskScope
from app.views.import_panel import ImportProgress
from app.views.main_window import MainWindow
from core.errors import CoreError
from core.index import health
from core.sources import ingest
from core.sources.detect import found_on_this_machine
from core.sources.downloads import is_export
from core.store.store import Store
from core.types import FoundSource, ImportReport, Progress


class _Before(NamedTuple):
    """How far all was when a place's turn came, and how many of its messages were stored."""

    done_bytes: int
    messages: int
    known: int


class ImportController(QObject):
    """Runs one import at a time; what is asked for meanwhile waits its turn.

    Signals:
        shown: the page of sources is shown.
        progressed: some of the import is stored; carries the state of now.
        finished: nothing is running any more; carries how many messages are new, and whether all
            that was asked for was gone through.
        looked: the places on this machine were looked for.
        place_imported: one was imported that is to be watched; carries its path and kind.
    """

    shown = Signal()
    progressed = Signal(ImportProgress)
    finished = Signal(int, bool)
    looked = Signal()
    place_imported = Signal(str, str)

    def __init__(
        self, store: Store, window: MainWindow, dialogs: Dialogs, tasks: TaskScope
    ) -> None:
        super().__init__(window)
        self._store, self._window = store, window
        self._dialogs, self._tasks = dialogs, tasks
        self._model: SourcesModel = window.models.sources
        self._going = asyncio.Event()
        self._going.set()
        self._done_bytes = self._messages = 0
        self._pace = Pace(time.monotonic())
        self.stored = 0
        view, actions = window.first_run, window.actions_by_name
        view.import_asked.connect(self._on_import_asked)
        view.files_asked.connect(self._on_files_asked)
        view.folder_asked.connect(self._on_folder_asked)
        view.panel.pause_asked.connect(self._on_pause_asked)
        view.panel.cancel_asked.connect(self._on_cancel_asked)
        window.paths_dropped.connect(self.import_paths)
        actions["add_files"].triggered.connect(self._on_files_asked)
        actions["add_folder"].triggered.connect(self._on_folder_asked)
        actions["sources"].triggered.connect(self.show_sources)

    def note_stored(self, messages: int) -> None:
        """Take how many messages the store holds by now, those of earlier imports too."""
        self.stored = messages

    @property
    def running(self) -> bool:
        """Whether an import runs."""
        return self._tasks.running("import")

    def show_sources(self) -> None:
        """Show the page of sources, and look for what is new on this machine."""
        self._window.show_sources()
        self.shown.emit()
        if not self.running:
            self.look()

    def look(self) -> None:
        """Look for places to import from, off this thread."""
        self._window.first_run.show_looking()
        self._tasks.start("look", self._look())

    def import_paths(self, paths: Sequence[Path]) -> None:
        """Add places and import them at once."""
        self._window.show_sources()
        self._tasks.start("add", self._add(tuple(paths)))

    async def _look(self) -> None:
        found = await asyncio.to_thread(found_on_this_machine)
        self._model.replace(found)
        for each in found:
            self._update(each, live=each.importable and not is_export(Path(each.path)))
        self._window.first_run.show_found()
        self.looked.emit()

    async def _add(self, paths: tuple[Path, ...]) -> None:
        found = await asyncio.to_thread(described, paths)
        self._model.add(found)
        for each in found:
            if each.kind and Path(each.path).is_dir():  # a program's own folder
                self._update(each, live=not is_export(Path(each.path)))
        self._window.first_run.show_found()
        if any(each.importable for each in found):
            self._on_import_asked()

    def _on_files_asked(self) -> None:
        self._tasks.start("choose", self._choose(files=True))

    def _on_folder_asked(self) -> None:
        self._tasks.start("choose", self._choose(files=False))

    async def _choose(self, *, files: bool) -> None:
        chosen = self._dialogs.choose_files() if files else self._dialogs.choose_folder()
        paths = await chosen
        if paths:
            self.import_paths(paths)

    # The import

    def _on_import_asked(self) -> None:
        for row in self._model.chosen():
            self._model.update(row, state="waiting", note="", fraction=None)
        self._model.choice_changed.emit()
        if not self.running:
            self._tasks.start("import", self._import())

    def _on_pause_asked(self, pause: bool) -> None:
        if pause:
            self._going.clear()
        else:
            self._going.set()
        self._show_progress()

    def _on_cancel_asked(self) -> None:
        self._tasks.cancel("import")

    async def _import(self) -> None:
        self._going.set()
        self._done_bytes = self._messages = 0
        self._pace = Pace(time.monotonic())
        self._window.first_run.show_importing(True)
        reports: list[ImportReport] = []
        with ExitStack() as at_the_end:
            at_the_end.callback(self._show_ended, reports)
            await self._count_stored()
            while (place := self._next_place()) is not None:
                report = await self._import_place(place, at_the_end)
                if report is not None:
                    reports.append(report)
            self._say_done(reports)

    async def _count_stored(self) -> None:
        """Know what can be searched already: what a stopped import stored last is told late."""
        try:
            status = await self._store.read(health.status, self._store.path)
        except CoreError as error:  # what cannot be counted can hardly be written: that says more
            self._window.message_bar.show_notice(describe(error))
        else:
            self.note_stored(status.messages)

    def _show_ended(self, reports: Sequence[ImportReport]) -> None:
        left = [each for each in self._model.rows() if each.state in ("waiting", "importing")]
        for each in left:
            self._update(each.found, state="ready", note=self.tr("stopped"))
        self._window.first_run.show_importing(False)
        self.finished.emit(sum(report.new for report in reports), not left)

    def _next_place(self) -> FoundSource | None:
        waiting = (row.found for row in self._model.rows() if row.state == "waiting")
        return next(waiting, None)

    async def _import_place(self, place: FoundSource, at_the_end: ExitStack) -> ImportReport | None:
        known = self._model.rows()[self._model.row_of(place.path)].messages or 0
        before = _Before(self._done_bytes, self._messages, known)
        started = time.monotonic()
        self._update(place, state="importing", fraction=0.0, messages=known)
        self._show_progress()
        try:
            paths, kind = [Path(place.path)], place.kind or None
            job = ingest.Import(paths, kind=kind)
            async with (
                recorded(self._store, paths, kind, job.report, at_the_end.close),
                aclosing(ingest.run(self._store, job)) as batches,
            ):
                async for progress in batches:
                    self._note(place, progress, before)
                    await self._pause()
        except CoreError as error:
            self._update(place, state="failed", note=str(error))
            self._window.message_bar.show_notice(describe(error))
            return None
        report = job.report()
        self._done_bytes = before.done_bytes + place.size_bytes
        self._update(place, **source_outcome(report, time.monotonic() - started))
        row = self._model.rows()[self._model.row_of(place.path)]
        if row.live and not row.watch and self._window.first_run.keep.isChecked():
            self.place_imported.emit(place.path, place.kind)
        self._show_progress()
        return report

    async def _pause(self) -> None:
        if not self._going.is_set():
            since = time.monotonic()
            await self._going.wait()
            self._pace.skip(time.monotonic() - since)

    def _note(self, place: FoundSource, progress: Progress, before: _Before) -> None:
        if progress.unit != "bytes":  # all is read and stored; the indexes are being merged
            self._update(place, fraction=1.0)
            return
        fraction = min(1.0, progress.done / progress.total) if progress.total else 0.0
        self._done_bytes = before.done_bytes + round(place.size_bytes * fraction)
        self._messages = before.messages + progress.messages
        self._pace.note(time.monotonic(), self._done_bytes, self._messages)
        self._update(place, fraction=fraction, messages=before.known + progress.messages)
        self._show_progress()

    def _update(self, place: FoundSource, **changes: object) -> None:
        """Change what is shown of a place, wherever in the list it stands by now."""
        row = self._model.row_of(place.path)
        if row >= 0:
            self._model.update(row, **changes)

    def _show_progress(self) -> None:
        active = [
            each
            for each in self._model.rows()
            if each.chosen and each.state in ("waiting", "importing", "imported", "partial")
        ]
        total = sum(each.found.size_bytes for each in active)
        now = ImportProgress(
            sources=max(1, len(active)),
            messages=self._messages,
            done_bytes=min(self._done_bytes, total),
            total_bytes=total,
            rate=self._pace.messages_per_second(),
            left_s=self._pace.left_s(total),
            searchable=max(self.stored, self._messages),
            paused=not self._going.is_set(),
        )
        self._window.first_run.panel.show_progress(now)
        self.progressed.emit(now)

    def _say_done(self, reports: Sequence[ImportReport]) -> None:
        if reports:
            self._window.message_bar.show_notice(report_notice(merged(reports)))
