"""Other copies of a store in its folder: damaged ones, replaced ones, unfinished ones."""

import os
import re
import shutil
import time
from pathlib import Path

from core.errors import StoreError
from core.store import holders, snapshots
from core.upkeep.backup import PROOF_PREFIX

_COPIES = re.compile(r"(?:damaged|replaced)-[0-9A-Za-z-]{1,40}")
_OF_STORE = (".check-*", "restoring-*")
"""What the full check makes, a restore and a salvage, and leave behind when they are killed."""

_UNFINISHED = ("backscroll-copy-*", *_OF_STORE)
_STALE_S = 3600.0
_IDLE_S = 60.0
"""Who makes a copy of the store has it open but for moments, so a minute tells where we can see."""


def copies(profile: Path) -> tuple[Path, ...]:
    """Return the folders that hold stores which were set aside, by name.

    What a killed process left an hour ago is among them, copies of other programs' stores too.
    """
    found = [each for each in sorted(profile.iterdir()) if _COPIES.fullmatch(each.name)]
    return (*(each for each in found if _is_folder(each)), *leftovers(profile))


def leftovers(profile: Path) -> tuple[Path, ...]:
    """Return the unfinished copies that nobody makes any more.

    Nobody has them open, for a minute at least; or they are an hour old, where that is not told.
    """
    return tuple(each for each in _unfinished(profile, _UNFINISHED) if _is_stale(each))


def under_way(profile: Path) -> tuple[Path, ...]:
    """Return the copies of the store that may be in use at this moment."""
    return tuple(each for each in _unfinished(profile, _OF_STORE) if not _is_stale(each))


def folder_bytes(folder: Path) -> int:
    """Return the bytes of a folder's files; links are not followed."""
    inside = (Path(root, name) for root, _, names in os.walk(folder) for name in names)
    return sum(path.lstat().st_size for path in inside)


def remove_folder(folder: Path) -> None:
    """Remove a folder of ours with all that is in it; links in it are not followed.

    Raises:
        StoreError: the system does not let it go.
    """
    try:
        shutil.rmtree(folder)
    except OSError as error:
        raise StoreError(f"{folder} cannot be removed: {error}") from error


def sweep_snapshots(profile: Path, removed: list[Path]) -> None:
    """Remove what was left of removed snapshots, and copies made to prove one of them.

    For after a purge: nothing that was begun before it may stay.
    """
    folder = snapshots.folder_of(profile)
    for place in folder.glob(f"{PROOF_PREFIX}*"):
        remove_folder(place)
    for path in removed:
        path.with_suffix(".json").unlink(missing_ok=True)
    snapshots.sweep(folder, older_than_s=0.0)


def _unfinished(profile: Path, patterns: tuple[str, ...]) -> list[Path]:
    found = [each for pattern in patterns for each in sorted(profile.glob(pattern))]
    return [each for each in found if _is_folder(each)]


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _is_stale(path: Path) -> bool:
    try:
        made_s = time.time() - path.lstat().st_mtime
        files = list(path.iterdir())
        idle_s = min(made_s, *(time.time() - each.lstat().st_mtime for each in files), _STALE_S)
    except FileNotFoundError:  # whoever made it has come to its end just now
        return False
    if made_s > _STALE_S:
        return True
    return (
        idle_s > _IDLE_S
        and holders.is_known()
        and _is_of_store(path)
        and not any(holders.open_elsewhere(each, with_us=True) for each in files)
    )


def _is_of_store(path: Path) -> bool:
    return any(path.match(pattern) for pattern in _OF_STORE)
