"""Disks that remember what was written to them, or fail when they are told to.

A `Disk` stands between SQLite and the real files: every call is passed on, written into a log,
and refused where a `Fault` says so (https://www.sqlite.org/vfs.html).
"""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

import apsw

from core.store import recipe

Call = Literal["read", "write", "sync", "truncate", "delete"]
Failure = Literal["full", "io", "short", "fsync", "read"]

CALLS: dict[Failure, frozenset[Call]] = {
    "full": frozenset({"write", "sync", "truncate"}),
    "io": frozenset({"write", "sync", "truncate"}),
    "short": frozenset({"write"}),
    "fsync": frozenset({"sync"}),
    "read": frozenset({"read"}),
}
"""Where each failure can happen."""


class Op(NamedTuple):
    """A call that changed a file, or an acknowledgement (`file` is empty, `at` its number)."""

    call: Literal["write", "sync", "truncate", "delete", "ack"]
    file: str
    at: int = 0
    content: bytes = b""


@dataclass
class Fault:
    """Fail the call number `at` (from 1) of those that this failure is for.

    A sticky one fails all later ones too, until `heal`. With `at` 0 it only counts.
    """

    failure: Failure
    at: int = 0
    sticky: bool = False
    seen: int = 0
    fired: int = 0

    def strikes(self, call: Call) -> bool:
        """Count a call; tell whether it fails."""
        if call not in CALLS[self.failure]:
            return False
        self.seen += 1
        hit = bool(self.at) and (self.seen == self.at or (self.sticky and self.seen > self.at))
        self.fired += hit
        return hit

    def heal(self) -> None:
        """Let every call pass from now on."""
        self.at = 0


@dataclass
class Quota:
    """Lets files grow by no more than `free` bytes, as a disk that is nearly full does."""

    free: int
    sizes: dict[str, int] = field(default_factory=dict)

    def take(self, file: str, size_before: int, end: int) -> bool:
        """Tell whether a write that ends at `end` still fits, and take its room if so."""
        growth = max(0, end - size_before)
        if growth > self.free:
            return False
        self.free -= growth
        return True


class Disk(apsw.VFS):
    """A VFS of its own name over the usual one."""

    _numbers = itertools.count(1)

    def __init__(self, log: list[Op] | None = None) -> None:
        self.vfs_name = f"disk-{next(self._numbers)}"
        self.log = log
        self.fault: Fault | None = None
        self.quota: Quota | None = None
        super().__init__(self.vfs_name, "")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> "File":
        return File(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        super().xDelete(filename, syncdir)
        self.note(Op("delete", Path(filename).name))

    def note(self, op: Op) -> None:
        if self.log is not None and (op.file or op.call == "ack"):
            self.log.append(op)

    def ack(self, number: int) -> None:
        """Write into the log that the caller was told that so much is stored."""
        self.note(Op("ack", "", number))

    def strike(self, call: Call) -> None:
        """Raise what the disk answers if this call is one that fails."""
        if self.fault is not None and self.fault.strikes(call):
            raise error_of(self.fault.failure, call)


def error_of(failure: Failure, call: Call) -> apsw.Error:
    """Return the error that the usual VFS answers for such a failure."""
    if failure in ("full", "short"):
        return apsw.FullError("database or disk is full")
    error = apsw.IOError("disk I/O error")
    error.extendedresult = {
        "read": apsw.SQLITE_IOERR_READ,
        "write": apsw.SQLITE_IOERR_WRITE,
        "sync": apsw.SQLITE_IOERR_FSYNC,
        "truncate": apsw.SQLITE_IOERR_TRUNCATE,
        "delete": apsw.SQLITE_IOERR_DELETE,
    }[call]
    return error


class File(apsw.VFSFile):
    """One open file of a `Disk`; files without a name are SQLite's own and pass unseen."""

    def __init__(self, disk: Disk, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        told = name.filename() if isinstance(name, apsw.URIFilename) else name
        self.disk = disk
        self.name = Path(told).name if told else ""
        super().__init__("", name, flags)

    def xRead(self, amount: int, offset: int) -> bytes:
        self.disk.strike("read")
        return super().xRead(amount, offset)

    def xWrite(self, data: bytes, offset: int) -> None:
        quota = self.disk.quota
        if quota is not None and not quota.take(self.name, self.xFileSize(), offset + len(data)):
            raise error_of("full", "write")
        try:
            self.disk.strike("write")
        except apsw.FullError:
            if self.disk.fault is not None and self.disk.fault.failure == "short":
                super().xWrite(bytes(data[: len(data) // 2]), offset)
            raise
        super().xWrite(data, offset)
        self.disk.note(Op("write", self.name, offset, bytes(data)))

    def xSync(self, flags: int) -> None:
        self.disk.strike("sync")  # the real one is left out: the log is the disk
        self.disk.note(Op("sync", self.name))

    def xTruncate(self, size: int) -> None:
        self.disk.strike("truncate")
        before = self.xFileSize()
        super().xTruncate(size)
        if self.disk.quota is not None:
            self.disk.quota.free += max(0, before - size)
        self.disk.note(Op("truncate", self.name, size))


@contextmanager
def through(disk: Disk) -> Iterator[None]:
    """Open every store through `disk` within the block, with the usual recipe."""
    usual = recipe.connected

    def connected(path: Path, flags: int) -> apsw.Connection:
        name, flags = recipe.way_in(path, flags)
        return apsw.Connection(name, flags=flags, vfs=disk.vfs_name)

    recipe.connected = connected
    try:
        yield
    finally:
        recipe.connected = usual
