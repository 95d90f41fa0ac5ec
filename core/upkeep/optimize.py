"""Merging every index to one segment, so that searches read as little as they can.

SQLite's own `PRAGMA optimize` is left out: the statements of this program are written in the
order they are to be carried out in, and statistics would only change that behind our back.
"""

from collections.abc import Iterator

import apsw

from core.index import settle
from core.store.connection import transaction
from core.store.damage import TITLES
from core.store.index_state import status_of
from core.store.indexes import INDEXES
from core.types import Progress
from core.upkeep import operations
from core.upkeep_types import Actor, Report

_MOST_STEPS = 100_000


def run(db: apsw.Connection, actor: Actor) -> Iterator[Progress | Report]:
    """Merge each index in steps of some 150 ms at most, each in a transaction of its own.

    An index that is being filled, or that waits for its tokenizer, is left to the backfill.
    What was merged before it is stopped stays merged.
    """
    with operations.recorded(db, "optimize", {}, actor) as claim:
        done: list[str] = []
        left: list[str] = []
        for index in INDEXES.values():
            if status_of(db, index.name).state not in ("ready", "settling"):
                left.append(index.name)
                continue
            for progress in settle.settle(db, index.name):
                claim.beat(db)
                yield progress
            done.append(index.name)
        yield from merged_titles(db)
        claim.receipt |= {"merged": [*done, TITLES], "left": left}
        claim.outcome = _in_words(done, left)
    yield Report(claim.outcome, claim.receipt)


def merged_titles(db: apsw.Connection) -> Iterator[Progress]:
    """Merge the index of titles, which has no state: it is filled by triggers alone."""
    pages = -settle.STEP_PAGES
    for done in range(1, _MOST_STEPS):
        with transaction(db):
            before = db.total_changes()
            db.execute(f"INSERT INTO {TITLES}({TITLES}, rank) VALUES ('merge', ?)", (pages,))
            is_merged = pages > 0 and db.total_changes() - before < 2
        pages = settle.STEP_PAGES
        yield Progress(done, done if is_merged else None, "steps", TITLES)
        if is_merged:
            return


def _in_words(done: list[str], left: list[str]) -> str:
    merged = f"merged {', '.join([*done, TITLES])}"
    return f"{merged}; left to the backfill: {', '.join(left)}" if left else merged
