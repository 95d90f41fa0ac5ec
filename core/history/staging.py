"""Rows on their way into the store.

They wait in a database of the writer's connection that lives in memory alone, so that one
statement can move a whole batch. Each statement here carries hundreds of rows: a statement
gives up Python's lock, and getting it back from a thread that parses can take 5 ms.
"""

from collections.abc import Sequence
from typing import Any

import apsw

TEXT_LIMIT = 15_000
"""Longest text of a statement, in characters; APSW keeps those below 16 KiB prepared."""


def insert_rows(
    db: apsw.Connection, table: str, columns: int, rows: Sequence[tuple[Any, ...]]
) -> None:
    """Insert rows of so many columns, in order, by as few statements as fit."""
    row = f"({', '.join('?' * columns)})"
    at_once = max(1, TEXT_LIMIT // (len(row) + 2))
    for start in range(0, len(rows), at_once):
        some = rows[start : start + at_once]
        values = ", ".join([row] * len(some))
        db.execute(f"INSERT INTO {table} VALUES {values}", [v for each in some for v in each])
