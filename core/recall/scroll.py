"""Reading on around a message."""

from collections.abc import Iterator
from typing import Any

import apsw

from core.errors import NotFoundError, QueryError
from core.history.segments import active_behind
from core.history.sessions import session_by_id, session_by_ref
from core.recall.asked import Asked
from core.recall.caps import capped
from core.recall.link import link
from core.recall.window import window
from core.search.snippet import make_snippet
from core.types import Message, MessageState, RecallMatch, RecallResult, Session

_SHOWN = (MessageState.ACTIVE, MessageState.COMPACTED, MessageState.OFF_BRANCH)

_HOLDERS = (
    "SELECT p.session_id, m.id, m.state FROM messages AS m CROSS JOIN message_placements AS p"
    " ON p.message_id = m.id CROSS JOIN sessions AS s ON s.id = p.session_id"
    " WHERE m.uid = ? AND m.source_id = (SELECT source_id FROM sessions WHERE id = ?)"
    " AND s.trashed_at_ms IS NULL"
    " ORDER BY p.session_id <> ?, m.state = 'superseded', p.session_id"
)


def scroll(
    db: apsw.Connection, asked: Asked, ref: str, uid: str
) -> tuple[RecallResult, tuple[str, ...]]:
    """Return the messages around one of a session, and warnings.

    A message that another session of the lineage holds is shown there, with a warning.

    Raises:
        NotFoundError: neither the session nor its lineage shows such a message.
        AmbiguousError: several sessions have this name.
        QueryError: the one that asks still has the message before it; or the active segment is
            asked for, and the message lies before that.
    """
    named = session_by_ref(db, ref)
    session, message_id, state = _place(db, asked, named, uid)
    if asked.asking.has_before_it(message_id, session.id, state):
        raise QueryError(
            f"the message {uid} is still before you: it belongs to the conversation that asks"
        )
    span = asked.request.window
    behind = active_behind(db, session.id) if asked.request.active else None
    around = window(db, message_id, session_id=session.id, before=span, after=span, behind=behind)
    warnings: tuple[str, ...] = ()
    if session.id != named.id:
        warnings = (
            f"the message {uid} is not in {named.ref} but in {session.ref}, of the same lineage",
        )
    anchor = next(each for each in around.messages if each.id == message_id)
    if behind is not None and anchor.seq <= behind:
        raise QueryError(f"the message {uid} lies before the last reset: ask without active")
    result = RecallResult(
        session=session,
        lineage=asked.root_ref(session),
        link=link(session, uid),
        match=_match(session, anchor),
        messages=tuple(map(capped, around.messages)),
        before=around.before,
        after=around.after,
        is_whole=True,
    )
    return result, warnings


def _match(session: Session, anchor: Message) -> RecallMatch:
    snippet = make_snippet((), [anchor.content])
    model = anchor.model or session.model
    return RecallMatch(
        anchor.uid, anchor.role, snippet.text, snippet.marks, anchor.created_at_ms, model
    )


def _place(
    db: apsw.Connection, asked: Asked, named: Session, uid: str
) -> tuple[Session, int, MessageState]:
    """Return where a message is: in the session named, else nearest to it in its lineage."""
    is_taken_back = False
    for session_id, message_id, state in _holders(db, asked, named, uid):
        if state in _SHOWN:
            return session_by_id(db, session_id), message_id, state
        is_taken_back = True
    if is_taken_back:
        raise NotFoundError(f"the message {uid} was taken back and is not shown any more")
    raise NotFoundError(f"neither {named.ref} nor its lineage has a message named {uid}")


def _holders(
    db: apsw.Connection, asked: Asked, named: Session, uid: str
) -> Iterator[tuple[int, int, MessageState]]:
    rows: Any = db.execute(_HOLDERS, (uid, named.id, named.id)).fetchall()
    root = asked.families.root(named.id)
    for session_id, message_id, state in rows:
        if session_id == named.id or asked.families.root(session_id) == root:
            yield session_id, message_id, MessageState(state)
