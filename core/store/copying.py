"""Copying a store while others read and write it: the one way to do so.

A file copy of a store in WAL mode lacks what is still in its log, and opening the file here
would drop SQLite's locks. The backup API reads through SQLite, and copies damaged tables as
they are, where VACUUM INTO would stop.
"""

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw

from core import paths
from core.errors import RefusedError, StoreError, StoreFullError
from core.store import recipe
from core.store.errors import translated
from core.types import Progress

STEP_PAGES = 2_048  # 8 MiB: some 10 to 30 ms, and not a hundred thousand steps for a large store
_LOOK_S = 0.05
_BESIDE = ("-wal", "-shm", "-journal")


def copy_store(db: apsw.Connection, target: Path) -> Iterator[Progress]:
    """Copy the store that `db` has open to `target`, in steps; `db` itself stays free.

    Afterwards `target` is the store as it was at one moment after the first step was asked
    for, whatever was written meanwhile: one file of mode 0600, synchronised to disk, that
    needs no log beside it. When it fails, or the generator is closed, nothing is left of it.

    The store's log cannot be shortened while the copy is made. Costs a pass over the file.

    Raises:
        RefusedError: there is something at `target` already; it was left as it is.
        StoreFullError: the disk lacks the room, or ran out of it.
        StoreError: the folder cannot be written to, or the store cannot be read.
    """
    with opened_at_one_moment(Path(db.filename)) as source:
        yield from copy_moment(source, target)


@contextmanager
def opened_at_one_moment(path: Path) -> Iterator[apsw.Connection]:
    """Give a reading connection of its own whose every statement sees the store as it is now."""
    source = recipe.connected(path, apsw.SQLITE_OPEN_READONLY)
    recipe.configure(source, recipe.READER_CACHE, tokenizer=None)
    with closing(source):
        source.execute("BEGIN")
        source.execute("SELECT count(*) FROM sqlite_schema").fetchall()  # BEGIN alone reads nothing
        yield source


def copy_moment(
    source: apsw.Connection, target: Path, *, is_lasting: bool = True
) -> Iterator[Progress]:
    """Do as `copy_store`, from a connection whose read transaction fixes the moment.

    One that is not to last is not synchronised to disk.
    """
    require_room(target.parent, int(source.pragma("page_count")) * _page_bytes(source))
    _claim(target)
    try:
        with translated(target):
            yield from _copied(source, target, is_lasting=is_lasting)
        paths.sync_folder(target.parent)
    except BaseException:
        remove_store_file(target)
        raise


def require_room(folder: Path, needed: int) -> None:
    """Refuse what needs so many bytes in a folder whose disk has fewer.

    Raises:
        StoreFullError: it names both numbers.
    """
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise StoreError(f"{folder} cannot be looked at: {error.strerror}") from error
    if free < needed:
        raise StoreFullError(
            f"{needed:,} bytes are needed in {folder}, {free:,} are free; nothing was written"
        )


def remove_store_file(path: Path) -> None:
    """Remove a store's file that nobody has open, and what stands beside it."""
    for end in ("", *_BESIDE):
        path.with_name(path.name + end).unlink(missing_ok=True)


def _claim(target: Path) -> None:
    """Make the empty private file; a log of another file beside it would be read as its own."""
    for end in ("", *_BESIDE):
        found = target.with_name(target.name + end)
        if os.path.lexists(found):
            raise RefusedError(f"{found} exists already; it was left as it is")
    try:
        paths.create_private_file(target)
    except FileExistsError as error:
        raise RefusedError(f"{target} exists already; it was left as it is") from error
    except OSError as error:
        raise StoreError(f"{target} cannot be created: {error.strerror}") from error


def _copied(source: apsw.Connection, target: Path, *, is_lasting: bool) -> Iterator[Progress]:
    page_bytes = _page_bytes(source)
    synchronous = "FULL" if is_lasting else "OFF"
    with closing(apsw.Connection(str(target), flags=apsw.SQLITE_OPEN_READWRITE)) as copy:
        # A half copy is removed, so it needs no journal; its end is synchronised by SQLite.
        for setting in ("journal_mode = OFF", f"synchronous = {synchronous}", "cache_size = -8192"):
            copy.execute(f"PRAGMA {setting}").fetchall()
        with copy.backup("main", source, "main") as backup:
            while not backup.done:
                if 0 < backup.remaining <= STEP_PAGES:
                    yield from _last_step(backup)
                else:
                    backup.step(STEP_PAGES)
                total = backup.page_count * page_bytes
                yield Progress(total - backup.remaining * page_bytes, total, "bytes", "copying")


def _last_step(backup: apsw.Backup) -> Iterator[Progress]:
    """Take the last step in a thread: it waits until the disk has all of the copy."""
    failed: list[apsw.Error] = []
    ended = threading.Event()  # a join that Ctrl+C interrupts takes the thread for ended

    def step() -> None:
        try:
            backup.step(STEP_PAGES)
        except apsw.Error as error:
            failed.append(error)
        finally:
            ended.set()

    threading.Thread(target=step, name="last step of a copy").start()
    waited = 0
    try:
        while not ended.wait(_LOOK_S):
            waited += 1
            yield Progress(waited, None, "steps", "writing to disk")
    finally:
        ended.wait()
    if failed:
        raise failed[0]


def _page_bytes(db: apsw.Connection) -> int:
    return int(db.pragma("page_size"))
