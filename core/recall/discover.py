"""Finding the conversations that a query is about, each lineage once."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import apsw

from core.history.messages import IS_VISIBLE
from core.history.sessions import session_by_id
from core.recall.anchored import Anchored, anchor_alone, anchored
from core.recall.asked import SPOKEN, Asked
from core.recall.choice import Choice, Chosen
from core.recall.link import link
from core.recall.titled import titled
from core.search.language import parse
from core.search.lineup import HITS_AT_ONCE, Lineup
from core.search.run import QUERY_TIMEOUT, search
from core.search.snippet import find_marks
from core.search.tree import fields
from core.store.deadline import Deadline, deadline
from core.types import (
    Hit,
    Message,
    RecallAnswer,
    RecallMatch,
    RecallResult,
    SearchRequest,
    Session,
)

GRACE_S = 0.2
"""What showing what was found may take when the time for finding it is over."""

TITLE_SHARE = 0.25
"""How much of the time the look for a title may take: it is quick, and the hits matter more."""

TITLE_CHARS = 300
"""The most characters of a title that a match shows."""

NOTHING_FOUND = (
    "Nothing found here is no proof that it was never said: words must all occur in one message."
    ' Try OR between words, fewer words, a "phrase", a prefix*, wider dates or all sources.'
)
ALL_LEFT_OUT = "What was found is not shown; left_out says why and how much."

_NOTHING = Anchored((), (), (), 0, 0)
_FIRST = (
    "SELECT p.message_id FROM message_placements AS p"
    " CROSS JOIN message_keys AS k ON k.id = p.message_id"
    f" WHERE p.session_id = ? AND {IS_VISIBLE} ORDER BY p.seq, p.message_id LIMIT 1"
)


def discover(db: apsw.Connection, asked: Asked) -> RecallAnswer:
    """Return the conversations that a query is about, the first of them with its surroundings.

    One that the query calls by title comes first, then those with hits in their order, then
    others with the words in their titles; what a clock started comes last. Each stands for its
    lineage. Costs a search and some 0.3 ms for each conversation shown; where few of them hold
    the first hundred hits, finding and ranking again without those.
    """
    finding = _Finding(db, asked)
    finding.find()
    results = finding.shown()
    found = finding.search
    left_out = finding.choice.left_out()
    is_complete = found.complete and finding.is_complete
    hint = ""
    if not results and is_complete:
        hint = ALL_LEFT_OUT if left_out else NOTHING_FOUND
    return RecallAnswer(
        mode="discover",
        results=results,
        complete=is_complete,
        reason=None if is_complete else QUERY_TIMEOUT,
        elapsed_ms=0.0,
        index_status=found.index_status,
        search=replace(found, title_matches=()),
        left_out=left_out,
        hint=hint,
    )


class _Finding:
    """What is found for one request, within its deadline.

    Attributes:
        search: the search behind it; its hits are not read.
        choice: what of it is shown.
        is_complete: whether there was time for all of it.
    """

    def __init__(self, db: apsw.Connection, asked: Asked) -> None:
        request = asked.request
        names_roles = _names_roles(request.query)
        self.choice = Choice(db, asked)
        self.is_complete = True
        self._ends_at = time.monotonic() + request.deadline_s
        self._db = db
        self._asked = asked
        self._lineup: Lineup | None = None
        self._hits: dict[int, Hit] = {}
        self._wanted = SearchRequest(
            request.query,
            limit=HITS_AT_ONCE,
            sort=request.sort,
            roles=() if names_roles and request.roles == SPOKEN else request.roles,
            sources=request.sources,
            projects=request.projects,
            since_ms=request.since_ms,
            until_ms=request.until_ms,
            deadline_s=request.deadline_s,
        )

    def find(self) -> None:
        """Find as many lineages as are looked for, or all there are."""
        request = self._asked.request
        with self._within(request.deadline_s * TITLE_SHARE):
            self.choice.take_titled(titled(self._db, self._asked), most=1)
        remaining_s = self._ends_at - time.monotonic()
        wanted = replace(self._wanted, deadline_s=max(0.0, remaining_s))
        self.search = search(self._db, wanted, self._walk)
        if self._lineup is not None and not self.is_complete:
            self.choice.take(self._lineup.first())  # as far as the walk did not come
        self.choice.take_titled(each.id for each in self.search.title_matches)

    def _walk(self, lineup: Lineup, limit: Deadline) -> None:
        """Take hits until there is enough, or as far as there is time."""
        self._lineup = lineup
        if limit.remaining_s <= 0:
            self.is_complete = False
            return
        try:
            self.choice.take(lineup.first())
            while lineup.goes_on and not self.choice.is_enough:
                self.choice.take(lineup.further(self.choice.known()))
        except apsw.InterruptError:
            if not limit.expired:
                raise
            self.is_complete = False

    def shown(self) -> tuple[RecallResult, ...]:
        """Return what was chosen, with as much of it as its place in the answer allows."""
        results: list[RecallResult] = []
        with self._within(max(GRACE_S, self._ends_at - time.monotonic())):
            self._read_hits()
            for chosen in self.choice.chosen:
                is_whole = not results or self._asked.request.detail == "full"
                results.append(self._result(chosen, is_whole=is_whole))
        return tuple(results)

    def _read_hits(self) -> None:
        ids = [each.message_id for each in self.choice.chosen if each.message_id is not None]
        if self._lineup is not None:
            self._hits = self._lineup.hits(ids)

    @contextmanager
    def _within(self, seconds: float) -> Iterator[Deadline]:
        """Run the block as far as there is time for it."""
        try:
            with deadline(self._db, seconds) as limit:
                yield limit
        except apsw.InterruptError:
            if not limit.expired:
                raise
            self.is_complete = False

    def _result(self, chosen: Chosen, *, is_whole: bool) -> RecallResult:
        session = session_by_id(self._db, chosen.session_id)
        message_id = chosen.message_id
        if message_id is None:
            message_id = self._db.execute(_FIRST, (session.id,)).get
        if message_id is None:
            view = _NOTHING
        elif is_whole:
            view = anchored(self._db, session, message_id, window=self._asked.request.window)
        else:
            view = anchor_alone(self._db, session, message_id)
        anchor = next((each for each in view.messages if each.id == message_id), None)
        hit = None if chosen.message_id is None else self._hits[chosen.message_id]
        return RecallResult(
            session=session,
            lineage=self._asked.root_ref(session),
            link=link(session, anchor.uid if anchor else None),
            match=self._match(session, anchor, hit),
            opening=view.opening,
            messages=view.messages,
            resolution=view.resolution,
            before=view.before,
            after=view.after,
            is_whole=is_whole,
        )

    def _match(self, session: Session, anchor: Message | None, hit: Hit | None) -> RecallMatch:
        model = (anchor.model if anchor else None) or session.model
        if hit is not None:
            return RecallMatch(
                hit.message, hit.role, hit.snippet, hit.marks, hit.created_at_ms, model
            )
        title = session.title[:TITLE_CHARS]
        return RecallMatch(
            message=anchor.uid if anchor else None,
            role=None,
            snippet=title,
            marks=tuple(find_marks(parse(self._asked.request.query), title)),
            created_at_ms=anchor.created_at_ms if anchor else session.started_at_ms,
            model=model,
        )


def _names_roles(query: str) -> bool:
    """Tell whether a query says itself which roles it is about."""
    tree = parse(query).tree
    return tree is not None and any(field.name == "role" for field in fields(tree))
