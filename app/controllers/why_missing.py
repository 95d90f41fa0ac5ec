"""Why a conversation is not seen: asks the store, then the files, and does what is offered."""

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.messages import describe
from app.tasks import TaskScope
from app.views.main_window import MainWindow
from app.views.why_sheet import WhySheet
from core.errors import CoreError
from core.source_types import AbsenceFinding
from core.sources import absence
from core.store.store import Store


class WhyMissingController(QObject):
    """One question at a time; the sheet stays until it is closed.

    Signals:
        session_asked: open this conversation; carries its row.
        import_asked: import these paths.
        watch_asked: watch this place; carries its path.
    """

    session_asked = Signal(int)
    import_asked = Signal(list)
    watch_asked = Signal(str)

    def __init__(self, store: Store, window: MainWindow, tasks: TaskScope) -> None:
        super().__init__(window)
        self._store, self._window, self._tasks = store, window, tasks
        self.sheet: WhySheet | None = None
        self._stopped = False
        window.first_run.why_asked.connect(self.ask)
        window.zero_hits.why_asked.connect(self.ask)
        window.actions_by_name["why_missing"].triggered.connect(lambda: self.ask(""))

    def ask(self, text: str) -> None:
        """Show the sheet, and look for a text at once where one is given."""
        if self.sheet is None:
            self.sheet = WhySheet(self._window)
            self.sheet.asked.connect(self.ask)
            self.sheet.acted.connect(self._on_acted)
            self.sheet.finished.connect(self._on_closed)
            self.sheet.open()
            self.sheet.field.setFocus()
        if text:
            self.sheet.show_looking(text)
            self._tasks.start("why-missing", self._look(text))

    async def _look(self, text: str) -> None:
        began, stop = time.monotonic(), asyncio.Event()
        try:
            stored = await self._store.read(absence.in_store, text)
            raw = await asyncio.to_thread(absence.looked, stored, text, stop=stop.is_set)
            told = absence.judged(stored, raw, text, time.monotonic() - began)
        except CoreError as error:
            if self.sheet is not None:
                self.sheet.show_trouble(describe(error).cause)
            return
        finally:
            stop.set()  # the thread ends soon, whoever cancelled this
        if self.sheet is not None:
            self.sheet.show_absence(told)

    def _on_acted(self, finding: AbsenceFinding) -> None:
        sheet = self.sheet
        if sheet is not None:
            sheet.close()
        if finding.kind in ("not_imported", "changed", "failed"):
            paths: Sequence[Path] = [Path(finding.path)]
            self.import_asked.emit(list(paths))
        elif finding.kind == "not_watched":
            self.watch_asked.emit(finding.path)
        elif finding.kind == "trashed":
            self._window.actions_by_name["show_trash"].trigger()
        elif finding.session is not None:
            self.session_asked.emit(finding.session.id)

    def _on_closed(self) -> None:
        self._tasks.cancel("why-missing")
        self.sheet = None
