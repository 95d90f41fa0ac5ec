"""Stopping a query when its time is over, whoever runs the event loop.

A watchdog thread on the monotonic clock calls `interrupt()`: timers of an event loop were off
by up to 150 ms, and the command line has none.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import apsw

_REPEAT_S = 0.01  # an interrupt between two statements has no effect, so it is repeated


class Deadline:
    """A point in time at which a connection's running statement is interrupted."""

    def __init__(self, db: apsw.Connection, seconds: float) -> None:
        self._db = db
        self._at = time.monotonic() + seconds
        self._is_over = threading.Event()
        self.expired = False

    @property
    def remaining_s(self) -> float:
        """Seconds left; negative afterwards."""
        return self._at - time.monotonic()

    def watch(self) -> None:
        """Wait until the deadline or `end`; from the deadline on, interrupt until `end`."""
        if self._is_over.wait(max(0.0, self.remaining_s)):
            return
        self.expired = True
        while not self._is_over.is_set():
            self._db.interrupt()
            self._is_over.wait(_REPEAT_S)

    def end(self) -> None:
        """Let `watch` return."""
        self._is_over.set()


@contextmanager
def deadline(db: apsw.Connection, seconds: float) -> Iterator[Deadline]:
    """Interrupt whatever runs on `db` once `seconds` are over, until the block ends.

    The block sees `apsw.InterruptError` and asks `expired` whether it was the deadline that
    interrupted. After the block nothing is interrupted any more.
    """
    limit = Deadline(db, seconds)
    watchdog = threading.Thread(target=limit.watch, name="deadline", daemon=True)
    watchdog.start()
    try:
        yield limit
    finally:
        limit.end()
        watchdog.join()
