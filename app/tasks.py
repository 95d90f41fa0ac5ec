"""Named asyncio tasks that live no longer than the object that started them."""

import asyncio
import sys
from collections.abc import Coroutine
from typing import Any

from PySide6.QtCore import QObject


class TaskScope(QObject):
    """Named tasks that live no longer than their owner.

    Starting a task under a name cancels the one already there, so the latest request wins.
    An exception nobody handled reaches `sys.excepthook`, as it would from a slot; a
    cancellation is silent. Make one inside a running loop: its tasks run there.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._loop = asyncio.get_running_loop()
        self._is_closed = False
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._ending: set[asyncio.Task[None]] = set()

    def start(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        """Run `work` as a task; the one running under `name` is cancelled first.

        After `close` nothing starts any more.
        """
        self.cancel(name)
        if self._is_closed:
            work.close()
            return
        task = self._loop.create_task(work, name=name)
        self._tasks[name] = task
        task.add_done_callback(self._on_done)

    def running(self, name: str) -> bool:
        """Tell whether a task of this name has not ended yet."""
        return name in self._tasks

    def cancel(self, name: str) -> None:
        """Ask the task called `name` to stop, if there is one."""
        task = self._tasks.pop(name, None)
        if task is not None:
            task.cancel()
            self._ending.add(task)

    async def close(self) -> None:
        """Ask every task to stop, and let none start; returns when all have stopped."""
        self._is_closed = True
        for name in list(self._tasks):
            self.cancel(name)
        if self._ending:
            await asyncio.wait(list(self._ending))

    def _on_done(self, task: "asyncio.Task[None]") -> None:
        self._ending.discard(task)
        if self._tasks.get(task.get_name()) is task:
            del self._tasks[task.get_name()]
        if task.cancelled():
            return
        error = task.exception()
        if error is not None:
            sys.excepthook(type(error), error, error.__traceback__)
