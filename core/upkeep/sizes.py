"""Where the bytes of a store are: by table and index, beside it, and free on its disk."""

import re
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw

from core.store import aside, damage, snapshots
from core.upkeep_types import StoreSizes

COMPACT_FACTOR = 2.2
"""VACUUM writes everything twice, to a temporary file and to the log, and some more."""

_PAGES = "the file"
_State = tuple[tuple[int, int, int], ...]


def sizes(db: apsw.Connection) -> StoreSizes:
    """Return where the store's bytes are.

    Reads every page's head: 0.7 s for 1.2 GB that are in memory, 2.5 s where they are not, so it
    is asked for when somebody looks, on a reader; this process remembers it until the files
    change. Of a store whose pages are damaged the whole is told alone.
    """
    parts, set_aside = _parts_remembered(db)
    return _with_parts(db, parts, set_aside)


def sizes_at_once(db: apsw.Connection) -> StoreSizes:
    """Do the same without the parts; no page is read, unless a damaged index is set aside."""
    if aside.set_aside_names(db):
        return replace(sizes(db), parts={})
    return _with_parts(db, {}, 0)


def _with_parts(db: apsw.Connection, parts: Mapping[str, int], set_aside: int) -> StoreSizes:
    path = Path(db.filename)
    return StoreSizes(
        parts=parts,
        free_pages_bytes=int(db.pragma("freelist_count")) * page_bytes(db),
        wal_bytes=_file_bytes(path.with_name(f"{path.name}-wal")),
        snapshots_bytes=_folder_bytes(snapshots.folder_of(path.parent)),
        damaged_bytes=set_aside + sum(map(_folder_bytes, path.parent.glob("damaged-*"))),
        disk_free_bytes=shutil.disk_usage(path.parent).free,
        compact_needs_bytes=compact_needs_bytes(db),
    )


def compact_needs_bytes(db: apsw.Connection) -> int:
    """Return how many bytes must be free beside the store so that VACUUM cannot run out of them."""
    used = int(db.pragma("page_count")) - int(db.pragma("freelist_count"))
    return int(COMPACT_FACTOR * used * page_bytes(db))


def page_bytes(db: apsw.Connection) -> int:
    """Return the bytes of one page."""
    return int(db.pragma("page_size"))


def _parts_remembered(db: apsw.Connection) -> tuple[dict[str, int], int]:
    """Do as `_parts`, once for each state of the files: every commit changes one of them."""
    before = _state(db)
    known = _known.get(db.filename)
    if known is not None and known[0] == before:
        return known[1]
    found = _parts(db)
    if _state(db) == before:
        _known[db.filename] = before, found
    return found


_known: dict[str, tuple[_State, tuple[dict[str, int], int]]] = {}


def _state(db: apsw.Connection) -> _State:
    """Return which files these are, how large, and when they changed; none is opened."""
    path = Path(db.filename)
    found = []
    for each in (path, path.with_name(f"{path.name}-wal")):
        try:
            told = each.stat()
        except FileNotFoundError:
            found.append((0, 0, 0))
        else:
            found.append((told.st_ino, told.st_size, told.st_mtime_ns))
    return tuple(found)


def _parts(db: apsw.Connection) -> tuple[dict[str, int], int]:
    """Return the bytes by table with its indexes, largest first, and those of what is set aside."""
    owners = {str(name): str(owner) for name, owner in _rows(db, _OWNERS)}
    indexes = [str(name) for (name,) in _rows(db, _VIRTUAL)]
    found: Counter[str] = Counter()
    try:
        for name, size in _rows(db, "SELECT name, pgsize FROM dbstat WHERE aggregate = TRUE"):
            found[_owner(str(owners.get(name, name)), indexes)] += size
    except apsw.CorruptError:
        return {_PAGES: int(db.pragma("page_count")) * page_bytes(db)}, 0
    set_aside = sum(found.pop(name) for name in list(found) if damage.is_set_aside(name))
    return dict(found.most_common()), set_aside


_OWNERS = "SELECT name, tbl_name FROM sqlite_schema WHERE type IN ('table', 'index')"
_VIRTUAL = (
    "SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL TABLE%'"
    " ORDER BY length(name) DESC"
)
_SHADOW = re.compile(r"(.+)_(?:data|idx|content|docsize|config)")


def _owner(table: str, indexes: list[str]) -> str:
    """Return the full-text index that a table belongs to, else the table."""
    match = _SHADOW.fullmatch(table)
    return match[1] if match and match[1] in indexes else table


def _rows(db: apsw.Connection, sql: str) -> Iterable[tuple[Any, ...]]:
    return db.execute(sql)


def _file_bytes(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _folder_bytes(folder: Path) -> int:
    """Return the bytes of the files in a folder; none where there is no such folder."""
    try:
        return sum(_file_bytes(each) for each in folder.iterdir() if not each.is_symlink())
    except (FileNotFoundError, NotADirectoryError):
        return 0
