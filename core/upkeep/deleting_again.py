"""Taking out of a restored store what was deleted, by its own tombstones and by later ones."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import apsw

from core.history import deletion
from core.history.tombstones import mac
from core.store import turns
from core.store.connection import transaction
from core.types import Progress
from core.upkeep import erasure

_AT_ONCE = 200


class Tombstone(NamedTuple):
    """A deleted session, or with `message` a deleted message of it or of its source."""

    session: bytes
    message: bytes | None


def tombstones(db: apsw.Connection) -> list[Tombstone]:
    """Return every tombstone of a store; no text is in them."""
    rows: list[Any] = db.execute("SELECT session_mac, message_mac FROM tombstones").fetchall()
    return [Tombstone(*row) for row in rows]


def bury(db: apsw.Connection, others: Sequence[Tombstone]) -> None:
    """Add the tombstones of another store, made with the same key, in the caller's transaction."""
    db.executemany(
        "INSERT INTO tombstones(session_mac, message_mac) SELECT ?1, ?2 WHERE NOT EXISTS"
        " (SELECT 1 FROM tombstones WHERE session_mac = ?1 AND message_mac IS ?2)",
        others,
    )


def delete_again(db: apsw.Connection, key: bytes) -> Iterator[Progress]:
    """Delete what the store's tombstones name and it still holds; it waits to be erased then.

    In transactions of its own. Costs a keyed hash for each session, and one for each message of
    a source of which single messages were deleted: some 2 s for a million.
    """
    buried: dict[bytes, set[bytes | None]] = {}
    for tombstone in tombstones(db):
        buried.setdefault(tombstone.session, set()).add(tombstone.message)
    if not buried:
        return
    sessions, messages, places = _named(db, key, buried)
    done, total = 0, len(sessions) + len(messages)
    with deletion.own_key_checks(db), transaction(db):
        deleted = deletion.delete_places(db, places)
        erasure.add(db, deleted.messages, deleted.bytes)
        turns.recount_all(db, {session for session, _ in places})
    for rows, delete in (
        (messages, deletion.delete_messages),
        (sessions, deletion.delete_sessions),
    ):
        for start in range(0, len(rows), _AT_ONCE):
            some = rows[start : start + _AT_ONCE]
            with deletion.own_key_checks(db), transaction(db):
                counted = _showing(db, some) if delete is deletion.delete_messages else []
                deleted = delete(db, some, key)
                erasure.add(db, deleted.messages, deleted.bytes)
                turns.recount_all(db, counted)
            done += len(some)
            yield Progress(done, total, "rows", "deleting again", deleted.messages)


def _named(
    db: apsw.Connection, key: bytes, buried: dict[bytes, set[bytes | None]]
) -> tuple[list[int], list[int], list[tuple[int, int]]]:
    """Return the sessions, the single messages, and the mere places that tombstones name.

    A message that was deleted is named with its text, too; one without was cleared from a
    session, and others may show it: a place, as (session, message).
    """
    sessions: list[int] = []
    messages: set[int] = set()
    places: list[tuple[int, int]] = []
    sources: list[Any] = db.execute("SELECT id, kind, instance FROM sources").fetchall()
    for source_id, *source in sources:
        native: list[Any] = db.execute(
            "SELECT id, native_id FROM sessions WHERE source_id = ?", (source_id,)
        ).fetchall()
        for row, name in native:
            found = buried.get(mac(key, *source, name), set())
            if None in found:
                sessions.append(row)
            elif found:
                places += [
                    (row, message)
                    for message, uid in _placed(db, row)
                    if mac(key, *source, name, uid) in found
                ]
        if bodies := buried.get(mac(key, *source)):
            messages.update(
                message
                for message, uid, content_hash in _bodies(db, source_id)
                if mac(key, *source, uid, content_hash.hex()) in bodies
            )
    held = [place for place in places if place[1] not in messages]
    return sessions, sorted(messages), held


def _showing(db: apsw.Connection, messages: Sequence[int]) -> list[int]:
    """Return the sessions that show some messages, and count them."""
    rows = db.execute(
        "SELECT DISTINCT session_id FROM message_placements"
        " WHERE message_id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(messages)),),
    )
    return [row for (row,) in rows]


def _placed(db: apsw.Connection, session_id: int) -> Iterator[Any]:
    return iter(
        db.execute(
            "SELECT m.id, m.uid FROM message_placements AS p"
            " JOIN messages AS m ON m.id = p.message_id WHERE p.session_id = ?",
            (session_id,),
        )
    )


def _bodies(db: apsw.Connection, source_id: int) -> Iterator[Any]:
    return iter(
        db.execute("SELECT id, uid, content_hash FROM messages WHERE source_id = ?", (source_id,))
    )
