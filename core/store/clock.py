"""Whether the machine's clock can be believed before something is thrown away for its age.

A clock that jumps makes everything old at once. The store keeps the latest time it was used
at; a leap of more than a day from there is believed only after a day, or when a person says so.
"""

import time
from pathlib import Path

import apsw
import msgspec

DAY_MS = 86_400_000
_KEY = "clock"
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class _Seen(msgspec.Struct):
    """The last time believed, with the machine's uptime then, and when doubt began, if it did."""

    at_ms: int
    boot: str = ""
    uptime_ms: int = 0
    doubted_at_ms: int | None = None


def now_ms() -> int:
    """Return the time of the machine's clock."""
    return time.time_ns() // 1_000_000


def doubt(db: apsw.Connection, now: int) -> str:
    """Return why the time `now` is not believed, or '' where it is; a look at one row."""
    seen = _seen(db)
    if seen is None or _is_believed(seen, now):
        return ""
    days = abs(now - seen.at_ms) / DAY_MS
    where = "ahead of" if now > seen.at_ms else "behind"
    return (
        f"The clock is {days:,.1f} days {where} the time this store was last used at."
        " Nothing goes by age until it has been so for a day, or you say that it is right."
    )


def observe(db: apsw.Connection, now: int | None = None) -> None:
    """Note the time in the caller's transaction; a leap begins a doubt instead."""
    at_ms = now_ms() if now is None else now
    seen = _seen(db)
    if seen is None or _is_believed(seen, at_ms):
        _write(db, _as_seen(at_ms))
    elif seen.doubted_at_ms is None or at_ms < seen.doubted_at_ms:
        _write(db, msgspec.structs.replace(seen, doubted_at_ms=at_ms))


def trust(db: apsw.Connection, now: int | None = None) -> None:
    """Take the time for right, in the caller's transaction, because a person says so."""
    _write(db, _as_seen(now_ms() if now is None else now))


def _is_believed(seen: _Seen, now: int) -> bool:
    """Whether `now` follows from what was seen: by a day at most, by uptime, or after a day."""
    gone = now - seen.at_ms
    if abs(gone) <= DAY_MS:
        return True
    boot, uptime_ms = _uptime()
    if boot and boot == seen.boot and abs(gone - (uptime_ms - seen.uptime_ms)) <= DAY_MS:
        return True
    return seen.doubted_at_ms is not None and now - seen.doubted_at_ms >= DAY_MS


def _seen(db: apsw.Connection) -> _Seen | None:
    stored = db.execute("SELECT value FROM meta WHERE key = ?", (_KEY,)).get
    return None if stored is None else msgspec.json.decode(stored, type=_Seen)


def _as_seen(at_ms: int) -> _Seen:
    boot, uptime_ms = _uptime()
    return _Seen(at_ms, boot, uptime_ms)


def _uptime() -> tuple[str, int]:
    """Return a name for this run of the machine and how long it lasts; '' where unknown.

    The time that the machine slept is part of it (clock_gettime(2), CLOCK_BOOTTIME).
    """
    try:
        boot = _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return "", 0
    return boot, time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000


def _write(db: apsw.Connection, seen: _Seen) -> None:
    db.execute(
        "INSERT INTO meta(key, value) VALUES (?, ?)"
        " ON CONFLICT(key) DO UPDATE SET value = excluded.value",
        (_KEY, msgspec.json.encode(seen).decode()),
    )
