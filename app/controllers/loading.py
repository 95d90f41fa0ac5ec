"""What a conversation reads from the store, each over one state of it."""

from dataclasses import dataclass, replace

import apsw

from app.models.transcript import STEP, Side
from core.history.lineage import Lineage, lineage
from core.history.sessions import reset_cutoff, session_by_id
from core.recall.window import bookends, more, opening, window
from core.types import Bookends, Message, Session, Window

_NEAR = 8  # how far a call and its result may lie apart to be shown together


@dataclass(frozen=True, slots=True)
class Loaded:
    """What opening a conversation reads, over one state of the store."""

    session: Session
    window: Window | None
    bookends: Bookends
    family: Lineage
    reset_seq: int = 0


def load_hit(db: apsw.Connection, message_id: int, session_id: int) -> Loaded:
    """Return a message with five on each side, the ends of its session and its family.

    Raises:
        NotFoundError: as `window`.
    """
    found = window(db, message_id, session_id=session_id)
    session = found.session
    found = replace(found, messages=_with_their_calls(db, session.id, found.messages))
    ends, family = bookends(db, session.id), lineage(db, session.id)
    return Loaded(session, found, ends, family, reset_cutoff(db, session.id))


def load_more(db: apsw.Connection, session_id: int, side: Side, seq: int) -> tuple[Message, ...]:
    """Return the 20 messages beyond the one at `seq`, and what belongs to their calls."""
    edge = {"before_seq": seq} if side == "before" else {"after_seq": seq}
    return _with_their_calls(db, session_id, more(db, session_id, count=STEP, **edge))


def _with_their_calls(
    db: apsw.Connection, session_id: int, messages: tuple[Message, ...]
) -> tuple[Message, ...]:
    """Add the call of results at the start, the results of calls at the end.

    They are one line on the screen: without its result, a call would seem to have no outcome.
    """
    if not messages:
        return messages
    calls = {call.id for each in messages for call in each.tool_calls if call.id}
    answered = {each.tool_call_id for each in messages}
    if messages[0].tool_call_id and messages[0].tool_call_id not in calls:
        before = more(db, session_id, before_seq=messages[0].seq, count=_NEAR)
        wanted = messages[0].tool_call_id
        asking = [n for n, each in enumerate(before) if wanted in [c.id for c in each.tool_calls]]
        messages = (*before[asking[-1] :], *messages) if asking else messages
    if calls - answered:
        after = more(db, session_id, after_seq=messages[-1].seq, count=_NEAR)
        results = [n for n, each in enumerate(after) if each.tool_call_id in calls - answered]
        messages = (*messages, *after[: results[-1] + 1]) if results else messages
    return messages


def load_session(db: apsw.Connection, session_id: int) -> Loaded:
    """Return the first 20 and the last 10 messages of a session, and its family.

    Raises:
        NotFoundError: there is no such session.
    """
    return load_ends(db, session_id, reading=True)


def load_ends(db: apsw.Connection, session_id: int, *, reading: bool) -> Loaded:
    """Return the ends of a session, at reading length or as around a hit, and its family.

    Raises:
        NotFoundError: there is no such session.
    """
    ends = opening(db, session_id) if reading else bookends(db, session_id)
    session, family = session_by_id(db, session_id), lineage(db, session_id)
    return Loaded(session, None, ends, family, reset_cutoff(db, session_id))
