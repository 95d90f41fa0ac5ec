"""The card of sources: what the store says of each, and what else was found on this machine."""

import asyncio
from collections.abc import Sequence

import apsw
from PySide6.QtCore import QObject, Qt, QTimer

from app.controllers.imports import ImportController
from app.messages import describe
from app.tasks import TaskScope
from app.views.import_panel import ImportProgress
from app.views.main_window import MainWindow
from app.views.maintenance import source_words
from app.views.maintenance.list_sheet import Column, ListSheet, Row
from core.errors import CoreError
from core.history import known_sources, sources
from core.source_types import KnownSource
from core.sources.detect import found_on_this_machine
from core.store.store import Store
from core.types import FoundSource
from core.upkeep_types import SourceState

_SETTLE_MS = 300


class StoredSourcesController(QObject):
    """Keeps the card true while the page is shown, an import included."""

    def __init__(
        self, store: Store, window: MainWindow, imports: ImportController, tasks: TaskScope
    ) -> None:
        super().__init__(window)
        self._store, self._window = store, window
        self._tasks = tasks
        self._card = window.maintenance.sources
        self._found: tuple[FoundSource, ...] = ()
        self._states: tuple[SourceState, ...] = ()
        self._settles = QTimer(self, singleShot=True, interval=_SETTLE_MS)
        self._settles.timeout.connect(lambda: tasks.start("stored-sources", self._read()))
        window.maintenance_shown.connect(self._on_shown)
        imports.progressed.connect(self._on_progressed)
        imports.finished.connect(self._on_finished)
        self._card.import_asked.connect(imports.show_sources)
        self._card.look_asked.connect(self.look)
        self._card.troubles_asked.connect(self._on_troubles_asked)
        self._card.unknown_asked.connect(self._on_unknown_asked)

    def refresh(self) -> None:
        """Read the sources anew, soon, if the page is shown."""
        if self._window.on_maintenance():
            self._settles.start()

    def look(self) -> None:
        """Look for places to import from, off this thread."""
        self._card.look.setEnabled(False)
        self._tasks.start("look-for-sources", self._look())

    def _on_shown(self, shown: bool) -> None:
        if shown:
            self.refresh()
            self.look()

    async def _look(self) -> None:
        try:
            self._found = tuple(await asyncio.to_thread(found_on_this_machine))
        finally:
            self._card.look.setEnabled(True)
        await self._read()

    async def _read(self) -> None:
        try:
            self._states, known = await self._store.read(_states)
        except CoreError as error:
            self._card.message.show_notice(describe(error))
            return
        self._card.show_sources(source_words.shown(self._states, self._found, known))

    def _on_progressed(self, now: ImportProgress) -> None:
        self._card.show_import(now)

    def _on_finished(self, _new: int) -> None:
        self._card.show_import(None)  # one that was asked for meanwhile tells of itself
        self.refresh()

    # What went wrong

    def _on_troubles_asked(self) -> None:
        rows = [
            (f"{each.path}:{each.line}" if each.line else each.path, each.reason)
            for state in self._states
            for each in state.troubles
        ]
        self._show(self.tr("What could not be read"), self.tr("Place"), rows)

    def _on_unknown_asked(self) -> None:
        rows = [
            (f"{source_words.name(state)}: {kind}", str(count))
            for state in self._states
            for kind, count in sorted(state.unknown_records.items())
        ]
        self._show(self.tr("Records of kinds not known yet"), self.tr("Kind"), rows)

    def _show(self, title: str, first: str, rows: Sequence[tuple[str, str]]) -> None:
        second = self.tr("Reason") if first == self.tr("Place") else self.tr("Records")
        is_number = second == self.tr("Records")
        width = 110 if is_number else 0
        columns = (Column(first), Column(second, width, right=is_number))
        sheet = ListSheet(title, columns, self._window)
        sheet.table.setTextElideMode(Qt.TextElideMode.ElideMiddle)  # names of files are at the end
        words = self.tr("What could be read is kept; the files are as they were.")
        sheet.sentence.show_words(words)
        sheet.show_rows([Row(n, texts) for n, texts in enumerate(rows)])
        sheet.open()


def _states(db: apsw.Connection) -> tuple[tuple[SourceState, ...], tuple[KnownSource, ...]]:
    return sources.states(db), known_sources.known(db)
