"""The ledger: every action with effects is claimed before it begins, and never done twice at once.

A claim is one row, made by one INSERT that fails while the same action (kind and arguments) is
running anywhere. What ran when its process died becomes `unknown`: nobody repeats it blindly.
"""

import hashlib
import os
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import apsw
import msgspec

from core.errors import CoreError, NotFoundError, RunningError
from core.store.connection import transaction
from core.store.errors import core_error
from core.upkeep_types import Actor, Operation, OperationState

HEARTBEAT_MS = 30_000
"""An operation whose holder was not heard of for this long died with its process."""

_COLUMNS = (
    "id, kind, arguments, actor, state, token, started_at_ms, ended_at_ms, outcome, receipt,"
    " verified_at_ms"
)


class Claim:
    """An operation under way. `receipt` is filled in as it goes: numbers and names, no text.

    `outcome` is the sentence the ledger shows; `state` is what it ends as unless it fails.
    """

    def __init__(self, operation: Operation) -> None:
        self.operation = operation
        self.receipt: dict[str, Any] = {}
        self.outcome = ""
        self.state: OperationState = "succeeded"


@contextmanager
def recorded(
    db: apsw.Connection, kind: str, arguments: Mapping[str, object], actor: Actor
) -> Iterator[Claim]:
    """Claim an action, run the block, and write into the ledger how it ended.

    For connections outside of a transaction. An expected error makes it `failed`, as does
    being stopped; anything that ends the process leaves it to `recover`.

    Raises:
        RunningError: the same action is running; the block was not entered.
    """
    with transaction(db):
        claim = Claim(begin(db, kind, arguments, actor))
    try:
        yield claim
    except (CoreError, apsw.Error) as error:
        told = error if isinstance(error, CoreError) else core_error(error, db.filename)
        _end(db, claim, "failed", str(told or error))
        raise
    except BaseException:
        _end(db, claim, "failed", "stopped before its end")
        raise
    _end(db, claim, claim.state, claim.outcome)


def begin(
    db: apsw.Connection, kind: str, arguments: Mapping[str, object], actor: Actor
) -> Operation:
    """Claim an action in the caller's transaction.

    Raises:
        RunningError: the same action is running, in this process or another.
    """
    token, now = uuid.uuid4().hex, time.time_ns() // 1_000_000
    normal = normalised(arguments)
    try:
        db.execute(
            "INSERT INTO operations(kind, argument_fingerprint, token, state, started_at_ms,"
            " actor, arguments, holder, heartbeat_at_ms)"
            " VALUES (?, ?, ?, 'running', ?, ?, ?, ?, ?)",
            (kind, fingerprint(kind, normal), token, now, actor, normal, _holder(), now),
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
) -> None:
    """Write in the caller's transaction how an operation ended, if this token still holds it."""
    db.execute(
        "UPDATE operations SET state = ?, outcome = ?, receipt = ?, ended_at_ms = ?,"
        " holder = NULL, heartbeat_at_ms = NULL WHERE id = ? AND token = ?",
        (
            state,
            outcome,
            normalised(receipt),
            time.time_ns() // 1_000_000,
            operation.id,
            operation.token,
        ),
    )


def get(db: apsw.Connection, operation_id: int) -> Operation:
    """Return one operation of the ledger.

    Raises:
        NotFoundError: there is none of this number.
    """
    row = db.execute(f"SELECT {_COLUMNS} FROM operations WHERE id = ?", (operation_id,)).fetchone()
    if row is None:
        raise NotFoundError(f"no operation has the number {operation_id}")
    return _operation(row)


def normalised(arguments: Mapping[str, object]) -> str:
    """Return arguments as one JSON text that is equal for equal arguments."""
    return msgspec.json.encode(dict(arguments), order="sorted").decode()


def fingerprint(kind: str, normal: str) -> str:
    """Return 32 hexadecimal digits that are equal for equal actions."""
    return hashlib.blake2b(f"{kind}\0{normal}".encode(), digest_size=16).hexdigest()


def _end(db: apsw.Connection, claim: Claim, state: OperationState, outcome: str) -> None:
    with transaction(db):
        finish(db, claim.operation, state, outcome, claim.receipt)


def _operation(row: tuple[Any, ...]) -> Operation:
    number, kind, arguments, actor, state, token, started, ended, outcome, receipt, verified = row
    return Operation(
        id=number,
        kind=kind,
        arguments=msgspec.json.decode(arguments),
        actor=actor,
        state=state,
        token=token,
        started_at_ms=started,
        ended_at_ms=ended,
        outcome=outcome,
        receipt=msgspec.json.decode(receipt),
        verified_at_ms=verified,
    )


def _holder() -> str:
    return f"{os.getpid()}-{_PROCESS}"


_PROCESS = uuid.uuid4().hex[:12]
