"""The page of an answer without hits: what was searched, what was tried, what was left out."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from app import formatting
from app.text_ranges import one_line
from app.views.page import Page
from app.views.parts import Button, Text, rule
from app.views.path_facts import LeftOut, coverage, left_out
from app.views.path_looks import look
from app.views.token_split import Pair, TokenSplit
from app.views.tried_table import TriedTable
from core.types import SearchResult

_ROW = 40
_COUNT_WIDTH = 64
_ADVICE_WIDTH = 340


class ZeroHitsView(Page):
    """Tells the truth about nothing found. Everything it offers leaves as a signal.

    Signals:
        include_asked: search again with these parts too; carries their names.
        query_offered: the offered search was pressed; carries its query.
        scan_asked: every message should be read, without an index.
        search_on_asked: the search should go on, beyond the time limit.
        why_asked: why is what was searched not here; carries the query.
    """

    include_asked = Signal(tuple)
    query_offered = Signal(str)
    scan_asked = Signal()
    search_on_asked = Signal()
    why_asked = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self.title = Text("", "display")
        self.sentence = Text("", "lead", "text2")
        self.sentence.setWordWrap(True)
        self._words = QWidget()
        self.split = TokenSplit()
        self.advice = Text(ink="text2")
        self.advice.setWordWrap(True)
        self.advice.setMaximumWidth(_ADVICE_WIDTH)
        self.advice.setMinimumWidth(_ADVICE_WIDTH // 2)
        self.offer = Button("", "primary", "search")
        self._names: tuple[str, ...] = ()
        self._include_all = Button(self.tr("Include all of these"))
        self._include_all.clicked.connect(lambda: self.include_asked.emit(self._names))
        self.scan = Button(self.tr("Scan everything"), "", "path-like")
        self.search_on = Button(self.tr("Search on"), "", "now")
        self.why = Button(self.tr("Why isn't it here?"))
        self._query = ""
        self.cost = Text("", "caption", "text2")
        self.cost.setWordWrap(True)
        self._offered = ""
        self._tried = QVBoxLayout()
        self._left_out = QVBoxLayout()
        self._build()
        self.offer.clicked.connect(lambda: self.query_offered.emit(self._offered))
        self.scan.clicked.connect(self.scan_asked)
        self.search_on.clicked.connect(self.search_on_asked)
        self.why.clicked.connect(lambda: self.why_asked.emit(self._query))

    def _build(self) -> None:
        side = QVBoxLayout()
        side.setSpacing(0)
        side.addWidget(self.advice)
        side.addSpacing(6)
        side.addWidget(self.offer, alignment=Qt.AlignmentFlag.AlignLeft)
        side.addStretch(1)
        pair = QHBoxLayout()
        pair.setSpacing(32)
        pair.addWidget(self.split, alignment=Qt.AlignmentFlag.AlignTop)
        pair.addLayout(side, 1)
        words = QVBoxLayout(self._words)
        words.setContentsMargins(0, 28, 0, 0)
        words.setSpacing(8)
        words.addWidget(Text(self.tr("Your words in the index"), bold=True))
        words.addLayout(pair)
        self._tried.setContentsMargins(0, 28, 0, 0)
        self._left_out.setContentsMargins(0, 28, 0, 0)
        self._left_out.setSpacing(0)
        self.column.addWidget(self.title)
        self.column.addSpacing(8)
        self.column.addWidget(self.sentence)
        self.column.addWidget(self._words)
        self.column.addLayout(self._tried)
        self.column.addLayout(self._left_out)
        self.column.addLayout(self._actions())
        self.column.addStretch(1)

    def _actions(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setContentsMargins(0, 16, 0, 0)
        row.setSpacing(8)
        for button in (self._include_all, self.search_on, self.scan):
            row.addWidget(button)
        row.addSpacing(8)
        row.addWidget(self.cost, 1)
        row.addWidget(self.why)
        return row

    def show_result(self, result: SearchResult, *, everything: bool = False) -> None:
        """Show an answer without hits; the word split comes later by `show_words`.

        `everything`: it was asked for by reading every message, so nothing more can be offered.
        """
        self._query = result.query
        messages = formatting.counted(
            result.messages_searched, self.tr("%1 message"), self.tr("%1 messages")
        )
        self.title.setText(self.tr("0 hits in %1").replace("%1", messages))
        self.sentence.setText(self._truth_of_all(result) if everything else self._truth(result))
        self._words.hide()
        _empty(self._tried)
        self._tried.addWidget(Text(self.tr("What was tried"), bold=True))
        self._tried.addWidget(TriedTable(result))
        self._show_left_out(left_out(result.not_searched))
        self.search_on.setVisible(not result.complete)
        self.scan.setVisible(not everything)
        self.cost.setVisible(not everything)
        words = self.tr("reads %1 to their ends, in every state; can be stopped")
        self.cost.setText(words.replace("%1", messages))
        self.verticalScrollBar().setValue(0)

    def show_words(self, run: str, pairs: Sequence[Pair], offered: str, hits: int) -> None:
        """Show how the index sees `run`, and a search that has `hits` (none: offer nothing)."""
        self.split.show_run(run, pairs)
        missing = [pair.text for pair in pairs if not pair.hits]
        self.advice.setText(self._advice(pairs, missing))
        self._offered = offered
        self.offer.setVisible(bool(offered and hits))
        count = formatting.counted(hits, self.tr("%1 hit"), self.tr("%1 hits"))
        self.offer.setText(f"{one_line(offered)}   {count}")
        self._words.show()

    def _truth(self, result: SearchResult) -> str:
        name = look(result.search_path).phrase
        if not result.complete:
            return self.tr("The search was stopped before its end: there may be hits.")
        if coverage(result) < 1:
            part = formatting.percent(coverage(result))
            words = self.tr("%1 covers %2 of them; none of those contains this text.")
            return words.replace("%1", name).replace("%2", part)
        if left_out(result.not_searched):
            words = self.tr(
                "%1 covers every one of them, and none contains this text. "
                "What was left out is listed below."
            )
            return words.replace("%1", name)
        words = self.tr("%1 covers every one of them, and none contains this text.")
        return words.replace("%1", name)

    def _truth_of_all(self, result: SearchResult) -> str:
        if not result.complete:
            return self.tr("The reading was stopped before its end: there may be hits.")
        return self.tr(
            "Every message was read to its end, with tool output, reasoning, what was taken back "
            "and what is in the trash: none contains this text."
        )

    def _advice(self, pairs: Sequence[Pair], missing: Sequence[str]) -> str:
        if not missing:
            return self.tr("Every pair occurs, but no message has them all side by side.")
        never = " · ".join(missing)
        if len(missing) == len(pairs):
            return self.tr("%1: no message has these side by side.").replace("%1", never)
        found = " · ".join(pair.text for pair in pairs if pair.hits)
        words = self.tr("%1 occur, but %2 never does: no message has them side by side.")
        return words.replace("%1", found).replace("%2", never)

    def _show_left_out(self, parts: Sequence[LeftOut]) -> None:
        _empty(self._left_out)
        self._names = tuple(part.include for part in parts if part.include)
        self._include_all.setVisible(len(self._names) > 1)
        if not parts:
            return
        self._left_out.addWidget(Text(self.tr("Not searched"), bold=True))
        self._left_out.addSpacing(8)
        for part in parts:
            self._left_out.addWidget(rule())
            self._left_out.addWidget(self._row(part))
        self._left_out.addWidget(rule())

    def _row(self, part: LeftOut) -> QWidget:
        result = QWidget()
        result.setFixedHeight(_ROW)
        row = QHBoxLayout(result)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(16)
        count = Text(formatting.number(part.count), bold=True)
        count.setFixedWidth(_COUNT_WIDTH)
        count.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        row.addWidget(count)
        row.addWidget(Text(part.noun))
        row.addStretch(1)
        if part.include:
            include = Button(self.tr("Include"), "small")
            include.setAccessibleName(self.tr("Include %1").replace("%1", part.words))
            include.clicked.connect(lambda: self.include_asked.emit((part.include,)))
            row.addWidget(include)
        return result


def _empty(layout: QVBoxLayout) -> None:
    while (item := layout.takeAt(0)) is not None:
        widget = item.widget()
        if widget is not None:
            widget.hide()
            widget.deleteLater()
