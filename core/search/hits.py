"""From found messages to hits one can show: text, session, snippet and marks."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import apsw

from core.history.sessions import sessions_by_id
from core.search.found import Found
from core.search.scope import Scope, session_in
from core.search.snippet import Snippet, make_snippet
from core.search.sql import places
from core.search.term import Term
from core.types import Hit, MessageState, Origin, Role, Session


class _Body(NamedTuple):
    id: int
    uid: str
    session_id: int
    role: str
    origin: str
    state: str
    created_at_ms: int | None
    content: str
    tool_name: str | None
    tool_calls_text: str | None
    reasoning: str | None = None


def read_hits(
    db: apsw.Connection,
    found: Sequence[Found],
    terms: Sequence[Term],
    scope: Scope,
    *,
    with_reasoning: bool = False,
) -> tuple[Hit, ...]:
    """Return the hits of `found`, in its order, with snippets that show `terms`.

    A body shown in several sessions comes with the one that owns it, or with the first one
    in the scope where the owner is not. Costs some 50 µs a hit, more for long texts.
    """
    columns = _Body._fields if with_reasoning else _Body._fields[:-1]
    if not found:
        return ()
    bodies = _bodies(db, [each.message_id for each in found], columns)
    shown_in = {
        body.id: session_in(db, scope, body.id, body.session_id) for body in bodies.values()
    }
    sessions = sessions_by_id(db, set(shown_in.values()))
    return tuple(
        _hit(each, bodies[each.message_id], sessions[shown_in[each.message_id]], terms)
        for each in found
        if each.message_id in bodies
    )


def _bodies(db: apsw.Connection, ids: list[int], columns: tuple[str, ...]) -> dict[int, _Body]:
    among = places(tuple(ids))
    rows: Iterable[tuple[Any, ...]] = db.execute(
        f"SELECT {', '.join(columns)} FROM messages WHERE id IN {among.text}",
        among.bindings,
    )
    return {row[0]: _Body(*row) for row in rows}


def _hit(found: Found, body: _Body, session: Session, terms: Sequence[Term]) -> Hit:
    snippet = _snippet(body, terms)
    return Hit(
        message_id=body.id,
        session_id=session.id,
        message=body.uid,
        session=session.ref,
        source=session.source,
        role=Role(body.role),
        state=MessageState(body.state),
        origin=Origin(body.origin),
        created_at_ms=body.created_at_ms,
        title=session.title,
        snippet=snippet.text,
        marks=snippet.marks,
        score=None if found.score is None else -found.score,
        path=found.path,
    )


def _snippet(body: _Body, terms: Sequence[Term]) -> Snippet:
    name = f"{body.tool_name}: {body.content}" if body.tool_name else ""
    texts = [text for text in (body.content, body.tool_calls_text, name, body.reasoning) if text]
    return make_snippet(terms, texts) if texts else Snippet("", ())
