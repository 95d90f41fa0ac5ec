"""Answering a request: what was found, by which path, over how much, and whether it is all."""

import time
import zlib
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import TypeVar

import apsw

from core.history import legacy_imports
from core.search import coverage
from core.search.attempts import Attempt, Attempts
from core.search.census import counted, left_out, searched, tool_rows
from core.search.hits import read_hits
from core.search.language import Query, parse
from core.search.lineup import Lineup, Walk
from core.search.named import unknown_places
from core.search.paging import InRanking, Page, Place, page_of, shown
from core.search.resolve import resolve
from core.search.route import Indexes
from core.search.scope import scope_of
from core.search.sql import Sql, both
from core.search.tree import parted
from core.search.why import why
from core.store import damage, keys
from core.store.deadline import Deadline, deadline
from core.types import SearchPath, SearchRequest, SearchResult

T = TypeVar("T")

QUERY_TIMEOUT = "query_timeout"
COUNT_S = 0.1
"""What an exact total may cost after the page is found."""

CHARACTER_COUNT_S = 0.15
"""The same for a lone character: everything that begins with it is put together first."""

BOUND_S = 0.05
"""What an upper bound of it may cost after that."""

INSIDE_S = 0.05
"""What counting the messages that hold the words inside words may cost, last of all."""


def search(db: apsw.Connection, request: SearchRequest, walk: Walk | None = None) -> SearchResult:
    """Return the messages that match a request, one page of them.

    They are in the order of their tier (spoken, off the branch, injected, taken back), of the
    index that answered, and of bm25; or in the order of time. No error of SQLite becomes an
    empty answer: what is not the deadline is raised. A page behind another is of the messages
    that there were then; it brings no titles, and the total that was told. An index that turns
    out to be damaged is noted, and other paths answer; with a `walk` that is the caller's part.

    Args:
        db: a connection to a store; inside `connection.snapshot` it sees one state of it.
        request: the question.
        walk: is given the hits before the deadline is over, and then none of them is read, and
            no page is remembered to follow.

    Raises:
        QueryError: there is no such page.
        NotFoundError: a session it names is not in the store.
    """
    if walk is not None:
        found = _search(db, request, walk)
    else:
        found = damage.answered(db, lambda: _search(db, request, None))
    return replace(found, legacy_complete=legacy_imports.is_complete(db))


def _search(db: apsw.Connection, request: SearchRequest, walk: Walk | None) -> SearchResult:
    began = time.perf_counter()
    page = page_of(request, db.filename)
    query = _understood(db, request)
    counts = keys.counts(db)
    indexes = coverage.read(db, counts)
    scope = scope_of(db, request, parted(query.tree)[1] if query.tree else ())
    if query.tree is None:
        return _nothing_asked(query, indexes, began)
    where = scope.where
    if page.place is not None:
        where = both(Sql("k.id <= ?", (page.place.highest,)), where)
    attempts = Attempts(db, request, counts, indexes, scope)
    coverage.declare(db, indexes)
    with closing(attempts):
        with deadline(db, request.deadline_s) as limit:
            attempt = attempts.run(query.tree, where, page, limit)
            if walk is not None:
                walk(Lineup(db, attempts, attempt, where), limit)
        if page.place is None and not attempt.collector.is_exact:
            count_s = CHARACTER_COUNT_S if attempt.is_one_character else COUNT_S
            _within(db, count_s, limit, attempt.collector.count)
    if page.place is None and attempts.is_complete:
        _within(db, INSIDE_S, limit, lambda: attempts.count_inside(where))
    return _answer(db, query, request, page, attempts, attempt, limit, began, reads=walk is None)


def _understood(db: apsw.Connection, request: SearchRequest) -> Query:
    """Return the reading of a query whose fields and places are looked up in the store."""
    query = parse(request.query)
    if query.tree is None:
        return query
    with_trash = request.everything or "trash" in request.include
    tree, repairs = resolve(db, query.tree, with_trash=with_trash)
    unknown = unknown_places(db, request.sources, request.projects)
    return replace(query, tree=tree, repairs=(*query.repairs, *repairs, *unknown))


def _answer(
    db: apsw.Connection,
    query: Query,
    request: SearchRequest,
    page: Page,
    attempts: Attempts,
    attempt: Attempt,
    limit: Deadline,
    began: float,
    *,
    reads: bool,
) -> SearchResult:
    collected, scope, indexes = attempt.collector, attempts.scope, attempts.indexes
    shown_now = collected.result.found[page.offset : page.end] if reads else []
    hits = read_hits(db, shown_now, attempt.sought, scope, with_reasoning=request.everything)
    searched = _searched(db, attempts, limit)
    is_title = not hits and not collected.total and bool(attempts.titles)
    path: SearchPath = "title" if is_title else attempt.path
    total = _total(db, attempts, attempt, limit, searched)
    return SearchResult(
        query=query.text,
        understood=query.understood,
        repairs=query.repairs,
        search_path=path,
        why=why(
            attempt,
            indexes,
            is_title=is_title,
            is_complete=attempts.is_complete,
            is_everything=request.everything,
        ),
        elapsed_ms=(time.perf_counter() - began) * 1000,
        complete=attempts.is_complete,
        reason=None if attempts.is_complete else QUERY_TIMEOUT,
        total_hits=total,
        total_is_exact=collected.is_exact,
        ranked_scope=collected.result.ranked_scope,
        messages_searched=searched,
        not_searched={} if request.everything else _left_out(db, attempts, attempt),
        index_status={name: index.status for name, index in indexes.items()},
        hits=hits,
        title_matches=attempts.titles,
        steps=attempts.steps(),
        next=_following(db, request, page, attempt, total) if reads else None,
        inside_words=None if attempts.inside is None else attempts.inside.hits,
    )


def _searched(db: apsw.Connection, attempts: Attempts, limit: Deadline) -> int:
    """Return how many messages were searched; an upper bound where there is no time to count."""
    scope, found = attempts.scope, None
    if scope.is_narrowed and attempts.is_complete:
        found = _within(db, BOUND_S, limit, lambda: searched(db, attempts.counts, scope))
    return counted(attempts.counts, scope) if found is None else found


def _following(
    db: apsw.Connection, request: SearchRequest, page: Page, attempt: Attempt, total: int
) -> str | None:
    """Return the token of the page that follows, None where none does or none is known."""
    collector, place = attempt.collector, page.place
    found = collector.result.found
    if not collector.result.is_ordered or (not found and not collector.result.is_done):
        return request.after  # what an interruption kept from a page can be asked for again
    if not found or (len(found) <= page.end and collector.result.is_done):
        return None
    shown_now = found[: page.end]
    last, weights = shown_now[-1], 0
    if isinstance(last.position, InRanking):
        weights = collector.weights()
        if place is not None and place.weights != weights:
            weights = zlib.crc32(b"%d %d" % (place.weights, weights))
    highest = db.execute("SELECT coalesce(max(id), 0) FROM message_keys").get
    following = Place(
        highest=int(highest) if place is None else place.highest,
        attempt=attempt.number,
        shown=(0 if place is None else place.shown) + len(shown_now),
        total=total,
        is_exact=collector.is_exact,
        ranked_scope=collector.result.ranked_scope,
        floors=collector.floors,
        weights=weights,
        plan=collector.plan,
        position=last.position,
    )
    token = following.token(request)
    if weights and page.shown is not None:
        shown.note(db.filename, token, page.shown | {each.message_id for each in shown_now})
    return token


def _total(
    db: apsw.Connection, attempts: Attempts, attempt: Attempt, limit: Deadline, searched: int
) -> int:
    """Return the number of hits; where that is not known, an upper bound.

    An answer that is not complete has the hits found so far.
    """
    if attempt.collector.is_exact or not attempts.is_complete:
        return attempt.collector.total
    bound = _within(db, BOUND_S, limit, attempt.collector.at_most)
    return searched if bound is None else bound


def _left_out(db: apsw.Connection, attempts: Attempts, attempt: Attempt) -> dict[str, int]:
    """Return how many messages, by reason, were not searched; fields alone need no text."""
    found = left_out(db, attempts.counts, attempts.scope)
    if attempt.is_by_fields:
        found.pop("cut_tails", None)
    if attempt.leaves_out_tool_rows and (tools := tool_rows(db, attempts.counts, attempts.scope)):
        found["tool_rows_inside_words"] = tools
    if not attempts.is_complete:
        todo = max(index.status.todo for index in attempts.indexes.values())
        found |= {"unindexed": todo} if todo else {}
    return found


def _within(
    db: apsw.Connection, seconds: float, whole: Deadline, work: Callable[[], T]
) -> T | None:
    """Return what `work` returns; None when it is not done in time, or the whole time is over."""
    left = min(seconds, whole.remaining_s)
    if left <= 0:
        return None
    try:
        with deadline(db, left) as limit:
            return work()
    except apsw.InterruptError:
        if not limit.expired:
            raise
        return None


def _nothing_asked(query: Query, indexes: Indexes, began: float) -> SearchResult:
    return SearchResult(
        query=query.text,
        understood="",
        repairs=query.repairs,
        search_path="empty",
        why="Nothing is asked for: browse the sessions, or type a word.",
        elapsed_ms=(time.perf_counter() - began) * 1000,
        complete=True,
        reason=None,
        total_hits=0,
        total_is_exact=True,
        ranked_scope=None,
        messages_searched=0,
        not_searched={},
        index_status={name: index.status for name, index in indexes.items()},
        hits=(),
    )
