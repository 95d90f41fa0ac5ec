"""Merging an index's segments in small steps, so that single appends stay fast.

After bulk work FTS5 owes merges, and pays them at some later insert: up to 13.8 s at once.
"""

from collections.abc import Iterator

import apsw

from core.store.connection import transaction
from core.types import IndexName, Progress

STEP_PAGES = 100
_MOST_STEPS = 100_000


def start(db: apsw.Connection, name: IndexName) -> None:
    """Have all segments of the index take part in the merge that `step` goes on with.

    https://www.sqlite.org/fts5.html, section 6.8: a negative number of pages.
    """
    _merge(db, name, -STEP_PAGES)


def step(db: apsw.Connection, name: IndexName) -> bool:
    """Merge some pages in the caller's transaction; return whether the index is settled.

    At most some 150 ms. A settled index that was `settling` is `ready` from then on.
    """
    before = db.total_changes()
    _merge(db, name, STEP_PAGES)
    if db.total_changes() - before >= 2:
        return False
    db.execute(
        "UPDATE index_state SET unsettled_rows = 0,"
        " reason = CASE state WHEN 'settling' THEN '' ELSE reason END,"
        " state = CASE state WHEN 'settling' THEN 'ready' ELSE state END WHERE name = ?",
        (name,),
    )
    return True


def settle(db: apsw.Connection, name: IndexName) -> Iterator[Progress]:
    """Settle the index, each step in a transaction of its own; yields after each."""
    with transaction(db):
        start(db, name)
    for done in range(1, _MOST_STEPS):
        with transaction(db):
            is_settled = step(db, name)
        yield Progress(done, done if is_settled else None, "steps", name)
        if is_settled:
            return


def _merge(db: apsw.Connection, name: IndexName, pages: int) -> None:
    db.execute(f"INSERT INTO {name}({name}, rank) VALUES ('merge', ?)", (pages,))
