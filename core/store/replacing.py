"""Putting another file in the place of the store: wholly, or not at all, whatever dies between.

The new file lies finished in a folder of its own. A marker then names that folder and the one
where the old files go; from that moment on whoever comes next does what is left to do.
"""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import apsw
import msgspec

from core import paths
from core.errors import StoreBusyError, StoreError, StoreReadOnlyError

MARKER, LOCK = "restore.json", "restore.lock"
NEW_NAME = "new.db"
"""What the store that is to come is called until it has its name."""

STAGED_PREFIX, ASIDE_PREFIX = "restoring-", "replaced-"
BESIDE = ("-wal", "-shm", "-journal")
WAIT_MS = 10_000
_NAME = re.compile(r"(?:restoring|replaced|damaged)-[0-9TZ]{1,30}")
_MOST_BYTES = 4096


class _Swap(msgspec.Struct, frozen=True):
    staged: str
    aside: str


@contextmanager
def only_one(profile: Path) -> Iterator[None]:
    """Run the block while nobody else replaces the store of this profile.

    Raises:
        StoreBusyError: somebody else still does after ten seconds.
        StoreReadOnlyError: the folder cannot be written to.
    """
    lock = profile / LOCK
    try:
        paths.create_private_file(lock)
    except FileExistsError:
        paths.require_private_file(lock)
    except OSError as error:
        raise StoreReadOnlyError(f"{profile} cannot be written to: {error.strerror}") from error
    with closing(apsw.Connection(str(lock), flags=apsw.SQLITE_OPEN_READWRITE)) as db:
        db.set_busy_timeout(WAIT_MS)
        try:
            db.execute("BEGIN EXCLUSIVE")
        except apsw.BusyError as error:
            raise StoreBusyError(f"the store in {profile} is being replaced; try again") from error
        yield


@contextmanager
def staging(profile: Path) -> Iterator[tuple[Path, str]]:
    """Give a folder for the store that is to come, and its time, a name for the old one's too.

    Nobody else replaces the store meanwhile; what was begun before is ended first. Unless
    `replace` took it over, the folder is gone with all that is in it when the block ends.

    Raises:
        StoreBusyError: as `only_one`.
    """
    with only_one(profile):
        go_on(profile)
        for left in profile.glob(f"{STAGED_PREFIX}*"):  # by one that was killed
            shutil.rmtree(left, ignore_errors=True)
        now = datetime.now(UTC)
        stamp = f"{now:%Y%m%dT%H%M%S}{now.microsecond // 1000:03}Z"
        staged = profile / f"{STAGED_PREFIX}{stamp}"
        paths.ensure_private_dir(staged)
        try:
            yield staged, stamp
        finally:
            if not (profile / MARKER).exists():
                shutil.rmtree(staged, ignore_errors=True)


def replace(profile: Path, staged: Path, aside: Path) -> None:
    """Have `NEW_NAME` of folder `staged` be the store, and the old files be in folder `aside`.

    Within `staging`, while nobody has the old store open or can open it. Both are folders of
    the profile; no store is in `aside` yet. From the first write on it is done, by `recover` if
    need be.
    """
    swap = _Swap(staged.name, aside.name)
    paths.sync_folder(staged)
    paths.write_private_file(profile / MARKER, msgspec.json.encode(swap))
    paths.sync_folder(profile)
    _finish(profile, swap)


def recover(profile: Path) -> None:
    """Finish a replacement that was begun and not ended; a look for one file where there is none.

    Raises:
        StoreBusyError: another program is at it.
        StoreError: the marker is not one of ours.
    """
    if not (profile / MARKER).exists():
        return
    with only_one(profile):
        go_on(profile)


def go_on(profile: Path) -> None:
    """Do as `recover`, within `only_one`."""
    marker = profile / MARKER
    if not marker.exists():
        return
    paths.require_private_file(marker)
    try:
        with marker.open("rb") as stream:
            swap = msgspec.json.decode(stream.read(_MOST_BYTES), type=_Swap)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise StoreError(f"{marker} cannot be read: {error}") from error
    if not (_NAME.fullmatch(swap.staged) and _NAME.fullmatch(swap.aside)):
        raise StoreError(f"{marker} names {swap.staged!r} and {swap.aside!r}, which are not ours")
    _finish(profile, swap)


def _finish(profile: Path, swap: _Swap) -> None:
    """Move what still has to be moved; while the staged file is there, what lies here is old."""
    staged, aside, store = profile / swap.staged, profile / swap.aside, paths.store_path(profile)
    try:
        if (staged / NEW_NAME).exists():
            paths.ensure_private_dir(aside)
            for end in BESIDE:
                old = store.with_name(store.name + end)
                if old.exists():
                    old.rename(aside / old.name)
            if store.exists():
                _name_too(store, aside / store.name)
            paths.sync_folder(aside)
            (staged / NEW_NAME).replace(store)
            paths.sync_folder(profile)
        shutil.rmtree(staged, ignore_errors=True)
        (profile / MARKER).unlink(missing_ok=True)
        paths.sync_folder(profile)
    except OSError as error:
        raise StoreError(f"{store} cannot be replaced: {error}") from error


def _name_too(store: Path, aside: Path) -> None:
    """Give the old store its place aside as well, so that there is a store at every moment.

    A program that began to open it before the marker was there would else make an empty one,
    whose log would then lie beside the new store and be applied to it.
    """
    try:
        os.link(store, aside)
    except FileExistsError:  # by one that died right after it
        return
    except OSError:  # a file system without links, like FAT
        store.rename(aside)
