"""An answer as the list of hits shows it: by session, titles with their matches marked."""

from typing import NamedTuple

import apsw

from app.models.hits import HitGroup
from app.models.sessions import program_name
from app.text_ranges import visible
from core.history.messages import newest_message
from core.history.sessions import sessions_by_id
from core.search.language import Query, parse
from core.search.run import search
from core.search.snippet import find_marks
from core.types import Hit, SearchRequest, SearchResult, Session, Sort


class Answer(NamedTuple):
    """An answer, its hits by session, and the newest message of the store it was found in."""

    result: SearchResult
    groups: list[HitGroup]
    newest: int


def answer(db: apsw.Connection, request: SearchRequest) -> Answer:
    """Answer a request; returns with the result its hits by session.

    Sessions come in the order of their first hit. On the first page those whose titles match
    and that have no hit on it come before them.
    """
    result = search(db, request)
    by_session: dict[int, list[Hit]] = {}
    for hit in result.hits:
        by_session.setdefault(hit.session_id, []).append(hit)
    query = parse(request.query)
    is_open_ended = result.next is not None
    groups = []
    if request.after is None and not request.offset:
        titles = [each for each in result.title_matches if each.id not in by_session]
        groups = [_group(query, each, (), is_open_ended=False) for each in titles]
    sessions = sessions_by_id(db, list(by_session))
    for session_id, hits in by_session.items():
        ordered = _as_told(hits, request.sort)
        groups.append(_group(query, sessions[session_id], ordered, is_open_ended=is_open_ended))
    return Answer(result, groups, newest_message(db))


def _as_told(hits: list[Hit], sort: Sort) -> tuple[Hit, ...]:
    """Return a session's hits in the order asked for; by relevance, as they were said.

    Relevance orders the sessions, by the best hit of each; inside one, time is easier to read.
    """
    if sort != "relevance":
        return tuple(hits)
    return tuple(sorted(hits, key=lambda hit: (hit.created_at_ms or 0, hit.message_id)))


def _group(
    query: Query, session: Session, hits: tuple[Hit, ...], *, is_open_ended: bool
) -> HitGroup:
    title = visible(session.title)
    return HitGroup(
        session.id,
        title,
        tuple(find_marks(query, title)),
        session.source,
        visible(session.project),
        session.last_active_at_ms,
        hits,
        is_open_ended,
        program_name(session),
    )
