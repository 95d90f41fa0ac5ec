"""Asking one index for candidates, in one order or another.

Every statement joins message_keys and never `messages`. The index comes first in the join:
its hits are the fewest rows, and it gives them in the order of their ids.
"""

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

import apsw

from core.search.check import Candidate, Checker
from core.search.route import Check, Part
from core.search.scope import TIER
from core.search.sql import EVERYTHING, Sql, both
from core.store.indexes import CJK
from core.types import Sort

RANKED_HITS = 20_000
"""So many hits, those stored last, are ranked by bm25; older ones follow newest first."""

ALL = 1 << 62  # as a limit
_AVERAGES = 1  # the row of an index's data that has its rows and tokens (fts5_index.c)

_TIME = {"newest": "k.at_ms DESC NULLS LAST, k.id DESC", "oldest": "k.at_ms NULLS LAST, k.id"}


@dataclass(frozen=True, slots=True)
class Ranking:
    """Candidates by rank. `rows` yields those that match, and is lazy where they are checked.

    `count` candidates are ranked; if there may be more, `floor` is the lowest id of those
    that are, else 0.
    """

    rows: Iterator[Candidate]
    count: int
    floor: int


class Asked:
    """One part of a plan that an index answers, within a scope.

    `is_whole` tells that the index holds nothing that is not in the part and the scope: then
    it counts without looking at its rows. Iterators yield at most `limit` matches and are
    lazy: they cost what is taken of them, but for what has to be sorted first.
    """

    def __init__(
        self, db: apsw.Connection, part: Part, where: Sql, *, is_whole: bool = False
    ) -> None:
        if part.index is None:
            raise ValueError("this part is a scan")
        self.part = part
        self._db = db
        self._name = part.index
        self._is_whole = is_whole
        asked = Sql(f"{part.index} MATCH ?", (part.match,))
        self._where = both(asked, _but(part), Sql(part.rows), where)
        self._checker = None
        if part.check is Check.EVERY and part.tree is not None:
            self._checker = Checker(db, part.tree, part.texts)

    @property
    def is_checked(self) -> bool:
        """True when every candidate has to be read."""
        return self._checker is not None

    def newest(self, limit: int = ALL, *, below: int | None = None) -> Iterator[Candidate]:
        """Yield matches, those stored last first; `below` leaves out the ids from there on."""
        bound = "" if below is None else f" AND {self._name}.rowid < {below}"
        tail = f"{bound} ORDER BY {self._name}.rowid DESC"
        return self._matches(self._select(_columns("NULL")) + tail, limit)

    def best(self, most: int, limit: int) -> Ranking:
        """Rank the `most` candidates stored last: the best of each tier first.

        They are looked up once: ranking them where they were counted before takes twice as long.
        """
        inner = f"{self._select(_columns(self._bm25))} ORDER BY {self._name}.rowid DESC"
        rows = self._rows(
            f"WITH h(id, tier, score, at_ms) AS MATERIALIZED ({inner} LIMIT {most})"
            " SELECT *, (SELECT count(*) FROM h), (SELECT min(id) FROM h) FROM h"
            f" ORDER BY tier, score, id DESC{self._limited(limit)}"
        )
        first = next(rows, None)
        if first is None:
            return Ranking(iter(()), 0, 0)
        count, lowest = first[4:]
        candidates = (Candidate(*row[:4]) for row in chain((first,), rows))
        return Ranking(self._matching(candidates, limit), count, lowest if count == most else 0)

    def ranked(self, limit: int, *, floor: int) -> Iterator[Candidate]:
        """Yield matches with ids from `floor` on, the best of each tier first."""
        bound = f" AND {self._name}.rowid >= {floor}" if floor else ""
        order = f"{bound} ORDER BY 2, 3, {self._name}.rowid DESC"
        return self._matches(self._select(_columns(self._bm25)) + order, limit)

    def by_time(self, sort: Sort, limit: int) -> Iterator[Candidate]:
        """Yield matches by the time of their message, those without one last."""
        return self._matches(f"{self._select(_columns('NULL'))} ORDER BY {_TIME[sort]}", limit)

    def count(self) -> int:
        """Return the number of matches; reads every candidate where they are checked."""
        if self._checker is not None:
            return sum(1 for _ in self.newest())
        if self._is_whole:
            return self.raw_count()
        return int(self._db.execute(self._select("count(*)"), self._where.bindings).get)

    def raw_count(self) -> int:
        """Return the number of candidates, whatever their scope: an upper bound, and cheap."""
        sql = f"SELECT count(*) FROM {self._name} WHERE {self._name} MATCH ?"
        return int(self._db.execute(sql, (self.part.match,)).get)

    def weights(self) -> int:
        """Return a number that is another one once bm25 weighs with other averages."""
        sql = f"SELECT block FROM {self._name}_data WHERE id = {_AVERAGES}"
        return zlib.crc32(bytes(self._db.execute(sql).get))

    @property
    def _bm25(self) -> str:
        return f"bm25({self._name})"

    def _select(self, columns: str) -> str:
        return (
            f"SELECT {columns} FROM {self._name}"
            f" CROSS JOIN message_keys AS k ON k.id = {self._name}.rowid"
            f" WHERE {self._where.text}"
        )

    def _limited(self, limit: int) -> str:
        return f" LIMIT {limit}" if self._checker is None else ""

    def _rows(self, sql: str) -> Iterator[tuple[Any, ...]]:
        rows: Iterable[tuple[Any, ...]] = self._db.execute(sql, self._where.bindings)
        return iter(rows)

    def _matches(self, sql: str, limit: int) -> Iterator[Candidate]:
        rows = self._rows(sql + self._limited(limit))
        return self._matching((Candidate(*row) for row in rows), limit)

    def _matching(self, found: Iterator[Candidate], limit: int) -> Iterator[Candidate]:
        return islice(found if self._checker is None else self._checker.matching(found), limit)


def _but(part: Part) -> Sql:
    if not part.but:
        return EVERYTHING
    return Sql(f"k.id NOT IN (SELECT rowid FROM {CJK} WHERE {CJK} MATCH ?)", (part.but,))


def _columns(score: str) -> str:
    return f"k.id, {TIER}, {score}, k.at_ms"
