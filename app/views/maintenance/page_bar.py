"""The bar of the maintenance page, where the path bar is else: way back, state, store, report."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QSizePolicy

from app import theme
from app.views.maintenance.card import PathText
from app.views.parts import Button, Dot, ElidedText, Icon, Link, Text
from app.views.path_bar import HEIGHT

_PATH_WIDTH = 220


class PageBar(QFrame):
    """Says in one line how the store is.

    Signals:
        left: back to the conversations.
        report_asked: copy what the page shows.
    """

    left = Signal()
    report_asked = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("pathbar")
        self.setFixedHeight(HEIGHT)
        self.setAccessibleName(self.tr("Maintenance"))
        self.back = Link(self.tr("Conversations"))
        theme.changed.connect(self._tint)
        self._tint()
        self.title = Text(self.tr("Maintenance"), "ui", bold=True)
        self._icon = Icon("ok", "ok", 14)
        self.state = ElidedText("", "ui", "ok")
        self._dot = Dot()
        self.meanwhile = ElidedText("", "ui", "text2")
        self.path = PathText(ink="text2")
        self.path.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.path.setFixedWidth(_PATH_WIDTH)
        self.report = Button(self.tr("Copy report"), "small")
        upright = QFrame()
        upright.setProperty("class", "upright")
        row = QHBoxLayout(self)
        row.setContentsMargins(14, 0, 16, 1)
        row.setSpacing(12)
        for part in (self.back, upright, self.title):
            row.addWidget(part)
        state = QHBoxLayout()
        state.setSpacing(6)
        state.addWidget(self._icon)
        state.addWidget(self.state)
        row.addLayout(state)
        row.addWidget(self._dot)
        row.addWidget(self.meanwhile, 1)
        row.addWidget(self.path)
        row.addWidget(self.report)
        self.setFocusProxy(self.back)
        self.back.clicked.connect(self.left)
        self.report.clicked.connect(self.report_asked)

    def _tint(self) -> None:
        self.back.setIcon(theme.icon("back", "accent"))

    def show_state(self, icon: str, ink: str, words: str, meanwhile: str) -> None:
        """Show the state of everything, and what it means for who searches."""
        self._icon.show_icon(icon, ink)
        self.state.setText(words)
        self.state.set_ink(ink)
        self._dot.setVisible(bool(meanwhile))
        self.meanwhile.setText(meanwhile)
        self.setAccessibleDescription(f"{words}, {meanwhile}" if meanwhile else words)

    def show_path(self, path: str, shown: str) -> None:
        """Show where the store is: its end, the whole of it as tooltip."""
        self.path.show_path(path, shown)
        width = self.path.fontMetrics().horizontalAdvance(shown) + 2
        self.path.setFixedWidth(min(_PATH_WIDTH, width))
