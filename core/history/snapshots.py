"""Exports are read in any order: one that is older than what is stored changes nothing of it.

A session that is a snapshot says when it was last changed, its messages as of when they are
told. What an older state alone has is stored; what is known stays as the younger one told it.
"""

from collections.abc import Iterable, Mapping

import apsw

from core.history.bodies import Incoming
from core.history.existing import Existing


def changed_at(db: apsw.Connection, messages: Iterable[Incoming]) -> dict[int, int]:
    """Return when the sessions of which messages are snapshots were last changed, by row.

    One statement for each such session; none for sources that are no exports.
    """
    rows = dict.fromkeys(m.session_id for m in messages if m.record.as_of_ms is not None)
    found = "SELECT updated_at_ms FROM sessions WHERE id = ?"
    times = {row: db.execute(found, (row,)).get for row in rows}
    return {row: int(at_ms) for row, at_ms in times.items() if at_ms is not None}


def is_outdated(message: Incoming, changed_at_ms: Mapping[int, int]) -> bool:
    """Whether the message is told as of before its session was last changed."""
    as_of_ms = message.record.as_of_ms
    return as_of_ms is not None and as_of_ms < changed_at_ms.get(message.session_id, as_of_ms)


def is_beginning(db: apsw.Connection, message: Incoming, shown: Existing) -> bool:
    """Whether the stored text merely goes on from the message's: nothing of it is lost."""
    stored = db.execute("SELECT content FROM messages WHERE id = ?", (shown.id,)).get
    return str(stored).startswith(message.record.content)
