"""What the cards of the maintenance page are put together from."""

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QGuiApplication,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QTextCharFormat,
    QTextLayout,
    QTextOption,
)
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget

from app import theme
from app.messages import Notice
from app.text_ranges import plain_tooltip, visible
from app.views.parts import Icon, IconButton, Link, Text, restyle

SIDE = 20
TITLE_HEIGHT = 48
_ICONS = {"info": "info", "ok": "ok", "warn": "warning", "err": "fail"}


class Card(QFrame):
    """Flat on `base`; the page draws the hairlines between cards.

    `place` is the row at the right of the title, `column` what the card shows below it. Every
    card has a `message` line under its title, for what came of something asked of it.
    """

    def __init__(self, title: str, icon: str) -> None:
        super().__init__()
        self.setProperty("class", "maintenance")
        self.setAccessibleName(title)
        self.title = Text(title, "head")
        self.message = CardMessage()
        gap = QWidget()
        gap.setFixedHeight(10)
        gap.hide()
        self.message.shown.connect(gap.setVisible)
        self.place = QHBoxLayout()
        self.place.setSpacing(8)
        head = QHBoxLayout()
        head.setContentsMargins(0, 0, 0, 0)
        head.setSpacing(8)
        head.addWidget(Icon(icon, "text2"))
        head.addWidget(self.title)
        head.addStretch(1)
        head.addLayout(self.place)
        row = QFrame()
        row.setFixedHeight(TITLE_HEIGHT)
        row.setLayout(head)
        self.column = QVBoxLayout()
        self.column.setContentsMargins(0, 0, 0, 0)
        self.column.setSpacing(0)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(SIDE, 2, SIDE, 16)
        whole.setSpacing(0)
        whole.addWidget(row)
        whole.addWidget(self.message)
        whole.addWidget(gap)
        whole.addLayout(self.column, 1)


class CardMessage(QFrame):
    """What came of something asked of a card, in words; the details can be copied.

    Signals:
        action_pressed: the action named in `show_notice` was pressed; carries its key.
        shown: it came, or went; carries which.
    """

    action_pressed = Signal(str)
    shown = Signal(bool)

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("class", "message")
        self.setProperty("kind", "info")
        self._notice: Notice | None = None
        self._key = ""
        self._icon = Icon("info", "accent")
        self._words = Facts()
        self.action = Link("", "caption")
        self.copy = Link(self.tr("Copy details"), "caption")
        self.close_button = IconButton("close", self.tr("Dismiss"), 20)
        links = QHBoxLayout()
        links.setSpacing(12)
        links.addWidget(self.action)
        links.addWidget(self.copy)
        links.addStretch(1)
        words = QVBoxLayout()
        words.setContentsMargins(0, 2, 0, 0)
        words.setSpacing(2)
        words.addWidget(self._words)
        words.addLayout(links)
        row = QHBoxLayout(self)
        row.setContentsMargins(8, 6, 6, 6)
        row.setSpacing(8)
        row.addWidget(self._icon, alignment=Qt.AlignmentFlag.AlignTop)
        row.addLayout(words, 1)
        row.addWidget(self.close_button, alignment=Qt.AlignmentFlag.AlignTop)
        self.action.clicked.connect(lambda: self.action_pressed.emit(self._key))
        self.copy.clicked.connect(self._on_copy)
        self.close_button.clicked.connect(self.hide)
        self.hide()

    def show_notice(self, notice: Notice, *, action: str = "", key: str = "") -> None:
        """Show a notice, with at most one action."""
        self._notice, self._key = notice, key
        self.setProperty("kind", notice.kind)
        restyle(self)
        ink = "accent" if notice.kind == "info" else notice.kind
        self._icon.show_icon(_ICONS[notice.kind], ink)
        self._words.show_runs(((notice.cause, True), (f" {notice.consequence}".rstrip(), False)))
        self.action.setText(action)
        self.action.setVisible(bool(action))
        self.copy.setVisible(bool(notice.details))
        self.setAccessibleName(f"{notice.cause} {notice.consequence}".strip())
        self.show()

    def notice(self) -> Notice | None:
        """Return what is shown, or None."""
        return None if self.isHidden() else self._notice

    def setVisible(self, visible: bool) -> None:
        super().setVisible(visible)
        self.shown.emit(visible)

    def _on_copy(self) -> None:
        if self._notice is not None:
            QGuiApplication.clipboard().setText(self._notice.details)


class Facts(QWidget):
    """Plain words that wrap, some of them bold. Nothing in them ever turns into markup."""

    def __init__(self, step: str = "caption", ink: str = "text2", pitch: int = 17) -> None:
        super().__init__()
        self._step, self._ink, self._pitch = step, ink, pitch
        self._runs: tuple[tuple[str, bool], ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setFixedHeight(pitch)

    def show_runs(self, runs: Sequence[tuple[str, bool]], ink: str = "") -> None:
        """Show (words, is bold) one after the other."""
        shown = tuple((_shown(words), bold) for words, bold in runs if words)
        if shown == self._runs and ink in ("", self._ink):
            return
        before = self.text()
        self._runs, self._ink = shown, ink or self._ink
        self.setAccessibleName(self.text())
        if self.text() != before:
            self._fit()
        self.update()

    def show_words(self, words: str, ink: str = "") -> None:
        """Show plain words."""
        self.show_runs(((words, False),), ink)

    def text(self) -> str:
        """Return what is shown."""
        return "".join(words for words, _ in self._runs)

    def _fit(self) -> None:
        """Be as high as the lines need at this width: nested layouts ask for it too late."""
        lines = self._lines(self._layout(), self.width())
        self.setFixedHeight(max(1, len(lines)) * self._pitch)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self._fit()

    def sizeHint(self) -> QSize:
        return QSize(200, self.height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        layout = self._layout()
        lines = self._lines(layout, self.width())
        painter.setPen(theme.color(self._ink))
        for n, height in enumerate(lines):
            top = n * self._pitch + (self._pitch - height) / 2
            layout.lineAt(n).setPosition(QPointF(0, top))
        layout.draw(painter, QPointF(0, 0))

    def _layout(self) -> QTextLayout:
        layout = QTextLayout(self.text(), theme.font(self._step))
        option = QTextOption()
        option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        layout.setTextOption(option)
        start, ranges = 0, []
        for words, bold in self._runs:
            if bold:
                part = QTextLayout.FormatRange()
                part.start, part.length = start, len(words.encode("utf-16-le")) // 2
                part.format = QTextCharFormat()
                part.format.setFont(theme.font(self._step, bold=True))
                part.format.setForeground(theme.color("text"))
                ranges.append(part)
            start += len(words.encode("utf-16-le")) // 2
        layout.setFormats(ranges)
        return layout

    @staticmethod
    def _lines(layout: QTextLayout, width: int) -> list[float]:
        """Break into lines of `width` px; return the height of each."""
        heights = []
        layout.beginLayout()
        while (line := layout.createLine()).isValid():
            line.setLineWidth(max(24, width))
            heights.append(line.height())
        layout.endLayout()
        return heights


def _shown(words: str) -> str:
    """Return words without control characters; their lines stay lines."""
    return "\u2028".join(visible(line) for line in words.split("\n"))


class PathText(Text):
    """A path that gives way in its middle; the whole of it is the tooltip, as plain text."""

    def __init__(self, step: str = "caption", ink: str = "text") -> None:
        super().__init__("", step, ink)
        self.setFont(theme.code_font(step))
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def show_path(self, path: str, shown: str = "") -> None:
        """Show `path`, or `shown` for it."""
        self.setText(visible(shown or path))
        QLabel.setToolTip(self, plain_tooltip(visible(path)))
        self.setAccessibleName(visible(path))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setPen(self.palette().color(self.foregroundRole()))
        painter.setFont(self.font())
        middle = Qt.TextElideMode.ElideMiddle
        text = painter.fontMetrics().elidedText(self.text(), middle, self.width())
        align = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
        painter.drawText(self.rect(), align, text)


class Bar(QWidget):
    """A 6 px bar: how much of something is done, or hatched where that does not count.

    `look` is `whole` (nothing to do), `part` (accent over the track), `halted` (the same in
    grey) or `off` (hatched).
    """

    def __init__(self) -> None:
        super().__init__()
        self._fraction, self._look = 0.0, "whole"
        self.setFixedHeight(6)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_part(self, fraction: float, look: str, words: str) -> None:
        """Show a part of the whole; `words` are what a screen reader says."""
        self._fraction, self._look = min(1.0, max(0.0, fraction)), look
        self.setAccessibleName(words)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        box = QRectF(self.rect())
        if self._look == "off":
            hatch(painter, self.rect())
            return
        painter.setBrush(theme.color("line2" if self._look == "whole" else "track"))
        painter.drawRoundedRect(box, 3, 3)
        if self._look in ("part", "halted") and self._fraction > 0:
            painter.setBrush(theme.color("accent" if self._look == "part" else "bar"))
            box.setWidth(max(6.0, box.width() * self._fraction))
            painter.drawRoundedRect(box, 3, 3)


def hatch(painter: QPainter, box: QRect) -> None:
    """Fill a box with what stands for `detached`: stripes on the track."""
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, on=False)
    painter.fillRect(box, theme.color("track"))
    painter.setClipRect(box)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    pen = painter.pen()
    pen.setColor(theme.color("bar"))
    pen.setWidthF(2.0)
    pen.setStyle(Qt.PenStyle.SolidLine)
    painter.setPen(pen)
    for left in range(box.left() - box.height(), box.right() + 1, 6):
        painter.drawLine(
            QPointF(left, box.bottom() + 1.5), QPointF(left + box.height(), box.top() - 0.5)
        )
    painter.restore()
