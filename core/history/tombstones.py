"""What the user deleted must not come back with the next import.

A tombstone is a keyed hash of the source's names, so the store says nothing of what was
deleted. The key is a file of the profile and belongs into every backup of it.
"""

import hashlib
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import apsw

from core.errors import StoreError
from core.paths import TOMBSTONE_KEY_NAME

if TYPE_CHECKING:
    from core.history.append import Batch

_KEY_BYTES = 32


def mac(key: bytes, *names: str) -> bytes:
    """Return the keyed hash of (kind, instance, session) or (kind, instance, session, uid)."""
    named = "\0".join(names).encode(errors="surrogatepass")
    return hashlib.blake2b(named, key=key, digest_size=16).digest()


def make_key(profile: Path) -> bytes:
    """Return the profile's key; it is made where there is none, readable by its owner alone."""
    path = profile / TOMBSTONE_KEY_NAME
    try:
        file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError:
        return read_key(profile)
    with os.fdopen(file, "wb") as stream:
        key = os.urandom(_KEY_BYTES)
        stream.write(key)
        stream.flush()
        os.fsync(stream.fileno())
    return key


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
        ],
    )


def _deleted(db: apsw.Connection, session: bytes) -> frozenset[bytes | None]:
    """Return the deleted messages of a session; None among them means the whole session."""
    rows = db.execute("SELECT message_mac FROM tombstones WHERE session_mac = ?", (session,))
    return frozenset(found for (found,) in rows)
