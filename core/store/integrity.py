"""SQLite's own check of a file, in a thread of its own: it takes a second for each 50 MB."""

import threading
from collections.abc import Generator

import apsw

from core.store.errors import core_error
from core.types import Progress

_LOOK_S = 0.05
_OF_AN_INDEX = "FTS5 table"
"""Begins what is said of a full-text index: those are derived, and checked on their own."""


def structural_problems(db: apsw.Connection) -> Generator[Progress, None, tuple[str, ...]]:
    """Check every page of the file that `db` has open; returns what is wrong in SQLite's words.

    `db` must be used by nobody else meanwhile. Yields while the check runs; when the generator
    is closed the check is stopped.
    """
    check = _Check(db)
    check.start()
    waited = 0
    try:
        while check.is_alive():
            check.join(_LOOK_S)
            waited += 1
            yield Progress(waited, None, "steps", "checking")
    finally:
        while check.is_alive():
            db.interrupt()
            check.join(_LOOK_S)
    if check.failed is not None:
        told = core_error(check.failed, db.filename)
        if told is None:
            raise check.failed
        return (str(told),)
    return tuple(line for line in check.lines if line != "ok" and _OF_AN_INDEX not in line)


class _Check(threading.Thread):
    """Runs the check; `lines` or `failed` is set when it has ended."""

    def __init__(self, db: apsw.Connection) -> None:
        super().__init__(name="integrity check", daemon=True)
        self._db = db
        self.lines: list[str] = []
        self.failed: apsw.Error | None = None

    def run(self) -> None:
        """Check, in the thread."""
        try:
            rows = self._db.execute("PRAGMA integrity_check(20)").fetchall()
        except apsw.Error as error:
            self.failed = error
        else:
            self.lines = [str(line) for (line,) in rows]
