"""Stopping a query when its time is over, whoever runs the event loop.

A watchdog thread on the monotonic clock calls `interrupt()`: timers of an event loop were off
by up to 150 ms, and the command line has none. One thread serves every connection of the
process: starting one for each query took longer than most queries.
"""

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import apsw

_REPEAT_S = 0.01  # an interrupt between two statements has no effect, so it is repeated


class Deadline:
    """A point in time from which a connection's running statements are interrupted."""

    def __init__(self, db: apsw.Connection, seconds: float) -> None:
        self.db = db
        self.at = time.monotonic() + seconds
        self.expired = False

    @property
    def remaining_s(self) -> float:
        """Seconds left; negative afterwards."""
        return self.at - time.monotonic()


class _Watchdog:
    """Interrupts what is past its deadline, again and again until it is taken back."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._watched: list[Deadline] = []
        self._wakes_at = math.inf
        self._thread: threading.Thread | None = None

    def watch(self, limit: Deadline) -> None:
        """Interrupt from the deadline on."""
        with self._changed:
            self._watched.append(limit)
            if self._thread is None or not self._thread.is_alive():  # a forked process has none
                self._thread = threading.Thread(target=self._run, name="deadline", daemon=True)
                self._thread.start()
            elif limit.at < self._wakes_at:
                self._changed.notify()

    def forget(self, limit: Deadline) -> None:
        """Interrupt no more; none is under way when this returns."""
        with self._changed:
            self._watched.remove(limit)

    def expire(self, limit: Deadline) -> None:
        """Let a deadline be over now; one that is watched no more is left alone."""
        with self._changed:
            limit.at = min(limit.at, time.monotonic())
            self._changed.notify()

    def _run(self) -> None:
        with self._changed:
            while True:
                now = time.monotonic()
                self._wakes_at = math.inf
                for limit in self._watched:
                    if limit.at <= now:
                        limit.expired = True
                        limit.db.interrupt()
                    again = now + _REPEAT_S if limit.expired else limit.at
                    self._wakes_at = min(self._wakes_at, again)
                idle = self._wakes_at == math.inf
                self._changed.wait(None if idle else self._wakes_at - now)


_watchdog = _Watchdog()


@contextmanager
def deadline(db: apsw.Connection, seconds: float) -> Iterator[Deadline]:
    """Interrupt whatever runs on `db` once `seconds` are over, until the block ends.

    The block sees `apsw.InterruptError` and asks `expired` whether it was the deadline that
    interrupted. After the block nothing is interrupted any more.
    """
    limit = Deadline(db, seconds)
    _watchdog.watch(limit)
    try:
        yield limit
    finally:
        _watchdog.forget(limit)


def expire(limit: Deadline) -> None:
    """Interrupt what runs under a deadline now, whichever thread it runs in.

    It goes on being interrupted until its block ends; after that this does nothing.
    """
    _watchdog.expire(limit)
