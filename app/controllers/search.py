"""As one types: debounce, ask, show. The latest question wins; the one before is interrupted."""

from collections.abc import Sequence
from dataclasses import replace

from PySide6.QtCore import QObject, QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent

from app.controllers.filters import FilterController
from app.controllers.hit_groups import answer
from app.controllers.word_split import WordSplit, split_words
from app.messages import describe
from app.models.hits import HitsModel
from app.tasks import TaskScope
from app.text_ranges import one_line
from app.view_state import RecentSearch, ViewState
from app.views.main_window import MainWindow
from app.views.path_bar import PathBar
from app.views.path_facts import INCLUDE, STOP, WHY, Fact, left_out, result_facts
from app.views.why_popup import WhyPopup
from core.errors import CoreError
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
    """

    browse_asked = Signal()
    answered = Signal()

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
        self._request: SearchRequest | None = None
        self._shown = 0
        self._draft = ""
        self._include: frozenset[str] = frozenset()
        sort = state.text("search/sort", "relevance")
        self._sort: Sort = sort if sort in _SORTS else "relevance"
        self.result: SearchResult | None = None
        self._debounce = QTimer(self, singleShot=True, interval=DEBOUNCE_MS)
        self._debounce.setTimerType(Qt.TimerType.PreciseTimer)
        self._debounce.timeout.connect(self.ask)
        self._slow = QTimer(self, singleShot=True, interval=SLOW_MS)
        self._slow.timeout.connect(self._show_slow)
        self._connect()

    def _connect(self) -> None:
        window = self._window
        window.search_bar.query_edited.connect(self._on_query_edited)
        window.search_bar.query_entered.connect(self._on_query_entered)
        window.path_bar.sort_picked.connect(self._on_sort_picked)
        window.path_bar.link_pressed.connect(self._on_link_pressed)
        window.zero_hits.include_asked.connect(self._on_include_asked)
        window.zero_hits.query_offered.connect(window.search_bar.set_query)
        window.recent_view.search_chosen.connect(window.search_bar.set_query)
        window.recent_view.clear_asked.connect(self._on_clear_recent)
        window.actions_by_name["clear_recent"].triggered.connect(self._on_clear_recent)
        self._model.more_wanted.connect(self._on_more_wanted)
        self._filters.changed.connect(self._on_filters_changed)

    @property
    def query(self) -> str:
        """What the search field holds, without the space around it."""
        return self._window.search_bar.field.text().strip()

    def refresh(self) -> None:
        """Ask again, after the store has changed."""
        if self._request is not None and self.query:
            self._tasks.start("search", self._search(self._request, quiet=True))

    def _on_query_edited(self) -> None:
        self._include = frozenset()
        if self.query:
            self._debounce.start()
        else:
            self.ask()

    def _on_query_entered(self) -> None:
        self._debounce.stop()
        self.ask()
        self.keep_query()

    def keep_query(self) -> None:
        """Keep the query of now among the recent ones, also when it is typed on."""
        self._draft = ""

    def _on_filters_changed(self) -> None:
        if self.query:
            self.ask()

    def _on_sort_picked(self, key: str) -> None:
        if self.query and key in _SORTS:
            self._sort = key
            self._state.set_text("search/sort", key)
            self.ask()

    def _on_include_asked(self, names: Sequence[str]) -> None:
        self._include |= frozenset(names)
        self.ask()

    def _on_link_pressed(self, name: str) -> None:
        if name == STOP:
            self._stop()
        if self.result is None or not self.query:
            return
        if name == INCLUDE:
            missing = left_out(self.result.not_searched)
            self._on_include_asked([each.include for each in missing if each.include])
        elif name == WHY:
            bar = self._window.path_bar
            link = bar.links.get(WHY)
            x = link.mapTo(bar, QPoint(0, 0)).x() - 24 if link is not None else 16
            WhyPopup(self.result, self._window).open_at(bar.mapToGlobal(QPoint(x, bar.height())))

    def _on_clear_recent(self) -> None:
        self._state.set_recent(())
        self._window.models.recent.replace(())

    def ask(self) -> None:
        """Answer what the field holds now; a blank one asks to browse."""
        self._debounce.stop()
        if not self.query:
            self._tasks.cancel("search")
            self._request = self.result = None
            self.browse_asked.emit()
            return
        chosen = self._filters.current()
        self._request = SearchRequest(
            self.query,
            limit=PAGE,
            sort=self._sort,
            roles=chosen.roles,
            sources=chosen.sources,
            projects=chosen.projects,
            since_ms=chosen.since_ms,
            until_ms=chosen.until_ms,
            include=self._include,
        )
        self._tasks.start("search", self._search(self._request))

    async def _search(self, request: SearchRequest, *, quiet: bool = False) -> None:
        if not quiet:
            self._slow.start()
        try:
            result, groups = await self._store.read(answer, request)
        except CoreError as error:
            self._window.message_bar.show_notice(describe(error))
            self._show_path(None)
            return
        finally:
            self._slow.stop()
        if quiet and groups == self._model.groups():
            return
        self.result = result
        self._shown = len(result.hits)
        whole = self._shown >= result.total_hits
        self._model.replace(groups, complete=whole or not result.complete)
        self._show_path(len({hit.session_id for hit in result.hits}) if whole else None)
        self._remember(request.query, result.total_hits)
        if groups:
            self._window.show_list(self._window.hits_view)
        else:
            self._show_nothing(result)
        self.answered.emit()
        if not groups:
            await self._split_words(request)

    def _show_path(self, sessions: int | None) -> None:
        if self.result is None:
            return
        facts = result_facts(self.result, sessions)
        words = (self.tr("newest"), self.tr("relevance"), self.tr("oldest"))
        sorts = list(zip(_SORTS, words, strict=True))
        path = self.result.search_path
        self._window.path_bar.show_path(path, facts, sorts, self._sort)
        said = QAccessibleAnnouncementEvent(self._window, PathBar.sentence(path, facts))
        QAccessible.updateAccessibility(said)

    def _show_slow(self) -> None:
        """Say that it takes longer than one is used to, and offer to stop it."""
        words = self.tr("still looking for “%1”").replace("%1", one_line(self.query))
        facts = [Fact(words, gives_way=True), Fact(self.tr("Stop"), link=STOP)]
        self._window.path_bar.show_path("searching", facts)

    def _stop(self) -> None:
        self._tasks.cancel("search")
        self._window.path_bar.show_path("searching", [Fact(self.tr("stopped; nothing is shown"))])
        self._model.replace([], complete=True)

    def _show_nothing(self, result: SearchResult) -> None:
        window = self._window
        window.zero_hits.show_result(result)
        window.show_list(window.recent_view)
        window.recent_view.select_query(result.query)
        window.show_right(window.zero_hits)

    async def _split_words(self, request: SearchRequest) -> None:
        found: WordSplit | None = await self._store.read(split_words, request)
        if found is not None and self._request is request:
            page = self._window.zero_hits
            page.show_words(found.run, found.pairs, found.offered, found.hits)

    def _remember(self, query: str, hits: int) -> None:
        draft = self._draft if _is_draft_of(self._draft, query) else ""
        self._state.add_recent(RecentSearch(query, hits), instead_of=draft)
        self._draft = query
        self._window.models.recent.replace(self._state.recent())

    def _on_more_wanted(self) -> None:
        if self._request is not None:
            more = replace(self._request, offset=self._shown)
            self._tasks.start("search-more", self._more(more))

    async def _more(self, request: SearchRequest) -> None:
        try:
            result, groups = await self._store.read(answer, request)
        except CoreError as error:
            self._window.message_bar.show_notice(describe(error))
            return
        self._shown = request.offset + len(result.hits)
        whole = self._shown >= result.total_hits or not result.hits
        self._model.append(groups, complete=whole)


def _is_draft_of(draft: str, query: str) -> bool:
    """Tell whether `draft` was only typed on the way to `query`, forwards or backwards."""
    return bool(draft) and (query.startswith(draft) or draft.startswith(query))
