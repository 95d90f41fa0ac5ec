"""How a connection is set up, so that no way of opening the store is weaker than another.

Never `open()`, hash or copy the store's file in a process that has it open: closing any
descriptor of it drops SQLite's locks (https://www.sqlite.org/howtocorrupt.html, section 2.2).
"""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import apsw

from core import paths
from core.errors import NotAStoreError, StoreError, StoreReadOnlyError, TokenizerError
from core.store import tokenizer_probe
from core.store.waiting import wait_for_locks

APPLICATION_ID = 0x4273636C  # "Bscl", at byte 68 of the file
BUSY_TIMEOUT_MS = 10_000
WAL_LIMIT_BYTES = 64 * 1024 * 1024

_log = logging.getLogger(__name__)


class Pragma(NamedTuple):
    """A setting of a connection and what must be read back after it was made."""

    name: str
    value: int | str
    read_back: int | str


SECURITY = {
    apsw.SQLITE_DBCONFIG_DEFENSIVE: 1,  # no writing to shadow tables or the schema
    apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA: 0,  # triggers and views call only harmless functions
    apsw.SQLITE_DBCONFIG_DQS_DML: 0,
    apsw.SQLITE_DBCONFIG_DQS_DDL: 0,
}

RECIPE = (
    Pragma("journal_mode", "WAL", "wal"),
    Pragma("synchronous", "FULL", 2),
    Pragma("secure_delete", "ON", 1),
    Pragma("recursive_triggers", "ON", 1),  # else REPLACE deletes without delete triggers
    Pragma("foreign_keys", "ON", 1),
    Pragma("cell_size_check", "ON", 1),
    Pragma("mmap_size", 0, 0),
    Pragma("journal_size_limit", WAL_LIMIT_BYTES, WAL_LIMIT_BYTES),
    Pragma("wal_autocheckpoint", 4000, 4000),  # at 1000, bulk work copies most pages twice
)
WRITER_CACHE = Pragma("cache_size", -16 * 1024, -16 * 1024)
READER_CACHE = Pragma("cache_size", -32 * 1024, -32 * 1024)


def connected(path: Path, flags: int) -> apsw.Connection:
    """Return a bare connection to `path`, which `configure` must see before anything else."""
    name, flags = way_in(path, flags)
    return apsw.Connection(name, flags=flags)


def way_in(path: Path, flags: int) -> tuple[str, int]:
    """Return the name and flags to open `path` with, after all that must come before.

    An unsafe SQLite is refused, and what it spills goes beside the store: it reads that
    variable once in a process, before its first file is opened. A store that cannot be written
    to is opened as one that nobody changes, because the usual locks need to write.

    Raises:
        StoreReadOnlyError: such a store has a log whose changes cannot be read without writing.
    """
    require_safe_sqlite(apsw.sqlite_lib_version())
    if path.name == paths.STORE_NAME:  # copies of it stand in folders that are soon gone
        spill_beside(path)
    if flags & apsw.SQLITE_OPEN_READWRITE or not path.exists() or is_writable(path):
        return str(path), flags
    log = path.with_name(f"{path.name}-wal")
    if log.exists() and log.stat().st_size:
        raise StoreReadOnlyError(f"{path} is read-only, but its last changes are still in {log}")
    return f"{path.as_uri()}?immutable=1", flags | apsw.SQLITE_OPEN_URI


def spill_beside(path: Path) -> None:
    """Have whatever SQLite, and copying others' files, need of disk be in the store's folder."""
    os.environ["SQLITE_TMPDIR"] = str(path.parent)


def is_writable(path: Path) -> bool:
    """Tell whether this process may write the file and files beside it; nothing is opened."""
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def configure(
    db: apsw.Connection, cache: Pragma, *, tokenizer: Path | None, is_new: bool = False
) -> None:
    """Do as `set_up`, and close `db` when that fails."""
    try:
        set_up(db, cache, tokenizer=tokenizer, is_new=is_new)
    except BaseException:
        db.close()
        raise


def set_up(
    db: apsw.Connection, cache: Pragma, *, tokenizer: Path | None, is_new: bool = False
) -> None:
    """Make the whole recipe on `db` and read it back.

    `is_new` skips the check that the file is ours, for a file that is being made.

    Raises:
        NotAStoreError: the file is not ours. It was not changed.
        StoreError: a setting does not hold.
    """
    for option, value in SECURITY.items():
        if db.config(option, value) != value:
            raise StoreError(f"SQLite refuses the security option {option}")
    # Before the first read: another process may just be tidying up behind its last connection.
    wait_for_locks(db, BUSY_TIMEOUT_MS)
    if not is_new:
        _require_ours(db)
    for pragma in (*RECIPE, cache):
        if pragma.name != "journal_mode" or not _is_immutable(db):
            _set(db, pragma)
    if tokenizer is not None:
        _load_if_possible(db, tokenizer)
    # Its first use declares a table, and an interruption then is no InterruptError.
    db.execute("SELECT 1 FROM json_each('[]')").fetchall()


def load_tokenizer(db: apsw.Connection, path: Path) -> None:
    """Make `cjk_unicode61` known to `db`; SQL cannot load anything before, during or after.

    Raises:
        TokenizerError: the path is relative, or the library cannot be loaded.
    """
    if not path.is_absolute():
        raise TokenizerError(f"the tokenizer's path must be absolute: {path}")
    db.config(apsw.SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1)  # the C call alone, not the SQL one
    try:
        db.load_extension(str(path), tokenizer_probe.ENTRY_POINT)
    except apsw.ExtensionLoadingError as error:
        raise TokenizerError(f"{path} cannot be loaded: {error}") from error
    finally:
        db.config(apsw.SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0)


@contextmanager
def immediate(db: apsw.Connection) -> Iterator[None]:
    """Run the block in a bare BEGIN IMMEDIATE: for making the schema, before there is any."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def require_safe_sqlite(version: str) -> None:
    """Refuse SQLite versions in which a checkpoint can lose commits of a WAL store.

    3.7.0 to 3.51.2, but for the corrected 3.44.6 and 3.50.7 and what follows them on their
    branches (https://www.sqlite.org/releaselog/3_51_3.html).
    """
    numbers = tuple(int(part) for part in version.split("."))
    corrected = numbers[:2] in {(3, 44), (3, 50)} and numbers >= (
        (3, 44, 6) if numbers[:2] == (3, 44) else (3, 50, 7)
    )
    if numbers < (3, 51, 3) and not corrected:
        raise StoreError(f"SQLite {version} can lose commits; 3.51.3 or later is needed")


def _require_ours(db: apsw.Connection) -> None:
    try:
        found = db.pragma("application_id")
    except apsw.NotADBError as error:
        raise NotAStoreError(
            f"{db.filename} is not a store: file is not a database; if it is yours, backscroll"
            " repair --salvage reads what can be read of it"
        ) from error
    if found != APPLICATION_ID:
        raise NotAStoreError(f"{db.filename} is not a store: it belongs to another program")


def _is_immutable(db: apsw.Connection) -> bool:
    return bool(db.open_flags & apsw.SQLITE_OPEN_URI)


def _set(db: apsw.Connection, pragma: Pragma) -> None:
    db.pragma(pragma.name, pragma.value)
    found = db.pragma(pragma.name)
    if found != pragma.read_back:
        raise StoreError(f"SQLite refuses {pragma.name}={pragma.value}: it stays {found}")


def _load_if_possible(db: apsw.Connection, path: Path) -> None:
    try:
        load_tokenizer(db, path)
    except TokenizerError as error:
        _log.warning("%s", error)
