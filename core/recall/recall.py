"""The one door to what was said before, for the window, the command line and agents alike.

It never calls a model: the same store gives the same answer.
"""

import time
from collections.abc import Mapping
from dataclasses import replace

import apsw

from core.history import legacy_imports
from core.recall.asked import Asked, asked
from core.recall.browse import Browsing
from core.recall.discover import discover
from core.recall.read import read
from core.recall.scroll import scroll
from core.search import coverage
from core.search.language import parse
from core.search.named import unknown_places
from core.search.run import QUERY_TIMEOUT
from core.store import damage, keys
from core.store.deadline import deadline
from core.types import IndexStatus, RecallAnswer, RecallMode, RecallRequest

NOTHING_STORED = "no session fits; what was never imported cannot be found here"


def recall(db: apsw.Connection, request: RecallRequest) -> RecallAnswer:
    """Return what a request asks for, by the first mode that fits it (see `RecallRequest`).

    An answer that the deadline cut short holds what was found and says so. What was taken
    back or hidden is in no answer; what was compacted is.

    Args:
        db: a connection to a store; inside `connection.snapshot` it sees one state of it.
        request: the question; numbers out of their bounds are brought within them.

    Raises:
        NotFoundError: there is no such session, or no such message in its lineage.
        AmbiguousError: several sessions have this name.
        QueryError: a message is named without a session, or is still before who asks.
    """
    return damage.answered(db, lambda: _recall(db, request))


def _recall(db: apsw.Connection, request: RecallRequest) -> RecallAnswer:
    began = time.perf_counter()
    wanted = asked(db, request)
    if wanted.request.session is not None:
        answer = _place(db, wanted, wanted.request.session)
    elif parse(wanted.request.query).tree is not None:
        answer = discover(db, wanted)
    else:
        answer = _browse(db, wanted)
    return replace(
        answer,
        elapsed_ms=(time.perf_counter() - began) * 1000,
        warnings=(*wanted.warnings, *answer.warnings),
        legacy_complete=legacy_imports.is_complete(db),
    )


def _place(db: apsw.Connection, asked: Asked, session: str) -> RecallAnswer:
    around = asked.request.around
    answer = _empty(db, "read" if around is None else "scroll")
    try:
        with deadline(db, asked.request.deadline_s) as limit:
            if around is None:
                return replace(answer, results=(read(db, asked, session),))
            result, warnings = scroll(db, asked, session, around)
            return replace(answer, results=(result,), warnings=warnings)
    except apsw.InterruptError:
        if not limit.expired:
            raise
        return _cut_short(answer)


def _browse(db: apsw.Connection, asked: Asked) -> RecallAnswer:
    answer = _empty(db, "browse")
    browsing = Browsing(db, asked)
    is_complete = False
    try:
        with deadline(db, asked.request.deadline_s) as limit:
            is_complete = browsing.run(limit)
    except apsw.InterruptError:
        if not limit.expired:
            raise
    results = tuple(browsing.results)
    hint = "" if results or not is_complete else NOTHING_STORED
    unknown = unknown_places(db, asked.request.sources, asked.request.projects)
    answer = replace(
        answer, results=results, left_out=browsing.left_out, warnings=unknown, hint=hint
    )
    return answer if is_complete else _cut_short(answer)


def _cut_short(answer: RecallAnswer) -> RecallAnswer:
    return replace(answer, complete=False, reason=QUERY_TIMEOUT)


def _empty(db: apsw.Connection, mode: RecallMode) -> RecallAnswer:
    return RecallAnswer(
        mode, (), complete=True, reason=None, elapsed_ms=0.0, index_status=_status(db)
    )


def _status(db: apsw.Connection) -> Mapping[str, IndexStatus]:
    indexes = coverage.read(db, keys.counts(db))
    return {name: each.status for name, each in indexes.items()}
