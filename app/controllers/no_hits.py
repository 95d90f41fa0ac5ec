"""The page of an answer without hits, and what its words are in the index."""

from PySide6.QtCore import QObject

from app.controllers.word_split import WordSplit, split_words
from app.messages import describe
from app.tasks import TaskScope
from app.views.main_window import MainWindow
from core.errors import CoreError
from core.store.store import Store
from core.types import SearchRequest, SearchResult


class NoHits(QObject):
    """Shows why nothing was found, beside the searches made before."""

    def __init__(self, store: Store, window: MainWindow, tasks: TaskScope) -> None:
        super().__init__(window)
        self._store, self._window, self._tasks = store, window, tasks

    def show(self, request: SearchRequest, result: SearchResult) -> None:
        """Show the page; how the index sees the words is added when it is known."""
        window = self._window
        window.zero_hits.show_result(result, everything=request.everything)
        window.show_list(window.recent_view)
        window.recent_view.select_query(result.query)
        window.show_right(window.zero_hits)
        if not request.everything:
            self._tasks.start("split-words", self._split(request))

    def leave(self) -> None:
        """Let what is still being found out for the page go."""
        self._tasks.cancel("split-words")

    async def _split(self, request: SearchRequest) -> None:
        try:
            found: WordSplit | None = await self._store.read(split_words, request)
        except CoreError as error:
            self._window.message_bar.show_notice(describe(error))
            return
        if found is not None:
            page = self._window.zero_hits
            page.show_words(found.run, found.pairs, found.offered, found.hits)
