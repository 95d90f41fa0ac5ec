"""Reading messages to know whether they match."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum, auto
from itertools import islice
from typing import Any, NamedTuple

import apsw

from core.search.sql import Sql, places
from core.search.term import ascii_lower, is_in
from core.search.tree import Field, Leaf, Node, fields, holds
from core.text import INDEXED_CHARS, TOOL_INDEXED_CHARS

ROWS_AT_ONCE = 100

_TEXT = "coalesce(m.search_text, m.content)"
_CUT = (
    f"substr({_TEXT}, 1, CASE m.role WHEN 'tool' THEN {TOOL_INDEXED_CHARS}"
    f" ELSE {INDEXED_CHARS} END)"
)
_WHOLE = f"CASE m.role WHEN 'tool' THEN {_TEXT} ELSE substr({_TEXT}, 1, {INDEXED_CHARS}) END"


class Texts(Enum):
    """How much of a message is read."""

    INDEXED = auto()  # cut as the indexes cut it
    WHOLE_TOOL_ROWS = auto()  # tool rows to their end, the others cut
    EVERYTHING = auto()  # all to its end, and the reasoning


_CONTENT = {Texts.INDEXED: _CUT, Texts.WHOLE_TOOL_ROWS: _WHOLE, Texts.EVERYTHING: _TEXT}
REASONING = 3
"""Which of the texts of `columns_sql` is the reasoning, where everything is read."""


class Candidate(NamedTuple):
    """A message that may match, with what orders it.

    `tier` is `scope.TIER`, `score` is bm25 (less is better) where the hits are ranked.
    """

    message_id: int
    tier: int
    score: float | None
    at_ms: int | None


def columns_sql(tree: Node, texts: Texts) -> Sql:
    """Return columns of a message m, with its keys k, that tell whether it fulfils `tree`.

    These are its searchable texts (content, tool name, tool calls), with everything also its
    reasoning as it was written, and then one for each of the tree's fields.
    """
    columns = f"{_CONTENT[texts]}, m.tool_name, m.tool_calls_text"
    if texts is Texts.EVERYTHING:
        columns += ", m.reasoning"
    return listed(columns, [field.predicate.row for field in fields(tree)])


def listed(columns: str, more: Sequence[Sql]) -> Sql:
    """Return the columns with more of them behind."""
    text = "".join(f", {each.text}" for each in more)
    return Sql(columns + text, tuple(value for each in more for value in each.bindings))


def fulfils(columns: Sequence[str | int | None], tree: Node, asked: Sequence[Field] = ()) -> bool:
    """Tell whether a row fulfils `tree`; a term stands within one of its texts.

    `columns` are the texts, and behind them one number for each of `asked`, which are the
    tree's fields.
    """
    split = len(columns) - len(asked)
    texts = [ascii_lower(text) for text in columns[:split] if isinstance(text, str)]
    truths: Mapping[Field, str | int | None] = dict(zip(asked, columns[split:], strict=True))

    def is_true(leaf: Leaf) -> bool:
        if isinstance(leaf, Field):
            return truths[leaf] == 1
        return any(is_in(leaf, text) for text in texts)

    return holds(tree, is_true)


class Checker:
    """Reads candidates by the hundred, each at most once."""

    def __init__(self, db: apsw.Connection, tree: Node, texts: Texts) -> None:
        self._db = db
        self._tree = tree
        self._fields = fields(tree)
        self._columns = columns_sql(tree, texts)
        self._verdicts: dict[int, bool] = {}

    def matching(self, candidates: Iterable[Candidate]) -> Iterator[Candidate]:
        """Yield those candidates that match, in their order."""
        rows = iter(candidates)
        while batch := list(islice(rows, ROWS_AT_ONCE)):
            self._read([row.message_id for row in batch if row.message_id not in self._verdicts])
            yield from (row for row in batch if self._verdicts.get(row.message_id, False))

    def _read(self, ids: list[int]) -> None:
        among = places(tuple(ids))
        keys = " CROSS JOIN message_keys AS k ON k.id = m.id" if self._fields else ""
        sql = (
            f"SELECT m.id, {self._columns.text} FROM messages AS m{keys} WHERE m.id IN {among.text}"
        )
        bindings = (*self._columns.bindings, *among.bindings)
        rows: Iterable[tuple[Any, ...]] = self._db.execute(sql, bindings)
        for message_id, *columns in rows:
            self._verdicts[message_id] = fulfils(columns, self._tree, self._fields)
