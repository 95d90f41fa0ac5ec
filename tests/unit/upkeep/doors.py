"""Every way to a word of the store that somebody who reads it has."""

from datetime import UTC, datetime

from app.controllers.loading import load_session
from core.errors import NotFoundError
from core.history import facets
from core.history.lineage import lineage
from core.history.messages import message_by_ref, messages_page
from core.history.outline import prompts
from core.history.sessions import list_sessions, session_by_ref, sessions_by_id
from core.index.health import status
from core.recall.recall import recall
from core.search.choices import choices
from core.search.run import search
from core.types import RecallRequest, SearchRequest, SessionFilter
from tests.unit.store.making import path_at

NOW = datetime(2026, 11, 30, tzinfo=UTC)
KINDS = {"include_archived": True, "include_hidden_kinds": True}


def searches(word):
    """The word by every route: whole, as a beginning, inside, quoted, short, in fields."""
    inside = word[1:-1]
    yield SearchRequest(word)
    yield SearchRequest(f"{word[:5]}*")
    yield SearchRequest(inside, inside_words=True)
    yield SearchRequest(f'"{word}"')
    yield SearchRequest(f"{word} absent_word")
    yield SearchRequest(f"title:{word}")
    yield SearchRequest(f"{word} role:user", sort="newest")
    yield SearchRequest(word, sort="oldest", include=frozenset({"rewound", "hidden", "tool"}))
    yield SearchRequest("role:user")
    yield SearchRequest(f"project:{word}")
    yield SearchRequest(f"model:{word}")
    yield SearchRequest(f"tool:{word}")


def told(db, word, refs, uids, folder):
    """Everything that is told of a store, as one text, by all doors but the trash's own."""
    answers = [search(db, asked) for asked in searches(word)]
    yield from ((hit.snippet, hit.title) for found in answers for hit in found.hits)
    yield from (found.title_matches for found in answers)
    for request in (
        RecallRequest(word, limit=10), RecallRequest(limit=10), RecallRequest("role:user", limit=10)
    ):  # fmt: skip
        yield recall(db, request).results
    for ref in refs:
        yield from _of_session(db, ref, uids)
    for wanted in (SessionFilter(**KINDS), SessionFilter(text=word, **KINDS)):
        page = list_sessions(db, wanted)
        yield page.sessions
        yield from (messages_page(db, each.id, first=1, count=99) for each in page.sessions)
        yield from (prompts(db, each.id) for each in page.sessions)
        yield from (lineage(db, each.id) for each in page.sessions)
    fields = ("role", "source", "project", "model", "tool", "session", "title")
    yield from (choices(db, field, typed, NOW) for field in fields for typed in ("", word[:4]))
    yield facets.projects(db), facets.sources(db)
    yield status(db, path_at(folder)).sessions


def _of_session(db, ref, uids):
    for form in (RecallRequest(session=ref), *(RecallRequest(session=ref, around=u) for u in uids)):
        try:
            yield recall(db, form).results
        except NotFoundError:
            continue
    try:
        session = session_by_ref(db, ref)
    except NotFoundError:
        return
    yield load_session(db, session.id)
    yield sessions_by_id(db, [session.id])
    for uid in uids:
        try:
            yield message_by_ref(db, session.id, uid)
        except NotFoundError:
            continue
