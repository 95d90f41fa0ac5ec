"""Why an answer is what it is: what was understood, each step, what was not searched."""

from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QVBoxLayout, QWidget

from app import formatting
from app.text_ranges import one_line
from app.views.parts import Text
from app.views.path_facts import left_out
from app.views.path_looks import look, tr
from app.views.tried_table import TriedTable
from core.types import IndexStatus, SearchRequest, SearchResult

_WIDTH = 720
_MARGIN = 8
_NAMES = {
    "messages_fts": "fts5",
    "messages_fts_trigram": "trigram",
    "messages_fts_cjk": "cjk",
}


class WhyPopup(QFrame):
    """Opens below the path bar; Esc or a click elsewhere closes it."""

    def __init__(self, result: SearchResult, request: SearchRequest, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setProperty("class", "popup")
        self.setFixedWidth(_WIDTH)
        self.setAccessibleName(tr("Why this answer"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(20, 16, 20, 16)
        self._column.setSpacing(4)
        self._paragraph(tr("Why this index"), one_line(result.why))
        self._paragraph(tr("Understood as"), one_line(result.understood))
        self._paragraph(tr("Mended in the query"), "\n".join(map(one_line, result.repairs)))
        self._head(tr("What was tried"))
        self._column.addWidget(TriedTable(result))
        if not result.complete:
            self._paragraph(tr("Partial"), _partial(request))
        missing = left_out(result.not_searched)
        self._paragraph(
            tr("Not searched"),
            "\n".join(each.words for each in missing) or tr("Nothing was left out."),
        )
        if not result.legacy_complete:
            self._paragraph(tr("Old history"), _pending())
        self._paragraph(tr("Order"), _order(result, request))
        self._paragraph(
            tr("Indexes"),
            "\n".join(_index(name, each) for name, each in result.index_status.items()),
        )

    def open_at(self, below: QPoint, within: QRect) -> None:
        """Show it with its top left corner at a point of the screen, as far as that is `within`."""
        self.adjustSize()
        left = min(below.x(), within.right() - self.width() - _MARGIN)
        top = min(below.y(), within.bottom() - self.height() - _MARGIN)
        self.move(max(left, within.left()), max(top, within.top()))
        self.show()
        self.setFocus()

    def _head(self, words: str) -> None:
        if self._column.count():
            self._column.addSpacing(8)
        self._column.addWidget(Text(words, "caption", "text2", bold=True))

    def _paragraph(self, head: str, words: str) -> None:
        if not words:
            return
        self._head(head)
        text = Text(words)
        text.setWordWrap(True)
        text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._column.addWidget(text)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.close()
        else:
            super().keyPressEvent(event)


def _partial(request: SearchRequest) -> str:
    words = tr(
        "The search was stopped after %1. What is shown was found until then; there may be more."
    )
    return words.replace("%1", formatting.elapsed(request.deadline_s * 1000))


def _pending() -> str:
    return tr(
        "A snapshot of older conversations is still being moved in. What is not found may be in"
        " it: import its source again, which goes on where it stopped."
    )


def _order(result: SearchResult, request: SearchRequest) -> str:
    if not result.total_hits:
        return ""
    if request.sort != "relevance":
        return tr("The newest first.") if request.sort == "newest" else tr("The oldest first.")
    scope = result.ranked_scope
    if scope is None:
        return tr("By relevance, over all hits.")
    if scope >= result.total_hits:
        return tr("By relevance, over all %1 hits.").replace("%1", formatting.number(scope))
    words = tr("The %1 newest hits are ranked by relevance; older ones follow by time.")
    return words.replace("%1", formatting.number(scope))


def _index(name: str, status: IndexStatus) -> str:
    states = {
        "ready": tr("ready"),
        "building": tr("being built"),
        "settling": tr("settling: it holds everything, writing is slower"),
        "detached": tr("detached: what is new waits in a queue"),
        "stale": tr("out of date"),
    }
    state = states.get(status.state, status.state)
    words = tr("%1: %2, covers %3").replace("%1", look(_NAMES[name]).word).replace("%2", state)
    words = words.replace("%3", formatting.percent(status.coverage))
    if status.todo:
        words += ", " + tr("%1 to do").replace("%1", formatting.number(status.todo))
    return f"{words} ({one_line(status.reason)})" if status.reason else words
