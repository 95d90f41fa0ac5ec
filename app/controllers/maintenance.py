"""The maintenance page: when it reads, what its bar says, and what its report holds."""

import time
from pathlib import Path

import apsw
from PySide6.QtCore import QObject, QTimer
from PySide6.QtGui import QGuiApplication

from app import formatting
from app.controllers.backfill import BackfillController
from app.controllers.index_upkeep import IndexFacts, IndexUpkeepController
from app.controllers.index_upkeep import look as look_at_indexes
from app.controllers.status import StatusController
from app.controllers.store_upkeep import StoreUpkeepController
from app.controllers.tokenizer import TokenizerController
from app.dialogs import Dialogs
from app.messages import Notice, describe
from app.tasks import TaskScope
from app.views.main_window import MainWindow
from app.views.maintenance import index_words
from app.views.source_delegate import short_path
from core.errors import CoreError
from core.store.store import Store
from core.types import StoreStatus, TokenizerStatus

TICK_MS = 1_000
_MEASURE_S = 20.0
_TASK = "maintenance"


class MaintenanceController(QObject):
    """Keeps the page live while it is shown: at every change, and every second."""

    def __init__(
        self,
        store: Store,
        window: MainWindow,
        dialogs: Dialogs,
        filling: BackfillController,
        status: StatusController,
        tasks: TaskScope,
    ) -> None:
        super().__init__(window)
        self._store, self._window, self._status, self._tasks = store, window, status, tasks
        page = self._page = window.maintenance
        self.indexes = IndexUpkeepController(store, page, filling, tasks)
        self.tokenizer = TokenizerController(store, page, tasks)
        self.upkeep = StoreUpkeepController(store, page, dialogs, tasks)
        self._facts: IndexFacts | None = None
        self._measured_s = 0.0
        self._again = False
        self._tick = QTimer(self, interval=TICK_MS)
        self._tick.timeout.connect(self.refresh)
        self._connect()
        path = str(store.path)
        page.bar.show_path(path, "/".join(short_path(path).split("/")[-3:]))

    def _connect(self) -> None:
        self._window.maintenance_shown.connect(self._on_shown)
        self._page.bar.report_asked.connect(self.copy_report)
        self.indexes.changed.connect(self.refresh)
        self.indexes.repair_asked.connect(lambda: self.upkeep.ask("repair"))
        self.upkeep.changed.connect(self._show)
        self.upkeep.done.connect(self._on_done)
        self.tokenizer.checked.connect(self._on_tokenizer_checked)
        self._status.read.connect(self._on_status_read)
        actions = self._window.actions_by_name
        actions["verify_all"].triggered.connect(lambda: self._on_asked("verify"))
        actions["full_check"].triggered.connect(lambda: self._on_asked("check"))
        actions["back_up"].triggered.connect(lambda: self._on_asked("backup"))
        actions["copy_report"].triggered.connect(self._on_report_asked)

    @property
    def is_shown(self) -> bool:
        """Whether the page is on the screen."""
        return self._window.on_maintenance()

    def refresh(self) -> None:
        """Read how everything stands and show it, if the page is shown."""
        if not self.is_shown:
            return
        if self._tasks.running(_TASK):
            self._again = True
            return
        self._tasks.start(_TASK, self._read())

    async def _read(self) -> None:
        self._again = True
        while self._again:
            self._again = False
            try:
                self._facts = await self._store.read(look_at_indexes)
            except CoreError as error:
                self._page.indexes.message.show_notice(describe(error))
                return
            self._show()
            if time.monotonic() - self._measured_s > _MEASURE_S:
                self._measured_s = time.monotonic()
                await self.upkeep.measure()

    def _show(self) -> None:
        """Show what is known; nothing is read for it."""
        if self._facts is None or not self.is_shown:
            return
        running = self.upkeep.running
        self.indexes.is_repairing = running is not None and running.kind == "repair"
        self.indexes.show(self._facts)
        self._page.bar.show_state(*index_words.summary(self.indexes.shown))
        size = self._status.status.bytes if self._status.status else 0
        self.upkeep.show(size, self.indexes.shown, self._facts.checks)

    # The report

    def copy_report(self) -> None:
        """Copy what the page shows, without any text of messages."""
        QGuiApplication.clipboard().setText(self.report())
        self._window.message_bar.show_notice(
            Notice("ok", self.tr("The report is in the clipboard."), "", "")
        )

    def report(self) -> str:
        """Return what the page shows as lines of plain text."""
        now = formatting.full_time(time.time_ns() // 1_000_000)
        lines = [f"Backscroll, {now}", str(self._store.path)]
        for each in self.indexes.shown:
            runs = (*index_words.facts(each), (" ", False), *index_words.reason(each))
            words = "".join(text for text, _ in runs).strip()
            lines.append(f"{each.status.name}: {index_words.look(each).word}. {words}")
        found = self.tokenizer.status
        if found is not None:
            parts = (found.state, found.version, found.built_for, found.path, found.reason)
            lines.append("cjk_unicode61: " + ", ".join(filter(None, parts)))
        card = self._page.store
        lines.append(f"{card.size.text()}, {card.summary.text()}")
        lines += [f"  {part.name}: {part.bytes}" for part in card.parts]
        lines += [words for words in (card.waiting.text(), card.foot.text()) if words]
        lines.append(f"SQLite {apsw.sqlite_lib_version()}")
        text = "\n".join(lines)
        return text.replace("\u2028", "\n").replace("\u00a0", " ")

    # Closing

    def closing_words(self) -> Notice | None:
        """Return what is said while the window closes, None where nothing runs."""
        if self.upkeep.running is not None:
            words = self.tr("It stops at a safe point: %1").replace("%1", self.upkeep.running.what)
            return Notice("info", self.tr("Closing as soon as what runs has stopped."), words, "")
        if self._tasks.running("backfill"):
            words = self.tr("The filling of the indexes goes on at the next start.")
            return Notice("info", self.tr("Closing."), words, "")
        return None

    # Slots

    def _on_shown(self, shown: bool) -> None:
        if not shown:
            self._tick.stop()
            return
        self._tick.start()
        self._measured_s = 0.0
        self.refresh()
        if self.tokenizer.status is None:
            self.tokenizer.check()
        self._tasks.start("maintenance-first", self._verify_unknown())

    async def _verify_unknown(self) -> None:
        """Ask each index once that nobody asked before, when there is time for it."""
        try:
            self._facts = await self._store.read(look_at_indexes)
        except CoreError as error:
            self._page.indexes.message.show_notice(describe(error))
            return
        self._show()
        self.indexes.verify_unknown()

    def _on_status_read(self, _status: StoreStatus) -> None:
        self.refresh()

    def _on_tokenizer_checked(self, status: TokenizerStatus) -> None:
        is_there = status.path is not None and status.loads
        self.upkeep.library = Path(status.path) if is_there and status.path else None

    def _on_done(self, name: str) -> None:
        """Measure anew; what was repaired is asked whether it answers now."""
        if name == "repair":
            self.indexes.verify()
        self._measured_s = 0.0
        self._status.refresh()
        self.refresh()

    def _on_asked(self, name: str) -> None:
        self._window.show_maintenance()
        if name == "verify":
            self.indexes.verify()
        else:
            self.upkeep.ask(name)

    def _on_report_asked(self) -> None:
        self._window.show_maintenance()
        self.copy_report()
