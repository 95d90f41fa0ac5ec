"""Running a job: what each kind does, when there is nothing for it to do, and how it ended."""

import time
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass

import apsw

from core import settings
from core.errors import CoreError, RefusedError, RunningError, StoreError
from core.index import health
from core.store import clock
from core.store.connection import snapshot, transaction
from core.store.errors import core_error
from core.types import Progress
from core.upkeep import (
    backup,
    emptying,
    operations,
    optimize,
    purge,
    retention,
    runs,
    schedule,
    trash,
)
from core.upkeep.schedule import now
from core.upkeep_types import Actor, Job, Operation, Report, RunStatus

PENDING_MS = 10 * 60_000
"""How long until what waits for others, an open reader say, is tried again."""

_BEAT_S = 5.0
_OK: RunStatus = "ok"
_ERROR: RunStatus = "error"
_SKIPPED: RunStatus = "skipped"

Steps = Iterator[Progress | Report]


@dataclass(frozen=True, slots=True)
class Upkeep:
    """What a kind of job does. `idle` says why there is nothing to do now, else it is empty."""

    work: Callable[[apsw.Connection, Actor], Steps]
    idle: Callable[[apsw.Connection], str] = lambda _db: ""


def prepare(db: apsw.Connection, *, now_ms: int | None = None) -> tuple[Operation, ...]:
    """Put right what programs that died left behind, and make the jobs every store begins with.

    In the caller's transaction; for the start of a program, before anything is fired.

    Returns:
        The operations that are now unknown, because their program ended before them.
    """
    unknown = operations.recover(db, now_ms=now_ms)
    runs.recover(db, now_ms=now_ms)
    schedule.ensure_defaults(db, now_ms=now_ms)
    return unknown


def fire(
    db: apsw.Connection,
    job: Job,
    *,
    actor: Actor = "schedule",
    by_hand: bool = False,
    now_ms: Callable[[], int] = lambda: now(None),
) -> Steps:
    """Run a job if it is due and no other program has it; yields its steps, last a `Report`.

    The report's facts hold `job` and `status`: ok, error or skipped. Nothing is yielded where
    another program was first. Expected errors end the run and not the caller. Closing it at
    any yield leaves the job due again a minute later.

    Args:
        db: a connection outside of a transaction.
        job: the job, as it was listed.
        actor: who has it done, for the ledger.
        by_hand: run it whether it is due or not, paused or not.
        now_ms: the clock.

    Raises:
        RunningError: it was asked for by hand, and runs already.
        StoreReadOnlyError: nothing can be written.
    """
    with transaction(db):
        if not runs.claim(db, job, now_ms=now_ms(), by_hand=by_hand):
            return
    try:
        words, is_pending = yield from _steps(db, job, actor)
        status, retry_ms = (_SKIPPED, PENDING_MS) if is_pending else (_OK, None)
    except RunningError as error:
        status, words, retry_ms = _SKIPPED, str(error), runs.RETRY_MS
    except RefusedError as error:
        status, words, retry_ms = _SKIPPED, str(error), None
    except (CoreError, apsw.Error) as error:
        told = error if isinstance(error, CoreError) else core_error(error, db.filename)
        if told is None:
            _stop(db, job, now_ms())
            raise
        status, words, retry_ms = _ERROR, str(told), None
    except BaseException:
        _stop(db, job, now_ms())
        raise
    _end(db, job, status, "" if status == _OK else words, now_ms(), retry_ms)
    yield Report(words, {"job": job.id, "status": status})


def _steps(
    db: apsw.Connection, job: Job, actor: Actor
) -> Generator[Progress | Report, None, tuple[str, bool]]:
    """Yield the steps of a job; returns what it says last, and whether something waits."""
    upkeep = UPKEEP.get(job.kind)
    if upkeep is None:
        raise RefusedError(f"this version does not know how to do {job.kind}")
    idle = upkeep.idle(db)
    if idle:
        raise RefusedError(idle)
    words, is_pending, beaten_s = "", False, time.monotonic()
    work = upkeep.work(db, actor)
    try:
        for item in work:
            if isinstance(item, Report):
                if "skipped" in item.facts:
                    raise RefusedError(item.outcome)
                words, is_pending = item.outcome, item.state == "pending"
                continue
            yield item
            if time.monotonic() - beaten_s > _BEAT_S:
                beaten_s = time.monotonic()
                with transaction(db):
                    runs.beat(db, job.id)
    finally:
        if isinstance(work, Generator):  # its line in the ledger ends before the job does
            work.close()
    return words, is_pending


def _stop(db: apsw.Connection, job: Job, moment: int) -> None:
    _end(db, job, _SKIPPED, "stopped before its end", moment, runs.RETRY_MS)


def _end(
    db: apsw.Connection, job: Job, status: RunStatus, words: str, moment: int, retry_ms: int | None
) -> None:
    try:
        operations.persistently(
            db, lambda: runs.end(db, job.id, status, words, now_ms=moment, retry_ms=retry_ms)
        )
    finally:
        runs.drop(db, job.id)


def _check(db: apsw.Connection, _actor: Actor) -> Steps:
    """Ask every index, and compare what it holds with the messages."""
    with snapshot(db):
        found = health.check(db)
    with transaction(db):
        health.remember(db, found)
    wrong = [f"{each.name}: {each.message}" for each in found if not each.ok]
    if wrong:
        raise StoreError("; ".join(wrong))
    yield Report(f"{len(found)} checks, nothing wrong", {"checks": len(found)})


def _idle_trash(db: apsw.Connection) -> str:
    before_ms = clock.now_ms() - settings.read(db, settings.TRASH_DAYS) * clock.DAY_MS
    return "" if emptying.is_any(db, before_ms) else "nothing in the trash is old enough to go"


def _idle_retention(db: apsw.Connection) -> str:
    return "" if retention.rule(db).days else "retention is off"


UPKEEP: Mapping[str, Upkeep] = {
    "trash.expire": Upkeep(trash.expire, _idle_trash),
    "retention.apply": Upkeep(retention.run_scheduled, _idle_retention),
    "purge": Upkeep(purge.run, purge.idle),
    "backup": Upkeep(backup.scheduled, backup.idle),
    "optimize": Upkeep(optimize.run),
    "check": Upkeep(_check),
}
