"""Who works on an index, and how far it has come."""

import os
import time
import uuid

import apsw

from core.store.attachment import attach, detach
from core.store.index_state import statuses
from core.types import IndexName

__all__ = ["attach", "claim", "detach", "new_holder", "release", "state_of", "statuses"]

HEARTBEAT_MS = 30_000
"""A holder that was not heard of for this long has died; its work is free to take."""


def new_holder() -> str:
    """Return a name for one run of the backfill, different from every other's."""
    return f"{os.getpid()}-{uuid.uuid4().hex[:12]}"


def claim(db: apsw.Connection, holder: str) -> bool:
    """Take the work on all indexes, or hold on to it; in the caller's write transaction.

    Returns:
        False while another holder is at it.
    """
    now = time.time_ns() // 1_000_000
    other = db.execute(
        "SELECT 1 FROM index_state WHERE holder <> ? AND heartbeat_at_ms BETWEEN ? AND ?",
        (holder, now - HEARTBEAT_MS, now + HEARTBEAT_MS),
    ).get
    if other is not None:
        return False
    db.execute("UPDATE index_state SET holder = ?, heartbeat_at_ms = ?", (holder, now))
    return True


def release(db: apsw.Connection, holder: str) -> None:
    """Leave the work to others."""
    db.execute(
        "UPDATE index_state SET holder = NULL, heartbeat_at_ms = NULL WHERE holder = ?", (holder,)
    )


def state_of(db: apsw.Connection, name: IndexName) -> str:
    """Return the state of one index; a look at one row."""
    return str(db.execute("SELECT state FROM index_state WHERE name = ?", (name,)).get)
