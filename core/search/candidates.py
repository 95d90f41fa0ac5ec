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

    `count` candidates are ranked; if there are more, `floor` is an id that those have no
    lower one than, and the others a lower one; else 0.
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

    def extent(self, most: int) -> tuple[int, int]:
        """Return how many of the `most` candidates stored last there are, and their lowest id.

        The id is 0 where there are no more than these.
        """
        found = f"{self._select('k.id AS id')} ORDER BY {self._name}.rowid DESC LIMIT {most + 1}"
        sql = f"SELECT count(*), min(id) FROM ({found})"
        count, lowest = next(self._rows(sql))
        return (count, 0) if count <= most else (most, lowest + 1)

    def best(self, most: int, limit: int) -> Ranking:
        """Rank the `most` candidates stored last: the best of each tier first.

        They are looked up once: ranking them where they were counted before takes twice as long.
        """
        if self._is_whole and self._checker is None:
            return self._best_of_whole(most, limit)
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
        has_more = count == most and next(self._below(lowest), None) is not None
        return Ranking(self._matching(candidates, limit), count, lowest if has_more else 0)

    def _best_of_whole(self, most: int, limit: int) -> Ranking:
        """Rank without message_keys, which takes as long again, but for the best of them.

        The index alone knows no tiers: where those leave too few of the best, all are joined.
        """
        match = (self.part.match,)
        name, count = self._name, self.raw_count()
        floor = 0
        if count > most:
            last = f"SELECT rowid FROM {name} WHERE {name} MATCH ? ORDER BY rowid DESC"
            floor = int(self._db.execute(f"{last} LIMIT 1 OFFSET {most}", match).get) + 1
        enough = 2 * limit
        rows = self._db.execute(
            f"WITH h(id, score) AS MATERIALIZED (SELECT rowid, {self._bm25} FROM {name}"
            f" WHERE {name} MATCH ? AND rowid >= {floor} ORDER BY 2, 1 DESC LIMIT {enough})"
            f" SELECT k.id, {TIER}, h.score, k.at_ms FROM h"
            " CROSS JOIN message_keys AS k ON k.id = h.id ORDER BY 2, 3, 1 DESC",
            match,
        )
        found: list[Candidate] = [Candidate(*row) for row in rows]
        if count > enough and sum(row.tier == 0 for row in found) < limit:
            return Ranking(self.ranked(limit, floor=floor), min(count, most), floor)
        return Ranking(iter(found[:limit]), min(count, most), floor)

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

    def _below(self, lowest: int) -> Iterator[tuple[Any, ...]]:
        bound = f" AND {self._name}.rowid < {lowest} LIMIT 1"
        return self._rows(self._select("k.id") + bound)

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
