"""Working through a plan so that a deadline, whenever it strikes, leaves something.

The order of work is the newest hits, then their ranking, then the exact total.
"""

import heapq
import zlib
from collections.abc import Collection, Generator, Iterator
from itertools import islice

import apsw

from core.search.candidates import RANKED_HITS, Asked
from core.search.check import Candidate
from core.search.found import UNRANKED, Collected, Found, Tally
from core.search.paging import Below, InRanking, Moment, Place, behind, below
from core.search.route import Part
from core.search.scan import count_unread, reads_texts, scan
from core.search.sql import Sql, both
from core.types import SearchPath, Sort

RECENT = 1_000
"""So many of the last messages are read before an index is asked for one character."""


class Collector:
    """Finds the `need` hits of a plan from a place on, then counts the others.

    Without a place it begins with the first hit. `shown` are the ids of ranked hits that stand
    before the place; None when they are not known, and then their number tells.
    `is_unnarrowed` tells that `where` holds for every message that an index holds.
    """

    def __init__(
        self,
        db: apsw.Connection,
        parts: tuple[Part, ...],
        where: Sql,
        need: int,
        sort: Sort,
        *,
        place: Place | None = None,
        shown: Collection[int] | None = None,
        is_unnarrowed: bool = False,
    ) -> None:
        self.result = Collected()
        self.tallies = [Tally(part) for part in parts]
        self._db, self._where = db, where
        self._need = need
        self._sort = sort
        self._place = place
        self._shown = shown
        self._asked: list[Asked] = []
        self._scans: list[Generator[Candidate, None, None]] = []
        within = both(where, behind(place, sort))
        for number, tally in enumerate(self.tallies):
            if tally.part.index is not None:
                is_whole = is_unnarrowed and tally.part.is_whole and place is None
                self._asked.append(Asked(db, tally.part, within, is_whole=is_whole))
                continue
            rows = scan(db, tally.part, both(within, below(place, number)), sort)
            self._scans.append(self._tallied(tally, rows))

    def collect(self, *, by_id: bool) -> None:
        """Find the hits. `by_id` leaves them in the order stored, the newest first.

        Raises:
            apsw.InterruptError: it was interrupted; `result` holds what there is.
        """
        if self._sort != "relevance":
            self._by_time()
        elif self._place is None:
            self._newest(by_id=by_id)
            if by_id:
                for tally in self._asked_tallies:
                    tally.floor = UNRANKED
            else:
                self._rank()
        else:
            self._go_on(self._place)
        self.result.is_ordered = True
        if self._sort == "relevance":
            self._append_scanned()
        self.result.is_done = True

    def count(self) -> None:
        """Count to the end what is not counted yet; may be interrupted as well."""
        for tally, asked in zip(self.tallies, self._asked, strict=False):
            if not tally.is_all:
                tally.count = asked.count()
                tally.is_all = True
        for tally, scanned in zip(self.tallies[len(self._asked) :], self._scans, strict=True):
            if not tally.is_all and not reads_texts(tally.part):
                scanned.close()
                tally.count = count_unread(self._db, tally.part, self._where)
                tally.is_all = True
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
        if self._place is None:
            return sum(tally.count for tally in self.tallies)
        if self.is_exhausted:
            return self._place.shown + len(self.result.found)
        return max(self._place.total, self._place.shown + len(self.result.found))

    @property
    def is_exact(self) -> bool:
        """True when there are no more hits than `total`."""
        if self._place is None:
            return all(tally.is_all for tally in self.tallies)
        return self._place.is_exact or self.is_exhausted

    @property
    def is_exhausted(self) -> bool:
        """True when no hit comes behind those that were found."""
        return self.result.is_done and len(self.result.found) < self._need

    @property
    def is_moved(self) -> bool:
        """True when a ranking goes on whose order may be another one than it was."""
        place = self._place
        if place is None or not isinstance(place.position, InRanking):
            return False
        return self._shown is None and place.weights != self.weights()

    @property
    def floors(self) -> tuple[int, ...]:
        """The floors of the parts that indexes answer."""
        return tuple(tally.floor for tally in self._asked_tallies)

    @property
    def plan(self) -> int:
        """A number that tells one plan from another."""
        parts = [(t.part.path, t.part.index, t.part.match, t.part.rows) for t in self.tallies]
        return zlib.crc32(repr(parts).encode(errors="surrogatepass"))

    def weights(self) -> int:
        """Return a number that changes with what the ranking is weighed with."""
        return sum(asked.weights() for asked in self._asked)

    def at_most(self) -> int | None:
        """Return an upper bound of the hits; None where a scan was not read to its end."""
        if self._place is not None:
            return self.total
        if not all(tally.is_all for tally in self.tallies[len(self._asked) :]):
            return None
        bounds = [
            tally.count if tally.is_all else max(tally.count, asked.raw_count())
            for tally, asked in zip(self.tallies, self._asked, strict=False)
        ]
        return sum(bounds) + sum(tally.count for tally in self.tallies[len(self._asked) :])

    @property
    def _asked_tallies(self) -> list[Tally]:
        return self.tallies[: len(self._asked)]

    def _newest(self, *, by_id: bool) -> None:
        for number, (tally, asked) in enumerate(zip(self.tallies, self._asked, strict=False)):
            rows = self._recent(tally.part) if by_id else []
            if len(rows) < self._need:
                rows = list(asked.newest(self._need))
            tally.count = len(rows)
            tally.is_all = len(rows) < self._need
            self.result.found += (self._unranked(number, row) for row in rows)
        del self.result.found[self._need :]

    def _recent(self, part: Part) -> list[Candidate]:
        """Return the newest matches if they are among the last messages, read one by one.

        An index puts all that begins with a common character together before it gives one of
        them: 90 ms for the commonest in a million messages, which any 200 of them hold.
        """
        last = Sql("k.id > (SELECT max(id) FROM message_keys) - ?", (RECENT,))
        alike = Part("like", part.rows, part.tree)
        rows = scan(self._db, alike, both(self._where, last), "relevance")
        return list(islice(rows, self._need))

    def _rank(self) -> None:
        """Put the hits in the order of tiers, parts and bm25, those not ranked behind them.

        The parts share the hits that may be ranked: the first ones first.
        """
        ranked: list[tuple[int, int, Candidate]] = []
        left = RANKED_HITS
        for order, (tally, asked) in enumerate(zip(self.tallies, self._asked, strict=False)):
            if tally.is_all and not tally.count:
                continue
            if not left:
                tally.floor = UNRANKED
                continue
            if self._fills(ranked):
                count, tally.floor = asked.extent(left)
            else:
                best = asked.best(left, self._need)
                ranked += ((row.tier, order, row) for row in best.rows)
                count, tally.floor = best.count, best.floor
            if not tally.floor and not asked.is_checked:
                tally.count, tally.is_all = count, True
            left -= count
        found = self._in_order(ranked)
        self.result.found = [*found, *self._older(self._need - len(found))]
        if any(tally.floor for tally in self._asked_tallies):
            self.result.ranked_scope = RANKED_HITS - left

    def _fills(self, ranked: list[tuple[int, int, Candidate]], passed: int = 0) -> bool:
        """Tell whether what later parts find comes behind what is looked for, whatever it is."""
        return sum(tier == 0 for tier, _, _ in ranked) >= self._need + passed

    def _go_on(self, place: Place) -> None:
        """Find the hits behind a page: of the ranking as it was cut, then the older ones."""
        self.result.ranked_scope = place.ranked_scope
        for tally, floor in zip(self._asked_tallies, place.floors, strict=True):
            tally.floor = floor
        if isinstance(place.position, Below):
            self.result.found = list(self._older(self._need, place.position))
            return
        passed = place.shown if self._shown is None else len(self._shown)
        ranked: list[tuple[int, int, Candidate]] = []
        for order, (tally, asked) in enumerate(zip(self.tallies, self._asked, strict=False)):
            if tally.floor != UNRANKED and not self._fills(ranked, passed):
                rows = asked.ranked(passed + self._need, floor=tally.floor)
                ranked += ((row.tier, order, row) for row in rows)
        known = self._shown or ()
        rest = [each for each in ranked if each[2].message_id not in known]
        found = self._in_order(rest, passed if self._shown is None else 0)
        self.result.found = [*found, *self._older(self._need - len(found))]

    def _in_order(self, ranked: list[tuple[int, int, Candidate]], start: int = 0) -> list[Found]:
        ranked.sort(key=lambda each: each[:2])  # stable: within a part as they came
        return [
            Found(row.message_id, self._path(order), row.score, InRanking())
            for _, order, row in ranked[start : start + self._need]
        ]

    def _older(self, limit: int, start: Below | None = None) -> Iterator[Found]:
        """Yield hits below the floors, part by part, newest first; from `start` on."""
        left = limit
        for number, (tally, asked) in enumerate(zip(self.tallies, self._asked, strict=False)):
            if not tally.floor or left <= 0 or (start is not None and number < start.part):
                continue
            below = None if tally.floor == UNRANKED else tally.floor
            if start is not None and number == start.part:
                below = start.message_id
            for row in asked.newest(left, below=below):
                left -= 1
                yield self._unranked(number, row)

    def _append_scanned(self) -> None:
        for number, scanned in enumerate(self._scans, start=len(self._asked)):
            for row in islice(scanned, max(0, self._need - len(self.result.found))):
                self.result.found.append(self._unranked(number, row))

    def _by_time(self) -> None:
        """Merge the parts by time; a scan is read as far as the merging takes it."""
        lists: list[list[Candidate]] = []
        for tally, asked in zip(self.tallies, self._asked, strict=False):
            rows = list(asked.by_time(self._sort, self._need))
            tally.count = len(rows)
            tally.is_all = len(rows) < self._need
            lists.append(rows)
        asked_alone = self._merged([iter(rows) for rows in lists])
        self.result.found = list(asked_alone)  # what is left if a scan is interrupted
        self.result.found = list(self._merged([*map(iter, lists), *self._scans]))

    def _merged(self, streams: list[Iterator[Candidate]]) -> Iterator[Found]:
        latest_first = self._sort == "newest"
        ordered = heapq.merge(
            *(_with_order(order, rows) for order, rows in enumerate(streams)),
            key=lambda each: _moment(each[1], latest_first),
        )
        for order, row in islice(ordered, self._need):
            position = Moment(row.at_ms, row.message_id)
            yield Found(row.message_id, self._path(order), row.score, position)

    def _unranked(self, part: int, row: Candidate) -> Found:
        return Found(row.message_id, self._path(part), None, Below(part, row.message_id))

    def _path(self, part: int) -> SearchPath:
        return self.tallies[part].part.path

    @staticmethod
    def _tallied(tally: Tally, rows: Iterator[Candidate]) -> Generator[Candidate, None, None]:
        for row in rows:
            tally.count += 1
            yield row
        tally.is_all = True


def _with_order(order: int, rows: Iterator[Candidate]) -> Iterator[tuple[int, Candidate]]:
    for row in rows:
        yield order, row


def _moment(row: Candidate, latest_first: bool) -> tuple[bool, int, int]:
    at_ms = row.at_ms or 0
    if latest_first:
        return row.at_ms is None, -at_ms, -row.message_id
    return row.at_ms is None, at_ms, row.message_id
