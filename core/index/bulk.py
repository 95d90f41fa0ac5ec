"""How an index merges while it is filled: wider and later than while single messages come.

Decision 0028 has the figures. FTS5 keeps these settings in the index, for every program that
writes to it, so they are taken back when the filling is over.
"""

import apsw

from core.store.indexes import Index

BULK_ROWS = 20_000
"""So many rows to do are worth it."""

SETTINGS = {"automerge": 32, "crisismerge": 1_000}
_DEFAULTS = {"automerge": 4, "crisismerge": 16}
"""https://www.sqlite.org/fts5.html, sections 6.2 and 6.4."""


def begin(db: apsw.Connection, index: Index) -> None:
    """Merge 32 segments at a time, and never all at once, in the caller's transaction."""
    _set(db, index, SETTINGS)


def end(db: apsw.Connection, index: Index) -> None:
    """Merge as FTS5 does by itself, in the caller's transaction; nothing where it does so."""
    if _are_set(db, index):
        _set(db, index, _DEFAULTS)


def _are_set(db: apsw.Connection, index: Index) -> bool:
    found = db.execute(f"SELECT v FROM {index.name}_config WHERE k = 'automerge'").get
    return found is not None and found != _DEFAULTS["automerge"]


def _set(db: apsw.Connection, index: Index, values: dict[str, int]) -> None:
    for name, value in values.items():
        db.execute(f"INSERT INTO {index.name}({index.name}, rank) VALUES (?, ?)", (name, value))
