"""The life of a session in the window: pinned, put away, moved, called otherwise, begun anew."""

from collections.abc import Callable, Coroutine, Sequence
from itertools import count
from typing import Any

from PySide6.QtCore import QObject

from app import formatting
from app.controllers.context import ContextController
from app.controllers.sessions import SessionsController
from app.controllers.trash import TrashController
from app.controllers.undoing import Undoing
from app.dialogs import Dialogs
from app.messages import describe
from app.tasks import TaskScope
from app.text_ranges import one_line
from app.views.main_window import MainWindow
from core.errors import CoreError
from core.history import facets
from core.history.sessions import sessions_by_id
from core.store.store import Store
from core.types import Session
from core.upkeep import lifecycle
from core.upkeep_types import Operation

_TEXT_CHANGES = (lifecycle.CLEAR, "sessions.reset")
"""What changes what the open conversation shows, and not just what is said about it."""


class KeepingController(QObject):
    """Does to the sessions meant what the actions say, at once; each can be taken back.

    A switch, such as pinning, is on for all unless it is on for all of them already.
    """

    def __init__(
        self,
        store: Store,
        window: MainWindow,
        sessions: SessionsController,
        context: ContextController,
        trash: TrashController,
        undoing: Undoing,
        tasks: TaskScope,
        dialogs: Dialogs,
    ) -> None:
        super().__init__(window)
        self._store, self._window, self._sessions = store, window, sessions
        self._context, self._trash = context, trash
        self._undoing, self._tasks, self._dialogs = undoing, tasks, dialogs
        self._numbers = count()
        actions = window.actions_by_name
        for name, slot in (
            ("rename", self._on_rename),
            ("pin", self._on_pin),
            ("archive", self._on_archive),
            ("move", self._on_move),
            ("reset", self._on_reset),
            ("clear", self._on_clear),
        ):
            actions[name].triggered.connect(slot)
        window.sessions_view.menu_actions = tuple(
            actions[name]
            for name in ("rename", "pin", "archive", "move", "reset", "clear", "trash")
        )
        window.sessions_view.title_entered.connect(self._on_title_entered)
        window.pane.header.title_entered.connect(self._on_title_entered)

    # Switches

    def _on_pin(self) -> None:
        chosen = self._trash.targets()
        on = any(each.pinned_at_ms is None for each in chosen)
        words = formatting.counted(
            len(chosen),
            self.tr("Pinned: retention leaves it alone") if on else self.tr("No longer pinned"),
            self.tr("%1 pinned: retention leaves them alone")
            if on
            else self.tr("%1 no longer pinned"),
        )
        self._begin(chosen, lifecycle.pin, _rows(chosen), on, words=words)

    def _on_archive(self) -> None:
        chosen = self._trash.targets()
        on = any(each.archived_at_ms is None for each in chosen)
        words = formatting.counted(
            len(chosen),
            self.tr("Archived; a new message brings it back")
            if on
            else self.tr("No longer archived"),
            self.tr("%1 archived; new messages bring them back")
            if on
            else self.tr("%1 no longer archived"),
        )
        self._begin(chosen, lifecycle.archive, _rows(chosen), on, words=words)

    # Begun anew, emptied

    def _on_reset(self) -> None:
        chosen = self._trash.targets()
        words = formatting.counted(
            len(chosen),
            self.tr("Reset; nothing was deleted"),
            self.tr("%1 reset; nothing was deleted"),
        )
        self._begin(chosen, lifecycle.reset, _rows(chosen), words=words)

    def _on_clear(self) -> None:
        chosen = self._trash.targets()
        messages = formatting.counted(
            sum(each.message_count for each in chosen),
            self.tr("%1 message moved to the trash"),
            self.tr("%1 messages moved to the trash"),
        )
        self._begin(chosen, lifecycle.clear, _rows(chosen), words=messages)

    # Names

    def _on_rename(self) -> None:
        """Let the title be typed where it stands: in the header, or in the list."""
        chosen = self._trash.targets()
        if len(chosen) != 1:
            return
        window, session = self._window, chosen[0]
        focus = window.focusWidget()
        in_pane = focus is not None and window.pane.isAncestorOf(focus)
        if not in_pane and window.sessions_view.edit_title(session):
            return
        if self._context.session is not None and self._context.session.id == session.id:
            window.pane.header.edit_title(session)

    def _on_title_entered(self, session_id: int, title: str) -> None:
        new = one_line(title).strip()
        words = self.tr("Renamed: %1").replace("%1", new)
        if not new:
            words = self.tr("Called again as its source calls it")
        self._start(self._do([session_id], words, lifecycle.rename, session_id, new))

    def _on_move(self) -> None:
        chosen = self._trash.targets()
        if chosen:
            self._start(self._move(chosen))

    async def _move(self, chosen: Sequence[Session]) -> None:
        try:
            known = await self._store.read(facets.projects)
        except CoreError as error:
            self._window.message_bar.show_notice(describe(error))
            return
        now = {each.project for each in chosen}
        name = await self._dialogs.choose_project(
            now.pop() if len(now) == 1 else "", [project for project, _ in known]
        )
        if name is None:
            return
        new = one_line(name).strip()
        if new:
            words = formatting.counted(
                len(chosen),
                self.tr("Moved to the project %2"),
                self.tr("%1 moved to the project %2"),
            ).replace("%2", new)
        else:
            words = formatting.counted(
                len(chosen),
                self.tr("Back in the project of its source"),
                self.tr("%1 back in the projects of their sources"),
            )
        rows = _rows(chosen)
        await self._do(rows, words, lifecycle.move, rows, new)

    # Doing, and taking back

    def _begin(
        self,
        chosen: Sequence[Session],
        work: Callable[..., Operation],
        *args: object,
        words: str,
    ) -> None:
        if chosen:
            self._start(self._do(_rows(chosen), words, work, *args))

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        self._tasks.start(f"keeping-{next(self._numbers)}", work)

    async def _do(
        self, rows: Sequence[int], words: str, work: Callable[..., Operation], *args: object
    ) -> None:
        """Do it in one transaction, show it, and offer the way back if anything changed."""
        try:
            done = await self._store.write(work, *args, "you")
        except CoreError as error:
            self._window.message_bar.show_notice(describe(error))
            return
        await self._show(rows, done.kind)
        if done.receipt.get("sessions") or done.kind == lifecycle.CLEAR:
            window = self._window
            self._undoing.offer(
                window.list_undo, words, lambda: self._start(self._take_back(rows, done))
            )

    async def _take_back(self, rows: Sequence[int], done: Operation) -> None:
        try:
            await self._store.write(lifecycle.undo, done.id, "you")
        except CoreError as error:
            self._window.message_bar.show_notice(describe(error))
            return
        await self._show(rows, done.kind)

    async def _show(self, rows: Sequence[int], kind: str) -> None:
        """Read anew what is shown of the sessions: the list, and one of them that is open."""
        await self._sessions.load()
        shown = self._context.session
        if shown is None or shown.id not in rows:
            return
        if kind in _TEXT_CHANGES:
            message = None if kind == lifecycle.CLEAR else self._context.message_to_act_on()
            self._context.read_again(message.id if message else None)
            return
        try:
            found = await self._store.read(sessions_by_id, [shown.id])
        except CoreError as error:
            self._window.message_bar.show_notice(describe(error))
            return
        if shown.id in found:
            self._context.note_session(found[shown.id])


def _rows(chosen: Sequence[Session]) -> list[int]:
    return [each.id for each in chosen]
