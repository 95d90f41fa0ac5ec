"""Which programs have a store open, so that people are told whom they wait for.

Found by looking at the open files of this user's processes; no file of a store is opened for it.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from core.upkeep_types import OpenElsewhere

_PROC = Path("/proc")
_LOG_ENDS = ("", "-wal", "-shm")
_MODULE = "app"


def is_known() -> bool:
    """Tell whether this system lets us see who has a file open; else `open_elsewhere` is empty."""
    return (_PROC / "self" / "fd").is_dir()


def open_elsewhere(
    path: Path, *, with_us: bool = False, also: tuple[int, int] | None = None
) -> tuple[OpenElsewhere, ...]:
    """Return this user's processes that have the store at `path` open, by process id.

    This process itself is left out unless `with_us`. `also` is another file, by device and
    number: one that had this name before. Files are told apart by what they are, not by name.
    Some milliseconds for a few hundred processes.
    """
    wanted = _identities(path) | (frozenset() if also is None else {also})
    if not wanted or not is_known():
        return ()
    found = []
    for pid in sorted(
        int(name) for name in (each.name for each in _PROC.iterdir()) if name.isdigit()
    ):
        is_us = pid == os.getpid()
        if is_us and not with_us:
            continue
        modes = list(_open_modes(pid, wanted))
        if modes:
            writes = any(mode != os.O_RDONLY for mode in modes)
            found.append(OpenElsewhere(pid, _program(pid), writes, is_us))
    return tuple(found)


def in_words(others: tuple[OpenElsewhere, ...]) -> str:
    """Return who they are, for a sentence: `backscroll mcp (process 12), …`; empty for nobody."""
    return ", ".join(f"{each.program} (process {each.pid})" for each in others)


def _identities(path: Path) -> frozenset[tuple[int, int]]:
    found = set()
    for end in _LOG_ENDS:
        try:
            stat = path.with_name(path.name + end).stat()
        except OSError:
            continue
        found.add((stat.st_dev, stat.st_ino))
    return frozenset(found)


def _open_modes(pid: int, wanted: frozenset[tuple[int, int]]) -> Iterator[int]:
    """Yield how a process has each of the files open; nothing for one that ended or is not ours."""
    folder = _PROC / str(pid) / "fd"
    try:
        files = list(folder.iterdir())
    except OSError:
        return
    for file in files:
        try:
            stat = file.stat()
            if (stat.st_dev, stat.st_ino) in wanted:
                yield _mode(pid, file.name)
        except OSError:
            continue


def _mode(pid: int, name: str) -> int:
    for line in (_PROC / str(pid) / "fdinfo" / name).read_text(encoding="ascii").splitlines():
        if line.startswith("flags:"):
            return int(line.split()[1], 8) & os.O_ACCMODE
    return os.O_RDWR


def _program(pid: int) -> str:
    """Return what a process calls itself: our own by the command, others by their program."""
    try:
        arguments = (_PROC / str(pid) / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return "a program"
    words = [os.fsdecode(each) for each in arguments if each]
    if not words:
        return "a program"
    if Path(words[0]).name.startswith("python"):
        words = words[1:]
        while words and words[0].startswith("-") and words[0] != "-m":
            words = words[1:]
        words = words[1:] if words[:1] == ["-m"] else words
    name = Path(words[0]).name if words else "python"
    if name not in (_MODULE, "backscroll"):
        return name
    return " ".join(["backscroll", *[word for word in words[1:2] if word.isalpha()]])
