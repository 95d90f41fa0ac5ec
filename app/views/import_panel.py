"""How an import goes: done of total, rate, time left, and what works already."""

from dataclasses import dataclass

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QProgressBar, QVBoxLayout, QWidget

from app import formatting
from app.views.parts import Button, Dot, Icon, Text

_SCALE = 1000


@dataclass(frozen=True, slots=True)
class ImportProgress:
    """A moment of an import. `rate` is messages a second, None until it is worth saying."""

    sources: int
    messages: int
    done_bytes: int
    total_bytes: int
    rate: float | None
    left_s: float | None
    searchable: int
    paused: bool

    @property
    def fraction(self) -> float:
        """Return how much of the bytes has been read."""
        return min(1.0, self.done_bytes / self.total_bytes) if self.total_bytes else 0.0


class ImportPanel(QFrame):
    """Shows one import.

    Signals:
        pause_asked: stop at the next border of a batch, or go on; carries which.
        cancel_asked: stop at the next border of a batch; what is stored stays.
    """

    pause_asked = Signal(bool)
    cancel_asked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("class", "card")
        self.setAccessibleName(self.tr("Import"))
        self.what = Text("", bold=True)
        self.done = Text(ink="text2")
        self.rate = Text(ink="text2")
        self.left = Text(ink="text2")
        self._dots = (Dot(), Dot())
        self.pause = Button(self.tr("Pause"), "small", "pause")
        self.cancel = Button(self.tr("Cancel"), "small")
        self.bar = QProgressBar(textVisible=False)
        self.bar.setProperty("class", "main")
        self.bar.setRange(0, _SCALE)
        self.bar.setAccessibleName(self.tr("Import"))
        self.searchable = Text("", "caption", "text2")
        self._tokenizer_icon = Icon("ok", "ok", 14)
        self.tokenizer = Text("", "caption", "text2")
        self._paused = False
        self._build()
        self.pause.clicked.connect(lambda: self.pause_asked.emit(not self._paused))
        self.cancel.clicked.connect(self.cancel_asked)

    def _build(self) -> None:
        head = QHBoxLayout()
        head.setSpacing(12)
        for part in (self.what, self.done, self._dots[0], self.rate, self._dots[1], self.left):
            head.addWidget(part)
        head.addStretch(1)
        head.addWidget(self.pause)
        head.addWidget(self.cancel)
        foot = QHBoxLayout()
        foot.setSpacing(6)
        foot.addWidget(Icon("ok", "ok", 14))
        foot.addWidget(self.searchable)
        foot.addSpacing(14)
        foot.addWidget(self._tokenizer_icon)
        foot.addWidget(self.tokenizer)
        foot.addStretch(1)
        safe = self.tr("You can close the window; the next import goes on from here.")
        foot.addWidget(Text(safe, "caption", "text3"))
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 11, 16, 11)
        column.setSpacing(8)
        column.addLayout(head)
        column.addWidget(self.bar)
        column.addLayout(foot)

    def show_progress(self, now: ImportProgress) -> None:
        """Show a moment of the import."""
        words = self.tr("Paused, %1") if now.paused else self.tr("Importing %1")
        sources = formatting.counted(now.sources, self.tr("%1 source"), self.tr("%1 sources"))
        self.what.setText(words.replace("%1", sources))
        messages = formatting.counted(now.messages, self.tr("%1 message"), self.tr("%1 messages"))
        size = self.tr("%1 of %2").replace("%1", formatting.size(now.done_bytes))
        size = size.replace("%2", formatting.size(now.total_bytes))
        self.done.setText(f"{messages}, {size}")
        rate = "" if now.rate is None or now.paused else formatting.number(round(now.rate))
        self.rate.setText(self.tr("%1 per second").replace("%1", rate) if rate else "")
        left = "" if now.left_s is None or now.paused else formatting.remaining(now.left_s)
        self.left.setText(self.tr("%1 left").replace("%1", left) if left else "")
        self._dots[0].setVisible(bool(rate))
        self._dots[1].setVisible(bool(left))
        self.bar.setValue(round(now.fraction * _SCALE))
        can = self.tr("%1 can be searched now")
        found = formatting.counted(now.searchable, self.tr("%1 message"), self.tr("%1 messages"))
        self.searchable.setText(can.replace("%1", found))
        self._paused = now.paused
        self.pause.setText(self.tr("Go on") if now.paused else self.tr("Pause"))
        self.pause.show_icon("play" if now.paused else "pause")

    def show_tokenizer(self, *, ready: bool) -> None:
        """Say whether Chinese, Japanese and Korean get their own index."""
        self._tokenizer_icon.show_icon("ok" if ready else "warning", "ok" if ready else "warn")
        self.tokenizer.setText(
            self.tr("CJK tokenizer found and checked")
            if ready
            else self.tr("No CJK tokenizer: run backscroll install cjk")
        )
