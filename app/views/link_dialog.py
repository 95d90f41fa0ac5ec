"""A link shown for what it is before it is opened."""

from collections.abc import Callable

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QGuiApplication, QKeyEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from app import theme
from app.text_ranges import one_line
from app.views.parts import Button, Icon, Text, restyle

ALLOWED = frozenset({"http", "https", "mailto"})
_SHOWN_CHARS = 600


def target_of(text: str) -> QUrl:
    """Return an address of the text as a URL; invalid when it is none that may be opened."""
    url = QUrl(text.strip(), QUrl.ParsingMode.StrictMode)
    if not url.isValid() or url.scheme().lower() not in ALLOWED:
        return QUrl()
    if url.scheme().lower() != "mailto" and not url.host():
        return QUrl()
    return url


class LinkBar(QFrame):
    """Shows a link's real target at the foot of the pane and asks before opening it.

    Signals:
        closed: the question was answered, or taken back.
    """

    closed = Signal()

    def __init__(
        self,
        parent: QWidget | None = None,
        *,
        open_url: Callable[[QUrl], object] = QDesktopServices.openUrl,
    ) -> None:
        super().__init__(parent)
        self._open_url = open_url
        self._target = ""
        self.setProperty("class", "message")
        self.setProperty("kind", "info")
        self._icon = Icon("link", "accent")
        self.title = Text("", bold=True)
        self.host = Text("", ink="text2")
        self.address = QLabel(textFormat=Qt.TextFormat.PlainText, wordWrap=True)
        self.address.setFont(theme.code_font("caption"))
        self.address.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.open_button = Button(self.tr("Open in the browser"), "small")
        self.copy_button = Button(self.tr("Copy address"), "small")
        self.close_button = Button(self.tr("Cancel"), "small")
        words = QVBoxLayout()
        words.setSpacing(2)
        heading = QHBoxLayout()
        heading.setSpacing(8)
        heading.addWidget(self.title)
        heading.addWidget(self.host)
        heading.addStretch(1)
        words.addLayout(heading)
        words.addWidget(self.address)
        row = QHBoxLayout(self)
        row.setContentsMargins(16, 10, 16, 10)
        row.setSpacing(12)
        row.addWidget(self._icon, 0, Qt.AlignmentFlag.AlignTop)
        row.addLayout(words, 1)
        for button in (self.open_button, self.copy_button, self.close_button):
            row.addWidget(button)
        self.open_button.clicked.connect(self._on_open)
        self.copy_button.clicked.connect(self._on_copy)
        self.close_button.clicked.connect(self.close_bar)
        self.hide()

    def ask(self, target: str) -> None:
        """Show a link's target; only http, https and mailto can be opened from here."""
        url = target_of(target)
        self._target = target
        may_open = url.isValid()
        self.setProperty("kind", "info" if may_open else "warn")
        self._icon.show_icon("link" if may_open else "warning", "accent" if may_open else "warn")
        restyle(self)
        self.title.setText(
            self.tr("Open this link?") if may_open else self.tr("This kind of link is not opened.")
        )
        # The encoded host tells look-alike letters apart.
        encoded = url.host(QUrl.ComponentFormattingOption.FullyEncoded) if may_open else ""
        self.host.setText(encoded)
        self.host.setVisible(bool(encoded))
        shown = one_line(target)
        cut = len(shown) > _SHOWN_CHARS
        self.address.setText(shown[:_SHOWN_CHARS] + "…" if cut else shown)
        self.open_button.setVisible(may_open)
        self.setAccessibleName(f"{self.title.text()} {encoded}".strip())
        self.show()
        (self.copy_button if not may_open else self.close_button).setFocus(
            Qt.FocusReason.OtherFocusReason
        )

    def close_bar(self) -> None:
        """Open nothing."""
        if not self.isHidden():
            self.hide()
            self.closed.emit()

    def _on_open(self) -> None:
        url = target_of(self._target)
        if url.isValid():
            self._open_url(url)
        self.close_bar()

    def _on_copy(self) -> None:
        QGuiApplication.clipboard().setText(self._target)
        self.close_bar()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Escape takes the question back."""
        if event.key() == Qt.Key.Key_Escape:
            self.close_bar()
        else:
            super().keyPressEvent(event)
