"""Retention: the rule, what it would do now, and the trash."""

from collections.abc import Sequence

from PySide6.QtCore import QRectF, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QWidget

from app import formatting, theme
from app.models.sessions import source_name
from app.text_ranges import visible
from app.views.choice_button import ChoiceButton
from app.views.maintenance import retention_words
from app.views.maintenance.card import Card, Facts
from app.views.maintenance.retention_chart import RetentionChart
from app.views.number_field import NumberField
from app.views.parts import Button, ElidedText, Icon, Link, Text, rule
from app.views.switch import Switch
from core.upkeep_types import RetentionPreview, RetentionRule, Trash

_DAYS_WIDTH = 64
_MOST_DAYS = 36_500
_USUAL_DAYS = 180


class _Swatch(QWidget):
    """What a bar of the chart looks like, beside its word."""

    def __init__(self, *, solid: bool) -> None:
        super().__init__()
        self._solid = solid
        self.setFixedSize(10, 10)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        box = QRectF(self.rect())
        painter.fillRect(box, theme.color("fill" if self._solid else "bar"))
        if not self._solid:
            painter.fillRect(box.adjusted(1, 1, -1, -1), theme.color("track"))


class RetentionCard(Card):
    """Shows; never asks.

    Signals:
        turned: the switch was turned; carries whether it is on now.
        rule_edited: days or sources were edited.
        rule_settled: what was edited is meant: Enter, or the focus went elsewhere.
        sessions_asked: show the sessions that would go.
        move_asked: move them to the trash now.
        trash_asked: show the trash.
        undo_asked: take back what went to the trash last.
        trust_asked: the clock is right, whatever it seems.
    """

    turned = Signal(bool)
    rule_edited = Signal()
    rule_settled = Signal()
    sessions_asked = Signal()
    move_asked = Signal()
    trash_asked = Signal()
    undo_asked = Signal()
    trust_asked = Signal()

    def __init__(self) -> None:
        super().__init__("", "hourglass")
        self.title.setText(self.tr("Retention"))
        self.setAccessibleName(self.title.text())
        self.state = Text("", ink="text2")
        self.switch = Switch(self.tr("Retention"))
        self.days = NumberField(self.tr("Days without activity"), 1, _MOST_DAYS, _USUAL_DAYS)
        self.days.setFixedWidth(_DAYS_WIDTH)
        self.sources = ChoiceButton(self.tr("Sources"), self.tr("all sources"))
        self.going = Facts("ui", "text", 20)
        self.rest = Facts()
        self.trust = Link(self.tr("The clock is right: go on"), "caption")
        self.chart = RetentionChart()
        self.reading = ElidedText("", "caption", "text2")
        self.show_sessions = Link("", "caption")
        self.no_trash = Text(self.tr("Trash: empty"), "caption", "text2")
        self.open_trash = Link("", "caption")
        self.undo = Link(self.tr("Undo"), "caption")
        self.move_now = Button(self.tr("Move to trash…"))
        self.preview: RetentionPreview | None = None
        self._build()
        self._connect()
        self.show_rule(RetentionRule(), ())
        self.show_preview(None)
        self.show_trash(Trash((), 0, 0, 0, None, None))

    def _build(self) -> None:
        self.place.addWidget(self.state)
        self.place.addWidget(self.switch)
        asked = QHBoxLayout()
        asked.setSpacing(8)
        asked.addWidget(Text(self.tr("Older than"), ink="text2"))
        asked.addWidget(self.days)
        asked.addWidget(Text(self.tr("days, from"), ink="text2"))
        asked.addWidget(self.sources, 1)
        for part in (
            asked,
            8,
            self.going,
            1,
            self.rest,
            self.trust,
            14,
            self.chart,
            4,
            self._legend(),
        ):
            self._add(part)
        self.column.addStretch(1)
        self.column.addSpacing(12)
        for part in (rule(), 10, self._foot()):
            self._add(part)

    def _add(self, part: QHBoxLayout | QWidget | int) -> None:
        if isinstance(part, int):
            self.column.addSpacing(part)
        elif isinstance(part, QWidget):
            self.column.addWidget(part)
        else:
            self.column.addLayout(part)

    def _legend(self) -> QHBoxLayout:
        self._words = QWidget()
        words = QHBoxLayout(self._words)
        words.setContentsMargins(0, 0, 0, 0)
        words.setSpacing(6)
        for solid, text in ((True, self.tr("would go")), (False, self.tr("stays"))):
            words.addWidget(_Swatch(solid=solid))
            words.addWidget(Text(text, "caption", "text2"))
            words.addSpacing(6)
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addWidget(self._words)
        row.addWidget(self.reading, 1)
        row.addStretch(0)
        row.addWidget(self.show_sessions)
        return row

    def _foot(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addWidget(Icon("trash", "text2"))
        row.addWidget(self.no_trash)
        row.addWidget(self.open_trash)
        row.addWidget(self.undo)
        row.addStretch(1)
        row.addWidget(self.move_now)
        return row

    def _connect(self) -> None:
        self.switch.clicked.connect(self.turned)
        self.days.value_changed.connect(lambda _: self.rule_edited.emit())
        self.days.editingFinished.connect(self.rule_settled)
        self.sources.chosen.connect(self._on_sources_chosen)
        self.chart.reading_changed.connect(self._show_reading)
        self.show_sessions.clicked.connect(self.sessions_asked)
        self.move_now.clicked.connect(self.move_asked)
        self.open_trash.clicked.connect(self.trash_asked)
        self.undo.clicked.connect(self.undo_asked)
        self.trust.clicked.connect(self.trust_asked)

    def _on_sources_chosen(self) -> None:
        self.rule_edited.emit()
        self.rule_settled.emit()

    # What is shown

    def rule(self) -> RetentionRule:
        """Return the rule as it stands in the fields."""
        return RetentionRule(self.days.value(), self.sources.keys())

    def show_rule(self, rule: RetentionRule, kinds: Sequence[str], next_run: str = "") -> None:
        """Show the rule in force; 0 days is none, and leaves in the field what stands there.

        Args:
            rule: the one in force.
            kinds: the kinds of sources there are.
            next_run: when the schedule looks next, in words.
        """
        is_on = rule.days > 0
        self.switch.setChecked(is_on)
        if is_on:
            self.days.show_value(rule.days)
        keys = rule.sources if is_on or rule.sources else self.sources.keys()
        everything = list(dict.fromkeys((*kinds, *keys)))
        self.sources.show_options([(each, visible(source_name(each))) for each in everything], keys)
        self.show_schedule(next_run)

    def show_schedule(self, next_run: str) -> None:
        """Say whether the rule is in force, and when it is applied next."""
        if not self.switch.isChecked():
            self.state.setText(self.tr("off, preview only"))
        elif next_run:
            self.state.setText(self.tr("on, next run %1").replace("%1", next_run))
        else:
            self.state.setText(self.tr("on, by hand only"))

    def show_preview(self, preview: RetentionPreview | None) -> None:
        """Show what would go; None while it is being counted for the first time."""
        self.preview = preview
        count = preview.sessions if preview else 0
        self.show_sessions.setText(
            formatting.counted(count, self.tr("Show the session"), self.tr("Show the %1 sessions"))
        )
        self.show_sessions.setVisible(count > 0)
        self.trust.setVisible(bool(preview and preview.refused))
        may_move = preview is not None and count > 0 and not preview.refused
        self.move_now.setEnabled(may_move)
        if preview is None:
            self.going.show_words(self.tr("Counting…"))
            self.rest.show_words("")
            self.chart.show_months(())
            return
        self.going.show_runs(retention_words.going(preview))
        words = preview.refused or retention_words.span_and_rest(preview)
        if self.switch.isChecked() and preview.needs_confirmation and not preview.refused:
            words += ". " + self.tr(
                "More than a fifth of everything: the schedule leaves it to you"
            )
        self.rest.show_words(words, "warn" if preview.refused else "text2")
        self.chart.show_months(preview.months, preview.cutoff_at_ms)

    def show_trash(self, trash: Trash) -> None:
        """Show what is in the trash, and whether the last thing in it can come back."""
        self.open_trash.setText(retention_words.trash_line(trash))
        self.open_trash.setVisible(trash.total > 0)
        self.no_trash.setVisible(trash.total == 0)
        self.undo.setVisible(trash.undoable is not None)

    def show_writable(self, *, writable: bool) -> None:
        """Let nothing be changed where the store is read-only."""
        for each in (self.switch, self.undo):
            each.setEnabled(writable)
        if not writable:
            self.move_now.setEnabled(False)

    def _show_reading(self, words: str) -> None:
        self._words.setVisible(not words)
        self.reading.setText(words)
        self.reading.setVisible(bool(words))
