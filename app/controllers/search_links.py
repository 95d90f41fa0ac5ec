"""What can be asked of an answer beyond its words: what was left out, more time, everything."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from PySide6.QtCore import QObject, QPoint, Signal

from app.views.main_window import MainWindow
from app.views.path_facts import (
    AGAIN,
    INCLUDE,
    INSIDE,
    LEAVE_SCAN,
    SCAN,
    SEARCH_ON,
    STOP,
    WHOLE_WORDS,
    WHY,
    left_out,
)
from app.views.why_popup import WhyPopup
from core.types import SearchRequest, SearchResult

DEADLINE_S = 3.0
LONG_S = 60.0
EVERYTHING_S = 3600.0  # a bar with Stop stands above it


@dataclass(frozen=True, slots=True)
class Ways:
    """How the words of a query are looked for."""

    include: frozenset[str] = frozenset()
    inside_words: bool = False
    everything: bool = False
    deadline_s: float = DEADLINE_S

    @classmethod
    def of(cls, request: SearchRequest) -> "Ways":
        """Return how a request looks for its words."""
        return cls(request.include, request.inside_words, request.everything, request.deadline_s)


class SearchLinks(QObject):
    """Follows the links of the path bar and of the page of no hits.

    Signals:
        asked: the query should be asked in the ways of now.
        stop_asked: the search that runs should be stopped.
    """

    asked = Signal()
    stop_asked = Signal()

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self.ways = Ways()
        self._window = window
        self._result: SearchResult | None = None
        self._request: SearchRequest | None = None
        window.path_bar.link_pressed.connect(self._on_link_pressed)
        window.zero_hits.include_asked.connect(self._include)
        window.zero_hits.scan_asked.connect(lambda: self._on_link_pressed(SCAN))
        window.zero_hits.search_on_asked.connect(lambda: self._on_link_pressed(SEARCH_ON))

    def forget(self) -> None:
        """Look for the next words as usual."""
        self.ways = Ways()

    def show(self, result: SearchResult | None, request: SearchRequest | None) -> None:
        """Let the links be about an answer; None: about nothing."""
        self._result, self._request = result, request

    def _include(self, names: Sequence[str]) -> None:
        self._ask(replace(self.ways, include=self.ways.include | frozenset(names)))

    def _ask(self, ways: Ways) -> None:
        self.ways = ways
        self.asked.emit()

    def _on_link_pressed(self, name: str) -> None:
        if name == STOP:
            self.stop_asked.emit()
        elif name == AGAIN:
            self.asked.emit()
        if self._result is None or self._request is None:
            return
        now = self.ways
        other = {
            INSIDE: replace(now, inside_words=True),
            WHOLE_WORDS: replace(now, inside_words=False),
            SCAN: Ways(everything=True, deadline_s=EVERYTHING_S),
            LEAVE_SCAN: Ways(),
            SEARCH_ON: replace(now, deadline_s=LONG_S if now.deadline_s < LONG_S else EVERYTHING_S),
        }
        if name in other:
            self._ask(other[name])
        elif name == INCLUDE:
            missing = left_out(self._result.not_searched)
            self._include([each.include for each in missing if each.include])
        elif name == WHY:
            self._open_why(self._result, self._request)

    def _open_why(self, result: SearchResult, request: SearchRequest) -> None:
        bar = self._window.path_bar
        link = bar.links.get(WHY)
        x = link.mapTo(bar, QPoint(0, 0)).x() - 24 if link is not None else 16
        popup = WhyPopup(result, request, self._window)
        popup.open_at(
            bar.mapToGlobal(QPoint(x, bar.height())), self._window.screen().availableGeometry()
        )
