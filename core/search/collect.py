"""Working through a plan so that a deadline, whenever it strikes, leaves something.

The order of work is the newest hits, then their ranking, then the exact total.
"""

import heapq
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from itertools import islice

import apsw

from core.search.candidates import RANKED_HITS, Asked
from core.search.check import Candidate
from core.search.route import Part
from core.search.scan import scan
from core.search.sql import Sql
from core.types import SearchPath, Sort

UNRANKED = 1 << 62


@dataclass(frozen=True, slots=True)
class Found:
    """A hit before it is read: which message, found how."""

    message_id: int
    path: SearchPath
    score: float | None


@dataclass(slots=True)
class Tally:
    """What is known of one part: `count` hits for sure, and all of them if `is_all`.

    `floor` is the lowest id that was ranked, 0 when nothing was left out of the ranking, and
    UNRANKED when everything was.
    """

    part: Part
    count: int = 0
    is_all: bool = False
    floor: int = 0


@dataclass(slots=True)
class Collected:
    """What was found so far; it is meant to be looked at after an interruption too.

    `found` are the first hits in the order asked for, if `is_ordered`; before that they are
    the newest ones.
    """

    found: list[Found] = field(default_factory=list)
    is_ordered: bool = False
    ranked_scope: int | None = None


class Collector:
    """Finds the first `need` hits of a plan, then counts the others."""

    def __init__(
        self, db: apsw.Connection, parts: tuple[Part, ...], where: Sql, need: int, sort: Sort
    ) -> None:
        self.result = Collected()
        self.tallies = [Tally(part) for part in parts]
        self._need = need
        self._sort = sort
        self._asked = [Asked(db, t.part, where) for t in self.tallies if t.part.index is not None]
        self._scans = [
            self._tallied(t, scan(db, t.part, where, sort))
            for t in self.tallies
            if t.part.index is None
        ]

    def collect(self, *, by_id: bool) -> None:
        """Find the hits. `by_id` leaves them in the order stored, the newest first.

        Raises:
            apsw.InterruptError: it was interrupted; `result` holds what there is.
        """
        if self._sort == "relevance":
            self._newest()
            if not by_id:
                self._rank()
            self._append_scanned()
        else:
            self._by_time()
        self.result.is_ordered = True

    def count(self) -> None:
        """Count to the end what is not counted yet; may be interrupted as well."""
        for tally, asked in zip(self.tallies, self._asked, strict=False):
            if not tally.is_all:
                tally.count = asked.count()
                tally.is_all = True
        for scanned in self._scans:
            for _ in scanned:
                pass

    def close(self) -> None:
        """Let go of scans that were read in part.

        An interruption lasts for as long as any statement of the connection is under way, and
        ends every other that is begun meanwhile (https://www.sqlite.org/c3ref/interrupt.html).
        """
        for scanned in self._scans:
            scanned.close()

    @property
    def total(self) -> int:
        """How many hits are known for sure."""
        return sum(tally.count for tally in self.tallies)

    @property
    def is_exact(self) -> bool:
        """True when there are no more hits than `total`."""
        return all(tally.is_all for tally in self.tallies)

    def at_most(self) -> int:
        """Return an upper bound of the hits, as far as indexes know one."""
        bounds = [
            tally.count if tally.is_all else max(tally.count, asked.raw_count())
            for tally, asked in zip(self.tallies, self._asked, strict=False)
        ]
        return sum(bounds) + sum(tally.count for tally in self.tallies[len(self._asked) :])

    def _newest(self) -> None:
        for tally, asked in zip(self.tallies, self._asked, strict=False):
            rows = list(asked.newest(self._need))
            tally.count = len(rows)
            tally.is_all = len(rows) < self._need
            self.result.found += _found(tally.part, rows)
        del self.result.found[self._need :]

    def _rank(self) -> None:
        """Put the hits in the order of tiers, parts and bm25, those not ranked behind them.

        The parts share the hits that may be ranked: the first ones first.
        """
        ranked: list[tuple[int, int, Candidate]] = []
        left = RANKED_HITS
        for order, (tally, asked) in enumerate(zip(self.tallies, self._asked, strict=False)):
            left -= self._set_floor(tally, asked, left)
            if tally.floor != UNRANKED:
                rows = asked.ranked(self._need, floor=tally.floor)
                ranked += ((row.tier, order, row) for row in rows)
        ranked.sort(key=lambda each: each[:2])  # stable: within a part as they came
        found = [self._as_found(order, row) for _, order, row in ranked[: self._need]]
        for tally, asked in zip(self.tallies, self._asked, strict=False):
            if tally.floor and len(found) < self._need:
                older = asked.newest(self._need - len(found), below=tally.floor)
                found += _found(tally.part, older)
        self.result.found = found
        if any(tally.floor for tally in self.tallies):
            self.result.ranked_scope = RANKED_HITS - left

    def _set_floor(self, tally: Tally, asked: Asked, most: int) -> int:
        """Decide which of a part's hits are ranked, and return how many."""
        if tally.is_all and tally.count <= most:
            return tally.count
        if asked.is_checked:
            tally.floor = asked.floor(most) if most else UNRANKED
            return most if tally.floor else min(most, asked.raw_count())
        count = asked.count_up_to(most) if most else None
        if count is None:
            tally.floor = asked.floor(most) if most else UNRANKED
            return most
        tally.count, tally.is_all = count, True
        return count

    def _append_scanned(self) -> None:
        for tally, scanned in zip(self.tallies[len(self._asked) :], self._scans, strict=True):
            for row in islice(scanned, max(0, self._need - len(self.result.found))):
                self.result.found += _found(tally.part, [row])

    def _by_time(self) -> None:
        """Merge the parts by time; a scan is read as far as the merging takes it."""
        lists: list[list[Candidate]] = []
        for tally, asked in zip(self.tallies, self._asked, strict=False):
            rows = list(asked.by_time(self._sort, self._need))
            tally.count = len(rows)
            tally.is_all = len(rows) < self._need
            lists.append(rows)
        asked_alone = self._merged([iter(rows) for rows in lists])
        self.result.found = asked_alone  # what is left if a scan is interrupted
        self.result.found = self._merged([*map(iter, lists), *self._scans])

    def _merged(self, streams: list[Iterator[Candidate]]) -> list[Found]:
        latest_first = self._sort == "newest"
        ordered = heapq.merge(
            *(_with_order(order, rows) for order, rows in enumerate(streams)),
            key=lambda each: _moment(each[1], latest_first),
        )
        return [self._as_found(order, row) for order, row in islice(ordered, self._need)]

    def _as_found(self, order: int, row: Candidate) -> Found:
        return Found(row.message_id, self.tallies[order].part.path, row.score)

    @staticmethod
    def _tallied(tally: Tally, rows: Iterator[Candidate]) -> Generator[Candidate, None, None]:
        for row in rows:
            tally.count += 1
            yield row
        tally.is_all = True


def _found(part: Part, rows: Iterator[Candidate] | list[Candidate]) -> list[Found]:
    return [Found(row.message_id, part.path, row.score) for row in rows]


def _with_order(order: int, rows: Iterator[Candidate]) -> Iterator[tuple[int, Candidate]]:
    for row in rows:
        yield order, row


def _moment(row: Candidate, latest_first: bool) -> tuple[bool, int, int]:
    at_ms = row.at_ms or 0
    if latest_first:
        return row.at_ms is None, -at_ms, -row.message_id
    return row.at_ms is None, at_ms, row.message_id
