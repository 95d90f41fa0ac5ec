"""One query after the other, until one finds something or the deadline is over."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import apsw

from core.errors import QueryError
from core.search import relax
from core.search.candidates import Asked
from core.search.collect import Collector
from core.search.found import Found
from core.search.in_trash import Counts
from core.search.paging import Page
from core.search.route import (
    Indexes,
    Part,
    Tools,
    further_part,
    plan,
    scan_of_everything,
    substring_part,
    tool_rows,
    with_one_scan,
)
from core.search.scope import Scope
from core.search.sql import Sql
from core.search.term import Term
from core.search.titles import title_matches
from core.search.tree import Node, all_of, any_of, describe, parted, sought_terms, terms
from core.store.deadline import Deadline
from core.types import Role, SearchPath, SearchRequest, SearchStep, Session, Sort

_MOST_BESIDE = 10_000  # hits beside which nobody looks for more of them inside words
EXACT, INSIDE, SOME = range(3)
_NOTES = {EXACT: "", INSIDE: "inside words", SOME: "some of the words"}
_CHANGED = "the indexes have changed since the page before this one: ask anew"
_ORDER: tuple[SearchPath, ...] = ("cjk", "fts5", "trigram", "like")


@dataclass(slots=True)
class Attempt:
    """A query that was tried: what was looked for, how, and what came of it.

    `tree` is the whole of it; `words` what of it was looked for in texts, None for nothing.
    `number` tells it from the others that may be tried.
    """

    tree: Node
    words: Node | None
    collector: Collector
    number: int = EXACT
    note: str = ""
    name: SearchPath | None = None
    elapsed_ms: float = 0.0

    @property
    def sought(self) -> tuple[Term, ...]:
        """The terms that its hits are to show."""
        return sought_terms(self.tree)

    @property
    def is_one_character(self) -> bool:
        """True for a lone ideograph or letter of a run: too common for bm25 to tell apart."""
        words = self.words
        return isinstance(words, Term) and words.has_run and len("".join(words.needles)) == 1

    @property
    def is_by_fields(self) -> bool:
        """True when the messages were picked by their fields, and no text was looked for."""
        return self.words is None

    @property
    def leaves_out_tool_rows(self) -> bool:
        """True when words were looked for inside words, where no tool row is looked at."""
        return self.number == INSIDE and all(t.part.index for t in self.collector.tallies)

    @property
    def path(self) -> SearchPath:
        """The path that answered; where nothing was found, the one that was asked."""
        if self.name is not None:
            return self.name
        tallies = self.collector.tallies
        paths = {t.part.path for t in tallies if t.count} or {t.part.path for t in tallies}
        if {"cjk", "fts5"} <= paths:
            return "fts5+cjk"
        return next((path for path in _ORDER if path in paths), "like")

    def as_step(self) -> SearchStep:
        """Return the attempt as a line of the explanation."""
        total = self.collector.total
        return SearchStep(self.path, describe(self.tree), total, self.elapsed_ms, self.note)


class Attempts:
    """What is tried for one request, the closest meaning first.

    Attributes:
        tried: the attempts so far; the last one that found something answers, else the first.
        titles: sessions whose title or id matches; looked for with the first page alone.
        is_complete: whether the deadline let everything be tried.
        inside: how many more messages hold the words inside words, and what was looked for;
            None where that was not counted.
    """

    def __init__(
        self,
        db: apsw.Connection,
        request: SearchRequest,
        counts: Counts,
        indexes: Indexes,
        scope: Scope,
    ) -> None:
        self.tried: list[Attempt] = []
        self.titles: tuple[Session, ...] = ()
        self.is_complete = True
        self.inside: SearchStep | None = None
        self.counts = counts
        self.indexes = indexes
        self.scope = scope
        self._titles_ms: float | None = None
        self._db = db
        self._request = request

    def run(self, tree: Node, where: Sql, page: Page, limit: Deadline) -> Attempt:
        """Try `tree`, then what is nearest to it, and return the attempt that answers.

        Behind a page there is one to try: the one that answered it.

        Raises:
            QueryError: the indexes stand otherwise than when that page was made.
        """
        for attempt in self._possible(tree, where, page):
            self.tried.append(attempt)
            self._in_time(limit, partial(self._collect, attempt))
            if page.place is not None:
                return attempt
            if len(self.tried) == 1:
                self._in_time(limit, partial(self._find_titles, tree))
            if attempt.collector.total or not self.is_complete:
                return attempt
        if not self.tried:
            raise QueryError(_CHANGED)
        return self.tried[0]

    def count_inside(self, where: Sql) -> None:
        """Count the messages that hold the words of the first attempt inside words alone.

        May be interrupted, and then nothing is known. Does nothing where there are none to
        offer beside the hits of whole words.
        """
        first = self.tried[0]
        is_offered = first.number == EXACT and first.collector.total
        if not is_offered or self._request.everything or first.collector.total > _MOST_BESIDE:
            return
        inside = None if first.words is None else relax.inside_words(first.words)
        if first.words is None or inside is None:
            return
        part = further_part(first.words, inside, self.indexes)
        if part is None:
            return
        began = time.perf_counter()
        count = Asked(self._db, part, where).count()
        elapsed_ms = (time.perf_counter() - began) * 1000
        self.inside = SearchStep(
            "trigram", describe(inside), count, elapsed_ms, "further ones, inside words"
        )

    def narrowed(self, attempt: Attempt, where: Sql, need: int) -> list[Found]:
        """Return the first `need` hits of an attempt within a narrower `where`.

        Raises:
            apsw.InterruptError: it was interrupted.
        """
        collector = Collector(
            self._db,
            tuple(tally.part for tally in attempt.collector.tallies),
            where,
            need,
            self._sort(attempt.words),
            shown=(),
        )
        try:
            collector.collect(by_id=attempt.is_one_character)
        finally:
            collector.close()
        return collector.result.found

    def close(self) -> None:
        """Let go of what was begun and not read to its end; what was found stays."""
        for attempt in self.tried:
            attempt.collector.close()

    def steps(self) -> tuple[SearchStep, ...]:
        """Return what was tried, and what was not."""
        asked = "text in a title, or the beginning of a session's id"
        steps = [attempt.as_step() for attempt in self.tried]
        if self._titles_ms is not None:
            steps.insert(1, SearchStep("title", asked, len(self.titles), self._titles_ms))
        steps += self._beside()
        return tuple(steps)

    def _beside(self) -> Iterator[SearchStep]:
        first = self.tried[0]
        scanned = any(tally.part.index is None for tally in first.collector.tallies)
        if not scanned and len(self.tried) == 1:
            yield SearchStep("like", "", None, None, "not run: the indexes answer for every row")
        if self.inside is not None:
            yield self.inside
            return
        inside = None if first.words is None else relax.inside_words(first.words)
        has_hits = first.collector.total and first.number == EXACT
        if has_hits and inside is not None and not self._request.everything:
            note = "not run: inside words, when asked for"
            yield SearchStep("trigram", describe(inside), None, None, note)

    def _possible(self, tree: Node, where: Sql, page: Page) -> Iterator[Attempt]:
        """Yield the attempts; the fields of `tree` are kept in all of them, as part of `where`."""
        words, fields = parted(tree)

        def attempt(number: int, words: Node | None, parts: Iterable[Part]) -> Attempt:
            collector = self._collector(tuple(parts), words, where, page)
            whole = tree if number == EXACT else all_of([*([words] if words else []), *fields])
            return Attempt(whole, words, collector, number, _NOTES[number])

        tools = self._tools()
        wanted = None if page.place is None else page.place.attempt
        if self._request.everything:
            words = None if words is None else relax.inside_any(words)
            found = attempt(EXACT, words, [scan_of_everything(words)])
            found.tree = all_of([*([words] if words else []), *fields])
            yield found
            return
        inside = None if words is None else relax.inside_words(words)
        part = None if inside is None else substring_part(inside, self.indexes)
        if wanted in (None, EXACT) and (part is None or not self._request.inside_words):
            yield attempt(EXACT, words, plan(words, self.indexes, tools))
        if words is None:
            return
        if wanted in (None, INSIDE) and inside is not None and part is not None:
            read = [tool_rows(inside)] if tools is Tools.WHOLE else []
            yield attempt(INSIDE, inside, [part, *read])
        levels = [] if self.titles else relax.with_words_left_out(words)
        if wanted in (None, SOME) and levels:
            parts = [p for level in levels for p in plan(level, self.indexes, tools)]
            relaxed = attempt(SOME, any_of(list(terms(levels[-1]))), with_one_scan(parts))
            relaxed.name = "fts5_or"
            yield relaxed

    def _collector(
        self, parts: tuple[Part, ...], words: Node | None, where: Sql, page: Page
    ) -> Collector:
        collector = Collector(
            self._db,
            parts,
            where,
            page.need,
            self._sort(words),
            place=page.place,
            shown=page.shown,
            is_unnarrowed=self.scope.holds_for_all(self.counts),
        )
        if page.place is not None and page.place.plan != collector.plan:
            raise QueryError(_CHANGED)
        return collector

    def _sort(self, words: Node | None) -> Sort:
        """Return the order of the hits; those of fields alone have no relevance."""
        is_ranked = words is not None or self._request.sort != "relevance"
        return self._request.sort if is_ranked else "newest"

    def _in_time(self, limit: Deadline, work: Callable[[], None]) -> None:
        """Do the work if there is time, and as far as there is."""
        if limit.remaining_s <= 0:
            self.is_complete = False
            return
        try:
            work()
        except apsw.InterruptError:
            if not limit.expired:
                raise
            self.is_complete = False

    def _collect(self, attempt: Attempt) -> None:
        began = time.perf_counter()
        try:
            attempt.collector.collect(by_id=attempt.is_one_character)
        finally:
            attempt.elapsed_ms = (time.perf_counter() - began) * 1000

    def _find_titles(self, tree: Node) -> None:
        began = time.perf_counter()
        self.titles = title_matches(self._db, tree, self._request, self.scope)
        self._titles_ms = (time.perf_counter() - began) * 1000

    def _tools(self) -> Tools:
        if Role.TOOL not in self.scope.roles:
            return Tools.NONE
        return Tools.WHOLE if self.scope.whole_tool_rows else Tools.CUT
