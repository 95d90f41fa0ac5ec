r"""OpenCode and what was made of it (Kilo, MiMoCode): a database, and the files before it.

`opencode.db`, `opencode-<channel>.db` or `kilo.db` in `$XDG_DATA_HOME/opencode` (`kilo`, …),
`~/.local/share` on every system; `OPENCODE_DB` names another. A database is read whole from a
private copy (`core.sources.opencode.database`). The files of older versions stay on the disk
after the program moved them into the database (`core.sources.opencode.tree`): a session that
the database beside them has is read from there alone.

Messages are changed in place while they are written, hidden by a revert until it is taken back
or the next prompt deletes them, and never moved: the place of one is made of its time.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

import apsw

from core.errors import SourceError
from core.sources import found as places
from core.sources import there
from core.sources.foreign_sqlite import glimpsed, glimpsed_columns, is_sqlite, snapshot
from core.sources.opencode import tree
from core.sources.opencode.database import Database
from core.sources.records import ReadTo, Record, SourceIdentity
from core.types import FoundSource

KIND = "opencode"
READER_VERSION = 1
REWRITES = True
SUFFIXES = frozenset({".db", ".json"})
CHOOSES = "file"

_PROGRAMS = {"opencode": "OpenCode", "kilo": "Kilo", "mimocode": "MiMoCode"}


def identity(path: Path) -> SourceIdentity:
    """Return the one instance there is: ids are unique in the world, and Kilo's are alike."""
    names = {path.stem.partition("-")[0], *path.parts}
    program = next((p for p in _PROGRAMS if p != "opencode" and p in names), "opencode")
    return SourceIdentity(KIND, "", _PROGRAMS[program])


def recognises(path: Path) -> bool:
    """Tell whether a file is a database or a session's file, a folder whether it holds some."""
    if there.is_dir(path):
        return is_home(path)
    if path.suffix == ".json":
        return tree.recognises(path)
    return _is_database(path)


def _is_database(path: Path) -> bool:
    return (
        is_sqlite(path)
        and glimpsed_columns(path, "message") >= {"id", "session_id", "data"}
        and glimpsed_columns(path, "part") >= {"id", "message_id", "data"}
    )


def _databases(folder: Path) -> list[Path]:
    return [p for p in sorted(folder.glob("*.db")) if there.is_file(p) and _is_database(p)]


def files(path: Path) -> Iterator[Path]:
    """Yield a file itself, or what a folder holds: files of sessions, then databases.

    In this order the database has the last word on a session that both know.
    """
    if not there.is_dir(path):
        yield path
        return
    for each in (path, path / "storage"):
        if tree.is_tree(each):
            yield from tree.files(each)
    yield from _databases(path)


def is_home(folder: Path) -> bool:
    """Tell whether the folder holds the program's database, or the files before it.

    Databases of other names stay closed: they are other programs'.
    """
    if tree.is_tree(folder) or tree.is_tree(folder / "storage"):
        return True
    named = (p for p in folder.glob("*.db") if p.stem.partition("-")[0] in _PROGRAMS)
    return any(there.is_file(path) and _is_database(path) for path in named)


def found(env: Mapping[str, str], home: Path) -> Iterator[FoundSource]:
    """Yield the person's own folders, and the database that a variable names elsewhere."""
    shared = Path(env.get("XDG_DATA_HOME") or home / ".local" / "share")
    for name, program in _PROGRAMS.items():
        folder = shared / name
        if there.is_dir(folder) and (is_home(folder) or _databases(folder)):
            old = sum(size for _, size in places.sizes(folder / "storage", (".json",)))
            size = old + places.size_of(*_databases(folder))
            yield places.found(KIND, folder, program, size=size)
    if named := env.get("OPENCODE_DB"):
        path = shared / "opencode" / named  # one that is absolute stays as it is
        if path.parent != shared / "opencode" and there.is_file(path):
            yield places.found(KIND, path, f"OpenCode {path.stem}", size=places.size_of(path))


def stat_paths(path: Path) -> tuple[Path, ...]:
    """Return the files whose size and time decide whether anything is new."""
    if path.suffix == ".json":
        return tree.stat_paths(path)
    return (path, path.with_name(path.name + "-wal"))


def read(path: Path) -> Iterator[Record]:
    """Yield the sessions and messages of a database, or of one old file of a session.

    Memory: one message and its parts, and about 100 bytes a session.

    Raises:
        SourceError: it cannot be copied or read, or is no OpenCode database.
    """
    if path.suffix == ".json":
        name = tree.native_id(path)
        if any(glimpsed(each, "session", "id", name) for each in _beside(path)):
            yield ReadTo(0)
        else:
            yield from tree.read(path)
        return
    try:
        with snapshot(path) as db:
            try:
                database = Database(db)
            except SourceError as error:
                raise SourceError(
                    f"{path} is no OpenCode database: {error}", path=str(path)
                ) from error
            yield from database.records()
    except apsw.Error as error:  # what damage the reading of rows did not get over
        raise SourceError(f"{path} is damaged: {error}", path=str(path)) from error


def _beside(path: Path) -> list[Path]:
    """The databases of the folder that an old file's tree lies in."""
    return _databases(path.parent.parent.parent.parent)
