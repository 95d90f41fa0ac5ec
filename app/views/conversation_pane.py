"""The conversation: header, text, the rail of the whole session and its outline."""

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from app.models.outline import OutlineModel
from app.views.conversation_header import ConversationHeader
from app.views.find_bar import FindBar
from app.views.link_dialog import LinkBar
from app.views.message_bar import MessageBar
from app.views.outline_view import WIDTH as OUTLINE_WIDTH
from app.views.outline_view import OutlineView
from app.views.parts import Text
from app.views.rail import Rail
from app.views.transcript_text import selected_text
from app.views.transcript_view import TranscriptView
from app.views.undo_bar import UndoBar

FOLD_BELOW_PX = 1180
_TOLD_MS = 2_500


class ConversationPane(QWidget):
    """Puts the parts of the conversation together; knows no store.

    Signals:
        session_link_opened: another session of the lineage is wanted; carries its row id.
    """

    session_link_opened = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("conversation")
        self.header = ConversationHeader()
        self.find_bar = FindBar()
        self.transcript = TranscriptView()
        self.link_bar = LinkBar()
        self.message_bar = MessageBar()
        self.undo_bar = UndoBar()
        self.rail = Rail()
        self.outline_model = OutlineModel()
        self.outline = OutlineView(self.outline_model)
        self.outline.setFixedWidth(OUTLINE_WIDTH)
        self.setFocusProxy(self.transcript)
        self._told = Text("", "caption", "text2")
        self._told.setContentsMargins(24, 4, 24, 4)
        self._told.hide()
        self._told_ends = QTimer(self, singleShot=True, interval=_TOLD_MS)
        self._told_ends.timeout.connect(self._told.hide)
        column = QVBoxLayout()
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        for part in (self.header, self.message_bar, self.find_bar):
            column.addWidget(part)
        column.addWidget(self.transcript, 1)
        column.addWidget(self._told)
        column.addWidget(self.link_bar)
        column.addWidget(self.undo_bar)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addLayout(column, 1)
        row.addWidget(self.rail)
        row.addWidget(self.outline)
        self.header.session_asked.connect(self.session_link_opened)
        self.link_bar.closed.connect(self._focus_text)
        self.find_bar.closed.connect(self._focus_text)
        self.transcript.moved.connect(self._on_moved)

    def focus_targets(self) -> list[QWidget]:
        """Return what F6 stops at, in order."""
        found: list[QWidget] = [self.transcript]
        if self.outline.isVisible():
            found.append(self.outline)
        return found

    def open_find(self) -> None:
        """Show the find bar, with the selected words in it when they are of one paragraph."""
        cursor = self.transcript.textCursor()
        is_in_one = "\u2029" not in cursor.selectedText()
        chosen = " ".join(selected_text(cursor).split()) if is_in_one else ""
        self.find_bar.open_bar(chosen)

    def go_to_opening(self) -> None:
        """Show the top of what is loaded: the opening."""
        self.transcript.verticalScrollBar().setValue(0)

    def go_to_resolution(self) -> None:
        """Show the end of what is loaded: the resolution."""
        bar = self.transcript.verticalScrollBar()
        bar.setValue(bar.maximum())

    def tell(self, text: str) -> None:
        """Say for a moment at the foot of the text what was done."""
        self._told.setText(text)
        self._told.setAccessibleName(text)
        self._told.show()
        self._told_ends.start()

    def _focus_text(self) -> None:
        self.transcript.setFocus(Qt.FocusReason.PopupFocusReason)

    def _on_moved(self) -> None:
        self.rail.show_view(*self.transcript.numbers_in_view())

    # QWidget

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fold the outline to the rail in a narrow window."""
        super().resizeEvent(event)
        self.outline.setVisible(self.window().width() >= FOLD_BELOW_PX)
        self._on_moved()
