"""One number for everything a store was given: equal for equal stores, whatever their pages.

What the program derives (indexes, narrow copies, counters) is left out: it is verified and made
anew on its own. So are indexes set aside as damaged: their pages cannot be read.
"""

import hashlib
from collections.abc import Iterator

import apsw

from core.store import damage
from core.types import Progress

DERIVED = ("message_keys", "message_counts", "session_counts", "index_state", "index_queue")
_STEP_BYTES = 2 << 20  # some 30 ms
_STEP_ROWS = 5_000


def rolling_hash(db: apsw.Connection) -> Iterator[Progress | str]:
    """Read every row of every table that holds more than derived facts; yield the hash last.

    One row is in memory at a time. Costs some 5 s for a million messages; yields often.
    """
    digest, rows = hashlib.blake2b(digest_size=16), 0
    for table, is_keyed in _tables(db):
        digest.update(f"\0{table}\0".encode())
        since_rows, since_bytes = 0, 0
        for (row,) in db.execute(_rows_sql(db, table, is_keyed=is_keyed)):
            digest.update(row)
            rows, since_rows, since_bytes = rows + 1, since_rows + 1, since_bytes + len(row)
            if since_bytes >= _STEP_BYTES or since_rows >= _STEP_ROWS:
                since_rows, since_bytes = 0, 0
                yield Progress(rows, None, "rows", "reading")
    yield digest.hexdigest()


def _tables(db: apsw.Connection) -> list[tuple[str, bool]]:
    """Return the ordinary tables by name, and whether their rows are in order of a key."""
    found = db.execute(
        "SELECT name, wr FROM pragma_table_list WHERE schema = 'main' AND type = 'table'"
        " AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
    ).fetchall()
    return [
        (str(name), bool(keyed))
        for name, keyed in found
        if name not in DERIVED and not damage.is_set_aside(str(name))
    ]


def _rows_sql(db: apsw.Connection, table: str, *, is_keyed: bool) -> str:
    """Return SQL that gives each row as one blob, every value behind its length.

    As blobs, since a text that is no UTF-8 could not be read as one.
    """
    columns = db.execute("SELECT name FROM pragma_table_info(?)", (table,)).fetchall()
    named = [_quoted(str(name)) for (name,) in columns]
    values = " || ".join(
        f"coalesce(octet_length({name}), '-') || ':' || coalesce({name}, '')" for name in named
    )
    order = "" if is_keyed else " ORDER BY rowid"
    return f"SELECT CAST({values} AS BLOB) FROM {_quoted(table)}{order}"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
