"""What the store knows of the messages of a batch."""

from collections.abc import Sequence
from dataclasses import dataclass

import apsw

from core.history.bodies import Incoming
from core.history.rows import value_lists
from core.types import MessageState, Origin, Role


@dataclass(frozen=True, slots=True)
class Existing:
    """A stored body with the uid of an incoming one; `seq` is its place in that session.

    `is_cleared` tells that the user cleared it from there, and that other sessions show it.
    """

    id: int
    content_hash: bytes
    session_id: int
    state: MessageState
    role: str
    origin: str
    tool_status: str | None
    tool_call_id: str | None
    model: str | None
    created_at_ms: int | None
    time_quality: str
    usage: str | None
    tool_calls: str | None
    seq: int | None
    is_cleared: bool = False

    @property
    def is_shown_here(self) -> bool:
        """True for a body that has a place in the session and is not a revision."""
        return self.seq is not None and self.state != MessageState.SUPERSEDED

    @property
    def is_turn(self) -> bool:
        """True for what a person typed."""
        return self.role == Role.USER and self.origin == Origin.HUMAN


_FIND = """
WITH probes(session_id, uid, has_calls) AS (VALUES {probes})
SELECT p.session_id, p.uid, m.state, m.id, m.content_hash, m.session_id, m.role, m.origin,
  m.tool_status, m.tool_call_id, m.model, m.created_at_ms, m.time_quality, m.usage,
  CASE WHEN p.has_calls THEN m.tool_calls END, l.seq, c.message_id IS NOT NULL
FROM probes AS p
CROSS JOIN messages AS m INDEXED BY sqlite_autoindex_messages_1 ON m.source_id = ? AND m.uid = p.uid
LEFT JOIN message_placements AS l ON l.message_id = m.id AND l.session_id = p.session_id
LEFT JOIN cleared_places AS c ON c.message_id = m.id AND c.session_id = p.session_id
ORDER BY m.id
"""


def existing(
    db: apsw.Connection, source_id: int, messages: Sequence[Incoming]
) -> dict[tuple[int, str], list[Existing]]:
    """Return what is stored under the uids of `messages`, by session and uid.

    One statement for the whole batch; a message's own tool calls are read only where the
    incoming one has some, because they lie behind the text.
    """
    probes = [(m.session_id, m.record.uid, bool(m.record.tool_calls)) for m in messages]
    found: dict[tuple[int, str], list[Existing]] = {}
    for values in value_lists(probes):
        for session_id, uid, state, *others in db.execute(
            _FIND.format(probes=values.text), (*values.bindings, source_id)
        ):
            row_id, content_hash, owner, *rest = others
            found.setdefault((session_id, uid), []).append(
                Existing(row_id, content_hash, owner, MessageState(state), *rest)
            )
    return found
