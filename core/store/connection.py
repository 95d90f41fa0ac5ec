"""Opening the store, and the two kinds of transaction that everything runs in."""

import ctypes
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

import apsw

from core import paths
from core.errors import (
    SchemaTooNewError,
    StoreError,
    StoreMovedError,
    StoreReadOnlyError,
)
from core.store import (
    aside,
    attachment,
    copying,
    creation,
    damage,
    migrations,
    recipe,
    snapshots,
    tokenizer_probe,
)

P = ParamSpec("P")
T = TypeVar("T")

_BEFORE = "before-migration"
_log = logging.getLogger(__name__)

_fingerprints: WeakKeyDictionary[apsw.Connection, str | None] = WeakKeyDictionary()


def open_store(path: Path, tokenizer: Path | None) -> apsw.Connection:
    """Open the store for writing; it is created where it is missing, and brought up to date.

    The CJK index is attached where that is quickly done (`attachment.attach`). A store that a
    later version wrote, or one in a place that cannot be written to, comes back as a reading
    connection: `transaction` refuses there and says why.

    Raises:
        NotAStoreError: the file is not ours; it is left as it is.
        StoreError: the folder or the file is not safe to use, or SQLite is not.
    """
    creation.prepare(path)
    if not recipe.is_writable(path):
        return open_reader(path, tokenizer=tokenizer)
    try:
        db = open_writer(path, tokenizer=tokenizer)
    except SchemaTooNewError:
        return open_reader(path, tokenizer=tokenizer)
    try:
        bring_up_to_date(db)
    except StoreReadOnlyError as error:
        _log.warning("%s", error)
        db.close()
        return open_reader(path, tokenizer=tokenizer)
    except BaseException:
        db.close()
        raise
    return db


def open_writer(path: Path, *, tokenizer: Path | None) -> apsw.Connection:
    """Open an existing store for reading and writing.

    Args:
        path: the store's file; it is never created here.
        tokenizer: the library of `cjk_unicode61`, absolute. One that does not load is logged
            and left out: the store works without it (`tokenizer_probe.is_available` tells).

    Raises:
        NotAStoreError: the file is not ours. It was not changed.
        SchemaTooNewError: a later version of this program wrote it; `open_reader` reads it.
        StoreError: this SQLite is unsafe, or a setting could not be made.
    """
    db = recipe.connected(path, apsw.SQLITE_OPEN_READWRITE)
    recipe.configure(db, recipe.WRITER_CACHE, tokenizer=tokenizer)
    try:
        refuse_newer(db)
    except SchemaTooNewError:
        db.close()
        raise
    return db


def open_reader(path: Path, *, tokenizer: Path | None) -> apsw.Connection:
    """Open an existing store for reading alone; else as `open_writer`."""
    db = recipe.connected(path, apsw.SQLITE_OPEN_READONLY)
    recipe.configure(db, recipe.READER_CACHE, tokenizer=tokenizer)
    return db


def bring_up_to_date(db: apsw.Connection) -> None:
    """Migrate the store, and attach its CJK index if this connection has the tokenizer.

    A snapshot of the store as it was comes first.

    Raises:
        StoreReadOnlyError: there is no room for one, or the file is damaged. Nothing was changed;
            the store can be read.
    """
    try:
        _bring_up_to_date(db)
    except apsw.CorruptError as error:
        damage.note_met(db, error)  # an index that is damaged is set aside by the next write
        if told := damage.broken(db.filename):
            raise StoreReadOnlyError(told) from error


def _bring_up_to_date(db: apsw.Connection) -> None:
    if migrations.schema_version(db) < migrations.NEWEST:
        _keep_as_it_is(db)
        with recipe.immediate(db):
            migrations.upgrade(db)
    fingerprint = tokenizer_fingerprint(db)
    if fingerprint is not None and attachment.is_attachable(db, fingerprint):
        with recipe.immediate(db):
            attachment.attach(db, fingerprint)


def tokenizer_fingerprint(db: apsw.Connection) -> str | None:
    """Return the fingerprint of this connection's tokenizer; found once, then remembered."""
    if db not in _fingerprints:
        _fingerprints[db] = tokenizer_probe.fingerprint(db)
    return _fingerprints[db]


def take_tokenizer(db: apsw.Connection, path: Path) -> None:
    """Load a tokenizer into a connection that was opened without one; else nothing is changed.

    Raises:
        TokenizerError: it cannot be loaded.
    """
    if tokenizer_fingerprint(db) is None:
        recipe.load_tokenizer(db, path)
        del _fingerprints[db]


@contextmanager
def transaction(db: apsw.Connection) -> Iterator[None]:
    """Run the block in one write transaction; it is rolled back when the block raises.

    IMMEDIATE, because a transaction that reads first and then writes fails at once with BUSY
    when another process wrote in between, however long the timeout. The CJK index is detached
    first where this connection's tokenizer cannot keep it, so no write fails for its absence;
    an index known to be damaged is set aside (`damage`), and one that the block meets is noted.

    Raises:
        SchemaTooNewError, StoreReadOnlyError: this store, or connection, is not for writing.
        StoreMovedError: another file has taken the store's place.
    """
    if db.readonly("main"):
        _refuse_to_write(db)
    if told := damage.broken(db.filename):
        raise StoreReadOnlyError(told)
    require_in_place(db)
    names = damage.noted(db)
    try:
        with recipe.immediate(db):
            if names:
                aside.tell_ledger(db, names, aside.set_aside(db, names, tokenizer_fingerprint(db)))
            attachment.keep_writable(db, tokenizer_fingerprint(db))
            yield
    except apsw.Error as error:
        if not isinstance(error, apsw.InterruptError):
            damage.note_met(db, error)
        raise
    if damage.is_noted(db.filename):
        damage.forget(db)  # acted upon, or about an index that another program has set aside


def written(
    db: apsw.Connection,
    work: Callable[Concatenate[apsw.Connection, P], T],
    *args: P.args,
    **kwargs: P.kwargs,
) -> T:
    """Run `work` in one write transaction, and again when it met an index that is damaged.

    That index has been set aside by then, so that no record is refused for an index's sake.
    """
    try:
        with transaction(db):
            return work(db, *args, **kwargs)
    except apsw.Error:
        if not damage.noted(db):
            raise
    with transaction(db):
        return work(db, *args, **kwargs)


def require_in_place(db: apsw.Connection) -> None:
    """Raise `StoreMovedError` when the file that `db` has open is no longer at its path.

    What were written to it would be lost: nobody opens that file any more. Some microseconds.
    """
    has_moved = ctypes.c_int(0)
    db.file_control("main", apsw.SQLITE_FCNTL_HAS_MOVED, ctypes.addressof(has_moved))
    if has_moved.value:
        raise StoreMovedError(
            f"{db.filename} was moved, or another file has taken its place, while it was open;"
            " nothing was written"
        )


@contextmanager
def snapshot(db: apsw.Connection) -> Iterator[None]:
    """Run the block over one state of the store, however many statements it has."""
    db.execute("BEGIN")
    try:
        yield
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")


def refuse_newer(db: apsw.Connection) -> None:
    """Raise `SchemaTooNewError` for a store that a later version of this program wrote."""
    if (found := migrations.schema_version(db)) > migrations.NEWEST:
        raise SchemaTooNewError(found, migrations.NEWEST)


def _keep_as_it_is(db: apsw.Connection) -> None:
    """Make a snapshot of an older store, unless an earlier try made it and nothing changed."""
    path = Path(db.filename)
    folder = snapshots.folder_of(path.parent)
    found = migrations.schema_version(db)
    try:
        if snapshots.has_mark(folder, _BEFORE, snapshots.change_mark(db), found):
            return
        paths.ensure_private_dir(folder)
        with copying.opened_at_one_moment(path) as source:
            for _ in snapshots.take(path.parent, source, _BEFORE, folder):
                pass
    except StoreError as error:
        raise StoreReadOnlyError(
            f"{path} has schema {found} and must become {migrations.NEWEST}, but it cannot be kept"
            f" as it is before that, so it can be read but not written: {error}"
        ) from error


def _refuse_to_write(db: apsw.Connection) -> None:
    refuse_newer(db)
    if told := damage.broken(db.filename):
        raise StoreReadOnlyError(told)
    if not recipe.is_writable(Path(db.filename)):
        raise StoreReadOnlyError(f"{db.filename} or its folder is read-only on this machine")
    if (found := migrations.schema_version(db)) < migrations.NEWEST:
        raise StoreReadOnlyError(
            f"{db.filename} has schema {found} and could not be brought to {migrations.NEWEST}:"
            " it can be read but not written"
        )
    raise StoreReadOnlyError(f"{db.filename} is open for reading alone")
