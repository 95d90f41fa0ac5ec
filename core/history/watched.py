"""The places whose changes are read as they happen, and the one program that does so."""

import time
import uuid

import apsw
import msgspec

from core.source_types import WatchedPlace, WatcherAt
from core.store import liveness

BEAT_S = 20.0
"""How often a watcher is heard of where its process cannot be looked for."""

_DEAD_MS = 60_000
_KEY = "sources.watcher"
_left: set[str] = set()
"""Holders of this process that ended, though nothing could be written of it."""


class _Lease(msgspec.Struct):
    holder: str
    program: str
    since_ms: int
    heard_ms: int


def places(db: apsw.Connection) -> tuple[WatchedPlace, ...]:
    """Return the watched places, by their paths."""
    rows = db.execute("SELECT path, kind, added_at_ms, paused FROM watched_places ORDER BY path")
    return tuple(
        WatchedPlace(path, kind, at_ms, bool(paused)) for path, kind, at_ms, paused in rows
    )


def watch(db: apsw.Connection, path: str, kind: str = "") -> None:
    """Watch a place from now on, in the caller's transaction; one that was paused goes on.

    Its kind becomes the one given; '' keeps what is known of it.
    """
    db.execute(
        "INSERT INTO watched_places(path, kind, added_at_ms) VALUES (?, ?, ?)"
        " ON CONFLICT(path) DO UPDATE SET paused = 0,"
        " kind = CASE WHEN excluded.kind = '' THEN kind ELSE excluded.kind END",
        (path, kind, _now_ms()),
    )


def unwatch(db: apsw.Connection, path: str) -> bool:
    """Watch a place no longer, in the caller's transaction; false where it was not watched."""
    db.execute("DELETE FROM watched_places WHERE path = ?", (path,))
    return bool(db.changes())


def set_paused(db: apsw.Connection, path: str | None, *, paused: bool) -> int:
    """Pause a place, or all of them, or let them go on, in the caller's transaction.

    Returns:
        How many places there are of that path, paused before or not.
    """
    if path is None:
        db.execute("UPDATE watched_places SET paused = ?", (paused,))
    else:
        db.execute("UPDATE watched_places SET paused = ? WHERE path = ?", (paused, path))
    return db.changes()


def new_holder() -> str:
    """Return a name for one watcher of this process, different from every other's."""
    return f"{liveness.holder()}/{uuid.uuid4().hex[:12]}"


def watcher(db: apsw.Connection) -> WatcherAt | None:
    """Return the program that watches now, None where none does that lives."""
    lease = _lease(db)
    if lease is None or _is_dead(lease):
        return None
    return WatcherAt(lease.holder, lease.program, lease.since_ms)


def claim(db: apsw.Connection, holder: str, program: str) -> WatcherAt | None:
    """Become the one that watches, or stay it, in the caller's write transaction.

    Returns:
        The other program that watches already; None where it is this one now.
    """
    found = watcher(db)
    if found is not None and found.holder != holder:
        return found
    _left.discard(holder)
    since_ms = _now_ms() if found is None else found.since_ms
    lease = _Lease(holder, program, since_ms, _now_ms())
    db.execute(
        "INSERT INTO meta(key, value) VALUES (?, ?)"
        " ON CONFLICT(key) DO UPDATE SET value = excluded.value",
        (_KEY, msgspec.json.encode(lease).decode()),
    )
    return None


def release(db: apsw.Connection, holder: str) -> None:
    """Leave the watching to others, in the caller's transaction."""
    leave(holder)
    lease = _lease(db)
    if lease is not None and lease.holder == holder:
        db.execute("DELETE FROM meta WHERE key = ?", (_KEY,))


def leave(holder: str) -> None:
    """Let this process know that a watcher of it ended, though the store may not be written."""
    _left.add(holder)


def needs_beats() -> bool:
    """Tell whether others cannot look for this process, and must hear of it."""
    return liveness.is_alive(liveness.holder()) is None


def _lease(db: apsw.Connection) -> _Lease | None:
    stored = db.execute("SELECT value FROM meta WHERE key = ?", (_KEY,)).get
    return None if stored is None else msgspec.json.decode(stored, type=_Lease)


def _is_dead(lease: _Lease) -> bool:
    if lease.holder in _left:
        return True
    alive = liveness.is_alive(lease.holder.partition("/")[0])
    if alive is None:  # heard of in the future is heard of before the clock was set back
        return abs(_now_ms() - lease.heard_ms) > _DEAD_MS
    return not alive


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
