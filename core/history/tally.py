"""The counts and times that a session keeps of its messages."""

from collections.abc import Iterable

import apsw

from core.history.bodies import VISIBLE, Incoming, clean
from core.history.existing import Existing
from core.store import turns
from core.types import MessageState

# Where the session's own time may have stood for that of messages without one.
_LAST = (
    "(SELECT max(k.at_ms) FROM message_placements AS p JOIN message_keys AS k"
    " ON k.id = p.message_id WHERE p.session_id = sessions.id)"
)


def without_messages(db: apsw.Connection, sessions: Iterable[tuple[int, str]]) -> int:
    """Return how many of these sessions, by source and native id, are stored without a message."""
    found = "SELECT message_count = 0 FROM sessions WHERE source_id = ? AND native_id = ?"
    return sum(db.execute(found, (row, clean(name))).get or 0 for row, name in sessions)


class Tally:
    """Changes of sessions' counts and times, gathered over a batch and applied once."""

    def __init__(self) -> None:
        self._messages: dict[int, int] = {}
        self._turns: dict[int, int] = {}
        self._first_ms: dict[int, int] = {}
        self._last_ms: dict[int, int] = {}

    def place(self, message: Incoming) -> None:
        """Note that a body got a place in the message's session."""
        if message.state == MessageState.SUPERSEDED:
            return
        self._note_time(message.session_id, message)
        self._count(message.session_id, message, 1)

    def leave(self, session_id: int, shown: Existing) -> None:
        """Note that a session no longer shows a body."""
        self._count(session_id, shown, -1)

    def change(self, session_ids: Iterable[int], was: Existing, becomes: Incoming) -> None:
        """Note that a body placed in these sessions changed its state, role, origin or time."""
        for session in session_ids:
            self._count(session, was, -1)
            self._count(session, becomes, 1)
            if becomes.record.created_at_ms != was.created_at_ms:
                self._note_time(session, becomes)

    def _note_time(self, session_id: int, message: Incoming) -> None:
        at_ms = message.record.created_at_ms
        if at_ms is not None:
            self._first_ms[session_id] = min(at_ms, self._first_ms.get(session_id, at_ms))
            self._last_ms[session_id] = max(at_ms, self._last_ms.get(session_id, at_ms))

    def _count(self, session_id: int, body: Existing | Incoming, sign: int) -> None:
        visible = sign if body.state in VISIBLE else 0
        turns = visible if body.is_turn else 0
        self._messages[session_id] = self._messages.get(session_id, 0) + visible
        self._turns[session_id] = self._turns.get(session_id, 0) + turns

    def apply(self, db: apsw.Connection, session_ids: Iterable[int]) -> None:
        """Bring the sessions up to date.

        Times are the messages'; a session's own stand where they have none, and where its
        source tells when it started. An archived session is live again when a message joins
        it that is younger than the archiving. Of a session that was reset, the prompts behind
        that are counted anew.
        """
        every = list(dict.fromkeys((*session_ids, *self._messages)))
        db.executemany(
            "UPDATE sessions SET message_count = message_count + :messages,"
            " user_turn_count = user_turn_count + :turns,"
            " started_at_ms = coalesce(started_at_ms, :first),"
            f" last_active_at_ms = CASE WHEN :last < last_active_at_ms"
            f" AND last_active_at_ms = updated_at_ms THEN {_LAST} ELSE"
            " coalesce(max(last_active_at_ms, :last),"
            " :last, last_active_at_ms, updated_at_ms, started_at_ms) END,"
            " archived_at_ms = CASE WHEN archived_at_ms < :last THEN NULL ELSE archived_at_ms END"
            " WHERE id = :id",
            [
                {
                    "id": session,
                    "messages": self._messages.get(session, 0),
                    "turns": self._turns.get(session, 0),
                    "first": self._first_ms.get(session),
                    "last": self._last_ms.get(session),
                }
                for session in every
            ],
        )
        turns.recount_reset(db, every)
