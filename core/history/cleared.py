"""Emptying a session without throwing the session away.

What only it shows goes to the trash. What another session shows as well stays there: just its
place here goes, is remembered, and no import shows it here again.
"""

import json
from collections.abc import Collection
from typing import Any

import apsw

from core.history import derived_titles
from core.store import turns

_AMONG = "IN (SELECT value FROM json_each(?))"


def clear(db: apsw.Connection, session_id: int, operation_id: int, at_ms: int) -> None:
    """Empty a session, in the caller's transaction; what is in the trash already stays so.

    Nothing of it is reset any more. Its own prompts no longer name it.
    """
    db.execute(
        "INSERT INTO cleared_places(message_id, session_id, seq, cleared_at_ms, cleared_by)"
        " SELECT p.message_id, p.session_id, p.seq, ?, ? FROM message_placements AS p"
        " CROSS JOIN messages AS m ON m.id = p.message_id WHERE p.session_id = ?"
        " AND m.state <> 'trashed' AND EXISTS (SELECT 1 FROM message_placements AS o"
        " WHERE o.message_id = p.message_id AND o.session_id <> p.session_id)",
        (at_ms, operation_id, session_id),
    )
    _leave(db, session_id, operation_id)
    db.execute(
        "INSERT INTO trashed_messages(message_id, session_id, state, trashed_at_ms, trashed_by)"
        " SELECT m.id, p.session_id, m.state, ?, ? FROM message_placements AS p"
        " CROSS JOIN messages AS m ON m.id = p.message_id"
        " WHERE p.session_id = ? AND m.state NOT IN ('trashed', 'superseded')",
        (at_ms, operation_id, session_id),
    )
    db.execute(
        "UPDATE messages SET state = 'trashed' WHERE id IN"
        " (SELECT message_id FROM trashed_messages WHERE trashed_by = ? AND session_id = ?)",
        (operation_id, session_id),
    )
    db.execute(
        "UPDATE sessions SET message_count = 0, user_turn_count = 0, reset_cutoff_seq = 0,"
        " own_cutoff_seq = NULL, told_cutoff_seq = 0, cleared_at_ms = ? WHERE id = ?",
        (at_ms, session_id),
    )
    derived_titles.fill(db, session_id)


def show_again(db: apsw.Connection, operation_id: int) -> int:
    """Give sessions back the places that an operation cleared; return how many."""
    db.execute(
        "INSERT INTO message_placements(session_id, seq, message_id)"
        " SELECT session_id, seq, message_id FROM cleared_places WHERE cleared_by = ?"
        " AND EXISTS (SELECT 1 FROM messages WHERE id = message_id) ON CONFLICT DO NOTHING",
        (operation_id,),
    )
    back = db.changes()
    db.execute("DELETE FROM cleared_places WHERE cleared_by = ?", (operation_id,))
    return back


def restore(
    db: apsw.Connection, session_id: int, own: int | None, told: int, cleared_at_ms: int | None
) -> None:
    """Let a session be as it was before it was cleared, its messages being there again."""
    db.execute(
        "UPDATE sessions SET own_cutoff_seq = coalesce(own_cutoff_seq, ?1),"
        " told_cutoff_seq = max(told_cutoff_seq, ?2), cleared_at_ms = ?3 WHERE id = ?4",
        (own, told, cleared_at_ms, session_id),
    )
    db.execute(
        "UPDATE sessions SET reset_cutoff_seq = max(told_cutoff_seq, coalesce(own_cutoff_seq, 0))"
        " WHERE id = ?",
        (session_id,),
    )
    turns.recount_all(db, [session_id])
    derived_titles.fill(db, session_id)


def keep_for_the_trash(db: apsw.Connection, message_ids: Collection[int]) -> None:
    """Move bodies that nothing shows any more to where they were cleared: into the trash there.

    In the caller's transaction, before those that nothing holds are deleted.
    """
    rows: list[Any] = db.execute(
        "SELECT c.message_id, c.session_id, c.seq, c.cleared_at_ms, c.cleared_by, m.state"
        " FROM cleared_places AS c CROSS JOIN messages AS m ON m.id = c.message_id"
        f" WHERE c.message_id {_AMONG} AND NOT EXISTS"
        " (SELECT 1 FROM message_placements AS p WHERE p.message_id = c.message_id)",
        (json.dumps(list(message_ids)),),
    ).fetchall()
    for message_id, session_id, seq, at_ms, operation_id, state in rows:
        db.execute(
            "INSERT INTO message_placements(session_id, seq, message_id) VALUES (?, ?, ?)",
            (session_id, seq, message_id),
        )
        db.execute(
            "INSERT INTO trashed_messages(message_id, session_id, state, trashed_at_ms, trashed_by)"
            " VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (message_id, session_id, state, at_ms, operation_id),
        )
        db.execute("UPDATE messages SET state = 'trashed' WHERE id = ?", (message_id,))
        db.execute(
            "DELETE FROM cleared_places WHERE message_id = ? AND session_id = ?",
            (message_id, session_id),
        )


def forget(db: apsw.Connection, session_ids: str) -> None:
    """Remember nothing any more of what was cleared in sessions, given as a JSON list."""
    db.execute(f"DELETE FROM cleared_places WHERE session_id {_AMONG}", (session_ids,))


def forget_messages(db: apsw.Connection, message_ids: str) -> None:
    """The same of messages that are deleted wherever they are shown."""
    db.execute(f"DELETE FROM cleared_places WHERE message_id {_AMONG}", (message_ids,))


def _leave(db: apsw.Connection, session_id: int, operation_id: int) -> None:
    """Take away the places just noted, and hand the bodies to a session that shows them."""
    noted = "SELECT message_id FROM cleared_places WHERE cleared_by = ? AND session_id = ?"
    db.execute(
        f"DELETE FROM message_placements WHERE session_id = ? AND message_id IN ({noted})",
        (session_id, operation_id, session_id),
    )
    db.execute(
        "UPDATE messages SET session_id = (SELECT p.session_id FROM message_placements AS p"
        " JOIN sessions AS s ON s.id = p.session_id WHERE p.message_id = messages.id"
        " ORDER BY s.trashed_at_ms IS NOT NULL, p.session_id LIMIT 1)"
        f" WHERE session_id = ? AND id IN ({noted})",
        (session_id, operation_id, session_id),
    )
