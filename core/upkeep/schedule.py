"""Scheduled upkeep: which jobs there are, and how they are made, changed and paused."""

import time
from collections.abc import Iterable
from typing import Any

import apsw
import msgspec

from core.errors import NotFoundError, SettingError
from core.upkeep import schedules
from core.upkeep.schedules import Schedule
from core.upkeep_types import Job

KINDS = ("trash.expire", "retention.apply", "purge", "backup", "optimize", "check")

DEFAULTS = (
    ("trash", "trash.expire", "every:1d"),
    ("retention", "retention.apply", "every:1d"),
    ("purge", "purge", "every:1d"),
    ("backup", "backup", "every:30m"),
    ("optimize", "optimize", "every:7d"),
    ("check", "check", "every:7d"),
)
"""What every store begins with: id, kind, schedule. The user may change and remove them."""

MOST_JOBS = 100
_MADE = "jobs.made"
_COLUMNS = (
    "id, kind, schedule, payload, state, last_status, last_error, run_count, max_runs,"
    " last_fired_at_ms, next_fire_at_ms"
)


def jobs(db: apsw.Connection) -> tuple[Job, ...]:
    """Return every job, the next one to fire first, then those that will not."""
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM jobs ORDER BY next_fire_at_ms IS NULL, next_fire_at_ms, id"
    )
    return tuple(_job(row) for row in rows)


def get(db: apsw.Connection, job_id: str) -> Job:
    """Return one job.

    Raises:
        NotFoundError: there is none of this name.
    """
    row = db.execute(f"SELECT {_COLUMNS} FROM jobs WHERE id = ?", (job_id,)).fetchone()
    if row is None:
        raise NotFoundError(f"there is no job {job_id[:80]!r}")
    return _job(row)


def add(
    db: apsw.Connection,
    kind: str,
    schedule: str,
    *,
    max_runs: int | None = None,
    now_ms: int | None = None,
) -> Job:
    """Make a job, in the caller's transaction. Its id is its kind and a number.

    Raises:
        SettingError: there is no such kind or schedule, it names no moment to come, or there
            are too many jobs.
    """
    if kind not in KINDS:
        raise SettingError(f"there is no job of the kind {kind[:80]!r}: {', '.join(KINDS)}")
    taken = {str(each) for (each,) in db.execute("SELECT id FROM jobs")}
    if len(taken) >= MOST_JOBS:
        raise SettingError(f"there are {MOST_JOBS} jobs already")
    name = next(f"{kind}-{n}" for n in range(1, MOST_JOBS + 1) if f"{kind}-{n}" not in taken)
    _insert(db, name, kind, schedule, max_runs, now(now_ms))
    return get(db, name)


def remove(db: apsw.Connection, job_id: str) -> Job:
    """Remove a job, in the caller's transaction; one that runs comes to its end all the same.

    Raises:
        NotFoundError: there is none of this name.
    """
    gone = get(db, job_id)
    db.execute("DELETE FROM jobs WHERE id = ?", (job_id,))
    return gone


def set_schedule(
    db: apsw.Connection, job_id: str, schedule: str, *, now_ms: int | None = None
) -> Job:
    """Give a job another schedule, in the caller's transaction; it counts from now.

    Raises:
        NotFoundError: there is none of this name.
        SettingError: there is no such schedule, or it names no moment to come.
    """
    get(db, job_id)
    fire_at_ms = _first(schedules.parse(schedule), now(now_ms))
    db.execute(
        "UPDATE jobs SET schedule = ?, next_fire_at_ms = ?,"
        " state = CASE state WHEN 'completed' THEN 'scheduled' ELSE state END WHERE id = ?",
        (schedule.strip(), fire_at_ms, job_id),
    )
    return get(db, job_id)


def set_paused(db: apsw.Connection, job_id: str, paused: bool, *, now_ms: int | None = None) -> Job:
    """Keep a job from firing, or let it fire again, in the caller's transaction.

    One that runs comes to its end. What was missed in a pause is not made up for.

    Raises:
        NotFoundError: there is none of this name.
        SettingError: it is completed; nothing of it is left to pause or resume.
    """
    found = get(db, job_id)
    if found.state == "completed":
        raise SettingError(f"the job {job_id} is completed")
    if paused:
        db.execute("UPDATE jobs SET state = 'paused' WHERE id = ?", (job_id,))
    elif found.state == "paused":
        moment = now(now_ms)
        fire_at_ms = found.next_fire_at_ms
        if fire_at_ms is None or fire_at_ms <= moment:
            fire_at_ms = following(schedules.parse(found.schedule), moment) or moment
        db.execute(
            "UPDATE jobs SET next_fire_at_ms = ?,"
            " state = CASE WHEN holder IS NULL THEN 'scheduled' ELSE 'running' END WHERE id = ?",
            (fire_at_ms, job_id),
        )
    return get(db, job_id)


def ensure_defaults(db: apsw.Connection, *, now_ms: int | None = None) -> None:
    """Make the jobs that every store begins with, once: those removed since stay removed.

    In the caller's transaction.
    """
    stored = db.execute("SELECT value FROM meta WHERE key = ?", (_MADE,)).get
    made = set(msgspec.json.decode(stored, type=list[str])) if stored else set()
    missing = [each for each in DEFAULTS if each[0] not in made]
    if not missing:
        return
    for name, kind, schedule in missing:
        if db.execute("SELECT 1 FROM jobs WHERE id = ?", (name,)).get is None:
            _insert(db, name, kind, schedule, None, now(now_ms))
    everything = sorted(made | {name for name, _, _ in missing})
    db.execute(
        "INSERT INTO meta(key, value) VALUES (?, ?)"
        " ON CONFLICT(key) DO UPDATE SET value = excluded.value",
        (_MADE, msgspec.json.encode(everything).decode()),
    )


def _insert(
    db: apsw.Connection, name: str, kind: str, schedule: str, max_runs: int | None, moment: int
) -> None:
    db.execute(
        "INSERT INTO jobs(id, kind, schedule, max_runs, next_fire_at_ms) VALUES (?, ?, ?, ?, ?)",
        (name, kind, schedule.strip(), max_runs, _first(schedules.parse(schedule), moment)),
    )


def _first(schedule: Schedule, moment: int) -> int:
    """Return when a schedule that is made now fires first.

    Raises:
        SettingError: never.
    """
    found = schedules.next_fire(schedule, moment)
    if found is None or found < moment:
        raise SettingError("this moment has passed")
    return found


def following(schedule: Schedule, moment: int) -> int | None:
    """Return when a schedule fires after it fired; None for one that fires once."""
    return schedules.next_fire(schedule, moment) if schedule.repeats else None


def _job(row: Iterable[Any]) -> Job:
    name, kind, schedule, payload, *rest = row
    return Job(name, kind, schedule, msgspec.json.decode(payload), *rest)


def now(given: int | None) -> int:
    """Return the moment given, else the clock's, in Unix UTC milliseconds."""
    return time.time_ns() // 1_000_000 if given is None else given
