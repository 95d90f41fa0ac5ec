"""What a search tried, step by step: path, what it understood, hits, time, coverage."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QWidget

from app import formatting
from app.text_ranges import one_line
from app.views.parts import Badge, Text, rule
from app.views.path_facts import coverage
from app.views.path_looks import look, tr
from core.types import SearchResult, SearchStep

_NUMBER, _INDEX, _UNDERSTOOD, _HITS, _TIME, _COVERAGE = range(6)
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_ROW = 31
_INDEX_WIDTH = 140


class TriedTable(QWidget):
    """A table of search steps; built anew for each answer."""

    def __init__(self, result: SearchResult) -> None:
        super().__init__()
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(16)
        self._grid.setVerticalSpacing(0)
        self._grid.setColumnStretch(_UNDERSTOOD, 1)
        self._grid.setColumnMinimumWidth(_INDEX, _INDEX_WIDTH)
        self._head()
        for n, step in enumerate(steps_of(result), 1):
            self._step(n, step, coverage(result) if step.path == result.search_path else None)
        self.setAccessibleName(tr("What was tried"))
        self.setAccessibleDescription("; ".join(_spoken(each) for each in steps_of(result)))

    def _head(self) -> None:
        words = {
            _INDEX: tr("Index"),
            _UNDERSTOOD: tr("Understood as"),
            _HITS: tr("Hits"),
            _TIME: tr("Time"),
            _COVERAGE: tr("Coverage"),
        }
        for column, word in words.items():
            label = Text(word, "caption", "text2")
            self._grid.addWidget(label, 0, column, _align(column))
        self._grid.setRowMinimumHeight(0, 28)

    def _step(self, n: int, step: SearchStep, covered: float | None) -> None:
        row = 2 * n
        self._grid.addWidget(rule(), row - 1, 0, 1, 6)
        self._grid.setRowMinimumHeight(row, _ROW)
        shown = look(step.path)
        ran = step.hits is not None
        cells: dict[int, QWidget] = {
            _NUMBER: Text(str(n), "caption", "text3"),
            _INDEX: Badge(shown.icon, shown.word, shown.kind, bold=True, height=24),
            _UNDERSTOOD: _understood(step),
            _HITS: Text(formatting.number(step.hits or 0) if ran else "–", bold=True),
            _TIME: Text(_time(step), "caption", "text2"),
            _COVERAGE: Text(
                "" if covered is None else formatting.percent(covered), "caption", "text2"
            ),
        }
        for column, cell in cells.items():
            if column == _UNDERSTOOD:
                self._grid.addWidget(cell, row, column)
            else:
                self._grid.addWidget(cell, row, column, _align(column))


def steps_of(result: SearchResult) -> tuple[SearchStep, ...]:
    """Return the steps of an answer; one that lists none is its own only step."""
    if result.steps:
        return result.steps
    return (
        SearchStep(result.search_path, result.understood, result.total_hits, result.elapsed_ms),
    )


def _understood(step: SearchStep) -> Text:
    text = one_line(": ".join(each for each in (step.note, step.understood) if each))
    label = Text(text, "caption", "text" if step.hits is not None else "text2")
    label.setWordWrap(True)
    label.setContentsMargins(0, 4, 0, 4)
    return label


def _time(step: SearchStep) -> str:
    return "" if step.elapsed_ms is None else formatting.elapsed(step.elapsed_ms)


def _spoken(step: SearchStep) -> str:
    hits = tr("not run") if step.hits is None else str(step.hits)
    return f"{look(step.path).word}: {one_line(step.understood)}, {hits}"


def _align(column: int) -> Qt.AlignmentFlag:
    if column in (_HITS, _TIME, _COVERAGE):
        return _RIGHT
    return Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
