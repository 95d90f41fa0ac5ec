"""Exports that a person fetched from a web service, as they lie among the downloads."""

import zipfile
from collections.abc import Callable, Iterator, Set
from pathlib import Path

from core.sources import found


def exports(home: Path, are_ours: Callable[[Set[str]], bool]) -> Iterator[Path]:
    """Yield the zips and folders whose entries have such names; only names are looked at."""
    downloads = home / "Downloads"
    if not downloads.is_dir():
        return
    for path in sorted(downloads.iterdir()):
        try:
            names = _names(path)
        except OSError:
            continue  # not ours to judge: it may be a download that is not finished
        if are_ours(names):
            yield path


def size(path: Path) -> int:
    """Return the bytes of an export, a zip or a folder."""
    if path.is_file():
        return path.stat().st_size
    return sum(each for _, each in found.sizes(path, ("",)))


def _names(path: Path) -> Set[str]:
    """Return the names of what a zip or folder holds, without their folders."""
    if path.is_dir():
        return {each.name for each in path.iterdir()}
    if path.suffix != ".zip" or not path.is_file():
        return frozenset()
    try:
        with zipfile.ZipFile(path) as archive:
            return {Path(name).name for name in archive.namelist()}
    except (zipfile.BadZipFile, NotImplementedError, ValueError):
        return frozenset()
