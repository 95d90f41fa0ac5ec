"""Another file in the store's place, while the store is open: a sync program's, say.

SQLite goes on with the file that it has open, which nobody else will ever see again. And the log
that lies beside the new file belongs to the lost one: SQLite would apply it, and destroy the new.
"""

from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from core import paths
from core.errors import StoreMovedError
from core.store import holders

_TIME = "%Y%m%dT%H%M%S"
_Identity = tuple[int, int]


class Files(NamedTuple):
    """Which files a store, its log and its log's index are: device and number, None for none."""

    store: _Identity | None
    wal: _Identity | None
    shm: _Identity | None


def files_of(path: Path) -> Files:
    """Return which files lie at the store's places now; none is opened."""
    return Files(*(_identity(path.with_name(path.name + end)) for end in ("", "-wal", "-shm")))


def is_in_place(path: Path, files: Files) -> bool:
    """Tell whether the file at `path` is the one that it was."""
    return _identity(path) == files.store


def require_successor(path: Path, files: Files | None) -> None:
    """Refuse to open what has taken the store's place where that would not be safe.

    Raises:
        StoreMovedError: there is no file, or another program has the lost one open.
    """
    if not path.exists():
        raise StoreMovedError(f"{path} is gone; nothing was written into the lost file")
    lost = None if files is None else files.store
    others = [each for each in holders.open_elsewhere(path, also=lost) if not each.is_us]
    if others:
        raise StoreMovedError(
            f"another file has taken the place of {path}, and {holders.in_words(tuple(others))}"
            " has it or the lost one open: end it, then try again"
        )


def put_log_aside(path: Path, files: Files | None) -> None:
    """Move the lost file's log away, so that it is never applied to the new file."""
    now = files_of(path)
    for end, is_lost in (
        ("-wal", now.wal is not None and (files is None or now.wal == files.wal)),
        ("-shm", now.shm is not None and (files is None or now.shm == files.shm)),
    ):
        if is_lost:
            folder = path.parent / f"damaged-{datetime.now(UTC):{_TIME}}Z"
            paths.ensure_private_dir(folder)
            path.with_name(path.name + end).rename(folder / (path.name + end))


def _identity(path: Path) -> _Identity | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
