"""What the foot of the window says, and noticing that the store changed."""

import asyncio

from PySide6.QtCore import QObject, Signal

from app import formatting
from app.messages import describe, notice
from app.tasks import TaskScope
from app.views.import_panel import ImportProgress
from app.views.main_window import MainWindow
from core.errors import CoreError
from core.index import health
from core.store import damage
from core.store.store import Store
from core.store.watcher import Watcher
from core.types import INDEX_NAMES, IndexStatus, StoreStatus

_BUSY_INTERVAL_S = 1.0  # how often lists are read anew while something is being written
_CJK = "messages_fts_cjk"


class StatusController(QObject):
    """Reads the status of the store and tells when somebody committed to it.

    Signals:
        changed: the store was changed, by this process or another one.
        read: the status was read; carries it.
    """

    changed = Signal()
    read = Signal(StoreStatus)

    def __init__(self, store: Store, window: MainWindow, tasks: TaskScope) -> None:
        super().__init__(window)
        self._store, self._window, self._tasks = store, window, tasks
        self._told: set[str] = set()
        self._watching = ""
        self.status: StoreStatus | None = None

    def start(self) -> None:
        """Begin to watch the store."""
        self._tasks.start("watch", self._watch())

    def refresh(self) -> None:
        """Read the status anew."""
        self._tasks.start("status", self._load())

    async def load(self) -> StoreStatus:
        """Read and show the status; returns it."""
        self.status = await self._store.read(health.status, self._store.path)
        self._window.status_bar.show_facts(self._facts(self.status))
        self._warn(self.status)
        so_far = self.tr("Search the %1 messages imported so far")
        importing = self._tasks.running("import") and self.status.messages
        words = so_far.replace("%1", formatting.number(self.status.messages))
        self._window.search_bar.show_place(words if importing else None)
        self.read.emit(self.status)
        return self.status

    def show_watching(self, words: str) -> None:
        """Show how many places are watched; '' for none."""
        self._watching = words
        if self.status is not None:
            self._window.status_bar.show_facts(self._facts(self.status))

    def show_import(self, now: ImportProgress) -> None:
        """Show the import that runs at the foot of the window."""
        left = "" if now.left_s is None or now.paused else formatting.remaining(now.left_s)
        name = self.tr("Import paused") if now.paused else self.tr("Import")
        percent = formatting.percent(now.fraction)
        self._window.status_bar.show_job(name, now.fraction, percent, left)
        self._window.setWindowTitle(f"{percent} – Backscroll")

    def hide_import(self) -> None:
        """Show that no import runs."""
        self._window.status_bar.hide_job()
        self._window.setWindowTitle("Backscroll")

    async def _load(self) -> None:
        try:
            await self.load()
        except CoreError as error:
            self._window.message_bar.show_notice(describe(error))

    async def _watch(self) -> None:
        watcher = await asyncio.to_thread(Watcher, self._store.path)
        try:
            async for _ in watcher.changes():
                self.changed.emit()
                await self._load()
                if self._tasks.running("import"):
                    await asyncio.sleep(_BUSY_INTERVAL_S)
        finally:
            watcher.close()

    def _facts(self, status: StoreStatus) -> tuple[str, ...]:
        sessions = formatting.counted(
            status.sessions, self.tr("%1 session"), self.tr("%1 sessions")
        )
        messages = formatting.counted(
            status.messages, self.tr("%1 message"), self.tr("%1 messages")
        )
        covered = formatting.percent(min((each.coverage for each in status.indexes), default=1.0))
        facts = [sessions, messages, self.tr("index %1").replace("%1", covered)]
        facts += [self._index_words(each) for each in status.indexes if not each.ready]
        if self._watching:
            facts.append(self._watching)
        if status.read_only_reason:
            facts.append(self.tr("read-only"))
        return tuple(facts)

    def _index_words(self, index: IndexStatus) -> str:
        names = {
            "messages_fts": self.tr("word index"),
            "messages_fts_trigram": self.tr("trigram index"),
            _CJK: self.tr("CJK index"),
        }
        states = {
            "building": self.tr("being built"),
            "settling": self.tr("settling"),
            "detached": self.tr("detached"),
            "stale": self.tr("out of date"),
            "ready": self.tr("ready"),
        }
        return f"{names[index.name]} {states[index.state]}"

    def _warn(self, status: StoreStatus) -> None:
        """Say once what keeps the store from being all it can be."""
        if self._store.read_only_reason and self._first("read-only"):
            self._window.message_bar.show_notice(
                notice("schema-too-new", self._store.read_only_reason)
            )
        elif not status.tokenizer.loads and self._first("tokenizer"):
            self._window.message_bar.show_notice(notice("tokenizer", status.tokenizer.reason))
        self._warn_of_damage(status)

    def _warn_of_damage(self, status: StoreStatus) -> None:
        """Say of each index that turned out to be damaged what is done about it, once."""
        damaged = [each.name for each in status.indexes if each.reason in damage.REASONS]
        self._told -= {f"damage {name}" for name in INDEX_NAMES if name not in damaged}
        new = [name for name in damaged if self._first(f"damage {name}")]
        if new:
            self._window.message_bar.show_notice(notice("index-damaged", ", ".join(new)))

    def _first(self, what: str) -> bool:
        is_first = what not in self._told
        self._told.add(what)
        return is_first
