"""Why an answer is what it is: what was understood, each step, what was not searched."""

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QVBoxLayout, QWidget

from app import formatting
from app.text_ranges import one_line
from app.views.parts import Text
from app.views.path_facts import left_out, look, tr
from app.views.tried_table import TriedTable
from core.types import SearchResult

_WIDTH = 640
_NAMES = {
    "messages_fts": "fts5",
    "messages_fts_trigram": "trigram",
    "messages_fts_cjk": "cjk",
}


class WhyPopup(QFrame):
    """Opens below the path bar; Esc or a click elsewhere closes it."""

    def __init__(self, result: SearchResult, parent: QWidget) -> None:
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
        if result.repairs:
            self._paragraph(tr("Repaired"), "\n".join(map(one_line, result.repairs)))
        self._head(tr("What was tried"))
        self._column.addWidget(TriedTable(result))
        missing = left_out(result.not_searched)
        self._paragraph(
            tr("Not searched"),
            "\n".join(each.words for each in missing) or tr("Nothing was left out."),
        )
        self._paragraph(tr("Indexes"), "\n".join(_indexes(result)))
        if result.ranked_scope is not None and result.ranked_scope < result.total_hits:
            words = tr("The %1 newest hits are ranked; older ones follow by time.")
            self._paragraph(
                tr("Order"), words.replace("%1", formatting.number(result.ranked_scope))
            )

    def open_at(self, below: QPoint) -> None:
        """Show it with its top left corner at a point of the screen."""
        self.adjustSize()
        self.move(below)
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


def _indexes(result: SearchResult) -> list[str]:
    lines = []
    for name, status in result.index_status.items():
        words = f"{look(_NAMES[name]).word}: {status.state}, {formatting.percent(status.coverage)}"
        lines.append(f"{words} ({status.reason})" if status.reason else words)
    return lines
