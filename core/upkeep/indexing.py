"""Completing the indexes as one recorded action, for whoever asks for it and waits."""

from collections.abc import Iterator

import apsw

from core.index import backfill
from core.index.state import is_held_by_another, new_holder
from core.store.index_state import statuses
from core.types import INDEX_NAMES, IndexName, IndexStatus, Progress
from core.upkeep import operations
from core.upkeep_types import Actor, Report


def complete(
    db: apsw.Connection,
    names: tuple[IndexName, ...] = INDEX_NAMES,
    *,
    now: bool = False,
    actor: Actor,
) -> Iterator[Progress | Report]:
    """Bring the indexes to `ready`, with pauses while others write, unless `now`.

    `now` also passes over what the user stopped. In the ledger stands only what really did
    something. Another process that is at it goes on with it: this one says so, and ends.
    """
    holder = new_holder()
    if not backfill.unfinished(db, names, now=now):
        yield Report(_ending(db, names), _facts(db, names))
        return
    if is_held_by_another(db, holder):
        yield Report(
            f"{_worker(db)} is working on the indexes already", _facts(db, names), "pending"
        )
        return
    arguments = {"indexes": list(names), "now": now}
    with operations.recorded(db, "backfill", arguments, actor) as claim:
        before = {each.name: each.done for each in _of(db, names)}
        for progress in backfill.run_sync(db, holder, names, now=now):
            claim.beat(db)
            yield progress
        rows = {each.name: each.done - before[each.name] for each in _of(db, names)}
        claim.receipt.update({"rows": rows, **_facts(db, names)})
        claim.outcome = _ending(db, names)
    yield Report(claim.outcome, claim.receipt)


def _of(db: apsw.Connection, names: tuple[IndexName, ...]) -> list[IndexStatus]:
    return [each for each in statuses(db) if each.name in names]


def _facts(db: apsw.Connection, names: tuple[IndexName, ...]) -> dict[str, object]:
    return {"states": {each.name: each.state for each in _of(db, names)}}


def _ending(db: apsw.Connection, names: tuple[IndexName, ...]) -> str:
    left = [each for each in _of(db, names) if not each.ready]
    if not left:
        return "every index is complete" if len(names) > 1 else f"{names[0]} is complete"
    told = (f"{each.name} has {each.todo:,} rows to do" for each in left)
    return "; ".join((*told, *({each.reason for each in left if each.reason})))


def _worker(db: apsw.Connection) -> str:
    worker = next((each.worker for each in statuses(db)), None)
    return "another program" if worker is None else f"process {worker}"
