"""Small parts that every view is put together from: text, icons, badges, links, rules."""

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QWidget,
)

from app import theme
from app.text_ranges import plain_tooltip

# What a badge's kind paints its icon and word in.
BADGE_INKS = {
    "info": "accent",
    "ok": "ok",
    "warn": "warn",
    "err": "err",
    "unk": "unk",
    "trigram": "role_assistant",
    "partial": "warn",
}


def restyle(widget: QWidget) -> None:
    """Let the style sheet look at the widget's properties again."""
    widget.style().unpolish(widget)
    widget.style().polish(widget)
    widget.update()


class Text(QLabel):
    """Plain text in a type step and a colour token. Stored text never turns into markup."""

    def __init__(
        self, text: str = "", step: str = "ui", ink: str = "text", *, bold: bool = False
    ) -> None:
        super().__init__(text)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setFont(theme.font(step, bold=bold))
        self.setProperty("ink", ink)

    def set_ink(self, ink: str) -> None:
        """Change the colour token."""
        if self.property("ink") != ink:
            self.setProperty("ink", ink)
            restyle(self)


class ElidedText(Text):
    """Plain text that gives way: it is cut at its end when there is no room."""

    def minimumSizeHint(self) -> QSize:
        return QSize(24, super().minimumSizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setPen(self.palette().color(self.foregroundRole()))
        painter.setFont(self.font())
        text = painter.fontMetrics().elidedText(
            self.text(), Qt.TextElideMode.ElideRight, self.width()
        )
        align = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
        painter.drawText(self.rect(), align, text)
        QLabel.setToolTip(self, plain_tooltip(self.text() if text != self.text() else ""))


class YieldingText(ElidedText):
    """Plain text that is whole as long as others can give way in its place."""

    def __init__(self, step: str, ink: str) -> None:
        super().__init__("", step, ink)
        self._gives_way = False

    def minimumSizeHint(self) -> QSize:
        return super().minimumSizeHint() if self._gives_way else self.sizeHint()

    def give_way(self, *, gives_way: bool) -> None:
        """Let the text be cut, or not."""
        if gives_way != self._gives_way:
            self._gives_way = gives_way
            self.updateGeometry()


class Icon(QWidget):
    """One icon, painted in the palette of the moment."""

    def __init__(self, name: str, ink: str = "text2", size: int = 16) -> None:
        super().__init__()
        self._name, self._ink, self._size = name, ink, size
        self.setFixedSize(size, size)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)

    def show_icon(self, name: str, ink: str) -> None:
        """Show another icon or colour."""
        if (name, ink) != (self._name, self._ink):
            self._name, self._ink = name, ink
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        theme.paint_icon(painter, self._name, self._ink, QRectF(0, 0, self._size, self._size))


class Dot(QWidget):
    """The 3 px dot that sets facts apart."""

    def __init__(self) -> None:
        super().__init__()
        self.setFixedSize(3, 16)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.color("line2"))
        painter.drawEllipse(QRectF(0, 7, 3, 3))


class Badge(QFrame):
    """Icon + word + tint. `kind` is one of `BADGE_INKS`."""

    def __init__(
        self, icon: str, word: str, kind: str, *, bold: bool = False, height: int = 20
    ) -> None:
        super().__init__()
        self.setProperty("class", "badge")
        self.setProperty("kind", kind)
        self.setFixedHeight(height)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        ink = BADGE_INKS[kind]
        self._icon = Icon(icon, ink, 16 if height > 20 else 14)
        self.word = Text(word, "caption", ink, bold=bold)
        row = QHBoxLayout(self)
        row.setContentsMargins(7 if height > 20 else 6, 0, 8 if height > 20 else 6, 0)
        row.setSpacing(6 if height > 20 else 4)
        row.addWidget(self._icon)
        row.addWidget(self.word)

    def show_badge(self, icon: str, word: str, kind: str) -> None:
        """Show another icon, word and tint."""
        self._icon.show_icon(icon, BADGE_INKS[kind])
        self.word.setText(word)
        self.word.set_ink(BADGE_INKS[kind])
        if self.property("kind") != kind:
            self.setProperty("kind", kind)
            restyle(self)


class Link(QPushButton):
    """A word that does something; looks like a link, is a button to keyboard and reader."""

    def __init__(self, text: str, step: str = "ui") -> None:
        super().__init__(text)
        self.setProperty("class", "link")
        self.setFont(theme.font(step))
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)


class IconButton(QToolButton):
    """A flat button that is only an icon; `name` is what a screen reader says."""

    def __init__(self, icon: str, name: str, side: int = 32, ink: str = "text2") -> None:
        super().__init__()
        self._icon, self._ink = icon, ink
        self.setProperty("class", "flat")
        self.setFixedSize(side, side)
        self.setIconSize(QSize(16, 16))
        self.setAccessibleName(name)
        self.setToolTip(name)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._tint()
        theme.changed.connect(self._tint)

    def _tint(self) -> None:
        self.setIcon(theme.icon(self._icon, self._ink))


class Button(QPushButton):
    """A push button; `look` names classes of the style sheet: small, large, primary."""

    def __init__(self, text: str, look: str = "", icon: str = "") -> None:
        super().__init__()
        self.setProperty("class", look)
        self.setFont(theme.font("lead" if "large" in look else "ui", bold="primary" in look))
        self._icon = icon
        self._ink = "on" if "primary" in look else "text2"
        theme.changed.connect(self._tint)
        self._tint()
        self.setText(text)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Take Enter as well as Space, as people expect of a button with the focus."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.click()
        else:
            super().keyPressEvent(event)

    def show_icon(self, icon: str) -> None:
        """Show another icon."""
        if icon != self._icon:
            self._icon = icon
            self._tint()

    def setText(self, text: str) -> None:
        """Show `text`; Qt leaves too little room between icon and word, so some is added."""
        super().setText(f"\u2002{text}" if self._icon else text)
        self.setAccessibleName(text)

    def _tint(self) -> None:
        if self._icon:
            self.setIcon(theme.icon(self._icon, self._ink))


def rule() -> QFrame:
    """Return a 1 px horizontal line."""
    result = QFrame()
    result.setProperty("class", "rule")
    result.setFixedHeight(1)
    return result
