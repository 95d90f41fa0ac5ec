"""A request as recall takes it: within its bounds, with the sessions it names looked up."""

from dataclasses import dataclass, replace

import apsw

from core.errors import AmbiguousError, NotFoundError, QueryError
from core.history.bodies import clean
from core.history.sessions import session_by_id, session_by_ref
from core.recall.families import Asking, Families
from core.recall.link import place_of
from core.types import RecallRequest, Role, Session

SPOKEN = (Role.USER, Role.ASSISTANT)
"""Whose words are looked at unless a request says otherwise."""

MOST_RESULTS = 10
MOST_AROUND = 20
"""The most messages on each side of an anchor."""

MOST_EXCLUDED = 20
MOST_SECONDS = 60.0
_FAR = 1 << 62  # a time that lies beyond all others
_SORTS = ("relevance", "newest", "oldest")


@dataclass(frozen=True, slots=True)
class Asked:
    """A request within its bounds, and who asks.

    `excluded` are the lineages, by their root, that it leaves out. `warnings` say in words
    what of the request could not be taken as it was.
    """

    request: RecallRequest
    families: Families
    asking: Asking
    excluded: frozenset[int]
    warnings: tuple[str, ...]

    def root_ref(self, session: Session) -> str:
        """Return the ref of the oldest session of a session's lineage."""
        root = self.families.root(session.id)
        return session.ref if root == session.id else session_by_id(self.families.db, root).ref


def asked(db: apsw.Connection, request: RecallRequest) -> Asked:
    """Return the request as recall takes it.

    Numbers are brought within their bounds, an unknown order is relevance, a link stands for
    what it names. A session that asks or is excluded but is not in the store has nothing that
    could be told, so it is passed over.
    """
    warnings: list[str] = []
    families = Families(db)
    request = _storable(request)
    session, around = request.session, request.around
    if session is not None:
        place = place_of(session)
        session, around = place.session, around or place.message
    elif around is not None:
        raise QueryError("a message is named without its session: give both")
    if request.active and session is None:
        raise QueryError("the active segment is of one session: name that")
    current = _known(db, request.current_session, [])
    excluded = frozenset(
        families.root(each.id)
        for ref in _at_most(request.exclude_sessions, warnings)
        if (each := _known(db, ref, warnings)) is not None
    )
    bounded = replace(
        request,
        session=session,
        around=around,
        window=_between(1, request.window, MOST_AROUND),
        limit=_between(1, request.limit, MOST_RESULTS),
        sort=request.sort if request.sort in _SORTS else "relevance",
        detail="full" if request.detail == "full" else "adaptive",
        roles=request.roles or SPOKEN,
        deadline_s=min(max(0.0, request.deadline_s), MOST_SECONDS),
    )
    asking = Asking(db, families, current.id if current else None)
    return Asked(bounded, families, asking, excluded, tuple(warnings))


def _storable(request: RecallRequest) -> RecallRequest:
    """Return the request with texts and times that SQLite can hold."""
    return replace(
        request,
        query=clean(request.query),
        session=None if request.session is None else clean(request.session),
        around=None if request.around is None else clean(request.around),
        sources=tuple(map(clean, request.sources)),
        projects=tuple(map(clean, request.projects)),
        exclude_sessions=tuple(map(clean, request.exclude_sessions)),
        current_session=None if request.current_session is None else clean(request.current_session),
        since_ms=None if request.since_ms is None else _between(-_FAR, request.since_ms, _FAR),
        until_ms=None if request.until_ms is None else _between(-_FAR, request.until_ms, _FAR),
    )


def _between(least: int, value: int, most: int) -> int:
    return max(least, min(value, most))


def _at_most(refs: tuple[str, ...], warnings: list[str]) -> tuple[str, ...]:
    if len(refs) > MOST_EXCLUDED:
        warnings.append(
            f"{len(refs)} sessions were to be left out; only the first {MOST_EXCLUDED} are"
        )
    return refs[:MOST_EXCLUDED]


def _known(db: apsw.Connection, ref: str | None, warnings: list[str]) -> Session | None:
    """Return a session by its name or a link, or None where no single one has it."""
    if ref is None or not ref.strip():
        return None
    try:
        return session_by_ref(db, place_of(ref).session)
    except (NotFoundError, AmbiguousError) as error:
        warnings.append(str(error))
        return None
