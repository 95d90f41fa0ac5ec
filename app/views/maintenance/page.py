"""The maintenance page: six cards, three beside each other, or two, or one."""

from collections.abc import Sequence

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QApplication, QFrame, QGridLayout, QScrollArea, QWidget

from app.views.maintenance.card import Card
from app.views.maintenance.indexes_card import IndexesCard
from app.views.maintenance.operations_card import OperationsCard
from app.views.maintenance.page_bar import PageBar
from app.views.maintenance.retention_card import RetentionCard
from app.views.maintenance.sources_card import SourcesCard
from app.views.maintenance.store_card import StoreCard
from app.views.maintenance.tokenizer_card import TokenizerCard

_FROM = {3: 1180, 2: 800, 1: 0}
_STRETCHES = {3: (56, 44, 44), 2: (1, 1), 1: (1,)}


class MaintenancePage(QScrollArea):
    """Shows how the store is kept. Its `bar` stands in the path bar's place.

    Signals:
        left: the page should be left for the conversations.
    """

    left = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("tiles")
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.bar = PageBar()
        self.indexes = IndexesCard()
        self.tokenizer = TokenizerCard()
        self.retention = RetentionCard()
        self.sources = SourcesCard()
        self.store = StoreCard()
        self.operations = OperationsCard()
        self._columns = 0
        ground = QWidget(objectName="tiles")
        self._grid = QGridLayout(ground)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(1)
        self.setWidget(ground)
        self._arrange(3)
        self.bar.left.connect(self.left)
        QApplication.instance().focusObjectChanged.connect(self._on_focus_moved)

    def cards(self) -> Sequence[Card]:
        """Return the cards in their order."""
        return (
            self.indexes,
            self.tokenizer,
            self.retention,
            self.sources,
            self.store,
            self.operations,
        )

    def panes(self) -> Sequence[QWidget]:
        """Return what F6 goes through: the first control of each card that has one."""
        return [first for card in self.cards() if (first := first_control(card)) is not None]

    def enter(self) -> None:
        """Take the focus: the way back has it, so that Enter leaves at once."""
        self.bar.back.setFocus(Qt.FocusReason.OtherFocusReason)

    def _arrange(self, columns: int) -> None:
        if columns == self._columns:
            return
        self._columns = columns
        for card in self.cards():
            self._grid.removeWidget(card)
        for n in range(3):
            self._grid.setColumnStretch(n, _STRETCHES[columns][n] if n < columns else 0)
        rows = len(self.cards()) // columns
        for n, card in enumerate(self.cards()):
            self._grid.addWidget(card, n // columns, n % columns)
        for n in range(len(self.cards())):
            self._grid.setRowStretch(n, 1 if n < rows else 0)

    def _least_width(self, columns: int) -> int:
        """Return how wide the cards must be at least, so many beside each other."""
        widths = [card.minimumSizeHint().width() for card in self.cards()]
        return sum(max(widths[n::columns]) for n in range(columns)) + columns - 1

    def _on_focus_moved(self, focus: QObject | None) -> None:
        """Scroll to where the focus went by keyboard; Qt does so for direct children alone."""
        if isinstance(focus, QWidget) and self.widget().isAncestorOf(focus):
            self.ensureWidgetVisible(focus, 0, 24)

    # QWidget

    def resizeEvent(self, event: QResizeEvent) -> None:
        room = self.width() - self.verticalScrollBar().sizeHint().width()
        fitting = (n for n, least in _FROM.items() if room >= max(least, self._least_width(n)))
        self._arrange(next(fitting, 1))
        super().resizeEvent(event)


def first_control(card: QWidget) -> QWidget | None:
    """Return the first part of a card that Tab stops at now."""
    for each in card.findChildren(QWidget):
        stops = each.focusPolicy() & Qt.FocusPolicy.TabFocus
        if stops and each.isEnabled() and each.isVisibleTo(card):
            return each
    return None
