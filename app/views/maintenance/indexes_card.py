"""The card Indexes of the maintenance page: what each one holds, and what can be done with it."""

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from app import formatting, theme
from app.views.maintenance import index_words
from app.views.maintenance.card import Bar, Card, Facts
from app.views.maintenance.index_words import IndexShown
from app.views.maintenance.rate_plot import RatePlot
from app.views.parts import Badge, Button, ElidedText, Text, rule

_GAP = 8


class IndexRow(QWidget):
    """One index: name, badge and buttons; a bar; its facts; why it is not whole.

    Signals:
        pause_asked: stop filling it, or go on; carries which.
        now_asked, verify_asked, repair_asked: what the buttons say.
    """

    pause_asked = Signal(bool)
    now_asked = Signal()
    verify_asked = Signal()
    repair_asked = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.shown: IndexShown | None = None
        self.name = ElidedText("", "ui", "text", bold=True)
        font = theme.code_font("ui")
        font.setBold(True)
        self.name.setFont(font)
        self.badge = Badge("ok", "", "ok")
        self.pause = Button("", "small", "pause")
        self.now = Button(self.tr("Now"), "small", "now")
        self.verify = Button(self.tr("Verify"), "small", "verify")
        self.repair = Button(self.tr("Repair"), "small", "rebuild")
        self.bar = Bar()
        self.facts = Facts()
        self.reason = Facts()
        self.plot = RatePlot()
        self._buttons = QWidget()
        self._is_narrow = False
        self._offers: tuple[bool, ...] = ()
        self._build()
        self.pause.clicked.connect(self._on_pause)
        self.now.clicked.connect(self.now_asked)
        self.verify.clicked.connect(self.verify_asked)
        self.repair.clicked.connect(self.repair_asked)

    def buttons(self) -> tuple[Button, ...]:
        """Return its buttons in their order."""
        return self.pause, self.now, self.repair, self.verify

    def _build(self) -> None:
        buttons = QHBoxLayout(self._buttons)
        buttons.setContentsMargins(0, 0, 0, 0)
        buttons.setSpacing(_GAP)
        for button in self.buttons():
            buttons.addWidget(button)
        self._head = QHBoxLayout()
        self._head.setSpacing(_GAP)
        self._head.addWidget(self.name)
        self._head.addWidget(self.badge)
        self._head.addStretch(1)
        self._head.addWidget(self._buttons)
        self._foot = QHBoxLayout()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 8, 0, 11)
        column.setSpacing(0)
        column.addLayout(self._head)
        column.addSpacing(7)
        column.addWidget(self.bar)
        column.addSpacing(6)
        column.addWidget(self.facts)
        column.addWidget(self.reason)
        column.addSpacing(2)
        column.addWidget(self.plot)
        column.addLayout(self._foot)

    def show_index(self, shown: IndexShown) -> None:
        """Show an index; the button that has the focus keeps it."""
        self.shown, status = shown, shown.status
        found = index_words.look(shown)
        self.name.setText(status.name)
        self.badge.show_badge(found.icon, found.word, found.kind)
        self.bar.show_part(found.fraction, found.bar, f"{status.name}, {found.word}")
        self.facts.show_runs(index_words.facts(shown))
        why = index_words.reason(shown)
        self.reason.show_runs(why)
        self.reason.setVisible(bool(why))
        self.plot.show_rates(shown.rates)
        self.plot.setVisible(len(shown.rates) > 1 and status.state == "building")
        self._show_buttons(shown)
        self._fit()

    def _show_buttons(self, shown: IndexShown) -> None:
        status = shown.status
        offers = (
            (self.pause, shown.is_pausable and not shown.is_damaged),
            (self.now, self._can_hurry(shown)),
            (self.repair, shown.is_damaged),
            (self.verify, status.state not in ("detached", "stale")),
        )
        key = (
            *(offer for _, offer in offers),
            status.paused,
            shown.is_verifying,
            shown.is_repairing,
        )
        if key == self._offers:  # every second: what is as it was costs nothing
            return
        self._offers = key
        self.pause.show_icon("play" if status.paused else "pause")
        self.pause.setText(self.tr("Resume") if status.paused else self.tr("Pause"))
        self.verify.setText(self.tr("Verifying …") if shown.is_verifying else self.tr("Verify"))
        self.repair.setText(self.tr("Repairing …") if shown.is_repairing else self.tr("Repair"))
        for button, is_offered in offers:
            self._offer(button, is_offered)
        for button, name in (
            (self.pause, self.pause.text()),
            (self.now, self.tr("Fill now")),
            (self.repair, self.tr("Repair")),
            (self.verify, self.tr("Verify")),
        ):
            button.setAccessibleName(f"{name.strip()}: {status.name}")

    def _can_hurry(self, shown: IndexShown) -> bool:
        status = shown.status
        works = status.state != "ready" and not shown.is_damaged
        return works and shown.can_work and not (shown.is_now or status.paused)

    def _offer(self, button: Button, offered: bool) -> None:
        """Show or hide a button; a focus it had goes to the next one that is left."""
        had_focus = button.hasFocus()
        button.setVisible(offered)
        if had_focus and not offered:
            left = [each for each in self.buttons() if not each.isHidden()]
            if left:
                left[0].setFocus()

    def _on_pause(self) -> None:
        if self.shown is not None:
            self.pause_asked.emit(not self.shown.status.paused)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Put the buttons beside the name where there is room, else below."""
        parts = (self.name, self.badge, self._buttons)
        needed = sum(part.sizeHint().width() for part in parts) + 2 * _GAP
        is_narrow = self.width() < needed
        if is_narrow == self._is_narrow:
            return
        self._is_narrow = is_narrow
        (self._head if is_narrow else self._foot).removeWidget(self._buttons)
        if is_narrow:
            self._foot.setContentsMargins(0, 8, 0, 0)
            self._foot.addWidget(self._buttons)
            self._foot.addStretch(1)
        else:
            self._foot.takeAt(0)
            self._foot.setContentsMargins(0, 0, 0, 0)
            self._head.addWidget(self._buttons)


class IndexesCard(Card):
    """Shows each index. Everything it offers leaves as a signal with the index's name.

    Signals:
        pause_asked: stop filling an index, or go on; carries its name and which.
        now_asked, verify_asked, repair_asked: carry its name.
    """

    pause_asked = Signal(str, bool)
    now_asked = Signal(str)
    verify_asked = Signal(str)
    repair_asked = Signal(str)

    def __init__(self) -> None:
        super().__init__("", "index")
        self.title.setText(self.tr("Indexes"))
        self.setAccessibleName(self.title.text())
        self.note = Text("", "caption", "text2")
        self.place.addWidget(self.note)
        self.rows: dict[str, IndexRow] = {}
        self._rows = QVBoxLayout()
        self._rows.setSpacing(0)
        self.column.addLayout(self._rows)
        self.column.addStretch(1)

    def show_indexes(self, indexes: Sequence[IndexShown]) -> None:
        """Show indexes; rows are made once and then filled, so that nothing jumps."""
        for shown in indexes:
            name = shown.status.name
            if name not in self.rows:
                self._add(name)
            self.rows[name].show_index(shown)
        lacking = sum(not each.is_whole for each in indexes)
        self.note.setText(
            formatting.counted(lacking, self.tr("%1 needs attention"), self.tr("%1 need attention"))
            if lacking
            else self.tr("all whole")
        )

    def _add(self, name: str) -> None:
        row = IndexRow()
        row.pause_asked.connect(lambda pause: self.pause_asked.emit(name, pause))
        row.now_asked.connect(lambda: self.now_asked.emit(name))
        row.verify_asked.connect(lambda: self.verify_asked.emit(name))
        row.repair_asked.connect(lambda: self.repair_asked.emit(name))
        if self.rows:
            self._rows.addWidget(rule())
        self._rows.addWidget(row)
        self.rows[name] = row
