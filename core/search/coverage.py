"""Which indexes can be asked now, and which rows each of them answers for."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import apsw

from core.search.short_titles import has_terms
from core.store import connection, damage, index_state
from core.store.indexes import CJK, INDEXES, Index
from core.types import INDEX_NAMES, IndexName, IndexStatus

_COMPLETE = ("ready", "settling")  # settling merges segments; every row is in
_ANSWERING = (*_COMPLETE, "building", "detached")


@dataclass(frozen=True, slots=True)
class Coverage:
    """What one index can be asked.

    `held` is SQL over message_keys as k: true for the rows of its kind that it answers for.
    `is_complete` tells that those are all of them, and then `held` is `true`.
    """

    status: IndexStatus
    is_usable: bool
    is_complete: bool
    held: str

    @property
    def is_damaged(self) -> bool:
        """True from when its damage is noted until it is filled again."""
        return not self.is_complete and self.status.reason in damage.REASONS


def read(db: apsw.Connection, counts: Mapping[int, int]) -> dict[IndexName, Coverage]:
    """Return the coverage of every index; `counts` are those of `keys.counts`.

    Costs a few rows where all are complete; else what `index_state.statuses` costs.
    """
    rows = db.execute("SELECT name, state, cursor, last_moved_at_ms, reason FROM index_state")
    states: dict[IndexName, tuple[Any, ...]] = {row[0]: row[1:] for row in map(tuple, rows)}
    if all(state in _COMPLETE for state, *_ in states.values()):
        statuses = [_complete(counts, name, states[name]) for name in INDEX_NAMES]
    else:
        statuses = list(index_state.statuses(db))
    found = (damage.as_noted(db, status) for status in statuses)
    return {status.name: _coverage(db, status) for status in found}


def declare(db: apsw.Connection, indexes: Mapping[IndexName, Coverage]) -> None:
    """Let SQLite declare the tables that a search asks; it does so at their first use.

    An interruption that falls into just that, while another statement is under way, comes out
    as an error of the table and not as an interruption. Costs a few µs afterwards.
    """
    names: list[str] = [name for name, index in indexes.items() if index.is_usable]
    if damage.TITLES not in damage.noted(db):
        names += [damage.TITLES, *(["sessions_fts_terms"] if has_terms(db) else [])]
    for name in names:
        db.execute(f"SELECT 1 FROM {name} LIMIT 0").fetchall()


def _complete(counts: Mapping[int, int], name: IndexName, row: tuple[Any, ...]) -> IndexStatus:
    """Return the status of an index that triggers keep whole, without counting its rows."""
    state, cursor, last_moved_at_ms, reason = row
    done = INDEXES[name].eligible_of(counts)
    return IndexStatus(name, state, 1.0, done, 0, cursor, last_moved_at_ms, reason)


def _coverage(db: apsw.Connection, status: IndexStatus) -> Coverage:
    index = INDEXES[status.name]
    is_usable = status.state in _ANSWERING and _can_cut(db, index)
    is_complete = is_usable and status.state in _COMPLETE
    return Coverage(status, is_usable, is_complete, _held(index, status.state, is_complete))


def _can_cut(db: apsw.Connection, index: Index) -> bool:
    """Tell whether this connection cuts text as the index was cut: only the CJK one asks."""
    if index.name != CJK:
        return True
    ours = connection.tokenizer_fingerprint(db)
    built_by = db.execute("SELECT fingerprint FROM index_state WHERE name = ?", (CJK,)).get
    return ours is not None and ours == built_by


def _held(index: Index, state: str, is_complete: bool) -> str:
    if is_complete:
        return "true"
    held = f"k.id IN (SELECT id FROM {index.docsize})"
    if state != "detached":
        return held
    queued = f"SELECT id FROM index_queue WHERE index_name = '{index.name}'"
    return f"({held} AND k.id NOT IN ({queued}))"
