"""What was just done, and the way to take it back: a bar at the foot of a pane."""

from PySide6.QtCore import QEvent, QObject, QTimer, Signal
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QEnterEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QWidget

from app import theme
from app.tokens import DARK, LIGHT
from app.views.parts import ElidedText, IconButton, Link

HEIGHT = 40
SHOWN_MS = 8_000
_SIDE = 16


class UndoBar(QFrame):
    """Inverted, 40 px, for 8 s; it stays while the mouse or the focus is in it.

    It has its place in the layout, so that it never covers anything.

    Signals:
        undo_asked: take back what it tells of.
        gone: it is no longer shown.
    """

    undo_asked = Signal()
    gone = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("undobar")
        self.setFixedHeight(HEIGHT)
        self.words = ElidedText()
        self.undo = Link("")
        self.undo.setText(self.tr("Undo"))
        self.undo.setToolTip(self.tr("Ctrl+Z"))
        self.dismiss = IconButton("close", self.tr("Dismiss"), 24, "base")
        row = QHBoxLayout(self)
        row.setContentsMargins(_SIDE, 0, _SIDE - 4, 0)
        row.setSpacing(12)
        row.addWidget(self.words, 1)
        row.addWidget(self.undo)
        row.addWidget(self.dismiss)
        self._ends = QTimer(self, singleShot=True, interval=SHOWN_MS)
        self._ends.timeout.connect(self._on_time)
        self.undo.clicked.connect(self.undo_asked)
        self.dismiss.clicked.connect(self.leave)
        for each in (self.undo, self.dismiss):
            each.installEventFilter(self)
        theme.changed.connect(self._tint)
        self._tint()
        self.hide()

    def offer(self, words: str) -> None:
        """Tell what was done; the time it is shown begins anew."""
        self.words.setText(words)
        self.setAccessibleName(words)
        if words:
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, words))
        self.show()
        self._ends.start()

    def leave(self) -> None:
        """Go away; what was done stays done."""
        self._ends.stop()
        if not self.isHidden():
            self.hide()
            self.gone.emit()

    def _is_used(self) -> bool:
        return self.underMouse() or self.undo.hasFocus() or self.dismiss.hasFocus()

    def _on_time(self) -> None:
        if self._is_used():
            self._ends.start()
        else:
            self.leave()

    def _tint(self) -> None:
        tokens = theme.current()
        other = LIGHT if tokens.dark else DARK
        self.setStyleSheet(
            f"QFrame#undobar {{ background: {tokens.text}; border: 0; }}"
            f"QFrame#undobar QLabel {{ color: {tokens.base}; }}"
            f"QFrame#undobar QPushButton {{ color: {other.accent}; font-weight: bold; }}"
            f"QFrame#undobar QToolButton:hover {{ background: {tokens.text2}; }}"
            f"QFrame#undobar QToolButton:focus {{ border-color: {other.accent}; }}"
            f"QFrame#undobar QPushButton:focus {{ border-color: {other.accent}; }}"
        )

    # QWidget

    def enterEvent(self, event: QEnterEvent) -> None:
        super().enterEvent(event)
        self._ends.stop()

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        if not self.isHidden():
            self._ends.start()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.FocusIn:
            self._ends.stop()
        elif event.type() == QEvent.Type.FocusOut and not self.isHidden():
            self._ends.start()
        return super().eventFilter(watched, event)
