"""Making a store, and opening one that may have to be made or brought up to date first."""

import os
from pathlib import Path

import apsw

from core import paths
from core.errors import NotAStoreError, SchemaTooNewError
from core.store import attachment, connection, migrations
from core.store.connection import immediate, open_reader, open_writer


def open_store(path: Path, tokenizer: Path | None) -> apsw.Connection:
    """Open the store for writing; it is created where it is missing, and brought up to date.

    The CJK index is attached where that is quickly done (`attachment.attach`). A store that a
    later version wrote comes back as a reading connection: writing to it raises
    `SchemaTooNewError` (`connection.transaction`).

    Raises:
        NotAStoreError: the file is not ours; it is left as it is.
        StoreError: the folder or the file is not safe to use, or SQLite is not.
    """
    prepare(path)
    try:
        db = open_writer(path, tokenizer=tokenizer)
    except SchemaTooNewError:
        return open_reader(path, tokenizer=tokenizer)
    try:
        bring_up_to_date(db)
    except BaseException:
        db.close()
        raise
    return db


def prepare(path: Path) -> None:
    """Make sure of a private folder and a private file that is a whole store at `path`."""
    paths.ensure_private_dir(path.parent)
    if not path.exists():
        _create(path)
    paths.require_private_file(path)
    if path.stat().st_size == 0:
        raise NotAStoreError(f"{path} is not a store: the file is empty")


def bring_up_to_date(db: apsw.Connection) -> None:
    """Migrate the store, and attach its CJK index if this connection has the tokenizer."""
    if migrations.schema_version(db) < migrations.NEWEST:
        with immediate(db):
            migrations.upgrade(db)
    fingerprint = connection.tokenizer_fingerprint(db)
    if fingerprint is not None and attachment.is_attachable(db, fingerprint):
        with immediate(db):
            attachment.attach(db, fingerprint)


def _create(path: Path) -> None:
    """Make a whole store under another name, then give it its own.

    So there is never half a store at `path`, whatever dies in between, and of two processes
    that create it at the same time the second finds the first one's.
    """
    made = path.with_name(f"{path.name}.new-{os.getpid()}")
    made.unlink(missing_ok=True)
    paths.create_private_file(made)
    try:
        db = connection.connected(made, apsw.SQLITE_OPEN_READWRITE)
        connection.configure(db, connection.WRITER_CACHE, tokenizer=None, is_new=True)
        try:
            with immediate(db):
                db.pragma("application_id", connection.APPLICATION_ID)
                migrations.upgrade(db)
        finally:
            db.close()
        try:
            os.link(made, path)
        except FileExistsError:
            return
    finally:
        made.unlink(missing_ok=True)
