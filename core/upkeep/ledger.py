"""Reading the ledger: what was done, when, by whom, and what came of it."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import apsw
import msgspec

from core.errors import NotFoundError
from core.upkeep_types import Operation, OperationState

_COLUMNS = (
    "id, kind, arguments, actor, state, token, started_at_ms, ended_at_ms, outcome, receipt,"
    " verified_at_ms"
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


def listing(
    db: apsw.Connection,
    limit: int = 50,
    before: int | None = None,
    states: Sequence[OperationState] = (),
    kinds: Sequence[str] = (),
) -> tuple[Operation, ...]:
    """Return the latest operations, newest first.

    Args:
        db: the store.
        limit: the most to return.
        before: only those with a lower number; the last of a page gives the following one.
        states: only those in one of these; empty means all.
        kinds: only of these kinds; empty means all.
    """
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM operations WHERE (:before IS NULL OR id < :before)"
        " AND (:states = '[]' OR state IN (SELECT value FROM json_each(:states)))"
        " AND (:kinds = '[]' OR kind IN (SELECT value FROM json_each(:kinds)))"
        " ORDER BY id DESC LIMIT :limit",
        {
            "before": before,
            "limit": limit,
            "states": msgspec.json.encode(list(states)).decode(),
            "kinds": msgspec.json.encode(list(kinds)).decode(),
        },
    )
    return tuple(_operation(row) for row in rows)


def total(db: apsw.Connection) -> int:
    """Return how many operations the ledger keeps."""
    return int(db.execute("SELECT count(*) FROM operations").get)


def normalised(arguments: Mapping[str, object]) -> str:
    """Return arguments as one JSON text that is equal for equal arguments."""
    return msgspec.json.encode(dict(arguments), order="sorted").decode()


def fingerprint(kind: str, normal: str) -> str:
    """Return 32 hexadecimal digits that are equal for equal actions."""
    return hashlib.blake2b(f"{kind}\0{normal}".encode(), digest_size=16).hexdigest()


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
