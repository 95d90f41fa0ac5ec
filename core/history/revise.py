"""Changing messages that are stored already: their state, their text, their place."""

from typing import Any

import apsw

from core.history.bodies import Body, Incoming, body, stored_calls
from core.history.existing import Existing
from core.history.tally import Tally
from core.types import MessageState

_COLUMNS = ", ".join(("session_id", *Body._fields))
_CONTENT = Body._fields.index("content") + 1  # in a row of _COLUMNS
_STATE = Body._fields.index("state") + 1
_MOST_VISIBLE_FIRST = (
    MessageState.ACTIVE,
    MessageState.COMPACTED,
    MessageState.OFF_BRANCH,
    MessageState.HIDDEN,
    MessageState.REWOUND,
    MessageState.TRASHED,
    MessageState.SUPERSEDED,
)
_SETTLED = frozenset({MessageState.SUPERSEDED, MessageState.TRASHED})
"""What an import does not bring back: an earlier text, and what the user threw away."""


def place(db: apsw.Connection, message: Incoming, message_id: int) -> None:
    """Show a stored body in the incoming message's session as well."""
    db.execute(
        "INSERT INTO message_placements(session_id, seq, message_id) VALUES (?, ?, ?)",
        (message.session_id, message.seq, message_id),
    )


def join(db: apsw.Connection, message: Incoming, same: Existing, tally: Tally) -> None:
    """Show a stored body in the incoming message's session as well, and count it there."""
    place(db, message, same.id)
    message.state = same.state
    tally.place(message)
    message.state = message.record.state
    follow(db, message, same, tally, moves=False)


def adopt(db: apsw.Connection, message: Incoming, message_id: int) -> None:
    """Make what is a mere revision elsewhere a message of the incoming one's session."""
    db.execute("DELETE FROM message_placements WHERE message_id = ?", (message_id,))
    db.execute(
        "UPDATE messages SET session_id = ?, state = ? WHERE id = ?",
        (message.session_id, message.record.state, message_id),
    )
    place(db, message, message_id)


def follow(
    db: apsw.Connection, message: Incoming, same: Existing, tally: Tally, *, moves: bool
) -> bool:
    """Take over what changed around an equal text; return whether anything did.

    Only the session that owns a body speaks for it: a copy in a fork has its own idea of
    states and times. One in which it is more visible becomes its owner, so that what is taken
    back in a parent is not lost to the fork. A field the record does not know stays. `moves`
    tells that the source's positions may change, so the place follows too.
    """
    record = message.record
    if same.state == MessageState.TRASHED and same.session_id == message.session_id:
        _note_state(db, same.id, record.state)
    if same.state in _SETTLED or not (
        same.session_id == message.session_id or _is_more_visible(record.state, same.state)
    ):
        return False
    has_moved = moves and record.position is not None and record.position != same.seq
    if has_moved:
        _move(db, message, same.id)
    knows_time = record.created_at_ms is not None
    wanted = {
        "session_id": message.session_id,
        "state": record.state,
        "origin": record.origin,
        "tool_status": record.tool_status or same.tool_status,
        "tool_call_id": record.tool_call_id or same.tool_call_id,
        "model": record.model or same.model,
        "created_at_ms": record.created_at_ms if knows_time else same.created_at_ms,
        "time_quality": record.time_quality if knows_time else same.time_quality,
        "usage": record.usage or same.usage,
        "tool_calls": stored_calls(record.tool_calls),
    }
    changes = {name: value for name, value in wanted.items() if value != getattr(same, name)}
    if not changes:
        return has_moved
    if "tool_calls" in changes:  # a result came in, or another outcome
        new = body(message)
        changes |= {"tool_calls_text": new.tool_calls_text, "text_flags": new.text_flags}
    tally.change(_sessions(db, same.id), same, message)
    db.execute(
        f"UPDATE messages SET {', '.join(f'{name} = :{name}' for name in changes)} WHERE id = :id",
        {**changes, "id": same.id},
    )
    return True


def rewrite(
    db: apsw.Connection, message: Incoming, shown: Existing, same: Existing | None, tally: Tally
) -> bool:
    """Make the incoming text the one its session shows instead of `shown`.

    The row keeps its id, and the earlier text becomes an unindexed revision at the same place
    unless the new one merely continues it. `same` is a stored body equal to the incoming one.

    Returns:
        False when the caller has yet to insert the message as a new body: the earlier one
        stays for the other sessions that show it.
    """
    if message.record.position is None:
        message.seq = shown.seq
    if shown.state == MessageState.TRASHED:
        _rewrite_trashed(db, message, shown, same, tally)
        return True
    if same is not None and same.state != MessageState.SUPERSEDED:
        _retire(db, message, shown, tally)
        if same.seq is None:
            join(db, message, same, tally)
        return True
    if same is not None:
        _delete(db, same.id)
    if len(_sessions(db, shown.id)) > 1:
        _retire(db, message, shown, tally)
        return False
    _replace_text(db, message, shown, tally)
    return True


def _rewrite_trashed(
    db: apsw.Connection, message: Incoming, shown: Existing, same: Existing | None, tally: Tally
) -> None:
    """Let a message in the trash have its new text there; one that others show stays as it is."""
    if same is None and len(_sessions(db, shown.id)) == 1:
        message.state = MessageState.TRASHED
        _replace_text(db, message, shown, tally)
        _note_state(db, shown.id, message.record.state)


def _note_state(db: apsw.Connection, message_id: int, state: MessageState) -> None:
    """Take note of the state that a message in the trash will have when it comes back."""
    db.execute(
        "UPDATE trashed_messages SET state = ?1 WHERE message_id = ?2 AND state <> ?1",
        (state, message_id),
    )


def _is_more_visible(state: MessageState, than: MessageState) -> bool:
    return _MOST_VISIBLE_FIRST.index(state) < _MOST_VISIBLE_FIRST.index(than)


def _replace_text(db: apsw.Connection, message: Incoming, shown: Existing, tally: Tally) -> None:
    old = db.execute(f"SELECT {_COLUMNS} FROM messages WHERE id = ?", (shown.id,)).get
    tally.change([message.session_id], shown, message)
    new = body(message)
    if new.created_at_ms is None:
        new = new._replace(created_at_ms=shown.created_at_ms, time_quality=shown.time_quality)
    assignments = ", ".join(f"{name} = :{name}" for name in Body._fields)
    db.execute(
        f"UPDATE messages SET {assignments} WHERE id = :id", {**new._asdict(), "id": shown.id}
    )
    if not new.content.startswith(old[_CONTENT]):
        _keep_revision(db, shown, list(old))
    _move(db, message, shown.id)


def _keep_revision(db: apsw.Connection, shown: Existing, old: list[Any]) -> None:
    """Store an earlier text beside the one that replaced it."""
    old[_STATE] = MessageState.SUPERSEDED
    db.execute(
        f"INSERT INTO messages(source_id, {_COLUMNS})"
        f" SELECT source_id{', ?' * len(old)} FROM messages WHERE id = ?",
        (*old, shown.id),
    )
    db.execute(
        "INSERT INTO message_placements(session_id, seq, message_id) VALUES (?, ?, ?)",
        (old[0], shown.seq, db.last_insert_rowid()),
    )


def _retire(db: apsw.Connection, message: Incoming, shown: Existing, tally: Tally) -> None:
    """Stop showing a body in the incoming message's session; other sessions keep it."""
    here = message.session_id
    others = [session for session in _sessions(db, shown.id) if session != here]
    tally.leave(here, shown)
    if not others:
        db.execute("UPDATE messages SET state = 'superseded' WHERE id = ?", (shown.id,))
        return
    db.execute(
        "DELETE FROM message_placements WHERE message_id = ? AND session_id = ?", (shown.id, here)
    )
    if shown.session_id == here:
        db.execute("UPDATE messages SET session_id = ? WHERE id = ?", (others[0], shown.id))


def _move(db: apsw.Connection, message: Incoming, message_id: int) -> None:
    db.execute(
        "UPDATE message_placements SET seq = ? WHERE message_id = ? AND session_id = ?",
        (message.seq, message_id, message.session_id),
    )


def _delete(db: apsw.Connection, message_id: int) -> None:
    db.execute("DELETE FROM message_placements WHERE message_id = ?", (message_id,))
    db.execute("DELETE FROM messages WHERE id = ?", (message_id,))


def _sessions(db: apsw.Connection, message_id: int) -> list[int]:
    rows = db.execute(
        "SELECT session_id FROM message_placements WHERE message_id = ?", (message_id,)
    )
    return [session for (session,) in rows]
