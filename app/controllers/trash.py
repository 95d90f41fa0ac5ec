"""Throwing conversations and messages away, and taking them back: at once, without a question."""

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from PySide6.QtCore import QObject, Signal

from app import formatting
from app.controllers.context import ContextController
from app.controllers.navigation import NavigationController, Way
from app.controllers.sessions import SessionsController
from app.controllers.undoing import Undoing
from app.messages import describe
from app.tasks import TaskScope
from app.text_ranges import one_line
from app.views.main_window import MainWindow
from app.views.undo_bar import UndoBar
from core.errors import CoreError
from core.store.store import Store
from core.types import Message, Session
from core.upkeep import trash
from core.upkeep_types import Operation

_TITLE_CHARS = 40


@dataclass(frozen=True, slots=True)
class _Thrown:
    """What went to the trash at once, and the way as it was when one of it was shown."""

    operation: Operation
    sessions: tuple[int, ...]
    way: Way | None


class TrashController(QObject):
    """Moves what is chosen to the trash, and brings it back where it was.

    Signals:
        emptied: nothing is shown any more on the right: what was open is in the trash.
    """

    emptied = Signal()

    def __init__(
        self,
        store: Store,
        window: MainWindow,
        sessions: SessionsController,
        navigation: NavigationController,
        context: ContextController,
        undoing: Undoing,
        tasks: TaskScope,
    ) -> None:
        super().__init__(window)
        self._store, self._window, self._tasks = store, window, tasks
        self._sessions, self._navigation, self._context = sessions, navigation, context
        self._undoing = undoing
        self._numbers = count()
        self._going: set[int] = set()
        actions = window.actions_by_name
        window.sessions_view.addAction(actions["trash"])
        actions["trash"].triggered.connect(self.throw_away)
        actions["trash_message"].triggered.connect(lambda: self.throw_message_away(""))
        window.pane.transcript.trash_asked.connect(self.throw_message_away)

    def targets(self) -> list[Session]:
        """Return what an action on sessions is about: those chosen, else the one that is open."""
        window = self._window
        view, on_list = window.sessions_view, window.pages.currentWidget() is window.splitter
        is_read = on_list and window.right.currentWidget() is window.pane
        focus = window.focusWidget()
        in_pane = focus is not None and window.pane.isAncestorOf(focus)
        if on_list and window.lists.currentWidget() is view and not (is_read and in_pane):
            return [each for each in view.chosen_sessions() if each.id not in self._going]
        session, now = self._context.session, self._navigation.current()
        if not is_read or session is None or now is None or now.session_id != session.id:
            return []  # nothing is open, or another one is just being opened
        return [] if session.id in self._going else [session]

    def throw_away(self) -> None:
        """Move the sessions meant to the trash; the list then stands on the one after them."""
        chosen = self.targets()
        if not chosen:
            return
        view = self._window.sessions_view
        if {each.id for each in view.chosen_sessions()} & {each.id for each in chosen}:
            neighbour = view.neighbour_of_choice()
            view.select_session(neighbour.id) if neighbour else view.select_row(-1)
        self._going |= {each.id for each in chosen}
        self._start(self._throw_away(chosen))

    def throw_message_away(self, key: str = "") -> None:
        """Move the message of an item, else the one being read, to the trash."""
        window = self._window
        is_read = window.right.currentWidget() is window.pane
        if not is_read or window.pages.currentWidget() is not window.splitter:
            return
        message = self._context.message_to_act_on(key)
        if message is not None:
            self._start(self._throw_message_away(message))

    async def _throw_away(self, chosen: Sequence[Session]) -> None:
        ids = [each.id for each in chosen]
        try:
            done = await self._store.write(trash.trash_sessions, ids, "you")
        except CoreError as error:
            self._window.message_bar.show_notice(describe(error))
            return
        finally:
            self._going -= set(ids)
        way = self._close(ids)
        await self._sessions.load()
        thrown = _Thrown(done, tuple(ids), way)
        self._offer(self._window.list_undo, self._words(chosen, done), lambda: self._back(thrown))

    def _close(self, ids: Sequence[int]) -> Way | None:
        """Leave a conversation that is gone; return the way as it was, if it was shown."""
        now = self._navigation.current()
        was_shown = now is not None and now.session_id in ids
        way = self._navigation.leave(ids)
        if not was_shown:
            return None
        if self._window.right.currentWidget() is self._window.pane:
            self.emptied.emit()
        return way

    async def _throw_message_away(self, message: Message) -> None:
        neighbour = self._context.neighbour_of(message)
        session = self._context.session
        try:
            done = await self._store.write(trash.trash_message, message.id, "you")
        except CoreError as error:
            self._window.pane.message_bar.show_notice(describe(error))
            return
        self._read_again(session, neighbour.id if neighbour else None)
        shown_in = int(str(done.receipt.get("shown_in", 1)))
        words = self.tr("Message moved to the trash")
        if shown_in > 1:
            words = self.tr("Message moved to the trash; it was shown in %1 conversations")
            words = words.replace("%1", formatting.number(shown_in))
        self._offer(
            self._window.pane.undo_bar,
            words,
            lambda: self._start(self._bring_message_back(done, session, message)),
        )

    def _read_again(self, session: Session | None, message_id: int | None) -> None:
        now = self._context.session
        if session is not None and now is not None and now.id == session.id:
            self._context.read_again(message_id)

    async def _bring_message_back(
        self, done: Operation, session: Session | None, message: Message
    ) -> None:
        if await self._undone(done.id):
            self._read_again(session, message.id)

    # Taking back

    def _back(self, thrown: _Thrown) -> None:
        self._start(self._bring_back(thrown))

    async def _bring_back(self, thrown: _Thrown) -> None:
        if not await self._undone(thrown.operation.id):
            return
        await self._sessions.load()
        self._window.sessions_view.select_session(thrown.sessions[0])
        if thrown.way is not None:
            self._navigation.go_back_to(thrown.way)

    async def _undone(self, operation_id: int) -> bool:
        try:
            await self._store.write(trash.undo, operation_id, "you")
        except CoreError as error:
            self._window.message_bar.show_notice(describe(error))
            return False
        return True

    # Words

    def _offer(self, bar: UndoBar, words: str, take_back: Callable[[], None]) -> None:
        window = self._window
        on_list = window.pages.currentWidget() is window.splitter
        self._undoing.offer(bar if on_list else window.page_undo, words, take_back)

    def _words(self, chosen: Sequence[Session], done: Operation) -> str:
        if len(chosen) == 1:
            title = one_line(chosen[0].title).strip() or self.tr("Untitled")
            if len(title) > _TITLE_CHARS:
                title = title[: _TITLE_CHARS - 1].rstrip() + "…"
            words = self.tr("Moved to the trash: %1").replace("%1", title)
        else:
            words = formatting.counted(
                len(chosen),
                self.tr("%1 session moved to the trash"),
                self.tr("%1 sessions moved to the trash"),
            )
        more = int(str(done.receipt.get("sessions", 0))) - len(chosen)
        if more > 0:
            words += self.tr(", with %1 of subagents").replace("%1", formatting.number(more))
        return words

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        """Begin; what was asked for before comes to its end, too."""
        self._tasks.start(f"trash-{next(self._numbers)}", work)
