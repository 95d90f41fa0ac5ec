"""What to import: the places found on this machine, and how the import of them goes."""

from itertools import pairwise

from PySide6.QtCore import QPoint, QRect, Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QMenu, QVBoxLayout, QWidget

from app import formatting
from app.models.sources import SourcesModel
from app.text_ranges import visible
from app.views.check_box import CheckBox
from app.views.import_panel import ImportPanel
from app.views.page import Page
from app.views.parts import Button, Icon, Text, restyle
from app.views.source_delegate import short_path
from app.views.source_list import SourceHead, SourceList
from app.views.source_menu import SourceMenu
from app.views.source_questions import Drift, Why
from app.views.sticky import Sticky

_WIDTH = 1040
_SENTENCE_WIDTH = 776


class FirstRunView(Page):
    """Shows; never asks.

    Signals:
        import_asked: read the chosen places.
        files_asked, folder_asked: add files, or a folder, to the places.
        sessions_asked: leave this page for the conversations.
        watch_asked, unwatch_asked, pause_asked, resume_asked: read what is new at a place by
            itself, or no longer, or not for now; carry its path.
        report_asked, remove_asked: tell of a source, or forget it; carry its name, the latter
            also whether its conversations go to the trash.
        why_asked: why is this not here; carries an id, a title or words.
    """

    import_asked = Signal()
    files_asked = Signal()
    folder_asked = Signal()
    sessions_asked = Signal()
    watch_asked = Signal(str)
    unwatch_asked = Signal(str)
    pause_asked = Signal(str)
    resume_asked = Signal(str)
    report_asked = Signal(str)
    remove_asked = Signal(str, bool)
    why_asked = Signal(str)

    def __init__(self, model: SourcesModel, parent: QWidget | None = None) -> None:
        super().__init__(_WIDTH, parent)
        self._model = model
        self.title = Text("", "display")
        self.sentence = Text("", "lead", "text2")
        self.sentence.setWordWrap(True)
        self.sentence.setMaximumWidth(_SENTENCE_WIDTH)
        self.list = SourceList(model)
        self._table = QFrame()
        self._table.setProperty("class", "table")
        self.start = Button(self.tr("Import"), "primary large", "import")
        self.add = Button(self.tr("Add a file or folder…"), "large")
        self.leave = Button(self.tr("Show conversations"), "large")
        self.keep = CheckBox(self.tr("Keep watching these sources"))
        self.keep.setChecked(True)
        self.keep.setToolTip(
            self.tr("What is new there is read within two seconds. Exports do not change.")
        )
        self.drift = Drift()
        self.why = Why()
        self.panel = ImportPanel()
        self._next = Sticky(self)
        self.store = Text("", "caption", "text2")
        self._importing = False
        self._build()
        self.start.clicked.connect(self.import_asked)
        self.leave.clicked.connect(self.sessions_asked)
        self.add.clicked.connect(self._on_add)
        self.list.menu_asked.connect(self._on_menu_asked)
        self.list.row_reached.connect(self._show_row)
        self.drift.asked.connect(self.report_asked)
        self.why.asked.connect(self.why_asked)
        model.choice_changed.connect(self._show_choice)
        model.modelReset.connect(self._show_found)
        model.rowsInserted.connect(self._show_found)
        self.show_looking()

    def _build(self) -> None:
        table = QVBoxLayout(self._table)
        table.setContentsMargins(1, 1, 1, 1)
        table.setSpacing(0)
        table.addWidget(SourceHead())
        table.addWidget(self.list)
        sentence = QHBoxLayout()  # alone in the column its height would be that of a wider line
        sentence.addWidget(self.sentence, 1000)
        sentence.addStretch(1)
        actions = QHBoxLayout()
        actions.setSpacing(8)
        actions.addWidget(self.start)
        actions.addWidget(self.add)
        actions.addStretch(1)
        actions.addWidget(self.keep)
        actions.addWidget(self.leave)
        self._next.column.addLayout(actions)
        self._next.column.addSpacing(12)
        self._next.column.addWidget(self.panel)
        foot = QHBoxLayout()
        foot.setSpacing(6)
        foot.addWidget(Icon("store", "text2", 14))
        foot.addWidget(self.store)
        foot.addStretch(1)
        for part, gap in (
            (self.title, 4),
            (sentence, 20),
            (self._table, 8),
            (self.drift, 4),
            (self._next, 8),
            (self.why, 20),
            (foot, 0),
        ):
            if isinstance(part, QHBoxLayout):
                self.column.addLayout(part)
            else:
                self.column.addWidget(part)
            self.column.addSpacing(gap)
        self.column.addStretch(1)
        self.panel.hide()
        self.drift.hide()
        self.leave.hide()
        self._order_tabs()

    def _order_tabs(self) -> None:
        steps = (self.start, self.add, self.keep, self.leave)
        running = (self.panel.pause, self.panel.cancel)
        order = (self.list, self.drift.link, *steps, *running, self.why.field, self.why.look)
        for before, after in pairwise(order):
            QWidget.setTabOrder(before, after)

    def _show_row(self, row: QRect) -> None:
        """Scroll so that a row of the table is seen, which the table itself never does."""
        top = self.list.mapTo(self.widget(), row.topLeft()).y()
        bar, height = self.verticalScrollBar(), self.viewport().height() - self._next.covered()
        lowest, highest = top + row.height() - height, top
        if not lowest <= bar.value() <= highest:
            bar.setValue(lowest if bar.value() < lowest else highest)

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
        if self._importing and all(self._model.rows()[row].state == "imported" for row in chosen):
            count = 0  # what was read just now is not offered again while the rest is read
        words = formatting.counted(count, self.tr("Import %1 source"), self.tr("Import %1 sources"))
        if self._importing and count:
            words = formatting.counted(
                count, self.tr("Import %1 more source"), self.tr("Import %1 more sources")
            )
        if count and all(self._model.rows()[row].was_read for row in chosen):
            words = self.tr("Import what is new")
        self.keep.setVisible(any(row.live for row in self._model.rows()))
        self.start.setText(words if count else self.tr("Import"))
        self.start.setEnabled(count > 0)

    def _on_add(self) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(self.tr("Files…")).triggered.connect(self.files_asked)
        menu.addAction(self.tr("Folder…")).triggered.connect(self.folder_asked)
        menu.popup(self.add.mapToGlobal(QPoint(0, self.add.height() + 4)))

    def _on_menu_asked(self, row: int, at: QPoint) -> None:
        menu = SourceMenu(self._model.rows()[row], self)
        menu.watch_asked.connect(self.watch_asked)
        menu.unwatch_asked.connect(self.unwatch_asked)
        menu.pause_asked.connect(self.pause_asked)
        menu.resume_asked.connect(self.resume_asked)
        menu.report_asked.connect(self.report_asked)
        menu.remove_asked.connect(self.remove_asked)
        menu.popup(at)
