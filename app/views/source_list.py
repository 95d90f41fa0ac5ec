"""The table of places to import from: its head, and its rows with what can be done with each."""

from PySide6.QtCore import QPoint, QRect, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QKeyEvent, QPaintEvent
from PySide6.QtWidgets import QAbstractItemView, QFrame, QListView

from app.models.sources import SourcesModel
from app.views import painting
from app.views.parts import Text
from app.views.source_delegate import NAME, SourceDelegate, columns

HEAD = 33


class SourceHead(QFrame):
    """The head of the table, over the columns that the delegate paints."""

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("class", "tablehead")
        self.setFixedHeight(HEAD)
        words = (
            ("source", self.tr("Source")),
            ("sessions", self.tr("Sessions")),
            ("messages", self.tr("Messages")),
            ("size", self.tr("Size")),
            ("state", self.tr("State")),
        )
        self._labels = {}
        for key, word in words:
            label = Text(word, "caption", "text2")
            label.setParent(self)
            label.adjustSize()
            self._labels[key] = label

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        edges = columns(self.width())
        for key, label in self._labels.items():
            left = NAME if key == "source" else edges[key]
            if key in ("sessions", "messages", "size"):
                left -= label.width()
            label.move(round(left), (HEAD - label.height()) // 2)


class SourceList(QListView):
    """As high as its rows: the page scrolls, not the list.

    Signals:
        menu_asked: what can be done with a place; carries its row and where on the screen.
        row_reached: the keyboard came to a row; carries where in the list it is.
    """

    menu_asked = Signal(int, QPoint)
    row_reached = Signal(QRect)

    def __init__(self, model: SourcesModel) -> None:
        super().__init__()
        self.setObjectName("sources")
        self.setAccessibleName(self.tr("Sources"))
        self.setModel(model)
        delegate = SourceDelegate(self)
        delegate.menu_asked.connect(self.menu_asked)
        self.setItemDelegate(delegate)
        self.setUniformItemSizes(True)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        for signal in (model.modelReset, model.rowsInserted, model.rowsRemoved):
            signal.connect(self._fit)
        self._fit()

    def _fit(self) -> None:
        self.setFixedHeight(max(1, self.model().rowCount()) * painting.ROW)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Space and self.currentIndex().isValid():
            model = self.model()
            if isinstance(model, SourcesModel):
                model.toggle(self.currentIndex().row())
            return
        super().keyPressEvent(event)
        if self.currentIndex().isValid():
            self.row_reached.emit(self.visualRect(self.currentIndex()))

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        is_key = event.reason() == QContextMenuEvent.Reason.Keyboard
        index = self.currentIndex() if is_key else self.indexAt(event.pos())
        if index.isValid():
            below = self.viewport().mapToGlobal(self.visualRect(index).center())
            self.menu_asked.emit(index.row(), below if is_key else event.globalPos())
