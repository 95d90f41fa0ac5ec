"""The card Store of the maintenance page: where its bytes are, and what keeps it whole."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QProgressBar, QVBoxLayout, QWidget

from app import formatting
from app.views.maintenance import store_words
from app.views.maintenance.card import Card, Facts
from app.views.maintenance.flow import Flow
from app.views.maintenance.size_bar import Part, SizeBar
from app.views.maintenance.store_words import Running, StoreShown
from app.views.parts import Button, Link, Text

_SCALE = 1000
ACTIONS = ("check", "backup", "prove", "optimize", "compact", "repair", "salvage")


class RunningLine(QFrame):
    """What runs now: how far it is, that one may close the window, and a way to stop it.

    Signals:
        cancel_asked: stop at the next safe point.
    """

    cancel_asked = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.what = Facts(ink="text")
        self.bar = QProgressBar(textVisible=False)
        self.bar.setRange(0, _SCALE)
        self.note = Facts()
        self.cancel = Button(self.tr("Cancel"), "small")
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addWidget(self.what, 1)
        row.addWidget(self.cancel)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 8)
        column.setSpacing(4)
        column.addLayout(row)
        column.addWidget(self.bar)
        column.addWidget(self.note)
        self.cancel.clicked.connect(self.cancel_asked)
        self.hide()

    def show_running(self, running: Running | None) -> None:
        """Show upkeep that runs, or nothing."""
        self.setVisible(running is not None)
        if running is None:
            return
        known = running.fraction is not None
        part = formatting.percent(running.fraction) if running.fraction is not None else ""
        self.what.show_runs(((running.what, True), (f" · {part}" if part else "", False)))
        self.bar.setRange(0, _SCALE if known else 0)
        if running.fraction is not None:
            self.bar.setValue(round(running.fraction * _SCALE))
        self.bar.setAccessibleName(running.what)
        self.note.show_words(running.note)
        self.cancel.setEnabled(not running.is_stopping)
        self.cancel.setText(self.tr("Stopping …") if running.is_stopping else self.tr("Cancel"))


class StoreCard(Card):
    """Shows the store's file.

    Signals:
        asked: something should be done: one of `ACTIONS`, or `erase`.
        cancel_asked: what runs should stop at its next safe point.
    """

    asked = Signal(str)
    cancel_asked = Signal()

    def __init__(self) -> None:
        super().__init__("", "store")
        self.title.setText(self.tr("Store"))
        self.setAccessibleName(self.title.text())
        self.parts: tuple[Part, ...] = ()
        self._pressed: QWidget | None = None
        self.size = Text("", "title")
        self.summary = Facts()
        self.bar = SizeBar()
        self.damage = Facts(ink="err")
        self.waiting = Facts()
        self.erase = Link(self.tr("Erase now…"), "caption")
        self._waiting = QWidget()
        self.running = RunningLine()
        self.backups = Facts()
        self.prove = Link(self.tr("Prove restore"), "caption")
        self._backups = QWidget()
        self.foot = Facts()
        self.buttons = {
            "check": Button(self.tr("Full check"), "small", "verify"),
            "backup": Button(self.tr("Back up"), "small", "copy"),
            "optimize": Button(self.tr("Optimise"), "small"),
            "compact": Button(self.tr("Compact…"), "small"),
            "repair": Button(self.tr("Repair indexes"), "small", "rebuild"),
            "salvage": Button(self.tr("Salvage…"), "small", "rebuild"),
        }
        self._build()
        self.prove.clicked.connect(lambda: self.asked.emit("prove"))
        for name, button in self.buttons.items():
            button.clicked.connect(lambda _=False, name=name: self.asked.emit(name))
        self.erase.clicked.connect(lambda: self.asked.emit("erase"))
        self.running.cancel_asked.connect(self.cancel_asked)

    def _build(self) -> None:
        head = QHBoxLayout()
        head.setSpacing(10)
        head.addWidget(self.size)
        head.addWidget(self.summary, 1)
        waiting = QHBoxLayout(self._waiting)
        waiting.setContentsMargins(0, 0, 0, 8)
        waiting.setSpacing(8)
        waiting.addWidget(self.waiting, 1)
        waiting.addWidget(self.erase)
        backups = QHBoxLayout(self._backups)
        backups.setContentsMargins(0, 0, 0, 0)
        backups.setSpacing(8)
        backups.addWidget(self.backups, 1)
        backups.addWidget(self.prove)
        buttons = Flow()
        for button in self.buttons.values():
            buttons.addWidget(button)
        column = self.column
        column.addLayout(head)
        column.addSpacing(10)
        column.addWidget(self.bar)
        column.addSpacing(12)
        column.addStretch(1)
        column.addWidget(self.damage)
        column.addWidget(self._waiting)
        column.addWidget(self.running)
        column.addWidget(self._backups)
        column.addWidget(self.foot)
        column.addSpacing(8)
        column.addLayout(buttons)

    def show_store(self, shown: StoreShown) -> None:
        """Show the store as it is now."""
        self.size.setText(formatting.size(shown.bytes))
        self.summary.show_words(store_words.summary(shown))
        self.parts = store_words.parts(shown)
        self.bar.show_parts(self.parts)
        self.damage.setVisible(bool(shown.damage))
        self.damage.show_words(shown.damage)
        words = store_words.waiting(shown.erasure)
        self._waiting.setVisible(bool(words))
        self.waiting.show_words(words)
        was_at_cancel = self.running.cancel.hasFocus()
        self.running.show_running(shown.running)
        words = store_words.backups(shown)
        self._backups.setVisible(bool(words))
        self.backups.show_words(words)
        lines = (
            store_words.room(shown.sizes),
            store_words.others(shown.elsewhere),
        )
        self.foot.show_words("\n".join(filter(None, lines)))
        self._hold_focus(shown)
        self._show_buttons(shown)
        if shown.running is None and was_at_cancel and self._pressed is not None:
            self._pressed.setFocus()

    def _hold_focus(self, shown: StoreShown) -> None:
        """Take the focus from what was pressed to Cancel; Qt would hand it to another card."""
        if shown.running is None:
            return
        for each in (*self.buttons.values(), self.prove, self.erase):
            if each.hasFocus():
                self._pressed = each
                self.running.cancel.setFocus()

    def _show_buttons(self, shown: StoreShown) -> None:
        is_free = shown.running is None
        is_bad = shown.checked is not None and not shown.checked.ok
        for name, button in self.buttons.items():
            button.setEnabled(is_free)
            if name == "repair":
                button.setVisible(is_bad and not shown.damage)
            elif name == "salvage":
                button.setVisible(bool(shown.damage))
            elif name != "check":
                button.setVisible(not shown.damage)
        self.prove.setEnabled(is_free)
        self.erase.setEnabled(is_free)
