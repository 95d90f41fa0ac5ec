"""The searches made before: which are kept, and which were only typed on the way."""

from PySide6.QtCore import QObject

from app.view_state import RecentSearch, ViewState
from app.views.main_window import MainWindow


class RecentSearches(QObject):
    """Keeps the list of recent searches, in the window and for the next start."""

    def __init__(self, window: MainWindow, state: ViewState) -> None:
        super().__init__(window)
        self._model, self._state = window.models.recent, state
        self._draft = ""
        window.recent_view.clear_asked.connect(self._on_clear)
        window.recent_view.recent_removed.connect(self._on_removed)
        window.actions_by_name["clear_recent"].triggered.connect(self._on_clear)

    def remember(self, query: str, hits: int) -> None:
        """Put an answered query in front; it takes the place of what it was typed on from."""
        draft = self._draft if _is_draft_of(self._draft, query) else ""
        self._state.add_recent(RecentSearch(query, hits), instead_of=draft)
        self._draft = query
        self._model.replace(self._state.recent())

    def keep(self) -> None:
        """Keep the query of now, also when it is typed on."""
        self._draft = ""

    def _on_clear(self) -> None:
        self._state.set_recent(())
        self._model.replace(())

    def _on_removed(self, query: str) -> None:
        left = tuple(each for each in self._state.recent() if each.query != query)
        self._state.set_recent(left)
        self._model.replace(left)


def _is_draft_of(draft: str, query: str) -> bool:
    """Tell whether `draft` was only typed on the way to `query`, forwards or backwards."""
    return bool(draft) and (query.startswith(draft) or draft.startswith(query))
