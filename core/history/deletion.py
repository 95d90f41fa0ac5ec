"""Deleting what the user threw away: places, bodies, sessions, with what keeps them away.

A body dies with its last place; its index rows and its narrow copy go by trigger in the same
transaction. What another session shows stays and then belongs to that one.
"""

import json
import secrets
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import apsw

from core.history import cleared, tombstones

BEING_DELETED = -1
"""`sessions.trashed_by` of a session that is gone for everybody, but has rows left to delete."""

TEXT_BYTES = (
    "octet_length({m}.content) + coalesce(octet_length({m}.reasoning), 0)"
    " + coalesce(octet_length({m}.tool_calls), 0)"
)
"""SQL for how many bytes of text a message m has; no text is read for it."""

ROW_WEIGHT = 256
"""What deleting a message costs beside its text, as bytes of text that cost as much."""

_AMONG = "IN (SELECT value FROM json_each(?))"
_PLACES = (
    f"SELECT p.message_id, p.seq, {ROW_WEIGHT} + {TEXT_BYTES.format(m='m')} AS weight"
    " FROM message_placements AS p CROSS JOIN messages AS m ON m.id = p.message_id"
    " WHERE p.session_id = ?"
)


class Deleted(NamedTuple):
    """How many bodies were deleted, and the bytes of their texts."""

    messages: int = 0
    bytes: int = 0

    def plus(self, other: "Deleted") -> "Deleted":
        """Return both together."""
        return Deleted(self.messages + other.messages, self.bytes + other.bytes)


class Part(NamedTuple):
    """What `go_on` deleted: bodies, the places of them, the weight; whether nothing is left."""

    deleted: Deleted
    places: int
    weight: int
    is_gone: bool


@contextmanager
def own_key_checks(db: apsw.Connection) -> Iterator[None]:
    """Run the block, with its transactions, without SQLite's checks of foreign keys.

    `messages.session_id` has no index: deleting one session would read every message of the
    store. `message_keys` has one, and is asked instead by each statement here that deletes.
    Only outside of a transaction; the checks are on again afterwards.
    """
    db.pragma("foreign_keys", "OFF")
    try:
        yield
    finally:
        db.pragma("foreign_keys", "ON")


def delete_sessions(db: apsw.Connection, session_ids: Collection[int], key: bytes) -> Deleted:
    """Delete sessions whole, in the caller's transaction, within `own_key_checks`.

    An import does not bring them back: their tombstones are made with `key`. Costs some
    0.2 ms for each message.
    """
    chosen = _listed(session_ids)
    tombstones.bury_sessions(db, key, session_ids)
    held: list[Any] = db.execute(
        f"SELECT DISTINCT message_id FROM message_placements WHERE session_id {_AMONG}", (chosen,)
    ).fetchall()
    messages = [message for (message,) in held]
    db.execute(f"DELETE FROM message_placements WHERE session_id {_AMONG}", (chosen,))
    cleared.forget(db, chosen)
    deleted = _release(db, messages)
    _delete_empty(db, chosen)
    return deleted


def begin(db: apsw.Connection, session_id: int, key: bytes) -> None:
    """Make a session be gone for everybody, in the caller's transaction; `go_on` deletes it.

    For one too large for a single transaction: nothing of it is found, shown, restored or
    imported from now on, and its name and title are no longer stored.
    """
    tombstones.bury_sessions(db, key, [session_id])
    db.execute(
        "UPDATE sessions SET trashed_at_ms = coalesce(trashed_at_ms, 0), trashed_by = ?,"
        " native_id = ?, parent_native_id = NULL, title = '', search_title = NULL, cwd = NULL,"
        " git_repo_root = NULL, git_branch = NULL, metadata = NULL, end_reason = NULL,"
        " told_title = NULL, former_title = NULL, own_project = NULL, told_project = NULL,"
        " channel = NULL"
        " WHERE id = ?",
        (BEING_DELETED, f"deleted {secrets.token_hex(16)}", session_id),
    )


def weight(db: apsw.Connection, session_id: int) -> int:
    """Return what deleting a session costs, in bytes; reads the head of each of its messages."""
    return ROW_WEIGHT + int(
        db.execute(f"SELECT coalesce(sum(weight), 0) FROM ({_PLACES})", (session_id,)).get
    )


def message_weights(db: apsw.Connection, message_ids: Collection[int]) -> dict[int, int]:
    """Return what deleting each of some messages costs, in bytes."""
    rows: Iterable[tuple[int, int]] = db.execute(
        f"SELECT m.id, {ROW_WEIGHT} + {TEXT_BYTES.format(m='m')} FROM json_each(?) AS j"
        " CROSS JOIN messages AS m ON m.id = j.value",
        (_listed(message_ids),),
    )
    return dict(rows)


def go_on(db: apsw.Connection, session_id: int, most: int, limit: int) -> Part:
    """Delete the last places of a session that `begin` saw, and with the first the row.

    At most `most` places, and no more than weigh `limit` bytes but for a single one. In the
    caller's transaction, within `own_key_checks`.
    """
    rows = db.execute(
        f"{_PLACES} ORDER BY p.seq DESC, p.message_id DESC LIMIT ?", (session_id, most + 1)
    )
    found: list[Any] = rows.fetchall()
    held, weighed, is_gone = list[tuple[int, int]](), 0, True
    for message, seq, each in found:
        if len(held) == most or (held and weighed + each > limit):
            is_gone = False
            break
        held.append((message, seq))
        weighed += each
    db.executemany(
        "DELETE FROM message_placements WHERE session_id = ? AND seq = ? AND message_id = ?",
        [(session_id, seq, message) for message, seq in held],
    )
    cleared.forget(db, _listed([session_id]))
    deleted = _release(db, [message for message, _ in held])
    if is_gone:
        _delete_empty(db, _listed([session_id]))
    return Part(deleted, len(held), weighed, is_gone)


def half_deleted(db: apsw.Connection) -> list[int]:
    """Return the sessions whose deletion was begun and did not come to its end."""
    rows: Iterable[tuple[int]] = db.execute(
        "SELECT id FROM sessions WHERE trashed_at_ms IS NOT NULL AND trashed_by = ?",
        (BEING_DELETED,),
    )
    return [row for (row,) in rows]


def delete_messages(db: apsw.Connection, message_ids: Collection[int], key: bytes) -> Deleted:
    """Delete bodies wherever they are shown, and the earlier texts that they replaced.

    In the caller's transaction, within `own_key_checks`. No import brings them back, be it
    into the sessions that showed them or, with the same text, into a new one.
    """
    chosen = _listed(message_ids)
    tombstones.bury_messages(db, key, message_ids)
    cleared.forget_messages(db, chosen)
    places: list[Any] = db.execute(
        "SELECT DISTINCT l.session_id, l.message_id FROM json_each(?) AS j"
        " CROSS JOIN messages AS m ON m.id = j.value"
        " CROSS JOIN message_placements AS p ON p.message_id = m.id"
        " CROSS JOIN messages AS r ON r.source_id = m.source_id AND r.uid = m.uid"
        " CROSS JOIN message_placements AS l ON l.message_id = r.id"
        " AND l.session_id = p.session_id WHERE r.id = m.id OR r.state = 'superseded'",
        (chosen,),
    ).fetchall()
    db.executemany("DELETE FROM message_placements WHERE session_id = ? AND message_id = ?", places)
    return _release(db, {message for _, message in places} | set(message_ids))


def delete_places(db: apsw.Connection, places: Collection[tuple[int, int]]) -> Deleted:
    """Delete places of bodies, as (session, message), in the caller's transaction.

    Within `own_key_checks`. A body that no session shows any more goes with its last place.
    """
    db.executemany("DELETE FROM message_placements WHERE session_id = ? AND message_id = ?", places)
    return _release(db, {message for _, message in places})


def _release(db: apsw.Connection, message_ids: Collection[int]) -> Deleted:
    """Delete those of the bodies that no session shows; hand the others to one that does."""
    cleared.keep_for_the_trash(db, message_ids)
    listed = _listed(message_ids)
    unseen: list[Any] = db.execute(
        "SELECT value FROM json_each(?) WHERE NOT EXISTS"
        " (SELECT 1 FROM message_placements WHERE message_id = value)",
        (listed,),
    ).fetchall()
    dead = _listed([row for (row,) in unseen])
    count, size = db.execute(
        f"SELECT count(*), coalesce(sum({TEXT_BYTES.format(m='m')}), 0)"
        f" FROM messages AS m WHERE m.id {_AMONG}",
        (dead,),
    ).get
    db.execute(f"DELETE FROM trashed_messages WHERE message_id {_AMONG}", (dead,))
    db.execute(f"DELETE FROM messages WHERE id {_AMONG}", (dead,))
    _hand_over(db, listed)
    return Deleted(count, size)


def _hand_over(db: apsw.Connection, listed: str) -> None:
    """Make bodies belong to a session that shows them, one that is not in the trash first."""
    orphans: list[Any] = db.execute(
        "SELECT k.id, (SELECT p.session_id FROM message_placements AS p"
        " JOIN sessions AS s ON s.id = p.session_id WHERE p.message_id = k.id"
        " ORDER BY s.trashed_at_ms IS NOT NULL, p.session_id LIMIT 1)"
        f" FROM message_keys AS k WHERE k.id {_AMONG} AND NOT EXISTS"
        " (SELECT 1 FROM message_placements WHERE message_id = k.id AND session_id = k.session_id)",
        (listed,),
    ).fetchall()
    owners = [(owner, message) for message, owner in orphans]
    db.executemany("UPDATE messages SET session_id = ? WHERE id = ?", owners)
    db.executemany("UPDATE trashed_messages SET session_id = ? WHERE message_id = ?", owners)


def _delete_empty(db: apsw.Connection, listed: str) -> None:
    """Delete sessions that show and own nothing any more: all of them, if all went well."""
    db.execute(
        f"DELETE FROM sessions WHERE id {_AMONG}"
        " AND NOT EXISTS (SELECT 1 FROM message_keys AS k WHERE k.session_id = sessions.id)"
        " AND NOT EXISTS"
        " (SELECT 1 FROM message_placements AS p WHERE p.session_id = sessions.id)",
        (listed,),
    )
    left = db.execute(f"SELECT count(*) FROM sessions WHERE id {_AMONG}", (listed,)).get
    assert not left, f"{left} sessions still have messages"


def _listed(ids: Collection[int]) -> str:
    return json.dumps(list(ids))
