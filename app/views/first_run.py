"""What to import: the places found on this machine, and how the import of them goes."""

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPoint, Qt, Signal
from PySide6.QtGui import QKeyEvent, QPaintEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QHBoxLayout,
    QListView,
    QMenu,
    QVBoxLayout,
    QWidget,
)

from app import formatting
from app.models.sources import SourcesModel
from app.text_ranges import visible
from app.views import painting
from app.views.import_panel import ImportPanel
from app.views.page import Page
from app.views.parts import Button, Icon, Text, restyle
from app.views.source_delegate import NAME, SourceDelegate, columns, short_path

_WIDTH = 1040
_SENTENCE_WIDTH = 776
_HEAD = 33

Index = QModelIndex | QPersistentModelIndex


class _Head(QFrame):
    """The head of the table, over the columns that the delegate paints."""

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("class", "tablehead")
        self.setFixedHeight(_HEAD)
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
            label.move(round(left), (_HEAD - label.height()) // 2)


class _SourceList(QListView):
    """As high as its rows: the page scrolls, not the list."""

    def __init__(self, model: SourcesModel) -> None:
        super().__init__()
        self.setObjectName("sources")
        self.setAccessibleName(self.tr("Sources"))
        self.setModel(model)
        self.setItemDelegate(SourceDelegate(self))
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


class FirstRunView(Page):
    """Shows; never asks.

    Signals:
        import_asked: read the chosen places.
        files_asked, folder_asked: add files, or a folder, to the places.
        sessions_asked: leave this page for the conversations.
    """

    import_asked = Signal()
    files_asked = Signal()
    folder_asked = Signal()
    sessions_asked = Signal()

    def __init__(self, model: SourcesModel, parent: QWidget | None = None) -> None:
        super().__init__(_WIDTH, parent)
        self._model = model
        self.title = Text("", "display")
        self.sentence = Text("", "lead", "text2")
        self.sentence.setWordWrap(True)
        self.sentence.setMaximumWidth(_SENTENCE_WIDTH)
        self.list = _SourceList(model)
        self._table = QFrame()
        self._table.setProperty("class", "table")
        self.start = Button(self.tr("Import"), "primary large", "import")
        self.add = Button(self.tr("Add a file or folder…"), "large")
        self.leave = Button(self.tr("Show conversations"), "large")
        self.panel = ImportPanel()
        self.store = Text("", "caption", "text2")
        self._importing = False
        self._build()
        self.start.clicked.connect(self.import_asked)
        self.leave.clicked.connect(self.sessions_asked)
        self.add.clicked.connect(self._on_add)
        model.choice_changed.connect(self._show_choice)
        model.modelReset.connect(self._show_found)
        model.rowsInserted.connect(self._show_found)
        self.show_looking()

    def _build(self) -> None:
        table = QVBoxLayout(self._table)
        table.setContentsMargins(1, 1, 1, 1)
        table.setSpacing(0)
        table.addWidget(_Head())
        table.addWidget(self.list)
        actions = QHBoxLayout()
        actions.setSpacing(8)
        actions.addWidget(self.start)
        actions.addWidget(self.add)
        actions.addStretch(1)
        actions.addWidget(self.leave)
        foot = QHBoxLayout()
        foot.setSpacing(6)
        foot.addWidget(Icon("store", "text2", 14))
        foot.addWidget(self.store)
        foot.addStretch(1)
        for part, gap in (
            (self.title, 4),
            (self.sentence, 20),
            (self._table, 16),
            (actions, 20),
            (self.panel, 16),
            (foot, 0),
        ):
            if isinstance(part, QHBoxLayout):
                self.column.addLayout(part)
            else:
                self.column.addWidget(part)
            self.column.addSpacing(gap)
        self.column.addStretch(1)
        self.panel.hide()
        self.leave.hide()

    def show_looking(self) -> None:
        """Say that the machine is being looked through."""
        self.title.setText(self.tr("Looking for conversations on this machine"))
        self.sentence.setText(self._promise())
        self._table.hide()
        self.start.setEnabled(False)

    def show_found(self) -> None:
        """Show what the model holds, also when that is nothing; the next step has the focus."""
        self._show_found()
        if self.isVisible():
            (self.start if self.start.isEnabled() else self.add).setFocus()

    def show_store(self, path: str) -> None:
        """Show where everything is stored."""
        words = self.tr("Store: %1, readable by you only").replace("%1", short_path(path))
        self.store.setText(visible(words))

    def show_importing(self, importing: bool) -> None:
        """Show or hide the panel of a running import."""
        self._importing = importing
        self.panel.setVisible(importing)
        self._show_choice()
        if importing:
            self.panel.pause.setFocus()

    def show_leave(self, possible: bool) -> None:
        """Offer the way to the conversations, once there are any."""
        self.leave.setVisible(possible)

    def offers_sources(self) -> bool:
        """Tell whether there is anything on the page that one may be choosing from."""
        return self._importing or self._model.rowCount() > 0

    def _promise(self) -> str:
        return self.tr(
            "Backscroll copies the conversations into its own store, word for word. Files of other "
            "programs are only read, never written. Nothing leaves this machine."
        )

    def _show_found(self) -> None:
        count = self._model.rowCount()
        self._table.setVisible(count > 0)
        self.start.setVisible(count > 0)
        self.add.setProperty("class", "large" if count else "large primary")
        restyle(self.add)
        self.title.setText(
            formatting.counted(
                count,
                self.tr("%1 source found on this machine"),
                self.tr("%1 sources found on this machine"),
            )
            if count
            else self.tr("No conversations found on this machine")
        )
        self.sentence.setText(
            self._promise()
            if count
            else self.tr(
                "The usual places hold none. Add an export, a folder, or drop one onto this window."
            )
        )
        self._show_choice()

    def _show_choice(self) -> None:
        chosen = self._model.chosen()
        count = len(chosen)
        words = formatting.counted(count, self.tr("Import %1 source"), self.tr("Import %1 sources"))
        if self._importing and count:
            words = formatting.counted(
                count, self.tr("Import %1 more source"), self.tr("Import %1 more sources")
            )
        if count and all(self._model.rows()[row].state == "imported" for row in chosen):
            words = self.tr("Import what is new")
        self.start.setText(words if count else self.tr("Import"))
        self.start.setEnabled(count > 0)

    def _on_add(self) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(self.tr("Files…")).triggered.connect(self.files_asked)
        menu.addAction(self.tr("Folder…")).triggered.connect(self.folder_asked)
        menu.popup(self.add.mapToGlobal(QPoint(0, self.add.height() + 4)))
