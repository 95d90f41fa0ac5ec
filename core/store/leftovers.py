"""Indexes that were set aside, and getting rid of them a piece at a time.

Emptying an index is one statement, and with `secure_delete` it writes every page once more: the
store would be locked for as long as that takes. So its table is renamed, which is instant, a
new one takes its place, and the old one's rows are deleted in small steps.

While such a table is there, SQLite's own integrity check calls it malformed.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import apsw

from core.store import indexes
from core.store.indexes import Index

_KEPT = 10
"""The last of the rows of `_data` that the table itself is opened with; see `counted_rows`."""

_ROWS = 8  # small ones, that go as quickly as a block does


def set_aside(db: apsw.Connection, index: Index, why: str = "stale") -> str:
    """Give the index's table another name and return it, in the caller's transaction.

    Its triggers are gone then, and there is no index until `indexes.create_table`.
    """
    taken = db.execute(
        "SELECT count(*) FROM sqlite_schema WHERE name GLOB ? AND sql LIKE 'CREATE VIRTUAL%'",
        (f"{index.name}_{why}_*",),
    ).get
    name = f"{index.name}_{why}_{taken + 1}"
    indexes.drop_triggers(db, index)
    db.execute(f"ALTER TABLE {index.name} RENAME TO {name}")
    return name


def names(db: apsw.Connection, index: Index) -> list[str]:
    """Return the tables of the index that wait to be dropped, the oldest first."""
    found = db.execute(
        "SELECT name FROM sqlite_schema WHERE name GLOB ? AND sql LIKE 'CREATE VIRTUAL%'"
        " ORDER BY rowid",
        (f"{index.name}_stale_*",),
    )
    return [str(name) for (name,) in found]


def drop_piece(db: apsw.Connection, name: str, blocks: int) -> bool:
    """Delete at most so many blocks of some 4,000 bytes of a table that was set aside.

    In the caller's transaction.

    Returns:
        True when nothing was left and the table itself is gone.
    """
    with _shadow_tables_writable(db):
        for rows, key in ((f"{name}_data", "id"), (f"{name}_docsize", "id")):
            kept = f"WHERE id > {_KEPT}" if rows.endswith("_data") else ""
            db.execute(
                f"DELETE FROM {rows} WHERE {key} IN (SELECT {key} FROM {rows} {kept}"
                f" ORDER BY {key} LIMIT ?)",
                (blocks if kept else blocks * _ROWS,),
            )
            if db.changes():
                return False
        db.execute(
            f"DELETE FROM {name}_idx WHERE (segid, term) IN"
            f" (SELECT segid, term FROM {name}_idx LIMIT ?)",
            (blocks * _ROWS,),
        )
        if db.changes():
            return False
    db.execute(f"DROP TABLE {name}")
    return True


@contextmanager
def _shadow_tables_writable(db: apsw.Connection) -> Iterator[None]:
    """Let this connection write the tables behind an index, for the block alone."""
    db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
    try:
        yield
    finally:
        db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
