"""Which conversation is open at which message, and the way back to those seen before."""

from collections.abc import Collection
from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal

from app.controllers.context import ContextController
from app.controllers.search import SearchController
from app.views.main_window import MainWindow
from core.types import SearchRequest

_KEPT = 200


@dataclass(frozen=True, slots=True)
class Place:
    """A conversation, opened at its start or at a message that a query found.

    `asked` is the whole question, with the filters that narrowed it.
    """

    session_id: int
    message_id: int | None = None
    query: str = ""
    asked: SearchRequest | None = None


@dataclass(frozen=True, slots=True)
class Way:
    """The places that can be gone to, and which of them is the one shown."""

    places: tuple[Place, ...]
    at: int


class NavigationController(QObject):
    """Opens what the lists ask for and remembers the way.

    Signals:
        opened: a conversation is being shown; carries its row id.
    """

    opened = Signal(int)

    def __init__(
        self, window: MainWindow, context: ContextController, search: SearchController
    ) -> None:
        super().__init__(window)
        self._window, self._context, self._search = window, context, search
        self._places: list[Place] = []
        self._at = -1
        window.sessions_view.session_opened.connect(self._on_session_opened)
        window.hits_view.session_opened.connect(self._on_session_opened)
        window.hits_view.hit_opened.connect(self._on_hit_opened)
        window.pane.session_link_opened.connect(self._on_session_opened)
        context.anchor_moved.connect(self._on_anchor_moved)
        window.search_bar.back_asked.connect(lambda: self._step(-1))
        window.search_bar.forward_asked.connect(lambda: self._step(1))
        self._show_history()

    def current(self) -> Place | None:
        """Return what is open, or None."""
        return self._places[self._at] if 0 <= self._at < len(self._places) else None

    def leave(self, session_ids: Collection[int]) -> Way:
        """Forget sessions that are gone; what lay ahead of one that is shown goes with it.

        Returns the way as it was, for `go_back_to`. When one of them is shown, nothing is the
        current place afterwards, and the way back from it stays.
        """
        before = Way(tuple(self._places), self._at)
        now = self.current()
        if now is not None and now.session_id in session_ids:
            del self._places[self._at :]
        ahead = self._places[self._at :]
        behind = [each for each in self._places[: self._at] if each.session_id not in session_ids]
        ahead = [each for each in ahead if each.session_id not in session_ids]
        self._places, self._at = [*behind, *ahead], len(behind)
        if not self._places:
            self._at = -1
        self._show_history()
        return before

    def go_back_to(self, way: Way) -> None:
        """Let the way be what it was before `leave`, and show the place it stood at."""
        self._places, self._at = list(way.places), way.at
        place = self.current()
        if place is not None:
            self._show(place)
        self._show_history()

    def open(self, place: Place) -> None:
        """Open a place; what lay ahead of the one before is forgotten."""
        self._add(place)
        self._show(place)

    def _add(self, place: Place) -> None:
        if place != self.current():
            self._places = [*self._places[: self._at + 1], place][-_KEPT:]
            self._at = len(self._places) - 1

    def _on_anchor_moved(self, message_id: int, session_id: int, query: str) -> None:
        """Remember a place that the conversation went to by itself."""
        now = self.current()
        is_same = now is not None and (now.session_id, now.query) == (session_id, query)
        asked = now.asked if now is not None and is_same else None
        self._add(Place(session_id, message_id, query, asked))
        self._show_history()

    def _on_session_opened(self, session_id: int) -> None:
        current = self.current()
        if current is not None and current.session_id == session_id and self._is_shown():
            return
        self.open(Place(session_id))

    def _on_hit_opened(self, message_id: int, session_id: int) -> None:
        self._search.keep_query()
        asked = self._search.question
        query = self._search.query if asked is None else asked.query
        self.open(Place(session_id, message_id, query, asked))

    def _step(self, step: int) -> None:
        if 0 <= self._at + step < len(self._places):
            self._at += step
            place = self._places[self._at]
            self._show(place)
            if place.message_id is None or not self._window.hits_view.select_message(
                place.message_id
            ):
                self._window.sessions_view.select_session(place.session_id)

    def _show(self, place: Place) -> None:
        self._window.show_right(self._window.pane)
        if place.message_id is None:
            self._context.open_session(place.session_id)
        else:
            self._context.open_message(place.message_id, place.session_id, place.query, place.asked)
        self._show_history()
        self.opened.emit(place.session_id)

    def _is_shown(self) -> bool:
        return self._window.right.currentWidget() is self._window.pane

    def _show_history(self) -> None:
        back, forward = self._at > 0, self._at < len(self._places) - 1
        self._window.search_bar.show_history(can_back=back, can_forward=forward)
        self._window.actions_by_name["back"].setEnabled(back)
        self._window.actions_by_name["forward"].setEnabled(forward)
