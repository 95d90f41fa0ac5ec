"""Exports that a person fetched from a web service, as they lie among the downloads."""

from collections.abc import Callable, Iterator, Set
from pathlib import Path, PurePath

from core.sources import exported, found, there

FOLDER = "Downloads"


def is_export(path: Path) -> bool:
    """Tell whether a place found on this machine is such an export: it does not change."""
    return path.parent.name == FOLDER


def exports(
    home: Path, may_be_ours: Callable[[Set[str]], bool], is_ours: Callable[[Path], bool]
) -> Iterator[Path]:
    """Yield the zips, folders and bare files that are exports.

    Args:
        home: the person's folder.
        may_be_ours: tells by the names of what a zip or folder holds, or of the file itself.
        is_ours: tells by a glimpse, since exports of several services have the same names.
    """
    downloads = home / FOLDER
    if not there.is_dir(downloads):
        return
    for path in sorted(downloads.iterdir()):
        try:
            if may_be_ours(_names(path)) and is_ours(path):
                yield path
        except OSError:
            continue  # not ours to judge: it may be a download that is not finished


def size(path: Path) -> int:
    """Return the bytes of an export, a file or a folder."""
    if there.is_file(path):
        return path.stat().st_size
    return sum(each for _, each in found.sizes(path, ("",)))


def _names(path: Path) -> Set[str]:
    """Return the names of what a zip or folder holds, without their folders, or the file's."""
    if there.is_dir(path):
        return {each.name for each in path.iterdir()}
    if path.suffix == ".zip":
        return {PurePath(name).name for name in exported.names(path)}
    return {path.name}
