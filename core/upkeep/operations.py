"""The ledger: every action with effects is claimed before it begins, and never done twice at once.

A claim is one row, made by one INSERT that fails while the same action (kind and arguments) is
running anywhere. What ran when its process died becomes `unknown`, under a new token, so that
whoever held it cannot end it any more. Nobody repeats it blindly: before the same action is
begun again, it is looked at what came of the one before.
"""

import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import apsw

from core.errors import CoreError, RefusedError, RunningError
from core.store import liveness
from core.store.connection import transaction
from core.store.errors import core_error
from core.upkeep.ledger import fingerprint, get, listing, normalised
from core.upkeep_types import Actor, Operation, OperationState

__all__ = [
    "Claim",
    "begin",
    "fingerprint",
    "finish",
    "get",
    "is_dead",
    "listing",
    "normalised",
    "persistently",
    "recorded",
    "recover",
    "verify",
]

HEARTBEAT_MS = 30_000
"""Where a process cannot be looked for, it died when it was not heard of for this long."""

KEPT_ROWS = 10_000
KEPT_MS = 366 * 24 * 3600 * 1000

_BEAT_S = 5.0
_TRIES = 12
_STOPPED = "stopped before its end"
_untold: set[str] = set()
"""Tokens of operations of this process that ended while nothing could be written of it."""

_DIED = "its program ended before it did; what came of it has not been looked at yet"


class Claim:
    """An operation under way. `receipt` is filled in as it goes: numbers and names, no text.

    `outcome` is the sentence the ledger shows; `state` is what it ends as unless it fails.
    """

    def __init__(self, operation: Operation) -> None:
        self.operation = operation
        self.receipt: dict[str, Any] = {}
        self.outcome = ""
        self.state: OperationState = "succeeded"
        self._beaten_s = time.monotonic()

    def beat(self, db: apsw.Connection, *, at_once: bool = False) -> None:
        """Write down that the work goes on, and its receipt as it is; every few seconds at most.

        In the caller's transaction where there is one, else in one of its own.

        Raises:
            RefusedError: the operation was taken for dead and is no longer this claim's.
        """
        if not at_once and time.monotonic() - self._beaten_s < _BEAT_S:
            return
        self._beaten_s = time.monotonic()
        if db.in_transaction:
            self._beat(db)
        else:
            with transaction(db):
                self._beat(db)

    def _beat(self, db: apsw.Connection) -> None:
        db.execute(
            "UPDATE operations SET heartbeat_at_ms = ?, receipt = ? WHERE id = ? AND token = ?",
            (_now(None), normalised(self.receipt), self.operation.id, self.operation.token),
        )
        if not db.changes():
            raise RefusedError(
                f"operation {self.operation.id} was taken for dead and is no longer held here"
            )


@contextmanager
def recorded(
    db: apsw.Connection, kind: str, arguments: Mapping[str, object], actor: Actor
) -> Iterator[Claim]:
    """Claim an action, run the block, and write into the ledger how it ended.

    For connections outside of a transaction. An expected error makes it `failed`, as does
    being stopped; anything that ends the process leaves it to `recover`.

    Raises:
        RunningError: the same action is running; the block was not entered.
        RefusedError: as `begin`.
    """
    with transaction(db):
        claim = Claim(begin(db, kind, arguments, actor))
    try:
        yield claim
    except apsw.InterruptError:
        _end(db, claim, "failed", _STOPPED)
        raise
    except (CoreError, apsw.Error) as error:
        told = error if isinstance(error, CoreError) else core_error(error, db.filename)
        _end(db, claim, "failed", str(told or error))
        raise
    except BaseException:
        _end(db, claim, "failed", _STOPPED)
        raise
    _end(db, claim, claim.state, claim.outcome)


def begin(
    db: apsw.Connection, kind: str, arguments: Mapping[str, object], actor: Actor
) -> Operation:
    """Claim an action in the caller's transaction.

    If the same action died before, it is looked at first what came of it (`verify`). Where
    nobody can tell, only a person may begin it again.

    Raises:
        RunningError: the same action is running, in this process or another.
        RefusedError: what came of the same action before cannot be known, and it is not a
            person who asks.
    """
    token, now = uuid.uuid4().hex, _now(None)
    normal = normalised(arguments)
    mark = fingerprint(kind, normal)
    _look_back(db, kind, mark, actor)
    try:
        db.execute(
            "INSERT INTO operations(kind, argument_fingerprint, token, state, started_at_ms,"
            " actor, arguments, holder, heartbeat_at_ms)"
            " VALUES (?, ?, ?, 'running', ?, ?, ?, ?, ?)",
            (kind, mark, token, now, actor, normal, liveness.holder(), now),
        )
    except apsw.ConstraintError as error:
        raise RunningError(f"{kind} is running already") from error
    return get(db, db.last_insert_rowid())


def finish(
    db: apsw.Connection,
    operation: Operation,
    state: OperationState,
    outcome: str,
    receipt: Mapping[str, object],
) -> bool:
    """Write in the caller's transaction how an operation ended, if this token still holds it.

    Returns:
        False where it does not: the operation was taken for dead, and stays `unknown`.
    """
    db.execute(
        "UPDATE operations SET state = ?, outcome = ?, receipt = ?, ended_at_ms = ?,"
        " holder = NULL, heartbeat_at_ms = NULL WHERE id = ? AND token = ?",
        (state, outcome, normalised(receipt), _now(None), operation.id, operation.token),
    )
    return bool(db.changes())


def recover(db: apsw.Connection, *, now_ms: int | None = None) -> tuple[Operation, ...]:
    """Turn what ran when its process died into `unknown`, in the caller's transaction.

    Each gets a new token. What another living process runs is left alone. Old lines of the
    ledger are dropped meanwhile. For the start of a program; some milliseconds.

    Returns:
        The operations that became unknown.
    """
    now = _now(now_ms)
    found = tuple(_recovered(db, number, now) for number in _dead(db, now))
    _trim(db, now)
    return found


def has_dead(db: apsw.Connection) -> bool:
    """Tell whether an operation stands in the ledger as running whose process is gone."""
    return bool(_dead(db, _now(None)))


def verify(
    db: apsw.Connection, operation_id: int, actor: Actor, *, now_ms: int | None = None
) -> Operation:
    """Look at what came of an unknown or pending operation, and write it into the ledger.

    In the caller's transaction; nothing of the action is repeated. Where the store does not
    tell, it stays as it is, with the time of the look.

    Raises:
        NotFoundError: there is none of this number.
        RefusedError: how it ended is known, or it is running.
    """
    from core.upkeep import looking  # it reads what modules made that use this one

    found = get(db, operation_id)
    if found.state not in ("unknown", "pending"):
        is_running = found.state == "running"
        how = "is running" if is_running else f"is known to have {found.state}"
        raise RefusedError(f"operation {operation_id} {how}: there is nothing to look at")
    seen = looking.look(db, found)
    receipt = {**found.receipt, "seen": dict(seen.facts), "seen_by": actor}
    now = _now(now_ms)
    db.execute(
        "UPDATE operations SET state = ?, outcome = ?, receipt = ?, verified_at_ms = ?,"
        " ended_at_ms = coalesce(ended_at_ms, ?) WHERE id = ? AND token = ?",
        (
            seen.state or found.state,
            seen.words,
            normalised(receipt),
            now,
            now if seen.state else None,
            operation_id,
            found.token,
        ),
    )
    return get(db, operation_id)


def _look_back(db: apsw.Connection, kind: str, mark: str, actor: Actor) -> None:
    """Recover and verify what is left of the same action."""
    now = _now(None)
    same = "kind = ? AND argument_fingerprint = ?"
    rows: list[Any] = db.execute(
        f"SELECT id, state FROM operations WHERE {same} AND state IN ('running', 'unknown')",
        (kind, mark),
    ).fetchall()
    dead = _dead(db, now) if any(state == "running" for _, state in rows) else []
    for number, state in rows:
        if state == "running":
            if number not in dead:
                continue
            _recovered(db, number, now)
        seen = verify(db, number, actor)
        if seen.state == "unknown" and actor not in ("you", "command"):
            raise RefusedError(f"what came of operation {number} ({kind}) is not known yet")


def _dead(db: apsw.Connection, now_ms: int) -> list[int]:
    """Return the running operations whose process is gone, or has long ended them."""
    running: list[Any] = db.execute(
        "SELECT id, holder, heartbeat_at_ms, token FROM operations WHERE state = 'running'"
    ).fetchall()
    return [
        number
        for number, holder, beaten, token in running
        if token in _untold or is_dead(holder, beaten, now_ms)
    ]


def is_dead(holder: str | None, heartbeat_at_ms: int | None, now_ms: int) -> bool:
    """Tell whether who holds some work is gone: by its process, else by its last heartbeat."""
    alive = liveness.is_alive(holder or "")
    if alive is None:  # a heartbeat from the future is one from before the clock was set back
        return abs(now_ms - (heartbeat_at_ms or 0)) > HEARTBEAT_MS
    return not alive


def _recovered(db: apsw.Connection, number: int, now_ms: int) -> Operation:
    db.execute(
        "UPDATE operations SET state = 'unknown', token = ?, outcome = ?, holder = NULL,"
        " ended_at_ms = max(started_at_ms, coalesce(heartbeat_at_ms, ?)), heartbeat_at_ms = NULL"
        " WHERE id = ?",
        (uuid.uuid4().hex, _DIED, now_ms, number),
    )
    return get(db, number)


def _trim(db: apsw.Connection, now_ms: int) -> None:
    """Drop what is beyond 10,000 lines or a year, but nothing that is open or can be undone.

    The year counts back from the newest line, so that a clock that runs ahead drops nothing.
    """
    newest_id, newest_ms = db.execute(
        "SELECT id, min(started_at_ms, ?) FROM operations ORDER BY id DESC LIMIT 1", (now_ms,)
    ).fetchone() or (0, 0)
    db.execute(
        "DELETE FROM operations WHERE (id <= ? OR started_at_ms < ?)"
        " AND state NOT IN ('running', 'unknown', 'pending')"
        " AND id NOT IN (SELECT trashed_by FROM sessions WHERE trashed_by IS NOT NULL)"
        " AND id NOT IN (SELECT trashed_by FROM trashed_messages WHERE trashed_by IS NOT NULL)"
        " AND id NOT IN (SELECT cleared_by FROM cleared_places)",
        (newest_id - KEPT_ROWS, newest_ms - KEPT_MS),
    )


def _end(db: apsw.Connection, claim: Claim, state: OperationState, outcome: str) -> None:
    _untold.add(claim.operation.token)  # should the disk be full, say
    persistently(db, lambda: finish(db, claim.operation, state, outcome, claim.receipt))
    _untold.discard(claim.operation.token)


def persistently(db: apsw.Connection, work: Callable[[], object]) -> None:
    """Do `work` in a transaction, and wait for others longer than a connection does by itself.

    For the end of what was claimed: who compacts the store holds its lock for half a minute, and
    what was cancelled is interrupted until it has ended: by SQLite, and by APSW at any thousandth
    step of a statement with an exception that is no `Exception`, which is raised after the work.
    """
    stopped: BaseException | None = None
    for left in reversed(range(_TRIES)):
        try:
            with transaction(db):
                work()
        except (apsw.BusyError, apsw.InterruptError):
            if not left:
                raise
        except BaseException as error:
            if isinstance(error, Exception) or not left:
                raise
            stopped = error
        else:
            break
    if stopped is not None:
        raise stopped


def _now(given: int | None) -> int:
    return time.time_ns() // 1_000_000 if given is None else given
