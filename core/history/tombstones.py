"""What the user deleted must not come back with the next import.

A tombstone is a keyed hash of the source's names, so the store says nothing of what was
deleted. The key is a file of the profile and belongs into every backup of it.
"""

import hashlib
import json
import os
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw

from core.errors import StoreError
from core.history.bodies import incoming
from core.paths import TOMBSTONE_KEY_NAME, give_name, sync_folder
from core.sources.records import MessageRecord

if TYPE_CHECKING:
    from core.history.append import Batch

_KEY_BYTES = 32


def mac(key: bytes, *names: str) -> bytes:
    """Return the keyed hash of (kind, instance), with a session, with a session and a uid."""
    named = "\0".join(names).encode(errors="surrogatepass")
    return hashlib.blake2b(named, key=key, digest_size=16).digest()


def make_key(profile: Path) -> bytes:
    """Return the profile's key; it is made where there is none, readable by its owner alone."""
    path = profile / TOMBSTONE_KEY_NAME
    if not path.exists():
        made = path.with_name(f"{path.name}.new-{os.getpid()}")
        made.unlink(missing_ok=True)
        try:
            with os.fdopen(
                os.open(made, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb"
            ) as file:
                file.write(os.urandom(_KEY_BYTES))
                file.flush()
                os.fsync(file.fileno())
            give_name(made, path)  # whole or not at all, whatever dies in between
        finally:
            made.unlink(missing_ok=True)
        sync_folder(profile)  # what is deleted with a key that a power cut takes could come back
    return read_key(profile)


def key_to_delete_with(db: apsw.Connection) -> bytes:
    """Return the key of the store's profile, made where nothing was ever deleted.

    Raises:
        StoreError: it is missing or cut. With a new one, what was deleted before would come back.
    """
    profile = Path(db.filename).parent
    if db.execute("SELECT 1 FROM tombstones LIMIT 1").get is None:
        return make_key(profile)
    return read_key(profile)


def read_key(profile: Path) -> bytes:
    """Return the profile's key.

    Raises:
        StoreError: it is missing or cut. Nothing can be imported then: what was deleted would
            come back.
    """
    path = profile / TOMBSTONE_KEY_NAME
    try:
        key = path.read_bytes()
    except OSError as error:
        raise StoreError(f"{path} is needed to keep deleted messages deleted: {error}") from error
    if len(key) != _KEY_BYTES:
        raise StoreError(f"{path} is damaged: it has {len(key)} bytes instead of {_KEY_BYTES}")
    return key


def bury_sessions(db: apsw.Connection, key: bytes, session_ids: Collection[int]) -> None:
    """Note, in the caller's transaction, that these sessions are deleted."""
    names: list[Any] = db.execute(
        "SELECT r.kind, r.instance, s.native_id FROM json_each(?) AS j"
        " JOIN sessions AS s ON s.id = j.value JOIN sources AS r ON r.id = s.source_id",
        (json.dumps(list(session_ids)),),
    ).fetchall()
    db.executemany(
        "INSERT INTO tombstones(session_mac) SELECT ?1 WHERE NOT EXISTS"
        " (SELECT 1 FROM tombstones WHERE session_mac = ?1 AND message_mac IS NULL)",
        [(mac(key, *name),) for name in names],
    )


def bury_messages(db: apsw.Connection, key: bytes, message_ids: Collection[int]) -> None:
    """Note, in the caller's transaction, that these messages are deleted wherever they are shown.

    Under their uid in each session that shows them, and with their text, or one that it
    replaced, in any other.
    """
    rows: list[Any] = db.execute(
        "SELECT r.kind, r.instance, s.native_id, m.uid, e.content_hash FROM json_each(?) AS j"
        " CROSS JOIN messages AS m ON m.id = j.value CROSS JOIN messages AS e"
        " ON e.source_id = m.source_id AND e.uid = m.uid"
        " AND (e.id = m.id OR e.state = 'superseded')"
        " JOIN message_placements AS p ON p.message_id = m.id"
        " JOIN sessions AS s ON s.id = p.session_id JOIN sources AS r ON r.id = m.source_id",
        (json.dumps(list(message_ids)),),
    ).fetchall()
    macs = {
        pair
        for kind, instance, session, uid, content_hash in rows
        for pair in (
            (mac(key, kind, instance, session), mac(key, kind, instance, session, uid)),
            (mac(key, kind, instance), _body_mac(key, (kind, instance), uid, content_hash)),
        )
    }
    db.executemany(
        "INSERT INTO tombstones(session_mac, message_mac) VALUES (?, ?) ON CONFLICT DO NOTHING",
        sorted(macs),
    )


def bury_cleared(db: apsw.Connection, key: bytes, before_ms: int) -> int:
    """Note, in the caller's transaction, what was cleared before a time: it stays away for good.

    Only from the sessions that were cleared: others show it on. Returns how many places.
    """
    rows: list[Any] = db.execute(
        "SELECT r.kind, r.instance, s.native_id, m.uid FROM cleared_places AS c"
        " JOIN messages AS m ON m.id = c.message_id JOIN sessions AS s ON s.id = c.session_id"
        " JOIN sources AS r ON r.id = s.source_id WHERE c.cleared_at_ms < ?",
        (before_ms,),
    ).fetchall()
    db.executemany(
        "INSERT INTO tombstones(session_mac, message_mac) VALUES (?, ?) ON CONFLICT DO NOTHING",
        [
            (mac(key, kind, instance, session), mac(key, kind, instance, session, uid))
            for kind, instance, session, uid in rows
        ],
    )
    db.execute("DELETE FROM cleared_places WHERE cleared_at_ms < ?", (before_ms,))
    return len(rows)


def forget(db: apsw.Connection, key: bytes, session: str) -> int:
    """Let a deleted session be imported again, in the caller's transaction.

    `session` is the name it had in its source. The files of that source are read again by the
    next import, as if they had changed. Messages that were deleted alone stay away.

    Returns:
        In how many sources a session of this name was deleted.
    """
    found = 0
    sources: list[Any] = db.execute("SELECT id, kind, instance FROM sources").fetchall()
    for source_id, kind, instance in sources:
        name = mac(key, kind, instance, session)
        db.execute("DELETE FROM tombstones WHERE session_mac = ? AND message_mac IS NULL", (name,))
        if db.changes():
            found += 1
            db.execute(
                "UPDATE source_files SET state = 'reading' WHERE source_id = ? AND state = 'done'",
                (source_id,),
            )
    return found


def without_deleted(db: apsw.Connection, batch: "Batch") -> "Batch":
    """Return the batch without the sessions and messages that the user deleted.

    One look where nothing was ever deleted, else one query for each session of the batch.
    """
    if db.execute("SELECT 1 FROM tombstones LIMIT 1").get is None:
        return batch
    key = read_key(Path(db.filename).parent)
    source = db.execute("SELECT kind, instance FROM sources WHERE id = ?", (batch.source_id,)).get
    names = {record.session for record in batch.messages}
    names.update(record.native_id for record in batch.sessions)
    deleted = {name: _deleted(db, mac(key, *source, name)) for name in names}
    bodies = _deleted(db, mac(key, *source))
    return replace(
        batch,
        sessions=[r for r in batch.sessions if None not in deleted[r.native_id]],
        messages=[
            r
            for r in batch.messages
            if None not in deleted[r.session]
            and (
                not deleted[r.session]
                or mac(key, *source, r.session, r.uid) not in deleted[r.session]
            )
            and not (bodies and _body_mac(key, source, r.uid, _hash(r)) in bodies)
        ],
    )


def _body_mac(key: bytes, source: tuple[str, str], uid: str, content_hash: bytes) -> bytes:
    """Return the keyed hash of a body; together with that of its source alone it is a tombstone."""
    return mac(key, *source, uid, content_hash.hex())


def _hash(record: MessageRecord) -> bytes:
    return incoming(record, 0).content_hash


def _deleted(db: apsw.Connection, session: bytes) -> frozenset[bytes | None]:
    """Return the deleted messages of a session; None among them means the whole session."""
    rows = db.execute("SELECT message_mac FROM tombstones WHERE session_mac = ?", (session,))
    return frozenset(found for (found,) in rows)
