"""The one window: search row, path bar, list, conversation, status; and the sources page."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import (
    QCloseEvent,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDropEvent,
    QGuiApplication,
    QKeyEvent,
)
from PySide6.QtWidgets import (
    QApplication,
    QMainWindow,
    QSplitter,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from app.models.hits import HitsModel
from app.models.recent import RecentModel
from app.models.saved import SavedModel
from app.models.sessions import SessionsModel
from app.models.sources import SourcesModel
from app.views.actions import Actions
from app.views.completion_popup import CompletionPopup
from app.views.conversation_pane import ConversationPane
from app.views.drop_hint import DropHint
from app.views.empty_state import ZeroHitsView
from app.views.first_run import FirstRunView
from app.views.hits_view import HitsView
from app.views.maintenance.page import MaintenancePage
from app.views.maintenance.way import MaintenanceWay
from app.views.message_bar import MessageBar
from app.views.page import EmptyState
from app.views.path_bar import PathBar
from app.views.recent_view import RecentView
from app.views.row_list import RowList
from app.views.search_bar import SearchBar
from app.views.sessions_view import SessionsView
from app.views.sheets import AboutSheet, ShortcutSheet
from app.views.status_bar import StatusBar
from app.views.undo_bar import UndoBar

_MINIMUM = (960, 600)
_DEFAULT = (1440, 900)
_MENU_HEIGHT = 28
_LIST_WIDTH = 400
_LIST_MINIMUM = 280


@dataclass(frozen=True, slots=True)
class Models:
    """What the lists of the window show."""

    sessions: SessionsModel
    hits: HitsModel
    recent: RecentModel
    sources: SourcesModel
    saved: SavedModel

    @classmethod
    def empty(cls) -> "Models":
        """Return models that hold nothing."""
        return cls(SessionsModel(), HitsModel(), RecentModel(), SourcesModel(), SavedModel())


class MainWindow(QMainWindow):
    """Puts the views together; knows no store.

    Signals:
        close_asked: the window should close, as soon as what runs has stopped.
        paths_dropped: files or folders were dropped; carries them as a list of paths.
        maintenance_shown: the page of maintenance came, or was left; carries which.
    """

    close_asked = Signal()
    paths_dropped = Signal(list)
    maintenance_shown = Signal(bool)

    def __init__(self, models: Models, pane: ConversationPane) -> None:
        super().__init__()
        self.setWindowTitle("Backscroll")
        self.setMinimumSize(*_MINIMUM)
        self.resize(*_DEFAULT)
        self.setAcceptDrops(True)
        self.models = models
        self.pane = pane
        self.actions_by_name = Actions(self)
        self.actions_by_name.fill(self.menuBar())
        self.menuBar().setFixedHeight(_MENU_HEIGHT)
        self.search_bar = SearchBar()
        self.path_bar = PathBar()
        self.path_bar.comes_after = self.search_bar.date
        self.message_bar = MessageBar()
        self.sessions_view = SessionsView(models.sessions)
        self.hits_view = HitsView(models.hits)
        self.recent_view = RecentView(models.recent, models.saved)
        self.zero_hits = ZeroHitsView()
        self.nothing_open = EmptyState()
        self.first_run = FirstRunView(models.sources)
        self.maintenance = MaintenancePage()
        self.status_bar = StatusBar()
        self.list_undo, self.page_undo = UndoBar(), UndoBar()
        self.drop_hint = DropHint(self)
        self._may_close = False
        self._build()
        self._connect()

    def _build(self) -> None:
        self.lists = QStackedWidget(objectName="list")
        for view in (self.sessions_view, self.hits_view, self.recent_view):
            self.lists.addWidget(view)
        self.lists.setMinimumWidth(_LIST_MINIMUM)
        self.right = QStackedWidget()
        for page in (self.nothing_open, self.pane, self.zero_hits):
            self.right.addWidget(page)
        self.splitter = QSplitter(Qt.Orientation.Horizontal, handleWidth=1)
        self.splitter.setChildrenCollapsible(False)
        left = QWidget()
        foot = QVBoxLayout(left)
        foot.setContentsMargins(0, 0, 0, 0)
        foot.setSpacing(0)
        foot.addWidget(self.lists, 1)
        foot.addWidget(self.list_undo)
        self.splitter.addWidget(left)
        self.splitter.addWidget(self.right)
        self.splitter.setStretchFactor(1, 1)
        self.splitter.setSizes([_LIST_WIDTH - 1, _DEFAULT[0] - _LIST_WIDTH])
        self.pages = QStackedWidget()
        self.pages.addWidget(self.splitter)
        self.pages.addWidget(self.first_run)
        self.pages.addWidget(self.maintenance)
        button = self.status_bar.maintenance
        self._way = MaintenanceWay(self.pages, self.maintenance, self.path_bar, button)
        self.installEventFilter(self._way)
        central = QWidget()
        column = QVBoxLayout(central)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        bar = self.maintenance.bar
        for part in (self.search_bar, self.path_bar, bar, self.message_bar):
            column.addWidget(part)
        column.addWidget(self.pages, 1)
        column.addWidget(self.page_undo)
        column.addWidget(self.status_bar)
        self.setCentralWidget(central)
        self.completion_popup = CompletionPopup(self.search_bar.field, central)

    def _connect(self) -> None:
        actions = self.actions_by_name
        actions["quit"].triggered.connect(self.close)
        actions["search"].triggered.connect(self.search_bar.focus)
        actions["next_pane"].triggered.connect(lambda: self._step_pane(1))
        actions["previous_pane"].triggered.connect(lambda: self._step_pane(-1))
        actions["back"].triggered.connect(self.search_bar.back_asked)
        actions["forward"].triggered.connect(self.search_bar.forward_asked)
        actions["previous_session"].triggered.connect(lambda: self._step_list(-1))
        actions["next_session"].triggered.connect(lambda: self._step_list(1))
        actions["clear_filters"].triggered.connect(self._clear_filters)
        actions["shortcuts"].triggered.connect(lambda: ShortcutSheet(self).open())
        actions["why"].triggered.connect(lambda: self.path_bar.link_pressed.emit("why"))
        actions["maintenance"].triggered.connect(self._on_maintenance_asked)
        self.status_bar.maintenance.clicked.connect(self._on_maintenance_asked)
        self.maintenance.left.connect(self.leave_maintenance)
        self._way.shown.connect(self.maintenance_shown)
        self.search_bar.field.list_wanted.connect(self.focus_list)
        self.search_bar.field.left.connect(self.focus_list)
        self.search_bar.field.searches_wanted.connect(self._on_searches_wanted)
        for view in (self.sessions_view, self.hits_view):
            view.row_entered.connect(self.focus_conversation)

    # What is shown

    def show_list(self, view: QWidget) -> None:
        """Show one of the lists beside the conversation."""
        self.lists.setCurrentWidget(view)
        self.pages.setCurrentWidget(self.splitter)

    def show_right(self, page: QWidget) -> None:
        """Show the conversation, the page of no hits or the one of nothing open.

        The focus goes from the page of no hits to the list: what was pressed there found
        something. Qt would hand it to the first button of the conversation.
        """
        left, focus = self.right.currentWidget(), self.focusWidget()
        was_pressed = left is self.zero_hits and focus is not None and left.isAncestorOf(focus)
        self.right.setCurrentWidget(page)
        if was_pressed and page is not left:
            self.focus_list()

    def show_sources(self) -> None:
        """Show the page of sources and import over list and conversation."""
        self.pages.setCurrentWidget(self.first_run)

    def on_sources(self) -> bool:
        """Tell whether the page of sources is shown."""
        return self.pages.currentWidget() is self.first_run

    def show_maintenance(self) -> None:
        """Show the page of maintenance over everything else, with its bar and the focus."""
        self._way.go()

    def leave_maintenance(self) -> None:
        """Go back to what was shown before the page of maintenance, and to where one was."""
        if self.on_maintenance() and not self._way.back():
            self.focus_list()

    def on_maintenance(self) -> bool:
        """Tell whether the page of maintenance is shown."""
        return self._way.is_shown()

    def on_conversations(self) -> bool:
        """Tell whether list and conversation are shown, and no page over them."""
        return self.pages.currentWidget() is self.splitter

    def current_list(self) -> RowList:
        """Return the list that is shown."""
        if self.lists.currentWidget() is self.recent_view:
            return self.recent_view.front()
        return (
            self.hits_view if self.lists.currentWidget() is self.hits_view else self.sessions_view
        )

    def show_searches(self) -> None:
        """Show the saved and recent searches, with the focus in them if there are any."""
        self.show_list(self.recent_view)
        self.recent_view.enter()

    def show_about(self, sqlite_version: str) -> None:
        """Show versions and licences."""
        AboutSheet(self, sqlite_version).open()

    def raise_up(self) -> None:
        """Bring the window to the front."""
        self.setWindowState(self.windowState() & ~Qt.WindowState.WindowMinimized)
        self.show()
        self.raise_()
        self.activateWindow()

    def bring_back(self) -> None:
        """Move the window onto a screen when the one it was on is gone."""
        frame = self.frameGeometry()
        screens = QGuiApplication.screens()
        if screens and not any(each.availableGeometry().intersects(frame) for each in screens):
            self.move(screens[0].availableGeometry().topLeft())

    def close_now(self) -> None:
        """Close for good: everything that ran has stopped."""
        self._may_close = True
        self.close()

    # Focus

    def focus_list(self) -> None:
        """Give the list the focus."""
        if self.on_maintenance():
            self.maintenance.enter()
        elif self.on_sources():
            self.first_run.list.setFocus(Qt.FocusReason.OtherFocusReason)
        else:
            self.current_list().setFocus(Qt.FocusReason.OtherFocusReason)

    def focus_conversation(self) -> None:
        """Give the conversation the focus, when one is open."""
        if self.right.currentWidget() is self.pane:
            self.pane.setFocus(Qt.FocusReason.OtherFocusReason)

    def panes(self) -> Sequence[QWidget]:
        """Return what F6 goes through, in order."""
        if self.on_maintenance():
            return [self.search_bar.field, self.maintenance.bar, *self.maintenance.panes()]
        if self.on_sources():
            return [self.search_bar.field, self.first_run.list, self.first_run.why.field]
        found: list[QWidget] = [self.search_bar.field, self.current_list()]
        if self.right.currentWidget() is self.pane:
            found += self.pane.focus_targets()
        return found

    def _on_searches_wanted(self) -> None:
        if self.on_sources() or self.recent_view.is_empty():
            self.focus_list()
        else:
            self.show_searches()

    def _step_pane(self, step: int) -> None:
        panes = self.panes()
        focus = QApplication.focusWidget()
        now = next(
            (
                n
                for n, each in enumerate(panes)
                if focus and (each is focus or each.isAncestorOf(focus))
            ),
            -1 if step > 0 else 0,
        )
        panes[(now + step) % len(panes)].setFocus(Qt.FocusReason.ShortcutFocusReason)

    def _on_maintenance_asked(self) -> None:
        if self.on_maintenance():
            self.leave_maintenance()
        else:
            self.show_maintenance()

    def _step_list(self, step: int) -> None:
        if self.on_maintenance():
            return
        if self.lists.currentWidget() is self.hits_view:
            self.hits_view.step_hit(step)
        elif self.lists.currentWidget() is self.sessions_view:
            self.sessions_view.step(step)

    def _clear_filters(self) -> None:
        for chip in self.search_bar.chips():
            chip.clear()

    # QWidget

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self.on_maintenance():
            self.leave_maintenance()
            return
        super().keyPressEvent(event)

    def closeEvent(self, event: QCloseEvent) -> None:
        if self._may_close:
            event.accept()
            return
        event.ignore()
        self.close_asked.emit()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if any(url.isLocalFile() for url in event.mimeData().urls()):
            event.acceptProposedAction()
            self.drop_hint.cover()

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self.drop_hint.hide()

    def dropEvent(self, event: QDropEvent) -> None:
        self.drop_hint.hide()
        paths = [Path(url.toLocalFile()) for url in event.mimeData().urls() if url.isLocalFile()]
        if paths:
            event.acceptProposedAction()
            self.paths_dropped.emit(paths)
