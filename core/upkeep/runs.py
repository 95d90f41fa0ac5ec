"""Which jobs are due, and who runs them.

A job is claimed in one transaction, so of several programs one fires it. What was missed while
none ran happens once. A job whose program died is counted as an error and waits for its next
time: it is never run again for having been interrupted.
"""

from typing import Any

import apsw

from core.errors import RunningError
from core.store import liveness
from core.upkeep import operations, schedules
from core.upkeep.schedule import following, get, jobs, now
from core.upkeep_types import Job, RunStatus

RETRY_MS = 60_000
_LONGEST = 1_000
_ours: set[tuple[str, str]] = set()
"""The jobs that run in this process, by store and id."""

_INTERRUPTED = "interrupted: the program that ran it ended"


def recover(db: apsw.Connection, *, now_ms: int | None = None) -> tuple[str, ...]:
    """Take jobs back whose program died, and put right what a changed clock left.

    In the caller's transaction. A job that was running is counted as an error and waits for its
    next time; one that fires once is completed. A repeating job that would only fire beyond its
    own interval, because the clock was set back, fires after one interval.

    Returns:
        The ids of the jobs that were interrupted.
    """
    moment = now(now_ms)
    rows: list[Any] = db.execute(
        "SELECT id, holder, heartbeat_at_ms FROM jobs WHERE holder IS NOT NULL"
    ).fetchall()
    dead = [
        name
        for name, holder, beaten in rows
        if operations.is_dead(holder, beaten, moment) or _is_dropped(db, name, holder)
    ]
    for name in dead:
        _end(db, get(db, name), "error", _INTERRUPTED, moment, counts=True)
    for job in jobs(db):
        if job.state == "scheduled" and job.next_fire_at_ms is not None:
            _rearm(db, job, moment)
    return tuple(dead)


def due(db: apsw.Connection, now_ms: int | None = None) -> tuple[Job, ...]:
    """Return the jobs to fire now, those waiting longest first."""
    moment = now(now_ms)
    return tuple(
        job
        for job in jobs(db)
        if job.state == "scheduled"
        and job.next_fire_at_ms is not None
        and job.next_fire_at_ms <= moment
    )


def next_due_at_ms(db: apsw.Connection) -> int | None:
    """Return when the next job is due, None if none will ever be."""
    found = db.execute("SELECT min(next_fire_at_ms) FROM jobs WHERE state = 'scheduled'").get
    return None if found is None else int(found)


def claim(
    db: apsw.Connection, job: Job, *, now_ms: int | None = None, by_hand: bool = False
) -> bool:
    """Take a job to run it, in the caller's transaction; False if another program was first.

    Raises:
        RunningError: it was asked for by hand, and runs already.
    """
    moment = now(now_ms)
    db.execute(
        "UPDATE jobs SET state = CASE state WHEN 'scheduled' THEN 'running' ELSE state END,"
        " holder = :holder, heartbeat_at_ms = :now, last_fired_at_ms = :now WHERE id = :id"
        " AND holder IS NULL AND (:by_hand OR (state = 'scheduled' AND next_fire_at_ms <= :now))",
        {"holder": liveness.holder(), "now": moment, "id": job.id, "by_hand": by_hand},
    )
    is_ours = bool(db.changes())
    if is_ours:
        _ours.add((db.filename, job.id))
    elif by_hand:
        raise RunningError(f"the job {job.id} is running already")
    return is_ours


def drop(db: apsw.Connection, job_id: str) -> None:
    """Note that nothing in this process runs a job any more, whether its end was kept or not."""
    _ours.discard((db.filename, job_id))


def _is_dropped(db: apsw.Connection, job_id: str, holder: str) -> bool:
    """Tell whether this process holds a job that nothing in it runs: its end was not kept."""
    return holder == liveness.holder() and (db.filename, job_id) not in _ours


def beat(db: apsw.Connection, job_id: str) -> None:
    """Write down, in the caller's transaction, that a job still runs here."""
    db.execute(
        "UPDATE jobs SET heartbeat_at_ms = ? WHERE id = ? AND holder = ?",
        (now(None), job_id, liveness.holder()),
    )


def end(
    db: apsw.Connection,
    job_id: str,
    status: RunStatus,
    words: str,
    *,
    now_ms: int | None = None,
    retry_ms: int | None = None,
) -> None:
    """Write down, in the caller's transaction, how a run that was claimed here ended.

    Args:
        db: the store.
        job_id: the job; one that was removed meanwhile is left alone.
        status: a skipped run is not counted.
        words: what went wrong, or why it was skipped; empty for ok.
        now_ms: the moment it ended.
        retry_ms: it did not come to its end for a reason of the moment: it is due again so soon.
    """
    held = db.execute(
        "SELECT 1 FROM jobs WHERE id = ? AND holder = ?", (job_id, liveness.holder())
    ).get
    if held is not None:
        job = get(db, job_id)
        _end(db, job, status, words, now(now_ms), counts=status != "skipped", retry_ms=retry_ms)


def _end(
    db: apsw.Connection,
    job: Job,
    status: RunStatus,
    words: str,
    moment: int,
    *,
    counts: bool,
    retry_ms: int | None = None,
) -> None:
    runs = job.run_count + counts
    later = following(schedules.parse(job.schedule), moment)
    if retry_ms is not None:
        later = min(moment + retry_ms, later or moment + retry_ms)
    is_over = later is None or (job.max_runs is not None and runs >= job.max_runs)
    db.execute(
        "UPDATE jobs SET holder = NULL, heartbeat_at_ms = NULL, last_status = :status,"
        " last_error = :words, run_count = :runs, next_fire_at_ms = :next, state ="
        " CASE WHEN :over THEN 'completed' WHEN state = 'paused' THEN 'paused' ELSE 'scheduled' END"
        " WHERE id = :id",
        {
            "status": status,
            "words": words[:_LONGEST] or None,
            "runs": runs,
            "next": None if is_over else later,
            "over": is_over,
            "id": job.id,
        },
    )


def _rearm(db: apsw.Connection, job: Job, moment: int) -> None:
    """Bring a repeating job back that a clock set back has moved beyond its next time."""
    soonest = following(schedules.parse(job.schedule), moment)
    if soonest is not None and (job.next_fire_at_ms or 0) > soonest:
        db.execute("UPDATE jobs SET next_fire_at_ms = ? WHERE id = ?", (soonest, job.id))
