"""Noticing that the store changed, whoever changed it."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import apsw

from core.store import moved
from core.store.connection import open_reader

INTERVAL_S = 0.5


class Watcher:
    """A connection of its own that tells when any other has committed, in any process."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._db = open_reader(path, tokenizer=None)
        self._files = moved.files_of(path)
        self._seen = _version(self._db)

    def poll(self) -> bool:
        """Return whether something was committed since the last call; some microseconds.

        Another file in the store's place is a change, too; it is watched from then on.
        """
        if not moved.is_in_place(self._path, self._files):
            self._follow()
            return True
        found = _version(self._db)
        has_changed = found != self._seen
        self._seen = found
        return has_changed

    def _follow(self) -> None:
        """Watch the file that is there now, once the lost one's log is out of its way.

        That is seen to by whoever reads or writes next; until then each look finds a change.
        """
        now = moved.files_of(self._path)
        if now.store is None or (now.wal is not None and now.wal == self._files.wal):
            return
        db = open_reader(self._path, tokenizer=None)
        self._db.close()
        self._db, self._files = db, now
        self._seen = _version(self._db)

    async def changes(self, interval_s: float = INTERVAL_S) -> AsyncIterator[None]:
        """Yield once after every interval in which something was committed."""
        while True:
            await asyncio.sleep(interval_s)
            if self.poll():
                yield

    def close(self) -> None:
        """Give the connection back; `poll` cannot be called after."""
        self._db.close()


def _version(db: apsw.Connection) -> int:
    return int(db.pragma("data_version"))
