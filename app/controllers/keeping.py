"""Pinning and archiving: what stays at hand, and what is put away without being thrown away."""

from collections.abc import Callable, Coroutine
from itertools import count
from typing import Any

import apsw
from PySide6.QtCore import QObject

from app import formatting
from app.controllers.context import ContextController
from app.controllers.sessions import SessionsController
from app.controllers.trash import TrashController
from app.controllers.undoing import Undoing
from app.messages import describe
from app.tasks import TaskScope
from app.views.main_window import MainWindow
from core.errors import CoreError
from core.history.sessions import set_archived, set_pinned
from core.store.store import Store

_Set = Callable[[apsw.Connection, int, bool], None]


class KeepingController(QObject):
    """Pins what is chosen, or lets it loose when all of it is pinned; archives in the same way."""

    def __init__(
        self,
        store: Store,
        window: MainWindow,
        sessions: SessionsController,
        context: ContextController,
        trash: TrashController,
        undoing: Undoing,
        tasks: TaskScope,
    ) -> None:
        super().__init__(window)
        self._store, self._window, self._sessions = store, window, sessions
        self._context, self._trash = context, trash
        self._undoing, self._tasks = undoing, tasks
        self._numbers = count()
        actions = window.actions_by_name
        actions["pin"].triggered.connect(self._on_pin)
        actions["archive"].triggered.connect(self._on_archive)
        window.sessions_view.menu_actions = (
            actions["pin"],
            actions["archive"],
            actions["trash"],
        )

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
        before = {each.id: each.pinned_at_ms is not None for each in chosen}
        self._begin(set_pinned, before, on=on, words=words)

    def _on_archive(self) -> None:
        chosen = self._trash.targets()
        on = any(each.archived_at_ms is None for each in chosen)
        words = formatting.counted(
            len(chosen),
            self.tr("Archived: found when archived ones are included")
            if on
            else self.tr("No longer archived"),
            self.tr("%1 archived: found when archived ones are included")
            if on
            else self.tr("%1 no longer archived"),
        )
        before = {each.id: each.archived_at_ms is not None for each in chosen}
        self._begin(set_archived, before, on=on, words=words)

    def _begin(self, set_one: _Set, before: dict[int, bool], *, on: bool, words: str) -> None:
        if before:
            wanted = dict.fromkeys(before, on)
            self._start(self._set(set_one, wanted, before, words))

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        self._tasks.start(f"keeping-{next(self._numbers)}", work)

    async def _set(
        self, set_one: _Set, wanted: dict[int, bool], before: dict[int, bool] | None, words: str
    ) -> None:
        """Set all of `wanted` in one transaction; offer the way back to `before`."""
        try:
            await self._store.write(_set_all, set_one, wanted)
        except CoreError as error:
            self._window.message_bar.show_notice(describe(error))
            return
        await self._sessions.load()
        if set_one is set_pinned:
            for session_id, pinned in wanted.items():
                self._context.note_pinned(session_id, pinned=pinned)
        if before is not None:
            self._undoing.offer(
                self._window.list_undo,
                words,
                lambda: self._start(self._set(set_one, before, None, "")),
            )


def _set_all(db: apsw.Connection, set_one: _Set, wanted: dict[int, bool]) -> None:
    for session_id, on in wanted.items():
        set_one(db, session_id, on)
