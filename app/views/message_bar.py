"""A message in the layout, near what it is about: cause, consequence, and what can be done."""

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from app.messages import Notice
from app.views.parts import Button, Icon, IconButton, Text, restyle

_READ_MS = 15_000  # good news goes by itself; everything else stays until it is read
_ICONS = {"info": "info", "ok": "ok", "warn": "warning", "err": "fail"}


class MessageBar(QFrame):
    """One message. It never covers anything and never asks for an answer.

    Signals:
        action_pressed: the action named in `show_notice` was pressed; carries its key.
        closed: the user has read it.
    """

    action_pressed = Signal(str)
    closed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("class", "message")
        self.setProperty("kind", "info")
        self._notice: Notice | None = None
        self._action_key = ""
        self._icon = Icon("info", "accent")
        self._cause = Text(bold=True)
        self._consequence = Text(ink="text2")
        self._consequence.setWordWrap(True)
        self.action = Button("", "small")
        self.copy = Button(self.tr("Copy details"), "small")
        self.close_button = IconButton("close", self.tr("Dismiss"), 24)
        words = QVBoxLayout()
        words.setSpacing(0)
        words.addWidget(self._cause)
        words.addWidget(self._consequence)
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 8, 12, 8)
        row.setSpacing(12)
        row.addWidget(self._icon)
        row.addLayout(words, 1)
        row.addWidget(self.action)
        row.addWidget(self.copy)
        row.addWidget(self.close_button)
        self.action.clicked.connect(lambda: self.action_pressed.emit(self._action_key))
        self.copy.clicked.connect(self._on_copy)
        self.close_button.clicked.connect(self._on_close)
        self._fades = QTimer(self, singleShot=True, interval=_READ_MS)
        self._fades.timeout.connect(self._on_close)
        self.hide()

    def show_notice(self, notice: Notice, *, action: str = "", key: str = "") -> None:
        """Show a notice, with at most one action."""
        self._notice, self._action_key = notice, key
        self.setProperty("kind", notice.kind)
        restyle(self)
        ink = "accent" if notice.kind == "info" else notice.kind
        self._icon.show_icon(_ICONS[notice.kind], ink)
        self._cause.setText(notice.cause)
        self._consequence.setText(notice.consequence)
        self._consequence.setVisible(bool(notice.consequence))
        self.action.setVisible(bool(action))
        self.action.setText(action)
        self.copy.setVisible(bool(notice.details))
        self.setAccessibleName(f"{notice.cause} {notice.consequence}".strip())
        self._fades.stop()
        if notice.kind == "ok":
            self._fades.start()
        self.show()

    def notice(self) -> Notice | None:
        """Return what is shown, or None."""
        return None if self.isHidden() else self._notice

    def _on_copy(self) -> None:
        if self._notice is not None:
            QGuiApplication.clipboard().setText(self._notice.details)

    def _on_close(self) -> None:
        self.hide()
        self.closed.emit()
