"""Saved searches in the window: saving, opening, renaming, removing, and taking that back."""

import time
from collections.abc import Coroutine, Iterable
from typing import Any

from PySide6.QtCore import QObject

from app.controllers.filters import FilterController
from app.controllers.search import SearchController
from app.formatting import counted
from app.messages import Notice, describe
from app.models.saved import SavedRow
from app.tasks import TaskScope
from app.text_ranges import one_line
from app.views.main_window import MainWindow
from core.errors import CoreError
from core.history import saved_searches as searches
from core.history.saved_searches import SavedFilters, SavedSearch
from core.store.store import Store
from core.types import Sort

_PUT_BACK, _RENAME = "saved-put-back", "saved-rename"


class SavedController(QObject):
    """Shows the saved searches, and whether the one in the field is among them."""

    def __init__(
        self,
        store: Store,
        window: MainWindow,
        filters: FilterController,
        search: SearchController,
        tasks: TaskScope,
    ) -> None:
        super().__init__(window)
        self._store, self._window, self._tasks = store, window, tasks
        self._filters, self._search = filters, search
        self._saved: tuple[SavedSearch, ...] = ()
        self._writes = 0
        self._last: SavedSearch | None = None  # saved or removed last: what the bar is about
        window.search_bar.field.save_pressed.connect(self.toggle)
        window.actions_by_name["save_search"].triggered.connect(self.toggle)
        window.recent_view.saved_chosen.connect(self._on_chosen)
        window.recent_view.saved_removed.connect(self._on_removed)
        window.models.saved.renamed.connect(self._on_renamed)
        window.message_bar.action_pressed.connect(self._on_action_pressed)
        search.edited.connect(self._show_state)
        self.refresh()

    def refresh(self) -> None:
        """Read the saved searches anew."""
        self._tasks.start("saved", self._load())

    def toggle(self) -> None:
        """Save the search of now with its filters and order, or remove it if it is saved."""
        if not self._search.query:
            return
        found = self._current()
        self._start(self._remove(found) if found is not None else self._save())

    async def _load(self) -> None:
        try:
            self._saved = await self._store.read(searches.saved)
        except CoreError as error:
            self._window.message_bar.show_notice(describe(error))
            return
        self._window.models.saved.replace([self._row(each) for each in self._saved])
        self._show_state()

    async def _save(self) -> None:
        query = self._search.query
        if len(query) > searches.MOST_QUERY_CHARS:
            self._warn(self.tr("This search is too long to be saved."))
            return
        self._last = await self._store.write(
            searches.save,
            _free_name(query, {each.name for each in self._saved}),
            query,
            self._filters.as_saved(),
            self._search.sort,
            at_ms=round(time.time() * 1000),
        )
        await self._load()
        self._tell(self.tr("Saved as “%1”.").replace("%1", one_line(self._last.name)), _RENAME)

    async def _remove(self, search: SavedSearch) -> None:
        self._last = await self._store.write(searches.remove, search.name)
        await self._load()
        name = one_line(search.name)
        self._tell(self.tr("Removed the saved search “%1”.").replace("%1", name), _PUT_BACK)

    async def _rename(self, search: SavedSearch, name: str) -> None:
        if any(each.name == name for each in self._saved):
            taken = self.tr("Another search is saved as “%1”.")
            self._warn(taken.replace("%1", one_line(name)))
            return
        await self._store.write(searches.rename, search.name, name)
        await self._load()
        row = self._window.models.saved.row_of(search.id)
        self._window.recent_view.saved.select_row(row)

    async def _put_back(self, search: SavedSearch) -> None:
        await self._store.write(searches.put_back, search)
        await self._load()

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        self._writes += 1  # each under a name of its own: none takes the place of another
        self._tasks.start(f"saved-write-{self._writes}", self._told(work))

    async def _told(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except CoreError as error:
            self._window.message_bar.show_notice(describe(error))
            await self._load()

    def _current(self) -> SavedSearch | None:
        """Return the saved search that asks what is asked now, or None."""
        now = (self._search.query, self._filters.as_saved(), self._search.sort)
        return next((e for e in self._saved if (e.query, e.filters, e.sort) == now), None)

    def _show_state(self) -> None:
        field = self._window.search_bar.field
        field.show_saved(is_saved=self._current() is not None)
        self._window.actions_by_name["save_search"].setEnabled(bool(self._search.query))

    def _by_id(self, search_id: int) -> SavedSearch | None:
        return next((each for each in self._saved if each.id == search_id), None)

    def _on_chosen(self, search_id: int) -> None:
        search = self._by_id(search_id)
        if search is None:
            return
        try:
            self._filters.show(search.filters)
        except CoreError as error:
            self._window.message_bar.show_notice(describe(error))
            return
        self._search.open(search.query, search.sort)

    def _on_removed(self, search_id: int) -> None:
        search = self._by_id(search_id)
        if search is not None:
            self._start(self._remove(search))

    def _on_renamed(self, search_id: int, name: str) -> None:
        search = self._by_id(search_id)
        if search is not None:
            self._start(self._rename(search, name))

    def _on_action_pressed(self, key: str) -> None:
        if key not in (_PUT_BACK, _RENAME) or self._last is None:
            return
        self._window.message_bar.hide()
        if key == _PUT_BACK:
            self._start(self._put_back(self._last))
        else:
            self._window.show_list(self._window.recent_view)
            self._window.recent_view.rename(self._last.id)

    def _tell(self, words: str, key: str) -> None:
        action = self.tr("Undo") if key == _PUT_BACK else self.tr("Rename")
        self._window.message_bar.show_notice(Notice("ok", words, "", ""), action=action, key=key)

    def _warn(self, words: str) -> None:
        self._window.message_bar.show_notice(Notice("warn", words, "", ""))

    def _row(self, search: SavedSearch) -> SavedRow:
        narrowed = ", ".join(self._narrowed(search.filters, search.sort))
        return SavedRow(search.id, search.name, search.query, narrowed)

    def _narrowed(self, filters: SavedFilters, sort: Sort) -> Iterable[str]:
        bar = self._window.search_bar
        for words, chip, keys in (
            (self.tr("role %1"), bar.role, [role.value for role in filters.roles]),
            (self.tr("source %1"), bar.source, filters.sources),
            (self.tr("project %1"), bar.project, filters.projects),
        ):
            if keys:
                yield words.replace("%1", "/".join(chip.label(key) for key in keys))
        if filters.days is not None:
            words = counted(filters.days, self.tr("last %1 day"), self.tr("last %1 days"))
            yield words
        if filters.since or filters.until:
            yield f"{filters.since} – {filters.until}".strip()
        if sort != "relevance":
            yield self.tr("newest") if sort == "newest" else self.tr("oldest")


def _free_name(query: str, taken: set[str]) -> str:
    """Return the query as a name, with a number behind it where other filters took that."""
    name = searches.one_line(query)[: searches.MOST_NAME_CHARS - 8]
    numbered = (f"{name} ({n})" for n in range(2, searches.MOST_SEARCHES + 2))
    return next(each for each in (name, *numbered) if each not in taken)
