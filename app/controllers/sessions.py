"""The list of sessions: pages of it, its order, and what happens when the store changes."""

from typing import Literal

import apsw
from PySide6.QtCore import QObject

from app import formatting
from app.controllers.filters import FilterController
from app.messages import describe
from app.models.sessions import SessionsModel
from app.tasks import TaskScope
from app.view_state import ViewState
from app.views.main_window import MainWindow
from app.views.path_facts import SHOW_ALL, SHOW_DEFAULT, Fact
from core.errors import CoreError
from core.history.sessions import list_sessions
from core.store.store import Store
from core.types import SessionFilter, SessionPage

PAGE = 200
_Sort = Literal["last_active", "started", "messages"]
_SORTS: tuple[_Sort, ...] = ("last_active", "started", "messages")


class SessionsController(QObject):
    """Fills the list and the path bar while nothing is searched."""

    def __init__(
        self,
        store: Store,
        window: MainWindow,
        filters: FilterController,
        tasks: TaskScope,
        state: ViewState,
    ) -> None:
        super().__init__(window)
        self._store, self._window, self._filters = store, window, filters
        self._tasks, self._state = tasks, state
        self._model: SessionsModel = window.models.sessions
        self._next: str | None = None
        self._total = self._unlisted = 0
        self._show_all = False
        self.browsing = True
        sort = state.text("sessions/sort", _SORTS[0])
        self._sort: _Sort = sort if sort in _SORTS else _SORTS[0]
        self._model.more_wanted.connect(self._on_more_wanted)
        window.path_bar.link_pressed.connect(self._on_link_pressed)
        window.path_bar.sort_picked.connect(self._on_sort_picked)

    def browse(self) -> None:
        """Show the sessions instead of hits, and read them anew."""
        self.show()
        self.refresh()

    def show(self) -> None:
        """Show the sessions that are loaded."""
        self.browsing = True
        self._window.show_list(self._window.sessions_view)
        self._show_path()

    def refresh(self) -> None:
        """Read the list anew; the session one stands on and its place stay."""
        self._tasks.start("sessions", self.load())

    async def load(self) -> None:
        """Read and show the first page, as many rows as were loaded before."""
        wanted = max(PAGE, min(self._model.rowCount(), 5 * PAGE))
        try:
            page, everything = await self._store.read(_first_page, self._filter(), wanted)
        except CoreError as error:
            self._window.message_bar.show_notice(describe(error))
            return
        self._next, self._total = page.next, page.total
        self._unlisted = max(0, everything - page.total)
        self._model.replace(
            page.sessions, complete=page.next is None, by_start=self._sort == "started"
        )
        if self.browsing and not self._window.on_sources():
            self._show_path()

    def _on_more_wanted(self) -> None:
        self._tasks.start("sessions-more", self._load_more())

    async def _load_more(self) -> None:
        try:
            page = await self._store.read(
                list_sessions, self._filter(), limit=PAGE, after=self._next
            )
        except CoreError as error:
            self._window.message_bar.show_notice(describe(error))
            return
        self._next = page.next
        self._model.append(page.sessions, complete=page.next is None)

    def _filter(self) -> SessionFilter:
        chosen = self._filters.current()
        return SessionFilter(
            sources=chosen.sources,
            projects=chosen.projects,
            since_ms=chosen.since_ms,
            until_ms=chosen.until_ms,
            include_archived=self._show_all,
            include_hidden_kinds=self._show_all,
            sort=self._sort,
        )

    def _show_path(self) -> None:
        order = {
            "last_active": self.tr(", newest first"),
            "started": self.tr(", newest first"),
            "messages": self.tr(", longest first"),
        }
        count = formatting.counted(self._total, self.tr("%1 session"), self.tr("%1 sessions"))
        facts = [Fact(order[self._sort], strong=count)]
        if self._filters.current().roles:
            words = self.tr("roles narrow searches, not this list")
            facts.append(Fact(words, gives_way=True))
        if self._show_all:
            words = self.tr("archived, cron, subagent and tool sessions listed too")
            facts.append(Fact(words, gives_way=True))
            facts.append(Fact(self.tr("Hide them"), link=SHOW_DEFAULT))
        elif self._unlisted:
            words = self.tr("not listed: %1 archived, cron, subagent or tool")
            facts.append(
                Fact(words.replace("%1", formatting.number(self._unlisted)), gives_way=True)
            )
            facts.append(Fact(self.tr("Show"), link=SHOW_ALL))
        orders = (self.tr("last activity"), self.tr("created"), self.tr("messages"))
        sorts = list(zip(_SORTS, orders, strict=True))
        self._window.path_bar.show_path("empty", facts, sorts, self._sort)

    def _on_link_pressed(self, name: str) -> None:
        if name in (SHOW_ALL, SHOW_DEFAULT):
            self._show_all = name == SHOW_ALL
            self.refresh()

    def _on_sort_picked(self, key: str) -> None:
        if self.browsing and key in _SORTS:
            self._sort = key
            self._state.set_text("sessions/sort", key)
            self.refresh()


def _first_page(db: apsw.Connection, wanted: SessionFilter, limit: int) -> tuple[SessionPage, int]:
    """Return the first page, and how many sessions the same filter has with nothing left out."""
    page = list_sessions(db, wanted, limit=limit)
    if wanted.include_archived and wanted.include_hidden_kinds:
        return page, page.total
    everything = SessionFilter(
        sources=wanted.sources,
        projects=wanted.projects,
        since_ms=wanted.since_ms,
        until_ms=wanted.until_ms,
        include_archived=True,
        include_hidden_kinds=True,
    )
    return page, list_sessions(db, everything, limit=1).total
