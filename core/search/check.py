"""Reading messages to know whether they match."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

import apsw

from core.search.sql import places
from core.search.term import ascii_lower, is_in
from core.search.tree import Node, holds
from core.text import INDEXED_CHARS, TOOL_INDEXED_CHARS

ROWS_AT_ONCE = 100

_TEXT = "coalesce(m.search_text, m.content)"
_CUT = (
    f"substr({_TEXT}, 1, CASE m.role WHEN 'tool' THEN {TOOL_INDEXED_CHARS}"
    f" ELSE {INDEXED_CHARS} END)"
)
_WHOLE = f"CASE m.role WHEN 'tool' THEN {_TEXT} ELSE substr({_TEXT}, 1, {INDEXED_CHARS}) END"


class Candidate(NamedTuple):
    """A message that may match, with what orders it.

    `tier` is `scope.TIER`, `score` is bm25 (less is better) where the hits are ranked.
    """

    message_id: int
    tier: int
    score: float | None
    at_ms: int | None


def columns_sql(*, whole: bool) -> str:
    """Return SQL for the searchable texts of a message m: content, tool name, tool calls.

    They are cut as the indexes cut them; `whole` leaves tool rows uncut.
    """
    return f"{_WHOLE if whole else _CUT}, m.tool_name, m.tool_calls_text"


def fulfils(columns: Iterable[str | None], tree: Node) -> bool:
    """Tell whether the texts of a message fulfil `tree`; a term stands within one of them."""
    texts = [ascii_lower(text) for text in columns if text]
    return holds(tree, lambda term: any(is_in(term, text) for text in texts))


class Checker:
    """Reads candidates by the hundred, each at most once."""

    def __init__(self, db: apsw.Connection, tree: Node, *, whole: bool) -> None:
        self._db = db
        self._tree = tree
        self._columns = columns_sql(whole=whole)
        self._verdicts: dict[int, bool] = {}

    def matching(self, candidates: Iterable[Candidate]) -> Iterator[Candidate]:
        """Yield those candidates that match, in their order."""
        rows = iter(candidates)
        while batch := list(islice(rows, ROWS_AT_ONCE)):
            self._read([row.message_id for row in batch if row.message_id not in self._verdicts])
            yield from (row for row in batch if self._verdicts.get(row.message_id, False))

    def _read(self, ids: list[int]) -> None:
        among = places(tuple(ids))
        sql = f"SELECT m.id, {self._columns} FROM messages AS m WHERE m.id IN {among.text}"
        rows: Iterable[tuple[Any, ...]] = self._db.execute(sql, among.bindings)
        for message_id, *columns in rows:
            self._verdicts[message_id] = fulfils(columns, self._tree)
