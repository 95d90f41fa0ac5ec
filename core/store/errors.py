"""The only place where SQLite's errors become ours, in words that name the file."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from core.errors import (
    CoreError,
    NotAStoreError,
    StoreBusyError,
    StoreCorruptError,
    StoreError,
    StoreFullError,
    StoreReadOnlyError,
    TokenizerError,
)
from core.store import damage

_RESCUE = "if it is yours, backscroll repair --salvage reads what can be read of it"
_TINY_BYTES = 1024 * 1024  # with less than this free, a failed write is for want of space


@contextmanager
def translated(path: Path | str | None = None) -> Iterator[None]:
    """Turn what SQLite says of the machine, the disk and the file into a `CoreError`.

    Interruption passes through, as do errors that only a fault of ours can cause.

    Args:
        path: the store, to be named in the message.
    """
    try:
        yield
    except apsw.InterruptError:
        raise
    except apsw.Error as error:
        found = core_error(error, path)
        if found is None:
            raise
        raise found from error


def core_error(error: apsw.Error, path: Path | str | None = None) -> CoreError | None:
    """Return what the user is told of an error of SQLite, or None for a fault of ours."""
    place = "the store" if path is None else str(path)
    match error:
        case apsw.BusyError() | apsw.LockedError():
            return StoreBusyError(f"{place} is being written to by another program; try again")
        case apsw.FullError():
            return _full(place, path)
        case apsw.ReadOnlyError() | apsw.PermissionsError() | apsw.AuthError():
            return StoreReadOnlyError(f"{place} cannot be written to: {error}")
        case apsw.CantOpenError():
            return StoreError(f"{place} cannot be opened: {error}")
        case apsw.NotADBError():
            return NotAStoreError(f"{place} is not a store: file is not a database; {_RESCUE}")
        case apsw.CorruptError():
            return _corrupt(place, error)
        case apsw.IOError():
            return _io(place, path, error)
        case apsw.NoMemError() | apsw.TooBigError():
            return StoreError(f"{place}: a message is too large for this machine: {error}")
        case apsw.SQLError():
            return _sql(place, error)
    return None


def _full(place: str, path: Path | str | None) -> StoreFullError:
    free = _free_bytes(path)
    left = "" if free is None else f": {free:,} bytes are free"
    return StoreFullError(f"the disk of {place} is full{left}; nothing was stored")


def _io(place: str, path: Path | str | None, error: apsw.Error) -> StoreError:
    free = _free_bytes(path)
    if free is not None and free < _TINY_BYTES:
        return _full(place, path)
    return StoreError(f"the disk of {place} does not read or write as it should: {error}")


def _corrupt(place: str, error: apsw.Error) -> StoreCorruptError:
    if damage.is_of_index(error):
        return _index_damage(place, error)
    return StoreCorruptError(f"{place} is damaged and was left as it is: {error}; {_RESCUE}")


def _sql(place: str, error: apsw.Error) -> CoreError | None:
    told = str(error)
    if "no such tokenizer" in told:
        return TokenizerError(f"{place} has an index whose tokenizer is not here: {told}")
    if damage.is_of_index(error):
        return _index_damage(place, error)
    return None


def _index_damage(place: str, error: apsw.Error) -> StoreCorruptError:
    return StoreCorruptError(
        f"a full-text index of {place} is damaged; the messages themselves are not: {error}"
    )


def _free_bytes(path: Path | str | None) -> int | None:
    if path is None:
        return None
    try:
        return shutil.disk_usage(Path(path).parent).free
    except OSError:
        return None
