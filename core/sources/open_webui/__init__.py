"""Open WebUI: its database `webui.db`, and the JSON that it exports of chats.

`webui.db` lies in the folder that `DATA_DIR` names, else in that of the installed package. It
is read from a private copy (`core.sources.foreign_sqlite`). Ids are unique in the world, so a
chat that comes from the database and from an export is one. A shared chat is a copy of another
one and is left out while that one is there.

Memory: one chat, and about 100 bytes for each row of `chat_message`.
"""

import re
from collections.abc import Iterator, Mapping, Set
from pathlib import Path, PurePath

import apsw

from core.errors import SourceError
from core.sources import downloads, exported, there
from core.sources import found as places
from core.sources.foreign_sqlite import glimpsed_columns, is_sqlite, snapshot
from core.sources.open_webui import chat
from core.sources.open_webui.database import Database
from core.sources.records import Record, SourceIdentity
from core.types import FoundSource

KIND = "open-webui"
READER_VERSION = 1
REWRITES = True
SUFFIXES = frozenset({".db", ".json"})
CHOOSES = "file"

DATABASE = "webui.db"
_EXPORT = re.compile(r"(all-|archived-)?chats?-export-.*\.json")
_SIGNATURE = {"id", "user_id", "title", "chat"}
_PACKAGES = (
    ".local/lib/python3*/site-packages",
    ".local/share/uv/tools/open-webui/lib/python3*/site-packages",
    ".local/share/pipx/venvs/open-webui/lib/python3*/site-packages",
    ".local/pipx/venvs/open-webui/lib/python3*/site-packages",
)
"""Where programs of Python are installed for one person."""


def identity(path: Path) -> SourceIdentity:  # noqa: ARG001 (ids are unique in the world)
    """Return the one instance there is; whose a chat is stands in its metadata."""
    return SourceIdentity(KIND, "", "Open WebUI")


def recognises(path: Path) -> bool:
    """Tell by a glimpse whether a file is the database, or an export of chats."""
    if there.is_dir(path):
        return is_home(path)
    if path.suffix == ".json":
        try:
            return _is_export(exported.head(path, _no_entry))
        except SourceError:
            return False
    return is_sqlite(path) and glimpsed_columns(path, "chat") >= _SIGNATURE


def files(path: Path) -> Iterator[Path]:
    """Yield the file itself, or of a folder the database, else its exports."""
    if not there.is_dir(path):
        yield path
    elif is_home(path):
        yield path / DATABASE
    else:
        yield from (p for p in sorted(path.glob("*.json")) if there.is_file(p) and recognises(p))


def is_export(path: Path) -> bool:
    """Tell an export, in which what is missing is not gone, from the database."""
    return path.suffix == ".json"


def is_home(folder: Path) -> bool:
    """Tell whether the folder holds the program's database."""
    return there.is_file(folder / DATABASE) and recognises(folder / DATABASE)


def found(env: Mapping[str, str], home: Path) -> Iterator[FoundSource]:
    """Yield the person's databases, wherever the program was installed, and exports of it."""
    folders = [Path(env["DATA_DIR"])] if env.get("DATA_DIR") else []
    folders += [home / ".open-webui", home / "open-webui/backend/data"]
    for pattern in _PACKAGES:
        folders += sorted(home.glob(f"{pattern}/open_webui/data"))
    for folder in folders:
        if is_home(folder):
            size = places.size_of(*stat_paths(folder / DATABASE))
            yield places.found(KIND, folder / DATABASE, "Open WebUI", size=size)
    for path in downloads.exports(home, _may_be_ours, recognises):
        name = f"Open WebUI export {path.stem}"
        yield places.found(KIND, path, name, size=downloads.size(path))


def _may_be_ours(names: Set[str]) -> bool:
    """Whether one of the names is such as the program gives its exports."""
    return any(_EXPORT.fullmatch(name) for name in names)


def stat_paths(path: Path) -> tuple[Path, ...]:
    """Return the files whose size and time decide whether anything is new.

    New rows are in the log until a checkpoint moves them.
    """
    return (path,) if path.suffix == ".json" else (path, path.with_name(path.name + "-wal"))


def read(path: Path) -> Iterator[Record]:
    """Yield every chat of the database or the export with all its branches.

    Raises:
        SourceError: it cannot be read or copied, or has no table of chats.
    """
    if is_sqlite(path):
        try:
            with snapshot(path) as db:
                yield from Database(db, path).records()
        except apsw.Error as error:  # what damage the reading of rows did not get over
            raise SourceError(f"{path} is damaged: {error}", path=str(path)) from error
        return
    for each in exported.conversations(path, _no_entry, chat.is_chat):
        if isinstance(each, exported.Found):
            yield from chat.read(each.value, each.raw_ref)
        else:
            yield each


def _no_entry(path: PurePath) -> bool:  # noqa: ARG001 (the program makes no archives)
    return False


def _is_export(head: bytes) -> bool:
    """Whether a text begins like an export; others have trees too, under other names."""
    links = b'"childrenIds"' in head or b'"currentId"' in head
    return links and exported.has_key(head, "history")
