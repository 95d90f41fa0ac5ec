"""Many rows in one statement.

A statement gives up Python's lock, and getting it back from a thread that parses can take
5 ms; and FTS5 writes a segment for each statement. So rows go by the thousand.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

MOST_VARIABLES = 32_000
"""Below what one statement may bind (32,766), so that there is room for others."""


class Values(NamedTuple):
    """The text of a VALUES list and what it binds."""

    text: str
    bindings: list[Any]


def value_lists(rows: Sequence[tuple[Any, ...]]) -> Iterator[Values]:
    """Yield the rows, all of one length, in order and in as few lists as SQLite takes."""
    if not rows:
        return
    columns = len(rows[0])
    row = f"({', '.join('?' * columns)})"
    at_once = MOST_VARIABLES // columns
    for start in range(0, len(rows), at_once):
        some = rows[start : start + at_once]
        yield Values(", ".join([row] * len(some)), [value for each in some for value in each])
