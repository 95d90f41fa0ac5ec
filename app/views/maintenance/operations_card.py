"""Operations: what was done to the store, when, by whom, and what came of it; what comes next."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from app import formatting
from app.messages import Notice
from app.text_ranges import one_line, plain_tooltip
from app.views import painting
from app.views.maintenance import operation_words
from app.views.maintenance.card import Card
from app.views.maintenance.index_words import sentence
from app.views.parts import Badge, ElidedText, Icon, Link, Text, rule
from core.upkeep_types import Job, Operation

SHOWN = 8
_ROW = 36
_TIME_WIDTH = 52
_LINK_GAP = 10
_TOOLTIP_CHARS = 400


class _Words(QWidget):
    """What was done, and by whom where there is room for both; else cut, if it must be."""

    def __init__(self) -> None:
        super().__init__()
        self._words = self._actor = ""
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    def show_words(self, words: str, actor: str) -> None:
        """Show other words; the whole of them is the tooltip."""
        self._words, self._actor = words, f", {actor}"
        self.setToolTip(plain_tooltip(f"{words}, {actor}"))
        self.update()

    def text(self) -> str:
        """Return what is shown."""
        return self._words + self._actor

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        base = self.height() / 2 + 5
        actor = painting.metrics("ui").horizontalAdvance(self._actor) + 1
        if not self.has_actor():
            painting.draw(painter, self._words, 0, self.width(), base)
            return
        taken = painting.draw(painter, self._words, 0, self.width() - actor, base)
        painting.draw(painter, self._actor, taken, taken + actor + 4, base, ink="text2")

    def has_actor(self) -> bool:
        """Tell whether there is room for by whom; what was done is never cut in its favour."""
        return painting.metrics("ui").horizontalAdvance(self.text()) + 2 <= self.width()


class _Line(QFrame):
    """One operation in 36 px: time, words, by whom, outcome, and what can be asked of it.

    Signals:
        verify_asked, why_asked: the link of an unknown or pending, of a failed one was pressed.
    """

    verify_asked = Signal(object)
    why_asked = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self.operation: Operation | None = None
        self.time = Text("", ink="text2")
        self.time.setFixedWidth(_TIME_WIDTH)
        self.words = _Words()
        self.badge = Badge("unknown", "", "unk")
        self.link = Link("")
        self._gap = QWidget()
        self._gap.setFixedWidth(_LINK_GAP)
        row = QHBoxLayout()
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(self.time)
        row.addWidget(self.words, 1)
        row.addSpacing(12)
        row.addWidget(self.badge)
        row.addWidget(self._gap)
        row.addWidget(self.link)
        self._rule = rule()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self._rule)
        column.addLayout(row, 1)
        self.setFixedHeight(_ROW)
        self.link.clicked.connect(self._on_link)

    def show_operation(self, operation: Operation, *, first: bool) -> None:
        """Show an operation; the first one has no line above it."""
        self.operation = operation
        self._rule.setVisible(not first)
        self.time.setText(formatting.moment(operation.started_at_ms))
        words = operation_words.words(operation)
        actor = operation_words.actor(operation.actor)
        self.words.show_words(words, actor)
        look = operation_words.look(operation.state)
        self.badge.show_badge(look.icon, look.word, look.kind)
        self.badge.setToolTip(plain_tooltip(one_line(operation.outcome)[:_TOOLTIP_CHARS]))
        link = ""
        if operation.state in ("unknown", "pending"):
            link = self.tr("Verify")
        elif operation.state == "failed":
            link = self.tr("Why?")
        self.link.setText(link)
        self._gap.setVisible(bool(link))
        self.link.setVisible(bool(link))
        self.link.setAccessibleName(f"{link} {words}" if link else "")
        told = (self.time.text(), words, actor, look.word, one_line(operation.outcome))
        self.setAccessibleName(", ".join(each for each in told if each))

    def _on_link(self) -> None:
        if self.operation is not None and self.operation.state == "failed":
            self.why_asked.emit(self.operation)
        elif self.operation is not None:
            self.verify_asked.emit(self.operation)


class OperationsCard(Card):
    """Shows; never asks.

    Signals:
        all_asked: show the whole ledger.
        jobs_asked: show the scheduled jobs.
        verify_asked: look what came of an operation; carries it.
    """

    all_asked = Signal()
    jobs_asked = Signal()
    verify_asked = Signal(object)

    def __init__(self) -> None:
        super().__init__("", "ledger")
        self.title.setText(self.tr("Operations"))
        self.setAccessibleName(self.title.text())
        self.show_all = Link("")
        self.nothing = Text(self.tr("Nothing was done yet."), ink="text2")
        self.lines = [_Line() for _ in range(SHOWN)]
        self.next_job = ElidedText("", "caption", "text2")
        self.open_jobs = Link(self.tr("Schedule"), "caption")
        self._next_icon = Icon("calendar", "text2", 14)
        self.place.addWidget(self.show_all)
        self.column.addWidget(self.nothing)
        for line in self.lines:
            self.column.addWidget(line)
            line.verify_asked.connect(self.verify_asked)
            line.why_asked.connect(self.explain)
            line.hide()
        self.column.addStretch(1)
        self.column.addSpacing(8)
        self.column.addLayout(self._foot())
        self.show_all.clicked.connect(self.all_asked)
        self.open_jobs.clicked.connect(self.jobs_asked)
        self.show_operations((), 0)
        self.show_jobs((), 0)

    def _foot(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addWidget(self._next_icon)
        row.addWidget(self.next_job, 1)
        row.addWidget(self.open_jobs, alignment=Qt.AlignmentFlag.AlignRight)
        return row

    def show_operations(self, operations: Sequence[Operation], total: int) -> None:
        """Show the latest operations, newest first, of `total`."""
        self.nothing.setVisible(not operations)
        self.show_all.setText(self.tr("All %1").replace("%1", formatting.number(total)))
        self.show_all.setVisible(total > 0)
        focus = self._focused()
        for n, line in enumerate(self.lines):
            line.setVisible(n < len(operations))
            if n < len(operations):
                line.show_operation(operations[n], first=n == 0)
        if focus is not None:
            self._focus_again(focus)

    def _focused(self) -> int | None:
        """Return the number of the operation whose link has the focus."""
        line = next((each for each in self.lines if each.link.hasFocus()), None)
        return line.operation.id if line is not None and line.operation is not None else None

    def _focus_again(self, operation_id: int) -> None:
        for line in self.lines:
            is_same = line.operation is not None and line.operation.id == operation_id
            if is_same and line.link.isVisibleTo(self):
                line.link.setFocus()
                return

    def show_jobs(self, jobs: Sequence[Job], now_ms: int) -> None:
        """Say which job comes next, how many are paused, and how many went wrong last time."""
        self.open_jobs.setVisible(bool(jobs))
        coming = [each for each in jobs if each.state == "scheduled" and each.next_fire_at_ms]
        paused = sum(each.state == "paused" for each in jobs)
        failed = sum(each.last_status == "error" for each in jobs)
        parts = []
        if failed:
            words = formatting.counted(failed, self.tr("%1 job failed"), self.tr("%1 jobs failed"))
            parts.append(words)
        if paused:
            parts.append(self.tr("%1 paused").replace("%1", formatting.number(paused)))
        if coming:
            first = min(coming, key=lambda each: each.next_fire_at_ms or 0)
            when = operation_words.coming(first.next_fire_at_ms or 0, now_ms)
            what = operation_words.kind(first.kind)
            parts.append(self.tr("Next: %1, %2").replace("%1", what).replace("%2", when))
        self.next_job.setText(" · ".join(parts) or self.tr("Nothing is scheduled"))
        self.next_job.set_ink("err" if failed else "text2")
        self._next_icon.show_icon("warning" if failed else "calendar", "err" if failed else "text2")

    def explain(self, operation: Operation) -> None:
        """Say why an operation failed; the whole entry can be copied."""
        cause = operation_words.words(operation)
        outcome = sentence(one_line(operation.outcome)) or self.tr("Nothing more is known.")
        details = operation_words.details(operation)
        self.message.show_notice(Notice("err", f"{cause}.", outcome, details))

    def tell(self, operation: Operation) -> None:
        """Say what a look at an operation came to."""
        look = operation_words.look(operation.state)
        kind = {"ok": "ok", "err": "err"}.get(look.kind, "info")
        cause = f"{operation_words.words(operation)}: {look.word}."
        details = operation_words.details(operation)
        self.message.show_notice(
            Notice(kind, cause, sentence(one_line(operation.outcome)), details)
        )
