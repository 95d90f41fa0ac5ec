"""Which reader reads what: by content, and by the places where programs keep their history."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Literal, Protocol, cast

from core.errors import SourceError
from core.sources import (
    aider,
    archive,
    chatgpt,
    claude_ai,
    claude_code,
    codex,
    copilot_cli,
    cursor,
    files,
    gemini_cli,
    goose,
    hermes,
    librechat,
    moviepilot,
    neutral,
    open_webui,
    opencode,
    pi,
    picobot,
    qwen_code,
    vscode_chat,
)
from core.sources.foreign_sqlite import is_sqlite
from core.sources.records import Record, SourceIdentity
from core.types import FoundSource


class Reader(Protocol):
    """What a reader's module has; `records` says what it yields.

    A module may have more: `MOVES` (do stored messages follow when their position changes; as
    `REWRITES` where it is missing), `stat_paths` (the files that are read along with one),
    `is_export` (did a person once fetch the file, so that nothing is gone that it does not hold),
    `read_named` (as `read`, of a file that had another name, by which its session is known),
    `COPIES_SILENTLY` (a fork is a copy of the messages, without a word of where they come from),
    `ALIGNS` (messages without ids: a batch ends between sessions, never within one),
    `read_on` with `ReaderState` (an append costs the appended bytes alone), `is_legacy` and
    `read_from` with `LegacyCursor` (a snapshot that is moved in by pages, then never opened).
    """

    KIND: str
    READER_VERSION: int
    REWRITES: bool
    SUFFIXES: frozenset[str]
    CHOOSES: Literal["file", "folder", "tree"]

    def identity(self, path: Path, /) -> SourceIdentity:
        """Return the instance of the source that a file belongs to."""
        ...

    def recognises(self, path: Path, /) -> bool:
        """Tell cheaply whether a file is of this kind."""
        ...

    def files(self, path: Path, /) -> Iterator[Path]:
        """Yield what to read at or below a path."""
        ...

    def read(self, path: Path, /) -> Iterator[Record]:
        """Yield what one file holds."""
        ...

    def is_home(self, folder: Path, /) -> bool:
        """Tell cheaply whether the program laid the folder out as its own."""
        ...

    def found(self, env: Mapping[str, str], home: Path, /) -> Iterator[FoundSource]:
        """Yield the places where the program of this person keeps history, or should."""
        ...


def _reader(module: ModuleType) -> Reader:
    return cast("Reader", module)


# In the order in which they are asked: what a reader recognises, none before it does.
_MODULES = (
    hermes,
    claude_code,
    codex,
    chatgpt,
    claude_ai,
    open_webui,
    librechat,
    copilot_cli,
    pi,
    picobot,
    moviepilot,
    gemini_cli,
    qwen_code,
    opencode,
    goose,
    cursor,
    aider,
    vscode_chat,
    neutral,
)
READERS: Mapping[str, Reader] = {reader.KIND: reader for reader in map(_reader, _MODULES)}
"""Every reader by the kind that it reads."""

SUFFIXES = frozenset(suffix for reader in READERS.values() for suffix in reader.SUFFIXES)
"""How the names of files end that may be history."""


def reader_of(kind: str) -> Reader:
    """Return the reader of a kind.

    Raises:
        SourceError: there is none.
    """
    try:
        return READERS[kind]
    except KeyError:
        known = ", ".join(sorted(READERS))
        raise SourceError(f"there is no kind {kind!r}; this version reads {known}") from None


def detect(path: Path) -> Reader | None:
    """Return the reader that recognises a file's content, or None.

    Raises:
        SourceError: the file cannot be looked into, or must not be.
    """
    files.stamp(path)
    if path.name in files.CREDENTIAL_NAMES:
        raise SourceError(f"{path.name} holds credentials and is never read", path=str(path))
    likely = (r for r in READERS.values() if path.suffix in r.SUFFIXES)
    return next((r for r in likely if r.recognises(path)), None)


def by_container(path: Path) -> Reader | None:
    """Return the reader that can say what is wrong with a zip or database nobody recognises."""
    if archive.is_zip(path):
        return READERS[chatgpt.KIND]
    if is_sqlite(path):
        return READERS[hermes.KIND]
    return None


def home_of(folder: Path) -> Reader | None:
    """Return the reader whose program laid the folder out as its own home, or None.

    Such a folder holds much that is no history, and its reader knows what is.
    """
    return next((reader for reader in READERS.values() if _is_home(reader, folder)), None)


def _is_home(reader: Reader, folder: Path) -> bool:
    try:
        return reader.is_home(folder)
    except OSError:
        return False  # it may not be entered; whoever reads it tells


def found_on_this_machine(
    env: Mapping[str, str] | None = None, home: Path | None = None
) -> list[FoundSource]:
    """Return the places on this machine that hold history, or should.

    Args:
        env: variables that move a program's home; the process's own where None.
        home: the person's folder; that of the process's user where None.

    Counts come from names and sizes of files, at a few µs a file; nothing is read but how the
    exports among the downloads begin.
    """
    env = os.environ if env is None else env
    home = Path.home() if home is None else home
    found: list[FoundSource] = []
    for reader in READERS.values():
        try:
            found.extend(reader.found(env, home))
        except OSError as error:  # a folder on the way that may not be entered; said once
            place = str(error.filename or home)
            if place not in {each.path for each in found}:
                reason = f"it cannot be read: {error.strerror or error}"
                name = Path(place).name
                found.append(FoundSource(reader.KIND, place, name, None, 0, False, reason))
    return found
