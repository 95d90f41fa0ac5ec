"""A title typed where it stands: Enter takes it, Esc and going elsewhere leave it as it was."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent
from PySide6.QtWidgets import QLineEdit, QWidget

from core.types import Session

MOST_CHARS = 500  # as the store takes


class TitleEditor(QLineEdit):
    """One line over, or in the place of, a title.

    Signals:
        entered: Enter was pressed on another title; carries the session's row and the text.
        left: it is no longer shown.
    """

    entered = Signal(int, str)
    left = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session_id = 0
        self._before = ""
        self.setMaxLength(MOST_CHARS)
        self.setAccessibleName(self.tr("Title of the conversation"))
        self.setPlaceholderText(self.tr("as its source calls it"))
        self.returnPressed.connect(self._on_entered)
        self.hide()

    def edit(self, session: Session) -> None:
        """Show the title of a session, all of it chosen, to be typed anew."""
        self._session_id, self._before = session.id, session.title
        self.setText(session.title)
        self.selectAll()
        self.show()
        self.setFocus(Qt.FocusReason.OtherFocusReason)

    def leave(self) -> None:
        """Go away; nothing is renamed."""
        if not self.isHidden():
            self.hide()
            self.left.emit()

    def _on_entered(self) -> None:
        session_id, text = self._session_id, self.text()
        has_changed = text != self._before
        self.leave()
        if has_changed:
            self.entered.emit(session_id, text)

    # QWidget

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.leave()
            return
        super().keyPressEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        elsewhere = (Qt.FocusReason.PopupFocusReason, Qt.FocusReason.ActiveWindowFocusReason)
        if event.reason() not in elsewhere:  # its own menu, or another window for a while
            self.leave()
