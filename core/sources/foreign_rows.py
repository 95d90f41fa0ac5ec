"""Rows of another program's tables, whatever its version, encoding or state.

Columns are found by asking, not by version. Text arrives decoded by us: a byte that is no
character costs itself, not the row. A damaged page costs the rows on it, not the table.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import apsw

from core.errors import SourceError
from core.sources.records import BadSourceRecord

Value = str | int | float | None

MOST_GAPS = 10_000
_LAST_ROWID = (1 << 63) - 1
_FIRST_ROWID = -(1 << 63)


class Row(NamedTuple):
    """The wanted columns of one row, in the order asked for; a missing column gives None."""

    rowid: int
    values: tuple[Value, ...]


class Table:
    """One real table: its columns, and its rows in rowid order.

    Raises:
        SourceError: there is no such table, or the name is a view or a virtual table.
    """

    def __init__(self, db: apsw.Connection, name: str) -> None:
        self._db = db
        self.name = name
        found = db.execute(
            "SELECT type, rootpage FROM main.sqlite_schema WHERE name = ? COLLATE NOCASE", (name,)
        ).fetchall()
        if not any(kind == "table" for kind, _ in found):
            raise SourceError(f"there is no table {name}")
        if not any(kind == "table" and root for kind, root in found):
            raise SourceError(f"{name} is not a plain table")
        self.columns = column_names(db, name)
        self._encoding = str(db.pragma("encoding"))
        free = [n for n in ("rowid", "_rowid_", "oid") if n not in self.columns]
        self._rowid = free[0] if free else "rowid"
        self._selects: dict[tuple[str, ...], str] = {}

    def rows(
        self, columns: Sequence[str], after: int = _FIRST_ROWID
    ) -> Iterator[Row | BadSourceRecord]:
        """Yield every row behind `after` that can be read, and a bad record for each gap.

        One row is held at a time. Row ids only ever grow, so that pages that refer to each
        other in a ring end the reading instead of keeping it busy for ever.
        """
        sql = f"{self._select(columns)} WHERE {self._rowid} > ? ORDER BY {self._rowid}"
        last = after
        for _ in range(MOST_GAPS):
            try:
                for rowid, *values in self._db.execute(sql, (last,)):
                    if not isinstance(rowid, int) or rowid <= last:
                        raise apsw.CorruptError("row ids are out of order")
                    last = rowid
                    yield Row(rowid, self._decoded(values))
                return
            except (apsw.CorruptError, apsw.TooBigError, apsw.IOError) as error:
                found = self._next_readable(sql, last)
                yield _gap(self.name, last, found, error)
                if found is None:
                    return
                last = found - 1
        yield BadSourceRecord(last + 1, f"{self.name}: more than {MOST_GAPS} gaps, stopped here")

    def row(self, rowid: int, columns: Sequence[str]) -> Row | None:
        """Return one row, or None where there is none that can be read."""
        sql = f"{self._select(columns)} WHERE {self._rowid} = ?"
        try:
            found = self._db.execute(sql, (rowid,)).fetchone()
        except (apsw.CorruptError, apsw.TooBigError, apsw.IOError):
            return None
        return Row(rowid, self._decoded(found[1:])) if found else None

    def _select(self, columns: Sequence[str]) -> str:
        key = tuple(columns)
        if key not in self._selects:
            wanted = ", ".join([self._rowid, *(self._expression(c) for c in columns)])
            self._selects[key] = f"SELECT {wanted} FROM main.{_quoted(self.name)}"
        return self._selects[key]

    def _expression(self, column: str) -> str:
        """Text as its bytes, everything else as it is."""
        if column not in self.columns:
            return "NULL"
        name = _quoted(column)
        return f"CASE typeof({name}) WHEN 'text' THEN CAST({name} AS BLOB) ELSE {name} END"

    def _decoded(self, values: Sequence[object]) -> tuple[Value, ...]:
        return tuple(
            v.decode(self._encoding, "replace") if isinstance(v, bytes) else v  # type: ignore[misc]
            for v in values
        )

    def _next_readable(self, sql: str, last: int) -> int | None:
        """The first row id behind `last` from which reading succeeds again, as far as known."""
        below, step = last, 1
        while last + step < _LAST_ROWID:
            found = self._first_after(sql, last + step)
            if found is not None:
                break
            below, step = last + step, step * 2
        else:
            return None
        above = last + step
        while above - below > 1:  # `below` fails, `above` does not
            middle = (below + above) // 2
            nearer = self._first_after(sql, middle)
            if nearer is None:
                below = middle
            else:
                above, found = middle, nearer
        return found

    def _first_after(self, sql: str, rowid: int) -> int | None:
        try:
            row = self._db.execute(f"{sql} LIMIT 1", (rowid,)).fetchone()
        except (apsw.CorruptError, apsw.TooBigError, apsw.IOError):
            return None
        return row[0] if row and isinstance(row[0], int) and row[0] > rowid else None


def column_names(db: apsw.Connection, table: str) -> frozenset[str]:
    """Return the names of a table's columns in lower case; hidden and generated ones are not."""
    # As bytes: a name in a damaged schema need not be text.
    rows = db.execute("SELECT CAST(name AS BLOB) FROM pragma_table_info(?, 'main')", (table,))
    encoding = str(db.pragma("encoding"))
    return frozenset(bytes(name).decode(encoding, "replace").lower() for (name,) in rows)


def _gap(table: str, last: int, found: int | None, error: Exception) -> BadSourceRecord:
    first = max(last + 1, 1)
    if isinstance(error, apsw.TooBigError):
        reason = f"{table}: row {first} or one after it is too large to be read"
    elif found is None:
        reason = f"{table}: damaged, nothing can be read from row {first} on"
    else:
        reason = f"{table}: damaged, rows {first} to {found - 1} cannot be read"
    return BadSourceRecord(first, reason)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
