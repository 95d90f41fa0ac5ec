"""Source files as they lie on disk: what may be opened, and how to know one again."""

import codecs
import contextlib
import gzip
import hashlib
import os
import stat
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, cast

from core.errors import SourceError
from core.sources.lines import Readable

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

HEAD_BYTES = 4096
TAIL_BYTES = 256
PACKED = frozenset({".gz", ".zst"})
PLAIN_BYTES = 8 << 30
"""No session is that long: a small file that unpacks to more is none."""

# Files that hold keys to accounts. They are never opened, whoever names them.
CREDENTIAL_NAMES = frozenset(
    {
        ".audit-key",
        ".credentials.json",
        ".env",
        "auth-profiles.json",
        "auth.json",
        "cli-config.json",
        "clawdbot.json",
        "credentials.json",
        "gemini-credentials.json",
        "google_accounts.json",
        "id_rsa",
        "mcp-auth.json",
        "mcp-oauth-tokens.json",
        "moltbot.json",
        "oauth_creds.json",
        "openclaw.json",
        "secrets.yaml",
        "users.json",
    }
)

_WIDE = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


@dataclass(frozen=True, slots=True)
class FileStamp:
    """What tells one state of one file from another without reading it."""

    device: int
    inode: int
    size: int
    mtime_ns: int


def stamp(path: Path) -> FileStamp:
    """Return the stamp of a regular file, symlinks followed.

    Raises:
        SourceError: there is none, or it is a folder, a pipe or a device.
    """
    return _stamp(_stat(path))


def strict_stamp(path: Path) -> FileStamp:
    """Return a stamp whose time is the later of the times of the bytes and of the entry.

    Whoever puts back the first changes the second. So does a new link to the file.
    """
    found = _stat(path)
    return replace(_stamp(found), mtime_ns=max(found.st_mtime_ns, found.st_ctime_ns))


def _stat(path: Path) -> os.stat_result:
    try:
        found = path.stat()
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise SourceError(_words(path, error), path=str(path)) from error
    _check_regular(path, found.st_mode)
    return found


@contextlib.contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open a regular file for reading; read errors inside the block become `SourceError`.

    A pipe is refused without waiting for its writer, a device without reading from it.
    """
    if path.name in CREDENTIAL_NAMES:
        raise SourceError(f"{path.name} holds credentials and is never read", path=str(path))
    stamp(path)  # refuses folders, which Windows cannot open, and what is no regular file
    # Not blocking: should a pipe take the file's place now, opening it would wait for a writer.
    # O_BINARY exists on Windows only.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        number = os.open(path, flags | getattr(os, "O_CLOEXEC", 0))
        with os.fdopen(number, "rb", buffering=0) as stream:
            _check_regular(path, os.fstat(number).st_mode)
            yield cast("BinaryIO", stream)
    except OSError as error:
        raise SourceError(_words(path, error), path=str(path)) from error


def is_packed(path: Path) -> bool:
    """Tell by its name whether a file is compressed, by gzip or Zstandard."""
    return path.suffix in PACKED


def plain_name(path: Path) -> Path:
    """Return the path that a compressed file would have if it were not."""
    return path.with_suffix("") if is_packed(path) else path


@contextlib.contextmanager
def unpacked(path: Path) -> Iterator[BinaryIO]:
    """Open a regular file as `opened` does, and read it as if it were not compressed.

    Raises:
        SourceError: also where it is damaged, ends early or grows beyond 8 GiB.
    """
    with opened(path) as stream:
        if not is_packed(path):
            yield stream
            return
        try:
            with _unpacking(path, stream) as plain:
                yield cast("BinaryIO", _Bounded(plain))
        except gzip.BadGzipFile as error:  # its words show the bytes that it found
            reason = "what it holds is not what gzip wrote"
            raise SourceError(f"{path} is a damaged archive: {reason}", path=str(path)) from error
        except (EOFError, zlib.error, zstd.ZstdError) as error:
            raise SourceError(f"{path} is a damaged archive: {error}", path=str(path)) from error


def _unpacking(path: Path, stream: BinaryIO) -> "gzip.GzipFile | zstd.ZstdFile":
    if path.suffix == ".gz":
        return gzip.GzipFile(fileobj=stream, mode="rb")
    return zstd.ZstdFile(stream, "r")


class _Bounded:
    """An unpacked stream that ends with an `EOFError` after `PLAIN_BYTES`."""

    def __init__(self, stream: "gzip.GzipFile | zstd.ZstdFile") -> None:
        self._stream = stream
        self.seek, self.tell, self.fileno = stream.seek, stream.tell, stream.fileno

    def read(self, size: int = -1, /) -> bytes:
        """Return up to `size` bytes."""
        found = self._stream.read(size)
        if self._stream.tell() > PLAIN_BYTES:
            raise EOFError(f"it unpacks to more than {PLAIN_BYTES >> 30} GiB")
        return found


def stamp_of(stream: BinaryIO) -> FileStamp:
    """Return the stamp of an open file."""
    return _stamp(os.fstat(stream.fileno()))


def as_utf8(stream: BinaryIO) -> Readable:
    """Return the stream itself, or one that re-encodes UTF-16 with a byte order mark.

    Offsets into the latter are offsets of the UTF-8 text, not of the file.
    """
    start = stream.read(2)
    stream.seek(0)
    encoding = _WIDE.get(start)
    if encoding is None:
        return stream
    return codecs.EncodedFile(stream, "utf-8", encoding, errors="replace")


def hashes(stream: BinaryIO, offset: int) -> tuple[bytes, bytes]:
    """Return the hashes of the first 4 KiB and of the 256 bytes before `offset`.

    They stay the same while a file only grows (the head once it is 4 KiB long). The stream's
    position is left where it was.
    """
    before = stream.tell()
    stream.seek(0)
    head = stream.read(min(HEAD_BYTES, offset))
    stream.seek(max(0, offset - TAIL_BYTES))
    tail = stream.read(min(TAIL_BYTES, offset))
    stream.seek(before)
    return _hash(head), _hash(tail)


def _hash(part: bytes) -> bytes:
    return hashlib.blake2b(part, digest_size=16).digest()


def _stamp(found: os.stat_result) -> FileStamp:
    return FileStamp(_signed(found.st_dev), _signed(found.st_ino), found.st_size, found.st_mtime_ns)


def device_of(folder: Path) -> int:
    """Return the number of the disk that a folder is on, as in stamps.

    Raises:
        OSError: there is no such folder, or it may not be looked at.
    """
    return _signed(folder.stat().st_dev)


def _signed(number: int) -> int:
    """SQLite's integers are signed; some file systems use all 64 bits."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


def _check_regular(path: Path, mode: int) -> None:
    if stat.S_ISREG(mode):
        return
    kinds = {
        stat.S_IFDIR: "a folder",
        stat.S_IFIFO: "a pipe",
        stat.S_IFCHR: "a device",
        stat.S_IFBLK: "a device",
        stat.S_IFSOCK: "a socket",
    }
    what = kinds.get(stat.S_IFMT(mode), "something else")
    raise SourceError(f"{path} is {what}, not a regular file", path=str(path))


def _words(path: Path, error: OSError | ValueError) -> str:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return f"{path} cannot be read: {reason}"
