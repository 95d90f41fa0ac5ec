"""Where Codex keeps rollouts, and how to open one and find another by its id.

Layout: `sessions/YYYY/MM/DD/rollout-<local time>-<id>.jsonl`, moved to `archived_sessions/` when
archived, either of them compressed to `.jsonl.zst` when old, `.json` in 2025-04. The id in
the name is the rollout's; the thread it belongs to is in its first line.
"""

import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from core.sources import there
from core.sources.lines import Readable

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

HOME = ".codex"
FOLDERS = ("sessions", "archived_sessions")
_YEAR = re.compile(r"20\d\d")
NAME = re.compile(r"rollout-(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d)-(.+?)\.jsonl?(?:\.zst)?$")
SUFFIXES = (".jsonl", ".jsonl.zst", ".json")
# No session is that long: a small file that unpacks to more is not a rollout.
PLAIN_BYTES = 8 << 30
_LOOK_AGAIN_S = 2.0

UnpackError = zstd.ZstdError


class _Bounded:
    """A stream that ends with an `EOFError` after `limit` bytes."""

    def __init__(self, stream: Readable, limit: int) -> None:
        self._stream = stream
        self._left = limit

    def read(self, size: int, /) -> bytes:
        found = self._stream.read(size)
        self._left -= len(found)
        if self._left < 0:
            raise EOFError(f"it unpacks to more than {PLAIN_BYTES >> 30} GiB")
        return found


def present(path: Path) -> Path:
    """Return the path, or its twin if it was compressed or unpacked since it was listed."""
    if there.exists(path):
        return path
    twin = path.with_suffix("") if path.suffix == ".zst" else path.with_name(path.name + ".zst")
    return twin if there.exists(twin) else path


@contextmanager
def opened(path: Path) -> Iterator[Readable]:
    """Open a rollout's plain text, unpacking as it is read.

    A file that was compressed or unpacked since it was listed is opened as it is now. Reading
    a damaged archive raises `UnpackError`, one that ends too early `EOFError`.
    """
    found = present(path)
    with found.open("rb") as file:
        yield _unpacked(file) if found.suffix == ".zst" else file


def _unpacked(file: IO[bytes]) -> Readable:
    return _Bounded(zstd.ZstdFile(file), PLAIN_BYTES)


def is_home(folder: Path) -> bool:
    """Tell whether the folder is laid out as Codex lays out its own.

    Many programs have a folder `sessions`: that of Codex holds years, or rollouts themselves.
    """
    kept = [folder / name for name in FOLDERS if there.is_dir(folder / name)]
    return bool(kept) and (folder.name == HOME or any(map(_holds_rollouts, kept)))


def _holds_rollouts(folder: Path) -> bool:
    try:
        with os.scandir(folder) as entries:
            return any(_YEAR.fullmatch(each.name) or NAME.match(each.name) for each in entries)
    except OSError:
        return False


def rollouts(root: Path) -> Iterator[Path]:
    """Yield the rollouts below a folder, oldest name first, each once.

    Of a file and its compressed twin the plain one is yielded: it is the newer. Links to
    folders are not followed.
    """
    found: dict[str, Path] = {}
    for path in _below(root):
        plain = str(path).removesuffix(".zst")
        if plain not in found or path.suffix != ".zst":
            found[plain] = path
    yield from sorted(found.values(), key=lambda path: (path.name, str(path)))


def _below(root: Path) -> Iterator[Path]:
    kept = [root / name for name in FOLDERS if there.is_dir(root / name)]
    for start in kept or [root]:
        for folder, _, names in os.walk(start):
            for name in names:
                if name.endswith(SUFFIXES) and (not kept or name.startswith("rollout-")):
                    yield Path(folder, name)


def home_of(path: Path) -> Path:
    """Return the folder that holds `sessions`, or the file's own folder where none does."""
    for parent in path.parents:
        if parent.name in FOLDERS:
            return parent.parent
    return path.parent


def id_in(name: str) -> str | None:
    """Return the rollout's id from its file name."""
    match = NAME.match(name)
    return match[2] if match else None


class _Index:
    """The rollouts of one home by the id in their name."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._by_id: dict[str, Path] = {}
        self._looked_at = -_LOOK_AGAIN_S

    def find(self, rollout_id: str) -> Path | None:
        """Return the file of this id. A miss lists the folders again, at most every 2 s."""
        if rollout_id not in self._by_id and time.monotonic() - self._looked_at >= _LOOK_AGAIN_S:
            self._by_id = {id_in(path.name) or path.stem: path for path in self._files()}
            self._looked_at = time.monotonic()
        return self._by_id.get(rollout_id)

    def _files(self) -> Iterator[Path]:
        if is_home(self._home):
            return rollouts(self._home)
        return (p for p in sorted(self._home.iterdir()) if p.name.endswith(SUFFIXES))


_indexes: dict[Path, _Index] = {}


def sibling(path: Path, rollout_id: str) -> Path | None:
    """Return the rollout of this id that lies beside `path`, or below the same home."""
    home = home_of(path)
    index = _indexes.setdefault(home, _Index(home))
    found = index.find(rollout_id)
    return found if found is not None and found != path else None
