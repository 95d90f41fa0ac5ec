"""Which reader reads what: by content, and by the places where programs keep their history."""

import os
import sys
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Protocol, cast

from core.errors import SourceError
from core.sources import archive, chatgpt, claude_code, codex, files, hermes, neutral
from core.sources.codex import rollout_files
from core.sources.foreign_sqlite import is_sqlite
from core.sources.records import Record, SourceIdentity
from core.types import FoundSource


class Reader(Protocol):
    """What a reader's module has; `records` says what it yields."""

    KIND: str
    READER_VERSION: int
    REWRITES: bool

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


def _reader(module: ModuleType) -> Reader:
    return cast("Reader", module)


# In the order in which they are asked: what a reader recognises, none before it does.
READERS: Mapping[str, Reader] = {
    reader.KIND: reader for reader in map(_reader, (hermes, claude_code, codex, chatgpt, neutral))
}
"""Every reader by the kind that it reads."""

# Which of several files hold the same sessions, only their reader knows: Hermes asked for each
# folder, Codex for the whole of it.
CHOOSES_PER_FOLDER = frozenset({hermes.KIND})
CHOOSES_PER_TREE = frozenset({codex.KIND})
# A fork there is a copy of the messages, without a word of where they come from.
COPIES_SILENTLY = frozenset({claude_code.KIND})
SUFFIXES = frozenset({".db", ".json", ".jsonl", ".ndjson", ".sqlite", ".zip", ".zst"})


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
    return next((r for r in READERS.values() if r.recognises(path)), None)


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
    database = folder / hermes.DATABASE
    if database.is_file() and hermes.recognises_database(database):
        return READERS[hermes.KIND]
    if rollout_files.is_home(folder):
        return READERS[codex.KIND]
    if claude_code.is_home(folder):
        return READERS[claude_code.KIND]
    return None


def found_on_this_machine(
    env: Mapping[str, str] | None = None, home: Path | None = None
) -> list[FoundSource]:
    """Return the places on this machine that hold history, or should.

    Args:
        env: variables that move a program's home; the process's own where None.
        home: the person's folder; that of the process's user where None.

    Counts come from names and sizes of files, at a few µs a file; nothing is read.
    """
    env = os.environ if env is None else env
    home = Path.home() if home is None else home
    looks = (_hermes, _claude_code, _codex)
    found = [each for look in looks if (each := look(env, home)) is not None]
    return [*found, *_chatgpt(home)]


def _claude_code(env: Mapping[str, str], home: Path) -> FoundSource | None:
    root = Path(env.get("CLAUDE_CONFIG_DIR") or home / ".claude")
    if not root.is_dir():
        return None
    projects = root / "projects"
    sizes = dict(_sizes(projects, (".jsonl",)))
    sessions = [
        path
        for path in sizes
        if not path.name.startswith("agent-") and "subagents" not in path.parts
    ]
    return _found(claude_code.KIND, projects, "Claude Code", len(sessions), sum(sizes.values()))


def _codex(env: Mapping[str, str], home: Path) -> FoundSource | None:
    root = Path(env.get("CODEX_HOME") or home / ".codex")
    if not root.is_dir():
        return None
    sizes = [
        size
        for folder in rollout_files.FOLDERS
        for path, size in _sizes(root / folder, rollout_files.SUFFIXES)
        if rollout_files.NAME.search(path.name)
    ]
    return _found(codex.KIND, root, "Codex", len(sizes), sum(sizes))


def _hermes(env: Mapping[str, str], home: Path) -> FoundSource | None:
    default = home / ".hermes"
    if sys.platform == "win32" and env.get("LOCALAPPDATA"):
        default = Path(env["LOCALAPPDATA"]) / "hermes"
    root = Path(env.get("HERMES_HOME") or default)
    if not root.is_dir():
        return None
    databases = [root / hermes.DATABASE, *sorted(root.glob(f"profiles/*/{hermes.DATABASE}"))]
    size = sum(path.stat().st_size for path in databases if path.is_file())
    return _found(hermes.KIND, root, "Hermes", None, size)


def _chatgpt(home: Path) -> Iterator[FoundSource]:
    """Exports among the downloads, known by what they hold."""
    downloads = home / "Downloads"
    if not downloads.is_dir():
        return
    for path in sorted(downloads.iterdir()):
        try:
            is_export = _is_chatgpt_zip(path) or _is_chatgpt_folder(path)
        except OSError:
            continue  # not ours to judge: it may be a download that is not finished
        if is_export:
            size = path.stat().st_size if path.is_file() else sum(s for _, s in _sizes(path, ("",)))
            yield _found(chatgpt.KIND, path, f"ChatGPT export {path.stem}", None, size)


def _is_chatgpt_zip(path: Path) -> bool:
    if path.suffix != ".zip" or not path.is_file():
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            return _are_chatgpt({Path(name).name for name in archive.namelist()})
    except (zipfile.BadZipFile, NotImplementedError, ValueError):
        return False


def _is_chatgpt_folder(path: Path) -> bool:
    return path.is_dir() and _are_chatgpt({each.name for each in path.iterdir()})


def _are_chatgpt(names: set[str]) -> bool:
    """Whether an export of these entries is ChatGPT's; Claude.ai's has its own beside them."""
    talks = any(n.startswith("conversations") and n.endswith(".json") for n in names)
    return talks and "users.json" not in names


def _found(kind: str, path: Path, name: str, sessions: int | None, size: int) -> FoundSource:
    reason = None
    if not path.exists():
        reason = f"{path} does not exist"
    elif not os.access(path, os.R_OK):
        reason = f"{path} may not be read"
    elif size == 0:
        reason = "it holds no history"
    return FoundSource(kind, str(path), name, sessions, size, reason is None, reason)


def _sizes(root: Path, suffixes: tuple[str, ...]) -> Iterator[tuple[Path, int]]:
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
