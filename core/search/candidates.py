"""Asking one index for candidates, in one order or another.

Every statement joins message_keys and never `messages`. The index comes first in the join:
its hits are the fewest rows, and it gives them in the order of their ids.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import apsw

from core.search.check import Candidate, Checker
from core.search.route import Check, Part
from core.search.scope import TIER
from core.search.sql import Sql, both
from core.types import Sort

RANKED_HITS = 20_000
"""So many hits, those stored last, are ranked by bm25; older ones follow newest first."""

ALL = 1 << 62  # as a limit

_TIME = {"newest": "k.at_ms DESC NULLS LAST, k.id DESC", "oldest": "k.at_ms NULLS LAST, k.id"}


class Asked:
    """One part of a plan that an index answers, within a scope.

    Iterators yield at most `limit` matches and are lazy: they cost what is taken of them, but
    for what has to be sorted first.
    """

    def __init__(self, db: apsw.Connection, part: Part, where: Sql) -> None:
        if part.index is None:
            raise ValueError("this part is a scan")
        self.part = part
        self._db = db
        self._name = part.index
        self._where = both(Sql(f"{part.index} MATCH ?", (part.match,)), Sql(part.rows), where)
        self._checker = None
        if part.check is Check.EVERY and part.tree is not None:
            self._checker = Checker(db, part.tree, whole=part.whole)

    @property
    def is_checked(self) -> bool:
        """True when every candidate has to be read."""
        return self._checker is not None

    def newest(self, limit: int = ALL, *, below: int | None = None) -> Iterator[Candidate]:
        """Yield matches, those stored last first; `below` leaves out the ids from there on."""
        bound = "" if below is None else f" AND {self._name}.rowid < {below}"
        return self._matches("NULL", f"{bound} ORDER BY {self._name}.rowid DESC", limit)

    def ranked(self, limit: int, *, floor: int) -> Iterator[Candidate]:
        """Yield matches with ids from `floor` on, the best of each tier first."""
        bound = f" AND {self._name}.rowid >= {floor}" if floor else ""
        order = f"{bound} ORDER BY 2, 3, {self._name}.rowid DESC"
        return self._matches(f"bm25({self._name})", order, limit)

    def by_time(self, sort: Sort, limit: int) -> Iterator[Candidate]:
        """Yield matches by the time of their message, those without one last."""
        return self._matches("NULL", f" ORDER BY {_TIME[sort]}", limit)

    def floor(self, hits: int) -> int:
        """Return the lowest id among the `hits` matches stored last, 0 when there are no more."""
        found = self._db.execute(
            self._select(f"{self._name}.rowid")
            + f" ORDER BY {self._name}.rowid DESC LIMIT 1 OFFSET {hits}",
            self._where.bindings,
        ).get
        return 0 if found is None else int(found) + 1

    def count_up_to(self, most: int) -> int | None:
        """Return the number of candidates within the scope, None if there are more than `most`."""
        found = f"SELECT count(*) FROM ({self._select('1')} LIMIT {most + 1})"
        count = int(self._db.execute(found, self._where.bindings).get)
        return None if count > most else count

    def count(self) -> int:
        """Return the number of matches; reads every candidate where they are checked."""
        if self._checker is not None:
            return sum(1 for _ in self.newest())
        return int(self._db.execute(self._select("count(*)"), self._where.bindings).get)

    def raw_count(self) -> int:
        """Return the number of candidates, whatever their scope: an upper bound, and cheap."""
        sql = f"SELECT count(*) FROM {self._name} WHERE {self._name} MATCH ?"
        return int(self._db.execute(sql, (self.part.match,)).get)

    def _select(self, columns: str) -> str:
        return (
            f"SELECT {columns} FROM {self._name}"
            f" CROSS JOIN message_keys AS k ON k.id = {self._name}.rowid"
            f" WHERE {self._where.text}"
        )

    def _matches(self, score: str, tail: str, limit: int) -> Iterator[Candidate]:
        sql = self._select(f"k.id, {TIER}, {score}, k.at_ms") + tail
        if self._checker is None:
            sql += f" LIMIT {limit}"
        rows: Iterable[tuple[Any, ...]] = self._db.execute(sql, self._where.bindings)
        found = (Candidate(*row) for row in rows)
        return islice(found if self._checker is None else self._checker.matching(found), limit)
