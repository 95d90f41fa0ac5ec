"""What the user points at: described like the places found on this machine."""

from collections.abc import Iterable
from pathlib import Path

from PySide6.QtCore import QCoreApplication

from app.models.sessions import source_name
from core.errors import SourceError
from core.sources import files
from core.sources.detect import detect, home_of
from core.types import FoundSource


def described(paths: Iterable[Path]) -> list[FoundSource]:
    """Return each place with its kind and size; one that no reader knows says so.

    Looks into files and folders: call it off the thread of the window.
    """
    return [_described(path.absolute()) for path in paths]


def _described(path: Path) -> FoundSource:
    kind, reason = "", None
    try:
        if path.is_dir():
            home = home_of(path)
            kind = home.KIND if home else ""
        else:
            reader = detect(path)
            kind = reader.KIND if reader else ""
            reason = None if reader else _tr("of no kind that can be read")
    except SourceError as error:
        reason = str(error)
    size = _size(path)
    if reason is None and not size:
        reason = _tr("it holds no files")
    name = source_name(kind) if kind else path.name
    return FoundSource(kind, str(path), name, None, size, reason is None, reason)


def _size(path: Path) -> int:
    """Return the bytes of a file, or of what lies below a folder; links are not followed."""
    try:
        if path.is_file():
            return files.stamp(path).size
        sizes = (each.lstat().st_size for each in path.rglob("*") if each.is_file())
        return sum(sizes)
    except (OSError, SourceError):
        return 0


def _tr(text: str) -> str:
    return QCoreApplication.translate("places", text)
