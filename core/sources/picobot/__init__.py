"""PicoBot: `storage/sessions.db` of its home, and the session files of a program of that name.

A database is read from a private copy (`core.sources.foreign_sqlite`,
`core.sources.picobot.database`); `sessions/*.json`, 50 entries each and rewritten in place, by
`core.sources.picobot.windows`. Ids are ids of one place, so an instance is the database, or the
folder of such files. What the program clears or drops is no longer yielded; its older copy in
the store is nobody's to change.
"""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import apsw

from core.errors import SourceError
from core.sources import files as source_files
from core.sources import found as places
from core.sources import there
from core.sources.foreign_sqlite import glimpsed_columns, is_sqlite, snapshot
from core.sources.picobot import windows
from core.sources.picobot.database import Database
from core.sources.records import Record, SourceIdentity
from core.types import FoundSource

KIND = "picobot"
READER_VERSION = 1
REWRITES = True
SUFFIXES = frozenset({".db", ".json", ".sqlite"})
CHOOSES = "file"
ALIGNS = True
"""Entries of session files have no ids: what is stored of a session tells which are known."""

DATABASE = Path("storage") / "sessions.db"
WINDOWS = Path("workspace") / "sessions"
_SIGNATURE = {"id", "session_id", "seq", "role", "content", "media_refs_json", "created_at"}
_SHAPE = re.compile(
    rb'\A(?:\xef\xbb\xbf)?\s*\{\s*"Key"\s*:\s*"(?:[^"\\]|\\.)*+"\s*,\s*"History"\s*:'
)
_GLIMPSE_BYTES = 4096


def identity(path: Path) -> SourceIdentity:
    """Return the instance: the database, or the folder of session files."""
    place = path.resolve()
    if place.suffix == windows.SUFFIX:
        place = place.parent
    return SourceIdentity(KIND, str(place), "PicoBot")


def recognises(path: Path) -> bool:
    """Tell whether a file is a database of PicoBot's or one of its session files."""
    if path.suffix == windows.SUFFIX:
        try:
            with source_files.opened(path) as stream:
                return _SHAPE.match(stream.read(_GLIMPSE_BYTES)) is not None
        except SourceError:
            return False
    return is_sqlite(path) and glimpsed_columns(path, "messages") >= _SIGNATURE


def files(path: Path) -> Iterator[Path]:
    """Yield the database and the session files of a home or of a folder of such files."""
    if not there.is_dir(path):
        yield path
        return
    databases = {path / DATABASE, path / DATABASE.name}
    sessions = {path / WINDOWS, path / WINDOWS.name, path}
    yield from (each for each in sorted(databases) if there.is_file(each) and recognises(each))
    for folder in sorted(sessions):
        names = sorted(folder.glob(f"*{windows.SUFFIX}"))
        yield from (each for each in names if there.is_file(each) and recognises(each))


def is_home(folder: Path) -> bool:
    """Tell whether the folder holds the program's database where the program keeps it."""
    database = folder / DATABASE
    return there.is_file(database) and recognises(database)


def found(_env: Mapping[str, str], home: Path) -> Iterator[FoundSource]:
    """Yield the person's own home of PicoBot: its database, and session files if there are any."""
    root = home / ".picobot"
    if not there.is_dir(root):
        return
    database = root / DATABASE
    logs = (database, database.with_name(database.name + "-wal"))
    old = [size for _, size in places.sizes(root / WINDOWS, (windows.SUFFIX,))]
    yield places.found(KIND, root, "PicoBot", size=places.size_of(*logs) + sum(old))


def stat_paths(path: Path) -> tuple[Path, ...]:
    """Return the files whose size and time decide whether anything is new."""
    if path.suffix == windows.SUFFIX:
        return (path,)
    return (path, path.with_name(path.name + "-wal"))


def read(path: Path) -> Iterator[Record]:
    """Yield the sessions and messages of one database or one session file.

    Memory: one row at a time; see `foreign_sqlite` for the disk.

    Raises:
        SourceError: it cannot be copied, has no table of messages, or is in the middle of
            being written.
    """
    if path.suffix == windows.SUFFIX:
        yield from windows.read(path)
        return
    try:
        with snapshot(path) as db:
            yield from Database(db, path).records()
    except apsw.Error as error:  # what damage the reading of rows did not get over
        raise SourceError(f"{path} is damaged: {error}", path=os.fspath(path)) from error
