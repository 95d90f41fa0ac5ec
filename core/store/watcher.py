"""Noticing that the store changed, whoever changed it."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import apsw

from core.store.connection import open_reader

INTERVAL_S = 0.5


class Watcher:
    """A connection of its own that tells when any other has committed, in any process."""

    def __init__(self, path: Path) -> None:
        self._db = open_reader(path, tokenizer=None)
        self._seen = _version(self._db)

    def poll(self) -> bool:
        """Return whether something was committed since the last call; some microseconds."""
        found = _version(self._db)
        has_changed = found != self._seen
        self._seen = found
        return has_changed

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
