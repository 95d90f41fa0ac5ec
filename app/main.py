"""The composition root: loop, store, window, controllers, and the order in which they end."""

import asyncio
import re
import signal
import sys
from contextlib import suppress
from pathlib import Path

import apsw
from PySide6.QtCore import QObject
from PySide6.QtWidgets import QApplication
from qasync import QEventLoop

from app.collector import Collector
from app.controllers.appearance import AppearanceController
from app.controllers.backfill import BackfillController
from app.controllers.cards import CardControllers
from app.controllers.completion import CompletionController
from app.controllers.context import ContextController
from app.controllers.filters import FilterController
from app.controllers.imports import ImportController
from app.controllers.keeping import KeepingController
from app.controllers.maintenance import MaintenanceController
from app.controllers.navigation import NavigationController, Place
from app.controllers.saved import SavedController
from app.controllers.scheduler import SchedulerController
from app.controllers.search import SearchController
from app.controllers.sessions import SessionsController
from app.controllers.source_places import SourcePlacesController
from app.controllers.status import StatusController
from app.controllers.trash import TrashController
from app.controllers.undoing import Undoing
from app.controllers.watching import WatchingController
from app.controllers.why_missing import WhyMissingController
from app.crash import CrashLog
from app.dialogs import Dialogs
from app.instance import Instance
from app.messages import Notice, describe
from app.tasks import TaskScope
from app.view_state import ViewState
from app.views.conversation_pane import ConversationPane
from app.views.import_panel import ImportProgress
from app.views.main_window import MainWindow, Models
from app.views.path_facts import Fact, import_facts
from core import paths
from core.errors import CoreError, NotFoundError
from core.history.sessions import kept_session
from core.index import tokenizer
from core.store.store import Store
from core.types import StoreStatus

_ROW_ID = re.compile("[0-9]{1,18}")


class Program(QObject):
    """The window over one profile's store, from its first paint to its end.

    Build it inside a running qasync loop; `start()` opens the store, `stop()` ends everything.
    """

    def __init__(self, app: QApplication, profile: Path, dialogs: Dialogs | None = None) -> None:
        super().__init__()
        self._profile = profile
        self.state = ViewState(profile / "window.ini")
        self.tasks = TaskScope(self)
        self.pane = ConversationPane()
        self.window = MainWindow(Models.empty(), self.pane)
        self.dialogs = dialogs or Dialogs(self.window)
        self.appearance = AppearanceController(app, self.window.actions_by_name, self.state)
        self.store: Store | None = None
        self.closed = asyncio.Event()
        self._stopping: asyncio.Task[None] | None = None
        self.appearance.restore(self.window)
        self.window.close_asked.connect(self._on_close_asked)
        self.window.actions_by_name["about"].triggered.connect(self._on_about)
        self.window.message_bar.action_pressed.connect(self._on_action_pressed)

    async def start(self) -> bool:
        """Open the store and fill the window; returns False after saying why it cannot."""
        self.window.path_bar.show_path("empty", [Fact(self.tr("opening the store"))])
        try:
            library = await asyncio.to_thread(tokenizer.locate)
            self.store = await Store.open(self._profile, tokenizer=library)
            self._build(self.store)
            await self._show_first(self.store)
        except CoreError as error:
            self._show_failure(error)
            return False
        self.scheduler.start()
        return True

    async def stop(self) -> None:
        """Stop what runs, remember the window, close the store; in this order. Once is enough."""
        if self.closed.is_set():
            return
        await self.tasks.close()
        self.appearance.remember(self.window)
        if self.store is not None:
            await self.store.close()
        self.window.close_now()
        self.closed.set()

    def tell_crash(self, kind: str, path: Path | None) -> None:
        """Say in the window that something went wrong that nobody expected."""
        where = self.tr("What happened is written to %1; it holds no message text.")
        consequence = where.replace("%1", str(path)) if path else ""
        words = Notice("err", self.tr("Backscroll made a mistake."), consequence, f"{kind} {path}")
        self.window.message_bar.show_notice(words)

    def _build(self, store: Store) -> None:
        window, tasks, state = self.window, self.tasks, self.state
        bar = window.search_bar
        self.filters = FilterController(store, bar, self.dialogs, tasks, state)
        self.sessions = SessionsController(store, window, self.filters, tasks, state)
        self.search = SearchController(store, window, self.filters, tasks, state)
        self.saved = SavedController(store, window, self.filters, self.search, tasks)
        self.completion = CompletionController(store, window, tasks)
        self.context = ContextController(store, self.pane, tasks)
        self.navigation = NavigationController(window, self.context, self.search)
        bars = (window.list_undo, self.pane.undo_bar, window.page_undo)
        self.undoing = Undoing(window.actions_by_name["undo"], bars, window)
        lists = (self.sessions, self.navigation, self.context, self.undoing, tasks)
        self.trash = TrashController(store, window, *lists)
        open_one = (self.sessions, self.context, self.trash, self.undoing, tasks)
        self.keeping = KeepingController(store, window, *open_one, self.dialogs)
        self.imports = ImportController(store, window, self.dialogs, tasks)
        self.status = StatusController(store, window, tasks)
        self.watching = WatchingController(store, window, self.imports, self.status, tasks)
        self.source_places = SourcePlacesController(
            store, window, self.dialogs, self.imports, self.watching, tasks
        )
        self.why_missing = WhyMissingController(store, window, tasks)
        self.backfill = BackfillController(store, window, tasks)
        self.scheduler = SchedulerController(store, window, tasks)
        self.maintenance = MaintenanceController(
            store, window, self.dialogs, self.backfill, self.status, tasks
        )
        self.cards = CardControllers(
            store, window, self.dialogs, self.imports, self.undoing, tasks, state
        )
        window.models.recent.replace(state.recent())
        window.first_run.show_store(str(store.path))
        self._connect()

    def _connect(self) -> None:
        actions = self.window.actions_by_name
        self.search.browse_asked.connect(self._on_browse_asked)
        self.search.answered.connect(self._on_answered)
        self.filters.changed.connect(self.sessions.refresh)
        self.trash.emptied.connect(self._show_nothing_open)
        self.status.changed.connect(self._on_store_changed)
        self.status.read.connect(self.backfill.consider)
        self.status.read.connect(self._on_status_read)
        self.status.changed.connect(self.scheduler.wake)
        self.status.changed.connect(self.cards.refresh)
        self.imports.progressed.connect(self._on_import_progressed)
        self.imports.finished.connect(self._on_import_finished)
        self.why_missing.session_asked.connect(self._on_missing_asked)
        self.why_missing.import_asked.connect(self.imports.import_paths)
        self.why_missing.watch_asked.connect(self.source_places.watch)
        self.window.first_run.sessions_asked.connect(self._on_sessions_asked)
        self.imports.shown.connect(self._on_sources_shown)
        self.navigation.opened.connect(self.window.leave_maintenance)
        self.window.maintenance_shown.connect(self._on_maintenance_shown)
        self.navigation.opened.connect(lambda each: self.state.set_text("session", str(each)))
        actions["find"].triggered.connect(self._on_find)
        actions["find_next"].triggered.connect(self.context.next_match)
        actions["find_previous"].triggered.connect(self.context.previous_match)
        actions["copy_cited"].triggered.connect(self.context.copy_cited)
        actions["opening"].triggered.connect(self.pane.go_to_opening)
        actions["resolution"].triggered.connect(self.pane.go_to_resolution)

    async def _show_first(self, store: Store) -> None:
        status = await self.status.load()
        self.window.first_run.panel.show_tokenizer(ready=status.tokenizer.acceptance)
        self.window.first_run.show_leave(status.sessions > 0)
        self.status.start()
        self.watching.start()
        self.filters.refresh()
        if status.sessions == 0:
            self._show_first_run()
            return
        self._show_nothing_open()
        self.sessions.show()
        await self.sessions.load()
        await self._open_last(store)

    async def _open_last(self, store: Store) -> None:
        """Open what was read last, also where the list does not reach to it."""
        self.window.sessions_view.setFocus()
        last = self.state.text("session")
        if not _ROW_ID.fullmatch(last):
            return
        with suppress(NotFoundError):
            session = await store.read(kept_session, int(last))
            self.window.sessions_view.select_session(session.id)
            self.navigation.open(Place(session.id))

    def _show_first_run(self) -> None:
        self.imports.show_sources()

    def _show_nothing_open(self) -> None:
        self.window.nothing_open.show_words(
            self.tr("No conversation is open"),
            self.tr("Choose one from the list, or press Ctrl+K and search all of them."),
        )
        self.window.show_right(self.window.nothing_open)

    def _show_failure(self, error: CoreError) -> None:
        words = describe(error)
        self.window.path_bar.show_path("empty", [Fact(self.tr("no store is open"))])
        self.window.message_bar.show_notice(words, action=self.tr("Try again"), key="start")
        self.window.nothing_open.show_words(words.cause, f"{words.consequence} {error}")
        self.window.show_right(self.window.nothing_open)
        self.window.search_bar.setEnabled(False)

    # Slots

    def _on_answered(self) -> None:
        self.sessions.browsing = False
        if self.window.lists.currentWidget() is self.window.hits_view:
            self._leave_zero_hits()

    def _on_browse_asked(self) -> None:
        self._leave_zero_hits()
        self.sessions.browse()

    def _leave_zero_hits(self) -> None:
        """Show what was open before a search without hits covered it."""
        if self.window.right.currentWidget() is self.window.zero_hits:
            if self.navigation.current() is None:
                self._show_nothing_open()
            else:
                self.window.show_right(self.pane)

    def _on_find(self) -> None:
        if self.window.right.currentWidget() is self.pane and self.window.on_conversations():
            self.pane.open_find()
        else:
            self.window.search_bar.focus()

    def _on_store_changed(self) -> None:
        self.filters.refresh()
        self.saved.refresh()
        self.context.follow()
        if self.sessions.browsing:
            self.sessions.refresh()
        elif not self.imports.running and self.window.on_conversations():
            self.search.refresh()

    def _on_status_read(self, status: StoreStatus) -> None:
        """Tell on the page of sources what another program stored; leave it if it offers none."""
        self.imports.note_stored(status.messages)
        if self.imports.running or not self.window.on_sources():
            return
        self.window.first_run.show_leave(status.sessions > 0)
        if status.sessions and not self.window.first_run.offers_sources():
            self._show_nothing_open()
            self._on_sessions_asked()

    def _on_maintenance_shown(self, shown: bool) -> None:
        """Ask again what may have changed while the hits were covered."""
        if not shown and not self.sessions.browsing:
            self.search.refresh()

    def _on_import_progressed(self, now: ImportProgress) -> None:
        self.status.show_import(now)
        if self.window.on_sources():
            facts = import_facts(now.searchable, now.fraction)
            self.window.path_bar.show_path("partial", facts)

    def _on_import_finished(self, new: int, is_whole: bool) -> None:
        self.status.hide_import()
        self.tasks.start("after-import", self._after_import(new, is_whole=is_whole))

    async def _after_import(self, new: int, *, is_whole: bool) -> None:
        """Leave the page of sources for what is new; one who stopped goes on from there."""
        status = await self.status.load()
        self.window.first_run.show_leave(status.sessions > 0)
        self.filters.refresh()
        if self.imports.running:
            return
        if new and is_whole and self.window.on_sources():
            self._show_nothing_open()
            self.sessions.browse()
            self.window.sessions_view.setFocus()
        elif self.window.on_sources():
            self._show_stored(status)
        elif self.sessions.browsing:
            self.sessions.refresh()

    def _on_sources_shown(self) -> None:
        if self.status.status is not None and not self.imports.running:
            self._show_stored(self.status.status)

    def _show_stored(self, status: StoreStatus) -> None:
        facts = [Fact(self.tr("nothing is imported yet"))]
        if status.messages:
            facts = list(import_facts(status.messages, 1.0)[:1])
        self.window.path_bar.show_path("empty", facts)

    def _on_sessions_asked(self) -> None:
        if self.search.query:
            self.search.ask()
        else:
            self.sessions.browse()

    def _on_missing_asked(self, session_id: int) -> None:
        """Open a conversation that was asked for, over whatever page is shown."""
        self.window.show_list(self.window.lists.currentWidget())
        self.navigation.open(Place(session_id))

    def _on_action_pressed(self, key: str) -> None:
        if key == "start":
            self.window.message_bar.hide()
            self.window.search_bar.setEnabled(True)
            self.tasks.start("start", self._restart())

    async def _restart(self) -> None:
        await self.start()

    def _on_about(self) -> None:
        self.window.show_about(apsw.sqlite_lib_version())

    def _on_close_asked(self) -> None:
        if self._stopping is None:
            self._say_closing()
            self._stopping = asyncio.get_running_loop().create_task(self.stop(), name="stop")

    def _say_closing(self) -> None:
        """Say what happens to work that is under way; it is seen where that takes a while."""
        words = None
        if self.store is not None:
            words = self.maintenance.closing_words() or self.scheduler.closing_words()
        if words is not None:
            self.window.message_bar.show_notice(words)


def run(data_dir: Path | None = None, profile: str | None = None) -> int:
    """Open the window over the store of a profile; returns the exit code when it is closed.

    A second start for the same store only brings the first one's window to the front.
    """
    folder = paths.profile_dir(paths.data_dir(data_dir), profile)
    app = QApplication(sys.argv[:1])
    app.setApplicationName("Backscroll")
    app.setDesktopFileName("backscroll")
    app.setQuitOnLastWindowClosed(False)
    instance = Instance(paths.store_path(folder))
    if not instance.claim():
        return 0
    crash = CrashLog(folder / "log")
    loop = QEventLoop(app)
    crash.install(loop)
    try:
        with loop:
            loop.run_until_complete(_live(app, folder, instance, crash))
    finally:
        crash.uninstall()
        instance.release()
    return 0


async def _live(app: QApplication, folder: Path, instance: Instance, crash: CrashLog) -> None:
    program = Program(app, folder)
    for each in (signal.SIGINT, signal.SIGTERM):  # Python sees them at the collector's next tick
        signal.signal(each, lambda *_: program.window.close())
    crash.tell = program.tell_crash
    instance.raise_asked.connect(program.window.raise_up)
    program.window.show()
    collector = Collector(program)
    collector.start()
    await program.start()
    await program.closed.wait()
    collector.stop()
    crash.tell = None
