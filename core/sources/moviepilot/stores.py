"""What the history stores beside a main database already have, so that nothing comes twice.

MoviePilot moves its own old chats into a user's store, page by page. What it has moved is read
there; what it has not moved yet is read here, less the messages that the store has seen itself.
"""

from dataclasses import dataclass, field
from pathlib import Path

import apsw

from core.errors import SourceError
from core.sources import columns, there
from core.sources.foreign_rows import Row, Table
from core.sources.foreign_sqlite import snapshot
from core.sources.moviepilot import history, places


@dataclass(slots=True)
class Store:
    """A user's store: its sessions with the uids of their messages, and how far it moved chats."""

    sessions: dict[str, set[str]] = field(default_factory=dict)
    deleted: set[str] = field(default_factory=set)
    cursor: int = 0
    is_done: bool = False

    def has_moved(self, session: str, rowid: int) -> bool:
        """Whether the chat of this row is read from the store, or was deleted there."""
        if session in self.deleted:
            return True
        return session in self.sessions and (self.is_done or rowid <= self.cursor)

    def uids(self, session: str) -> set[str] | None:
        """Return what the store has of a session it did not move whole, None for nothing."""
        return self.sessions.get(session)


class Stores:
    """The stores of all users, each read once and only where a chat asks for it."""

    def __init__(self, main: Path) -> None:
        self._main = main
        self._known: dict[Path, Store] = {}

    def of(self, user_id: str | None) -> Store:
        """Return a user's store; an empty one where there is none that can be read."""
        folder = places.folder_of_user(self._main, user_id)
        if folder is None:
            return Store()
        if folder not in self._known:
            self._known[folder] = _read(folder / places.STORE)
        return self._known[folder]


def _read(path: Path) -> Store:
    found = Store()
    if not there.is_file(path):
        return found
    try:
        with snapshot(path) as db:
            _fill(found, db)
    except (SourceError, apsw.Error):
        return Store()  # the reading of the store itself says what is wrong with it
    return found


def _fill(found: Store, db: apsw.Connection) -> None:
    for row in Table(db, "sessions").rows(("id",)):
        if isinstance(row, Row) and (name := columns.text(row.values[0])):
            found.sessions[name] = set()
    for row in Table(db, "messages").rows(("session_id", "message_uid")):
        if isinstance(row, Row):
            name, uid = columns.text(row.values[0]), columns.text(row.values[1])
            if name in found.sessions and uid:
                found.sessions[name].add(uid)
    found.deleted = set(history.deleted(db))
    for row in Table(db, "state_meta").rows(("key", "value")):
        if isinstance(row, Row) and row.values[0] == "legacy_done":
            found.is_done = True
        elif isinstance(row, Row) and row.values[0] == "legacy_cursor":
            told = columns.text(row.values[1]) or ""
            found.cursor = int(told) if told.isascii() and told.isdigit() and len(told) < 19 else 0
