"""Named values of one of Cursor's key-value tables, and nothing else of it.

`ItemTable` holds the tokens of accounts beside what is history, so values are asked for by
their key or by a range of keys, which the table's index answers; the table is never gone
through.
"""

from collections.abc import Iterator
from typing import NamedTuple

import apsw

from core.errors import SourceError
from core.sources.foreign_rows import Table
from core.sources.json_value import json_value


class Found(NamedTuple):
    """What stands under a key: the JSON's meaning, or why there is none."""

    value: object
    reason: str = ""


class Keys:
    """One table of a private copy. Where the table is missing, or another's, it is empty."""

    def __init__(self, db: apsw.Connection, table: str) -> None:
        self._db = db
        self._encoding = str(db.pragma("encoding"))
        try:
            self._is_there = Table(db, table).columns >= {"key", "value"}
        except SourceError:
            self._is_there = False
        self._from = f'FROM main."{table}" WHERE key'

    def get(self, key: str) -> Found | None:
        """Return what stands under a key, None where the key is not there or holds nothing."""
        if not self._is_there:
            return None
        sql = f"SELECT typeof(value), CAST(value AS BLOB) {self._from} = ?"
        try:
            row = self._db.execute(sql, (key,)).fetchone()
        except (apsw.CorruptError, apsw.TooBigError, apsw.IOError) as error:
            return Found(None, f"it cannot be read: {error}")
        if row is None or row[1] is None:
            return None
        kind, raw = str(row[0]), bytes(row[1])
        text = raw.decode(self._encoding, "replace") if kind == "text" else raw
        value = json_value(text)
        return Found(value, "" if value is not None else "not JSON")

    def below(self, prefix: str) -> Iterator[str]:
        """Yield the keys that begin with a text that ends in a colon, in their order."""
        if not self._is_there:
            return
        sql = f"SELECT CAST(key AS BLOB) {self._from} >= ? AND key < ? ORDER BY key"
        for row in self._db.execute(sql, (prefix, prefix[:-1] + ";")):
            yield bytes(row[0]).decode(self._encoding, "replace")
