"""As one types: debounce, ask, show. The latest question wins; the one before is interrupted."""

from dataclasses import replace

from PySide6.QtCore import QObject, Qt, QTimer, Signal
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent

from app.controllers.filters import FilterController
from app.controllers.hit_groups import Answer, answer
from app.controllers.no_hits import NoHits
from app.controllers.recent_searches import RecentSearches
from app.controllers.search_links import SearchLinks, Ways
from app.messages import describe
from app.models.hits import HitsModel
from app.tasks import TaskScope
from app.view_state import ViewState
from app.views.main_window import MainWindow
from app.views.path_bar import PathBar
from app.views.path_facts import AGAIN, Fact, Shown, result_facts, running_facts
from core.errors import CoreError
from core.history.messages import newest_message
from core.store.store import Store
from core.types import SearchRequest, SearchResult, Sort

DEBOUNCE_MS = 150
SLOW_MS = 400
PAGE = 100
_SORTS: tuple[Sort, ...] = ("newest", "relevance", "oldest")


class SearchController(QObject):
    """Turns what is typed into hits, or into the page that says why there are none.

    Signals:
        browse_asked: the query is blank: the list of sessions should be shown.
        answered: an answer is on the screen.
        edited: query or order are other ones than before.
    """

    browse_asked = Signal()
    answered = Signal()
    edited = Signal()

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
        self._model: HitsModel = window.models.hits
        self._links = SearchLinks(window)
        self._recent = RecentSearches(window, state)
        self._no_hits = NoHits(store, window, tasks)
        self._request: SearchRequest | None = None  # what was asked last
        self._answered: SearchRequest | None = None  # what `result` answers
        self._next: str | None = None
        self._shown = self._pages = 0
        self._newest = 0
        self._is_stale = self._changed_meanwhile = False
        sort = state.text("search/sort", "relevance")
        self.sort: Sort = sort if sort in _SORTS else "relevance"
        self.result: SearchResult | None = None
        self._debounce = QTimer(self, singleShot=True, interval=DEBOUNCE_MS)
        self._debounce.setTimerType(Qt.TimerType.PreciseTimer)
        self._debounce.timeout.connect(self.ask)
        self._slow = QTimer(self, singleShot=True, interval=SLOW_MS)
        self._slow.timeout.connect(self._show_running)
        self._again = QTimer(self, singleShot=True, interval=0)
        self._again.timeout.connect(self.refresh)
        self._connect()

    def _connect(self) -> None:
        window = self._window
        window.search_bar.query_edited.connect(self._on_query_edited)
        window.search_bar.query_entered.connect(self._on_query_entered)
        window.path_bar.sort_picked.connect(self._on_sort_picked)
        window.zero_hits.query_offered.connect(window.search_bar.set_query)
        window.recent_view.search_chosen.connect(window.search_bar.set_query)
        window.recent_view.left.connect(self._on_searches_left)
        window.actions_by_name["searches"].triggered.connect(window.show_searches)
        self._links.asked.connect(self.ask)
        self._links.stop_asked.connect(self._stop)
        self._model.more_wanted.connect(self._on_more_wanted)
        self._filters.changed.connect(self._on_filters_changed)

    @property
    def question(self) -> SearchRequest | None:
        """The question that the hits shown answer, None when there is none."""
        return self._answered

    @property
    def query(self) -> str:
        """What the search field holds, without the space around it."""
        return self._window.search_bar.field.text().strip()

    def refresh(self) -> None:
        """Ask again, after the store has changed.

        Where that would take long, or take away pages that were read on, the bar offers it.
        """
        if self._request is None or not self.query:
            return
        if self._tasks.running("search"):
            self._changed_meanwhile = True
        elif self._pages > 1 or self._tasks.running("search-more") or self._request.everything:
            self._tasks.start("search-check", self._check())
        else:
            self._tasks.start("search", self._search(self._request, quiet=True))

    def open(self, query: str, sort: Sort) -> None:
        """Ask a query as it was saved, with the filters of now."""
        self._set_sort(sort)
        self._window.search_bar.set_query(query)

    def keep_query(self) -> None:
        """Keep the query of now among the recent ones, also when it is typed on."""
        self._recent.keep()

    def ask(self) -> None:
        """Answer what the field holds now; a blank one asks to browse."""
        self._debounce.stop()
        if not self.query:
            self._tasks.cancel("search")
            self._request = self._answered = self.result = None
            self._links.show(None, None)
            self.browse_asked.emit()
            return
        chosen, ways = self._filters.current(), self._links.ways
        self._request = SearchRequest(
            self.query,
            limit=PAGE,
            sort=self.sort,
            roles=chosen.roles,
            sources=chosen.sources,
            projects=chosen.projects,
            since_ms=chosen.since_ms,
            until_ms=chosen.until_ms,
            include=ways.include,
            inside_words=ways.inside_words,
            everything=ways.everything,
            deadline_s=ways.deadline_s,
        )
        self._tasks.cancel("search-more")
        self._no_hits.leave()
        self._tasks.start("search", self._search(self._request))

    async def _search(self, request: SearchRequest, *, quiet: bool = False) -> None:
        if request.everything:
            self._show_running()
        elif not quiet:
            self._slow.start()
        try:
            found = await self._store.read(answer, request)
        except CoreError as error:
            self._window.message_bar.show_notice(describe(error))
            self._show_path()
            return
        finally:
            if self._request is request:
                self._slow.stop()
        if not quiet or found.groups != self._model.groups():
            self._show(request, found, keeps_place=quiet)
        if self._changed_meanwhile:
            self._changed_meanwhile = False
            self._again.start()

    def _show(self, request: SearchRequest, found: Answer, *, keeps_place: bool) -> None:
        result, groups = found.result, found.groups
        place = self._window.hits_view.place() if keeps_place else None
        self.result, self._answered, self._newest = result, request, found.newest
        self._next, self._shown, self._pages = result.next, len(result.hits), 1
        self._is_stale = False
        self._links.show(result, request)
        self._model.replace(groups, complete=self._next is None)
        if place is None:
            self._window.hits_view.scrollToTop()
        else:
            self._window.hits_view.return_to(place)
        self._show_path()
        self._announce()
        self._recent.remember(request.query, result.total_hits)
        if groups:
            self._window.show_list(self._window.hits_view)
        else:
            self._no_hits.show(request, result)
        self.answered.emit()

    def _show_path(self, *, first: Fact | None = None) -> None:
        if self.result is None or self._answered is None:
            return
        words = (self.tr("newest"), self.tr("relevance"), self.tr("oldest"))
        sorts = list(zip(_SORTS, words, strict=True))
        facts = ([first] if first else []) + list(self._facts(self.result, self._answered))
        self._window.path_bar.show_path(self.result.search_path, facts, sorts, self._answered.sort)

    def _facts(self, result: SearchResult, request: SearchRequest) -> tuple[Fact, ...]:
        sessions = None
        if self._next is None:
            sessions = len({group.session_id for group in self._model.groups() if group.hits})
        return result_facts(result, Shown(request, self._shown, sessions, self._is_stale))

    def _announce(self) -> None:
        if self.result is not None and self._answered is not None:
            facts = self._facts(self.result, self._answered)
            words = PathBar.sentence(self.result.search_path, facts)
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self._window, words))

    def _show_running(self) -> None:
        """Say that it takes longer than one is used to, and offer to stop it."""
        if self._request is not None:
            facts = running_facts(self._request, self.result)
            self._window.path_bar.show_path("searching", facts)

    def _stop(self) -> None:
        """Stop what runs; where it only went on from an answer, that answer is shown again."""
        if self._tasks.running("search-more"):
            self._tasks.cancel("search-more")
            self._model.append([], complete=self._next is None)
        self._tasks.cancel("search")
        self._slow.stop()
        stopped, asked = self._request, self._answered
        if stopped and asked and self.result and asked.query == stopped.query:
            self._request, self._links.ways = asked, Ways.of(asked)
            self._set_sort(asked.sort)
            self._show_path(first=Fact(self.tr("stopped; this is the answer before")))
            return
        again = Fact(self.tr("Search again"), link=AGAIN)
        facts = [Fact(self.tr("stopped; nothing is shown")), again]
        self._window.path_bar.show_path("searching", facts)
        self._model.replace([], complete=True)

    def _on_more_wanted(self) -> None:
        if self._answered is not None and self._next is not None:
            more = replace(self._answered, after=self._next)
            if more.everything:
                self._show_running()
            self._tasks.start("search-more", self._more(more))

    async def _more(self, request: SearchRequest) -> None:
        try:
            result, groups, _ = await self._store.read(answer, request)
        except CoreError as error:
            self._window.message_bar.show_notice(describe(error))
            self._is_stale = True
            self._show_path()
            return
        self._next = result.next if result.hits else None
        self._shown += len(result.hits)
        self._pages += 1
        self._model.append(groups, complete=self._next is None)
        self._show_path()

    async def _check(self) -> None:
        """Say so when messages came that the pages on the screen cannot have."""
        if await self._store.read(newest_message) > self._newest:
            self._is_stale = True
            self._show_path()

    # What was edited

    def _on_query_edited(self) -> None:
        self._links.forget()
        self.edited.emit()
        if self.query:
            self._debounce.start()
        else:
            self.ask()

    def _on_query_entered(self) -> None:
        self.ask()
        self.keep_query()

    def _on_searches_left(self) -> None:
        self._window.search_bar.focus()
        if not self.query:
            self.ask()

    def _on_filters_changed(self) -> None:
        self.edited.emit()
        if self.query:
            self.ask()

    def _on_sort_picked(self, key: str) -> None:
        is_shown = self._answered is not None and key == self._answered.sort == self.sort
        if self.query and key in _SORTS and not is_shown:
            self._set_sort(key)
            self.ask()

    def _set_sort(self, sort: Sort) -> None:
        self.sort = sort
        self._state.set_text("search/sort", sort)
        self.edited.emit()
