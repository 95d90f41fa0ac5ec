"""Places on this machine that hold history: how a reader describes what it looks for."""

import os
from collections.abc import Iterator
from pathlib import Path

from core.sources import there
from core.types import FoundSource


def found(
    kind: str, path: Path, name: str, *, sessions: int | None = None, size: int
) -> FoundSource:
    """Return a place as it is offered: importable, or with the reason why not."""
    reason = None
    if not there.exists(path):
        reason = f"{path} does not exist"
    elif not os.access(path, os.R_OK):
        reason = f"{path} may not be read"
    elif size == 0:
        reason = "it holds no history"
    return FoundSource(kind, str(path), name, sessions, size, reason is None, reason)


def sizes(root: Path, suffixes: tuple[str, ...]) -> Iterator[tuple[Path, int]]:
    """Yield the files below a folder that end so, with their sizes; links are not followed."""
    todo = [root]
    while todo:
        folder = todo.pop()
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        todo.append(Path(entry.path))
                    elif entry.is_file() and entry.name.endswith(suffixes):
                        yield Path(entry.path), entry.stat().st_size
        except OSError:
            continue  # a folder that may not be read counts as empty here; the import says so


def size_of(*paths: Path) -> int:
    """Return the bytes of those of the files that are there."""
    return sum(path.stat().st_size for path in paths if there.is_file(path))
