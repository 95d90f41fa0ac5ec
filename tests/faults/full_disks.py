"""A disk without room: a real one of some megabytes where we may mount it, else one that counts."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.faults.disks import Disk, Quota, through
from tests.faults.sizes import FORM

MOUNTED_BYTES = 24 * 1024 * 1024


class Mounted:
    """A file system in memory that is filled by a file beside the store."""

    kind = "a tmpfs of 24 MB"

    def __init__(self, folder: Path) -> None:
        self._filler = folder / "filler"

    def fill(self) -> None:
        """Take all room that is left."""
        with self._filler.open("ab", buffering=0) as file:
            for size in (1024 * 1024, 4096, 1):
                self._write_while_possible(file, bytes(size))

    def free(self) -> None:
        """Give it back."""
        self._filler.unlink()

    @staticmethod
    def _write_while_possible(file, content: bytes) -> None:
        try:
            while file.write(content) == len(content):
                pass
        except OSError:
            return


class Counted:
    """A disk on which files stop growing."""

    kind = "a VFS with a quota"

    def __init__(self, disk: Disk) -> None:
        self._quota = disk.quota = Quota(1 << 40)

    def fill(self) -> None:
        """Let no file grow."""
        self._quota.free = 0

    def free(self) -> None:
        """Let them grow again."""
        self._quota.free = 1 << 40


@contextmanager
def small_disk(folder: Path) -> Iterator[Mounted | Counted]:
    """Make `folder` a place that can be filled; stores are to be opened within the block."""
    options = ["-t", "tmpfs", "-o", f"size={MOUNTED_BYTES}", "tmpfs", str(folder)]
    if FORM == "short" or subprocess.run(["mount", *options], capture_output=True).returncode:
        disk = Disk()
        with through(disk):
            yield Counted(disk)
        return
    try:
        yield Mounted(folder)
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
