"""Sources: where history comes from, what the last import made of it, and what went wrong."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QFrame, QGridLayout, QHBoxLayout, QWidget

from app import formatting
from app.models.sessions import source_icon
from app.text_ranges import one_line, visible
from app.views.import_panel import ImportProgress
from app.views.maintenance.card import Bar, Card, Facts
from app.views.parts import Button, ElidedText, Icon, IconButton, Link, Text, rule

_ROW, _HEAD = 31, 28
_ICON, _NAME, _STATE, _NEW, _CHANGED, _SKIPPED, _FAILED, _LAST = range(8)
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_NUMBER_WIDTH, _NAME_WIDTH = 44, 84


@dataclass(frozen=True, slots=True)
class SourceLine:
    """One row: a source of the store, or a place that was found and never imported.

    Numbers are None where there is none to tell; `failed` counts files and broken records.
    """

    kind: str
    name: str
    state: str
    new: int | None
    changed: int | None
    skipped: int | None
    failed: int | None
    last_run_at_ms: int | None


@dataclass(frozen=True, slots=True)
class SourcesShown:
    """What the card shows: its rows, what could not be read, and what is not known yet."""

    lines: tuple[SourceLine, ...]
    troubles: str = ""
    unknown: str = ""


class SourcesCard(Card):
    """Shows; never asks.

    Signals:
        import_asked: choose what to import.
        look_asked: look again for what is on this machine.
        troubles_asked, unknown_asked: list what could not be read, or is of no known kind.
    """

    import_asked = Signal()
    look_asked = Signal()
    troubles_asked = Signal()
    unknown_asked = Signal()

    def __init__(self) -> None:
        super().__init__("", "import")
        self.title.setText(self.tr("Sources"))
        self.setAccessibleName(self.title.text())
        self.import_more = Button(self.tr("Import…"), icon="import")
        self.look = IconButton("rebuild", self.tr("Look again for what is on this machine"), 28)
        self.place.addWidget(self.import_more)
        self.place.addWidget(self.look)
        self.nothing = Text(self.tr("Nothing was imported yet."), ink="text2")
        self._table = QWidget()
        self.troubles = _Note("fail", "err", self.tr("Details"))
        self.unknown = _Note("unknown", "", self.tr("Show"))
        self.running = _Running()
        self.column.addWidget(self.nothing)
        self.column.addWidget(self._table)
        self.column.addSpacing(8)
        self.column.addWidget(self.running)
        self.column.addWidget(self.troubles)
        self.column.addWidget(self.unknown)
        self.column.addStretch(1)
        self._shown: SourcesShown | None = None
        self.import_more.clicked.connect(self.import_asked)
        self.look.clicked.connect(self.look_asked)
        self.troubles.link.clicked.connect(self.troubles_asked)
        self.unknown.link.clicked.connect(self.unknown_asked)
        self.show_sources(SourcesShown(()))

    def show_sources(self, shown: SourcesShown) -> None:
        """Show other sources."""
        if shown == self._shown:
            return
        if self._shown is None or shown.lines != self._shown.lines:
            self._fill(shown.lines)
        self._shown = shown
        self.nothing.setVisible(not shown.lines)
        self.troubles.show_words(shown.troubles)
        self.unknown.show_words(shown.unknown)

    def show_import(self, now: ImportProgress | None) -> None:
        """Show how far a running import has come; None when none runs."""
        self.running.show_progress(now)

    def lines(self) -> tuple[SourceLine, ...]:
        """Return what is shown."""
        return self._shown.lines if self._shown else ()

    def _fill(self, lines: Sequence[SourceLine]) -> None:
        """Put the table together anew."""
        table = QWidget()
        grid = QGridLayout(table)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(8)
        grid.setVerticalSpacing(0)
        grid.setColumnStretch(_NAME, 1)
        grid.setColumnMinimumWidth(_NAME, _NAME_WIDTH)
        for column in (_NEW, _CHANGED, _SKIPPED, _FAILED):
            grid.setColumnMinimumWidth(column, _NUMBER_WIDTH)
        for column, word in self._words().items():
            align = _LEFT if column in (_NAME, _STATE) else _RIGHT
            grid.addWidget(Text(word, "caption", "text2"), 0, column, align)
        grid.setRowMinimumHeight(0, _HEAD)
        for n, line in enumerate(lines, 1):
            grid.addWidget(rule(), 2 * n - 1, 0, 1, _LAST + 1)
            grid.setRowMinimumHeight(2 * n, _ROW)
            self._add(grid, 2 * n, line)
        table.setAccessibleName(self.tr("Sources"))
        table.setAccessibleDescription("; ".join(self._spoken(each) for each in lines))
        self.column.replaceWidget(self._table, table)
        table.setVisible(bool(lines))  # with its parent: alone it would be a window, with the focus
        self._table.hide()
        self._table.deleteLater()
        self._table = table

    def _words(self) -> dict[int, str]:
        return {
            _NAME: self.tr("Source"),
            _STATE: self.tr("State"),
            _NEW: self.tr("New"),
            _CHANGED: self.tr("Changed"),
            _SKIPPED: self.tr("Skipped"),
            _FAILED: self.tr("Failed"),
            _LAST: self.tr("Last run"),
        }

    def _add(self, grid: QGridLayout, row: int, line: SourceLine) -> None:
        grid.addWidget(Icon(source_icon(line.kind), "text2", 16), row, _ICON)
        name = _Name(visible(line.name))
        grid.addWidget(name, row, _NAME)
        grid.addWidget(Text(line.state, ink="text2"), row, _STATE, _LEFT)
        for column, number in (
            (_NEW, line.new),
            (_CHANGED, line.changed),
            (_SKIPPED, line.skipped),
            (_FAILED, line.failed),
        ):
            bad = column == _FAILED and bool(number)
            words = "–" if number is None else formatting.number(number)
            ink = "err" if bad else "text2" if column == _SKIPPED or number is None else "text"
            grid.addWidget(Text(words, ink=ink, bold=bad), row, column, _RIGHT)
        last = "–" if line.last_run_at_ms is None else formatting.moment(line.last_run_at_ms)
        grid.addWidget(Text(last, ink="text2"), row, _LAST, _RIGHT)

    def _spoken(self, line: SourceLine) -> str:
        words = self._words()
        numbers = (
            (words[_NEW], line.new),
            (words[_CHANGED], line.changed),
            (words[_SKIPPED], line.skipped),
            (words[_FAILED], line.failed),
        )
        told = [f"{word} {number}" for word, number in numbers if number is not None]
        return ", ".join((one_line(line.name), line.state, *told))


class _Name(ElidedText):
    """A source's name, which gives way to the numbers."""

    def sizeHint(self) -> QSize:
        return QSize(60, super().sizeHint().height())


class _Note(QFrame):
    """A line about what went wrong or is not known, with a link to the whole of it."""

    def __init__(self, icon: str, kind: str, link: str) -> None:
        super().__init__()
        if kind:
            self.setProperty("class", "message")
            self.setProperty("kind", kind)
        self.words = Facts("caption", "text" if kind else "text2")
        self.link = Link(link, "caption")
        row = QHBoxLayout(self)
        row.setContentsMargins(8 if kind else 0, 7, 8 if kind else 0, 7)
        row.setSpacing(8)
        row.addWidget(Icon(icon, kind or "text2"))
        row.addWidget(self.words, 1)
        row.addWidget(self.link)
        self.hide()

    def show_words(self, words: str) -> None:
        """Show other words; none hide the line."""
        self.words.show_words(words)
        self.setAccessibleName(words)
        self.link.setAccessibleDescription(words)
        self.setVisible(bool(words))


class _Running(QFrame):
    """An import under way: how far, how fast, how long still."""

    def __init__(self) -> None:
        super().__init__()
        self.words = Facts()
        self._bar = Bar()
        row = QGridLayout(self)
        row.setContentsMargins(0, 4, 0, 8)
        row.setVerticalSpacing(6)
        row.addWidget(self._bar, 0, 0)
        row.addWidget(self.words, 1, 0)
        self.hide()

    def show_progress(self, now: ImportProgress | None) -> None:
        """Show another state; None hides it."""
        self.setVisible(now is not None)
        if now is None:
            return
        percent = formatting.percent(now.fraction)
        name = self.tr("Import paused, %1") if now.paused else self.tr("Import %1")
        facts = [formatting.counted(now.messages, self.tr("%1 message"), self.tr("%1 messages"))]
        if now.rate and not now.paused:
            rate = formatting.number(round(now.rate))
            facts.append(self.tr("%1 per second").replace("%1", rate))
        if now.left_s is not None and not now.paused:
            facts.append(self.tr("%1 left").replace("%1", formatting.remaining(now.left_s)))
        words = name.replace("%1", percent)
        self.words.show_runs(((words, True), (" · " + " · ".join(facts), False)))
        self._bar.show_part(now.fraction, "halted" if now.paused else "part", words)
