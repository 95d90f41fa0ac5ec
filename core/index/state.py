"""Who works on an index, and how far it has come."""

import time
import uuid
from typing import Any

import apsw

from core.store import liveness
from core.store.attachment import attach, detach
from core.store.index_state import HEARTBEAT_MS, is_alive, statuses
from core.types import IndexName

__all__ = [
    "HEARTBEAT_MS",
    "attach",
    "beat",
    "claim",
    "detach",
    "is_held_by_another",
    "new_holder",
    "release",
    "state_of",
    "statuses",
]


_left: set[str] = set()
"""Holders of this process that left the work, though a full disk may not have let them say so."""


def new_holder() -> str:
    """Return a name for one run of the backfill in this process, different from every other's."""
    return f"{liveness.holder()}/{uuid.uuid4().hex[:12]}"


def claim(db: apsw.Connection, holder: str) -> bool:
    """Take the work on all indexes, or hold on to it; in the caller's write transaction.

    Returns:
        False while another holder is at it.
    """
    if is_held_by_another(db, holder):
        return False
    beat(db, holder)
    return True


def beat(db: apsw.Connection, holder: str) -> None:
    """Note, in the caller's transaction, that this holder lives."""
    now = time.time_ns() // 1_000_000
    _left.discard(holder)
    db.execute("UPDATE index_state SET holder = ?, heartbeat_at_ms = ?", (holder, now))


def is_held_by_another(db: apsw.Connection, holder: str) -> bool:
    """Tell whether somebody else who lives works on the indexes."""
    now = time.time_ns() // 1_000_000
    found: Any = db.execute(
        "SELECT holder, heartbeat_at_ms FROM index_state WHERE holder <> ?", (holder,)
    ).fetchall()
    return any(other not in _left and is_alive(other, heartbeat, now) for other, heartbeat in found)


def release(db: apsw.Connection, holder: str) -> None:
    """Leave the work to others."""
    _left.add(holder)
    db.execute(
        "UPDATE index_state SET holder = NULL, heartbeat_at_ms = NULL, rate_rows_s = NULL"
        " WHERE holder = ?",
        (holder,),
    )


def state_of(db: apsw.Connection, name: IndexName) -> str:
    """Return the state of one index; a look at one row."""
    return str(db.execute("SELECT state FROM index_state WHERE name = ?", (name,)).get)
