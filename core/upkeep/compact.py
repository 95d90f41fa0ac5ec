"""Giving the space of deleted things back to the disk, and getting rid of damaged tables."""

from collections.abc import Iterator
from pathlib import Path

import apsw

from core.errors import StoreReadOnlyError
from core.store import aside, copying, damage, holders
from core.store.connection import transaction
from core.types import Progress
from core.upkeep import operations
from core.upkeep.sizes import compact_needs_bytes, page_bytes
from core.upkeep_types import Actor, Report

_STEPS = 3


def run(db: apsw.Connection, actor: Actor) -> Iterator[Progress | Report]:
    """Write the store's file anew without its free pages, then shorten its log.

    Others can read meanwhile, and write again when it is done (`holders.open_elsewhere` tells
    who has it open); the write lock is held for some 30 s at 4 GB. Stopped or killed at any
    moment it leaves the store as it was, but for damaged tables: the next one gives their space
    back. A reader of the old state keeps the log long until it
    ends: the report is then `pending`.

    Raises:
        StoreFullError: there is not enough free space; it names both numbers. Nothing was done.
        StoreReadOnlyError: the store is not for writing.
    """
    path = Path(db.filename)
    if told := damage.broken(db.filename):
        raise StoreReadOnlyError(told)
    with operations.recorded(db, "compact", {}, actor) as claim:
        copying.require_room(path.parent, compact_needs_bytes(db))
        before = _file_bytes(db)
        yield Progress(1, _STEPS, "steps", "writing the store anew")
        with transaction(db):
            dropped = aside.drop_set_aside(db)
        db.execute("VACUUM")
        yield Progress(2, _STEPS, "steps", "shortening the log")
        busy, _, _ = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").get
        yield Progress(_STEPS, _STEPS, "steps")
        freed = before - _file_bytes(db)
        claim.receipt |= {"freed_bytes": freed, "dropped": list(dropped)}
        claim.outcome = f"freed {freed:,} bytes"
        if busy:
            others = holders.in_words(holders.open_elsewhere(path)) or "a reader"
            claim.outcome += f"; the log stays long until {others} lets go of it"
            claim.state = "pending"
    yield Report(claim.outcome, claim.receipt, "pending" if busy else "succeeded")


def _file_bytes(db: apsw.Connection) -> int:
    return int(db.pragma("page_count")) * page_bytes(db)
