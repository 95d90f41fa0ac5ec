"""MoviePilot: the history store of each user, and the chats of its main database.

Its folder of configuration is `CONFIG_DIR`, `/config` in a container, `config` of a checkout.
`agent/runtime/history/users/<key>/state.db` is read like any database
(`core.sources.moviepilot.history`). `user.db` holds snapshots from before there were such
stores (`core.sources.moviepilot.chats`): they are moved in page by page, and when that is
complete the file is the program's alone again.
"""

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path

import apsw

from core.errors import SourceError
from core.sources import found as places_found
from core.sources import there
from core.sources.foreign_sqlite import glimpsed_columns, is_sqlite, snapshot
from core.sources.moviepilot import chats, history, places
from core.sources.records import LegacyCursor, Record, Remark, SourceIdentity
from core.types import FoundSource

KIND = places.KIND
READER_VERSION = 1
REWRITES = True
SUFFIXES = frozenset({".db", ".sqlite"})
CHOOSES = "file"
ALIGNS = True
"""Messages for the model often have no ids: what is stored of a chat tells which are known."""

CONTAINER = Path("/config")
_CHECKOUTS = ("MoviePilot", "moviepilot")
_STORE = {"session_id", "message_uid", "role", "content", "timestamp", "provenance"}
_CHATS = {"session_id", "agent_messages", "display_messages"}


def identity(path: Path) -> SourceIdentity:
    """Return the instance: a user's store, or the main database."""
    return places.identity_of_file(path)


def recognises(path: Path) -> bool:
    """Tell whether a file is a history store or a main database with chats."""
    return is_sqlite(path) and (is_store(path) or is_legacy(path))


def is_store(path: Path) -> bool:
    """Tell whether a database is a user's history store; those of Hermes look much like it."""
    return glimpsed_columns(path, "messages") >= _STORE


def is_legacy(path: Path) -> bool:
    """Tell whether a database holds snapshots that are moved in once."""
    return path.name == places.MAIN or glimpsed_columns(path, chats.TABLE) >= _CHATS


def is_export(path: Path) -> bool:
    """Tell whether a file is a snapshot: what it no longer holds is not gone for that."""
    return is_legacy(path)


def files(path: Path) -> Iterator[Path]:
    """Yield the stores below a folder of configuration, or a checkout, and its main database."""
    if not there.is_dir(path):
        yield path
        return
    config = path if places.looks_like_config(path) else path / "config"
    yield from places.stores(config)
    if there.is_file(config / places.MAIN):
        yield config / places.MAIN


def is_home(folder: Path) -> bool:
    """Tell by names alone whether a folder is MoviePilot's: its main database stays closed."""
    return places.looks_like_config(folder) or places.looks_like_config(folder / "config")


def found(env: Mapping[str, str], home: Path) -> Iterator[FoundSource]:
    """Yield the folders of configuration on this machine that hold a database."""
    told = [Path(env["CONFIG_DIR"])] if env.get("CONFIG_DIR") else []
    checkouts = [home / name / "config" for name in _CHECKOUTS]
    seen = set()
    for folder in filter(there.is_dir, (*told, CONTAINER, *checkouts)):
        if places.looks_like_config(folder) and folder.resolve() not in seen:
            seen.add(folder.resolve())
            main = folder / places.MAIN
            logs = (main, main.with_name(main.name + "-wal"))
            size = places_found.size_of(*logs, *places.stores(folder))
            yield places_found.found(KIND, folder, "MoviePilot", size=size)


def stat_paths(path: Path) -> tuple[Path, ...]:
    """Return the files whose size and time decide whether anything is new."""
    return (path, path.with_name(path.name + "-wal"))


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[apsw.Connection]:
    try:
        with snapshot(path) as db:
            yield db
    except apsw.Error as error:  # what damage the reading of rows did not get over
        raise SourceError(f"{path} is damaged: {error}", path=str(path)) from error


def read(path: Path) -> Iterator[Record]:
    """Yield all that one database holds.

    Raises:
        SourceError: it cannot be copied, or is no database of MoviePilot's.
    """
    with _opened(path) as db:
        if chats.has_any(db):
            yield from (r for r in chats.pages(db, path, 0) if not isinstance(r, LegacyCursor))
        elif path.name == places.MAIN:
            yield Remark(1, "this MoviePilot keeps no chats yet")
        else:
            yield from history.records(db, path)


def read_from(path: Path, cursor: int) -> Iterator[Record]:
    """Yield the chats of a main database behind row `cursor`, in pages of 20 rows.

    Raises:
        SourceError: as `read`.
    """
    with _opened(path) as db:
        if chats.has_any(db):
            yield from chats.pages(db, path, cursor)
        else:
            yield Remark(1, "this MoviePilot keeps no chats yet")
