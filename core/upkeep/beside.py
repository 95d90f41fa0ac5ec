"""Long statements in a thread of their own, so that whoever waits for them stays free."""

import threading
from collections.abc import Callable, Generator
from typing import Generic, TypeVar

import apsw

from core.errors import CoreError
from core.types import Progress

T = TypeVar("T")
_LOOK_S = 0.05


def beside(
    db: apsw.Connection, work: Callable[[apsw.Connection], T], what: str
) -> Generator[Progress, None, T]:
    """Run `work` on `db`, which nobody else uses meanwhile; returns what it returns.

    Yields twenty times a second. When the generator is closed the work is interrupted, and has
    ended when `close` returns.
    """
    running = _Running(db, work)
    running.start()
    looked = 0
    try:
        while not running.ended.wait(_LOOK_S):
            looked += 1
            yield Progress(looked, None, "steps", what)
    finally:
        while not running.ended.is_set():
            db.interrupt()
            running.ended.wait(_LOOK_S)
    if running.failed is not None:
        raise running.failed
    return running.found[0]


class _Running(threading.Thread, Generic[T]):
    """Holds what came of the work: `found`, or `failed`.

    `ended` tells when it is over, since a `join` that Ctrl+C interrupts takes the thread for
    ended while it still runs (CPython before 3.13, bpo-45274).
    """

    def __init__(self, db: apsw.Connection, work: Callable[[apsw.Connection], T]) -> None:
        super().__init__(name="upkeep", daemon=True)
        self._db, self._work = db, work
        self.ended = threading.Event()
        self.found: list[T] = []
        self.failed: CoreError | apsw.Error | None = None

    def run(self) -> None:
        """Do the work, in the thread; its expected errors are raised where it is waited for."""
        try:
            self.found.append(self._work(self._db))
        except (CoreError, apsw.Error) as error:
            self.failed = error
        finally:
            self.ended.set()
