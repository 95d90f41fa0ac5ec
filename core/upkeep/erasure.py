"""What was deleted but not yet erased: the texts whose bytes wait for the next purge."""

import time

import apsw
import msgspec

from core.upkeep_types import Erasure

_KEY = "erasure"


def waiting(db: apsw.Connection) -> Erasure:
    """Return how much waits, since when, and what held up the last purge; a look at one row."""
    stored = db.execute("SELECT value FROM meta WHERE key = ?", (_KEY,)).get
    return msgspec.json.decode(stored, type=Erasure) if stored else Erasure(0, 0, None)


def add(db: apsw.Connection, messages: int, text_bytes: int) -> None:
    """Note, in the transaction that deletes them, so many messages more."""
    found = waiting(db)
    since = found.since_at_ms or time.time_ns() // 1_000_000
    _write(db, Erasure(found.messages + messages, found.bytes + text_bytes, since, found.blocked))


def block(db: apsw.Connection, reason: str) -> None:
    """Note why a purge could not come to its end."""
    found = waiting(db)
    _write(db, Erasure(found.messages, found.bytes, found.since_at_ms, reason))


def done(db: apsw.Connection, erased: Erasure) -> None:
    """Note that what `waiting` returned when a purge began is erased; what came since waits on."""
    found = waiting(db)
    if found.messages <= erased.messages and found.since_at_ms == erased.since_at_ms:
        clear(db)
    else:
        left = (found.messages - erased.messages, found.bytes - erased.bytes)
        _write(db, Erasure(max(0, left[0]), max(0, left[1]), time.time_ns() // 1_000_000))


def clear(db: apsw.Connection) -> None:
    """Note that nothing waits any more."""
    db.execute("DELETE FROM meta WHERE key = ?", (_KEY,))


def _write(db: apsw.Connection, erasure: Erasure) -> None:
    db.execute(
        "INSERT INTO meta(key, value) VALUES (?, ?)"
        " ON CONFLICT(key) DO UPDATE SET value = excluded.value",
        (_KEY, msgspec.json.encode(erasure).decode()),
    )
