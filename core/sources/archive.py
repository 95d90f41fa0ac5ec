"""Zip archives as people download them: read entry by entry, nothing ever put on the disk.

An archive is refused whole, before anything of it is read, when a name in it points outside,
an entry is a link, or its sizes are those of a bomb. While reading, no entry gives more than it
announced.
"""

import contextlib
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO

from core.errors import SourceError
from core.sources import files

MOST_ENTRIES = 10_000
MOST_DIRECTORY_BYTES = 16 << 20
MOST_ENTRY_BYTES = 2 << 30
MOST_RATIO = 100
SMALL_BYTES = 1 << 20
"""Below this a high ratio harms nobody: white space compresses that well."""

_END = struct.Struct("<4s4H2LH")
_END_MAGIC = b"PK\5\6"
_LOCATOR = struct.Struct("<4sLQL")
_END64 = struct.Struct("<4sQ2H2L4Q")
_TOO_MANY = 0xFFFF
_DAMAGE = (
    EOFError,
    NotImplementedError,  # a way to compress that is not known; a RuntimeError, so caught first
    UnicodeDecodeError,  # a name that is not what it says
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)


def is_zip(path: Path) -> bool:
    """Tell by its first bytes whether a readable regular file is a zip archive."""
    try:
        with files.opened(path) as stream:
            return stream.read(4) in (b"PK\3\4", _END_MAGIC)
    except SourceError:
        return False


@contextlib.contextmanager
def opened(path: Path) -> Iterator["Archive"]:
    """Open an archive after looking at all it announces.

    Raises:
        SourceError: it is no archive, is damaged or encrypted, or is refused; also while an
            entry is read.
    """
    with files.opened(path) as stream, _translated(path):
        _check_directory(path, stream)
        stream.seek(0)
        with zipfile.ZipFile(stream) as archive:
            _check_entries(path, archive.infolist())
            yield Archive(path, archive)


class Archive:
    """An archive whose names and sizes were found harmless."""

    def __init__(self, path: Path, archive: zipfile.ZipFile) -> None:
        self._path = path
        self._archive = archive

    def entries(self, wanted: Callable[[PurePosixPath], bool]) -> list[zipfile.ZipInfo]:
        """Return the files whose path within the archive is wanted, by name.

        Raises:
            SourceError: one of them is encrypted or larger than is read.
        """
        found = [
            entry
            for entry in self._archive.infolist()
            if not entry.is_dir() and wanted(PurePosixPath(entry.filename))
        ]
        for entry in found:
            if entry.flag_bits & 1:
                raise _refused(self._path, f"{entry.filename} is encrypted")
            if entry.file_size > MOST_ENTRY_BYTES:
                raise _refused(self._path, f"{entry.filename} is larger than 2 GiB")
        return sorted(found, key=lambda entry: entry.filename)

    @contextlib.contextmanager
    def open(self, entry: zipfile.ZipInfo) -> Iterator[IO[bytes]]:
        """Open an entry as a stream; it ends where the entry's announced size does."""
        with self._archive.open(entry) as stream:
            yield stream


def _check_directory(path: Path, stream: BinaryIO) -> None:
    """Look at the directory's announced size before anything reads it into memory."""
    size = stream.seek(0, 2)
    stream.seek(max(0, size - _END.size - 65_535))
    tail = stream.read()
    at = tail.rfind(_END_MAGIC)
    if at < 0 or len(tail) - at < _END.size:
        return  # ZipFile says in its own words that this is no archive
    _, _, _, _, count, length, _, _ = _END.unpack_from(tail, at)
    if count == _TOO_MANY or length == 0xFFFFFFFF:
        count, length = _wide(stream, size - len(tail) + at) or (count, length)
    if count > MOST_ENTRIES:
        raise _refused(path, f"it has {count} entries, more than {MOST_ENTRIES}")
    if length > MOST_DIRECTORY_BYTES:
        raise _refused(path, "its directory is too large")


def _wide(stream: BinaryIO, end: int) -> tuple[int, int] | None:
    """Count and size from the 64-bit end record, where there is one."""
    if end < _LOCATOR.size:
        return None
    stream.seek(end - _LOCATOR.size)
    magic, _, at, _ = _LOCATOR.unpack(stream.read(_LOCATOR.size))
    if magic != b"PK\6\7" or at > end:
        return None
    stream.seek(at)
    raw = stream.read(_END64.size)
    if len(raw) < _END64.size:
        return None
    fields = _END64.unpack(raw)
    return fields[7], fields[8]


def _check_entries(path: Path, entries: list[zipfile.ZipInfo]) -> None:
    if len(entries) > MOST_ENTRIES:
        raise _refused(path, f"it has {len(entries)} entries, more than {MOST_ENTRIES}")
    for entry in entries:
        name = entry.filename
        if _points_outside(name):
            raise _refused(path, f"the name {name[:200]!r} points outside the archive")
        if stat.S_ISLNK(entry.external_attr >> 16):
            raise _refused(path, f"{name[:200]!r} is a link")
        if entry.file_size > SMALL_BYTES and entry.file_size > MOST_RATIO * entry.compress_size:
            raise _refused(path, f"{name[:200]!r} would grow more than {MOST_RATIO} times")


def _points_outside(name: str) -> bool:
    parts = name.replace("\\", "/").split("/")
    return not parts[0] or ".." in parts or ":" in parts[0] or "\0" in name


def _refused(path: Path, reason: str) -> SourceError:
    return SourceError(f"{path} is not read: {reason}", path=str(path))


@contextlib.contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except _DAMAGE as error:
        raise SourceError(f"{path} is no whole zip archive: {error}", path=str(path)) from error
    except RuntimeError as error:  # how zipfile says that a password is missing
        if "password" not in str(error) and "encrypted" not in str(error):
            raise
        raise _refused(path, "it is encrypted") from error
