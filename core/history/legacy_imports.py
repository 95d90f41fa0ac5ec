"""How far the snapshots are that are moved into the store once, row by row."""

import time
from dataclasses import dataclass

import apsw

from core.store.migrations import schema_version

_SINCE_SCHEMA = 5


@dataclass(frozen=True, slots=True)
class LegacyState:
    """A snapshot that is moved in: the last row that is stored, and whether that was all."""

    path: str
    cursor: int
    complete: bool


def advance(db: apsw.Connection, source_id: int, path: str, cursor: int, *, complete: bool) -> None:
    """Note, in the transaction that stores the rows up to `cursor`, that they are stored.

    What was complete stays so. Before that a reading may begin anew, and is then as far as it is.
    """
    db.execute(
        "INSERT INTO legacy_imports(source_id, path, cursor, complete, updated_at_ms)"
        " VALUES (?, ?, ?, ?, ?) ON CONFLICT(source_id) DO UPDATE SET path = excluded.path,"
        " cursor = CASE WHEN complete THEN max(cursor, excluded.cursor) ELSE excluded.cursor END,"
        " complete = max(complete, excluded.complete),"
        " updated_at_ms = excluded.updated_at_ms",
        (source_id, path, cursor, complete, time.time_ns() // 1_000_000),
    )


def states(db: apsw.Connection) -> dict[str, LegacyState]:
    """Return every snapshot that was begun, by the path of its file."""
    rows = db.execute("SELECT path, cursor, complete FROM legacy_imports ORDER BY source_id")
    return {path: LegacyState(path, cursor, bool(complete)) for path, cursor, complete in rows}


def by_source(db: apsw.Connection) -> dict[int, LegacyState]:
    """Return every snapshot that was begun, by the row of its source, whatever path led there."""
    rows = db.execute("SELECT source_id, path, cursor, complete FROM legacy_imports")
    return {row: LegacyState(path, cursor, bool(complete)) for row, path, cursor, complete in rows}


def is_complete(db: apsw.Connection) -> bool:
    """Tell whether every snapshot that was begun is moved in; true where there is none."""
    if schema_version(db) < _SINCE_SCHEMA:  # an older store that is only read
        return True
    pending = "SELECT EXISTS (SELECT 1 FROM legacy_imports WHERE complete = 0)"
    return not db.execute(pending).get
