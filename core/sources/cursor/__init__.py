r"""Cursor: the editor's databases, the chats of its command line, and its agent's transcripts.

`state.vscdb` below `~/.config/Cursor/User` (`~/Library/Application Support/Cursor/User`,
`%APPDATA%\Cursor\User`), and `chats` and `projects/*/agent-transcripts` below `~/.cursor`
(`CURSOR_CONFIG_DIR`). Its sources are closed: the facts are those that others found out. A
conversation's id is the same in all three; a transcript, which lacks most, is left alone where
one of the databases has the conversation's messages.
"""

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from core.sources import found as places
from core.sources import there
from core.sources.cursor import ide, store, transcripts
from core.sources.records import ReadTo, Record, SourceIdentity
from core.types import FoundSource

KIND = "cursor"
READER_VERSION = 1
REWRITES = True
SUFFIXES = frozenset({".db", ".jsonl", ".vscdb"})
CHOOSES = "file"

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_EDITORS = (
    (".config", "Cursor", "User"),
    ("Library", "Application Support", "Cursor", "User"),
    ("AppData", "Roaming", "Cursor", "User"),
)


def identity(path: Path) -> SourceIdentity:
    """Return the one instance there is, where ids are unique in the world.

    A transcript whose name is no such id is of its own folder.
    """
    if path.suffix == ".jsonl" and not _UUID.fullmatch(path.stem):
        folder = path.parent.parent if path.parent.name == "subagents" else path.parent
        return SourceIdentity(KIND, str(folder.resolve()), "Cursor")
    return SourceIdentity(KIND, "", "Cursor")


def recognises(path: Path) -> bool:
    """Tell whether a file is one of the three, a folder whether it holds some."""
    if there.is_dir(path):
        return is_home(path)
    if path.suffix == ".jsonl":
        return transcripts.recognises(path)
    if path.suffix == ".vscdb":
        return ide.recognises(path)
    return store.recognises(path)


def files(path: Path) -> Iterator[Path]:
    """Yield a file itself, or what one of the program's folders holds."""
    if not there.is_dir(path):
        yield path
        return
    for folder in (path, path / "User"):
        for name in ("globalStorage", "workspaceStorage/*"):
            found = sorted(folder.glob(f"{name}/{ide.NAME}"))
            yield from (each for each in found if ide.recognises(each))
    yield from (p for p in sorted(path.glob(f"chats/*/*/{store.NAME}")) if store.recognises(p))
    for folder in sorted(path.glob(f"projects/*/{transcripts.FOLDER}")):
        yield from (each for each in sorted(folder.rglob("*.jsonl")) if there.is_file(each))


def is_home(folder: Path) -> bool:
    """Tell cheaply whether the folder is the editor's, or the agent's."""
    for each in (folder, folder / "User"):
        database = each / "globalStorage" / ide.NAME
        if there.is_file(database) and ide.recognises(database):
            return True
    patterns = (f"projects/*/{transcripts.FOLDER}", f"chats/*/*/{store.NAME}")
    return any(next(folder.glob(pattern), None) is not None for pattern in patterns)


def found(env: Mapping[str, str], home: Path) -> Iterator[FoundSource]:
    """Yield the editor's folder and the agent's."""
    user = _user_folder(env, home)
    if there.is_dir(user):
        databases = [p for p in files(user) if there.is_file(p)]
        yield places.found(KIND, user, "Cursor", size=places.size_of(*databases))
    agent = Path(env.get("CURSOR_CONFIG_DIR") or home / ".cursor")
    if there.is_dir(agent) and is_home(agent):
        size = places.size_of(*files(agent))
        yield places.found(KIND, agent, "Cursor agent", size=size)


def _user_folder(env: Mapping[str, str], home: Path) -> Path:
    if sys.platform == "win32":
        return Path(env.get("APPDATA") or home / "AppData" / "Roaming") / "Cursor" / "User"
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "Cursor" / "User"
    return Path(env.get("XDG_CONFIG_HOME") or home / ".config") / "Cursor" / "User"


def stat_paths(path: Path) -> tuple[Path, ...]:
    """Return the files whose size and time decide whether anything is new."""
    if path.suffix == ".jsonl":
        return (path,)
    beside = ide.beside(path) if path.suffix == ".vscdb" else store.beside(path)
    return (path, path.with_name(path.name + "-wal"), beside)


def read(path: Path) -> Iterator[Record]:
    """Yield the sessions and messages of one database or transcript.

    Raises:
        SourceError: it cannot be copied or read, or is another program's.
    """
    if path.suffix == ".vscdb":
        yield from ide.read(path)
    elif path.suffix == ".jsonl":
        if _is_told_elsewhere(path):
            yield ReadTo(0)
        else:
            yield from transcripts.read(path)
    else:
        yield from store.read(path)


def _is_told_elsewhere(path: Path) -> bool:
    """Whether a database beside a transcript's folder has messages of its conversation."""
    if transcripts.FOLDER not in path.parts or not _UUID.fullmatch(path.stem):
        return False
    at = path.parts.index(transcripts.FOLDER)
    agent = Path(*path.parts[: max(0, at - 2)])
    editors = (agent.parent.joinpath(*each) / "globalStorage" / ide.NAME for each in _EDITORS)
    if any(ide.holds(each, path.stem) for each in editors):
        return True
    return any(map(store.has_messages, agent.glob(f"chats/*/{path.stem}/{store.NAME}")))
