"""Snapshots: what they are called, what stands beside them, and how one is made.

A snapshot is a copy of the store, `state-<time>-<reason>.db`, beside it a description of the
same name in JSON and the key of the tombstones that the copy holds.
"""

import os
import re
import stat
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import apsw
import msgspec
from msgspec import structs

from core import paths
from core.errors import RefusedError, StoreError
from core.store import copying, migrations, recipe
from core.store.digest import rolling_hash
from core.store.errors import translated
from core.types import Progress
from core.upkeep_types import Snapshot

_NAME = re.compile(r"state-(\d{8}T\d{6})(\d{3})Z-([a-z0-9-]{1,40})\.db")
_OURS = re.compile(r"(state-\d{8}T\d{9}Z-[a-z0-9-]{1,40})\.(.+)")
_TIME = "%Y%m%dT%H%M%S"
_HALF, _STALE_S = ".partial", 3600.0
_MOST_DESCRIPTION = 16 * 1024
_MOST_NAMES = 100
_UNREAD = "its description cannot be read"


class Description(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a snapshot beside its file. `mark` tells whether the store changed since."""

    created_at_ms: int = 0
    schema: int
    sessions: int
    messages: int
    rolling_hash: str
    mark: str = ""
    proved_at_ms: int | None = None
    problem: str = ""


def folder_of(profile: Path) -> Path:
    """Return the folder of a profile's snapshots; it may not be there yet."""
    return profile / "snapshots"


def take(
    profile: Path, source: apsw.Connection, reason: str, folder: Path
) -> Iterator[Progress | Snapshot]:
    """Copy the store into `folder` from a connection whose transaction fixes the moment.

    Yields the snapshot last. It gets its name when it is whole. When it fails, or the generator
    is closed, nothing is left of it; a process that is killed leaves a `.partial` that `sweep`
    removes.

    Raises:
        StoreFullError, StoreError, RefusedError: as `copying.copy_store`.
    """
    path = _reserved(folder, reason)
    half = path.with_name(path.name + _HALF)
    try:
        yield from copying.copy_moment(source, half)
        described = yield from _described(source)
        with _told(path):
            key = profile / paths.TOMBSTONE_KEY_NAME
            if key.exists():
                paths.write_private_file(path.with_suffix(".key"), key.read_bytes())
            created = _time_of(_NAME.fullmatch(path.name))
            write_description(path, structs.replace(described, created_at_ms=created))
            half.rename(path)
            paths.sync_folder(folder)
    except BaseException:
        copying.remove_store_file(half)
        remove(path)
        raise
    yield snapshot_at(path)


def sweep(folder: Path, older_than_s: float = _STALE_S) -> None:
    """Remove what processes left in a folder of snapshots that were killed an hour ago or more."""
    whole = {Path(snapshot.path).stem for snapshot in listed(folder)}
    for path in folder.iterdir() if folder.is_dir() else ():
        match = _OURS.fullmatch(path.name)
        if match is None or (match[1] in whole and not match[2].startswith(f"db{_HALF}")):
            continue
        with suppress(OSError):
            if time.time() - path.lstat().st_mtime >= older_than_s:
                path.unlink()


def listed(folder: Path) -> tuple[Snapshot, ...]:
    """Return the snapshots in a folder, the newest first; no snapshot is opened.

    Links and whatever else is no regular file are passed over. A description that is missing,
    too long or not ours is told as a problem.
    """
    try:
        names = sorted((entry.name for entry in os.scandir(folder)), reverse=True)
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise StoreError(f"{folder} cannot be read: {error.strerror}") from error
    found = (folder / name for name in names if _NAME.fullmatch(name))
    return tuple(snapshot_at(path) for path in found if _is_regular(path))


def snapshot_at(path: Path) -> Snapshot:
    """Return what is known of one snapshot, from its name and its description.

    A file that was given another name is told by its time of change, and has no reason.
    """
    found, match = path.lstat(), _NAME.fullmatch(path.name)
    described = read_description(path)
    told = described or Description(schema=0, sessions=0, messages=0, rolling_hash="")
    return Snapshot(
        path=str(path),
        reason=match[3] if match else "",
        created_at_ms=_time_of(match) if match else found.st_mtime_ns // 1_000_000,
        bytes=found.st_size,
        schema=told.schema,
        sessions=told.sessions,
        messages=told.messages,
        rolling_hash=told.rolling_hash,
        proved_at_ms=told.proved_at_ms,
        problem=told.problem if described else _UNREAD,
    )


def read_description(path: Path) -> Description | None:
    """Return what stands beside a snapshot, None where it is not there or not of ours."""
    flags = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)  # a pipe would hold us up
    try:
        file = os.open(path.with_suffix(".json"), os.O_RDONLY | flags)
    except OSError:
        return None
    with os.fdopen(file, "rb") as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            return None
        text = stream.read(_MOST_DESCRIPTION + 1)
    try:
        found = msgspec.json.decode(text, type=Description)
    except (msgspec.DecodeError, UnicodeDecodeError):  # a text that goes on is no JSON either
        return None
    sound = min(found.schema, found.sessions, found.messages, found.proved_at_ms or 0) >= 0
    return found if sound and len(text) <= _MOST_DESCRIPTION else None


def opened_still(path: Path) -> apsw.Connection:
    """Return a connection to a snapshot that leaves no trace of it: nobody writes the file.

    Raises:
        RefusedError: a log stands beside it, with changes that are not in the file.
        NotAStoreError: it is no store of ours.
        StoreError: there is no file, or it cannot be read.
    """
    log = path.with_name(f"{path.name}-wal")
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            raise RefusedError(f"{path} is not a regular file")
        if log.exists() and log.stat().st_size:
            raise RefusedError(f"{path} is no snapshot: its last changes are still in {log}")
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}") from error
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    with translated(path):
        db = apsw.Connection(f"{path.absolute().as_uri()}?immutable=1", flags=flags)
        recipe.configure(db, recipe.READER_CACHE, tokenizer=None)
    return db


def write_description(path: Path, description: Description) -> None:
    """Put a description beside a snapshot, in one step in the place of an earlier one."""
    paths.write_private_file(path.with_suffix(".json"), msgspec.json.encode(description))


def remove(path: Path) -> None:
    """Remove a snapshot and what belongs to it: its description first, so no half one looks whole.

    Raises:
        StoreError: the system does not let it go.
    """
    with _told(path):
        path.with_suffix(".json").unlink(missing_ok=True)
        copying.remove_store_file(path)
        path.with_suffix(".key").unlink(missing_ok=True)


def has_mark(folder: Path, reason: str, mark: str, schema: int) -> bool:
    """Tell whether the newest snapshot of this reason holds the store as it is now."""
    newest = next((each for each in listed(folder) if each.reason == reason), None)
    described = read_description(Path(newest.path)) if newest else None
    return described is not None and (described.mark, described.schema) == (mark, schema)


def change_mark(db: apsw.Connection) -> str:
    """Return a text that changes when messages, sessions, searches or settings do.

    Reads counters and one pass over the sessions. What became of a tool call alone does not
    change it, nor does upkeep: the next snapshot has it all the same.
    """
    counted = (
        "SELECT seq FROM sqlite_sequence WHERE name IN ('messages', 'sessions') ORDER BY name",
        "SELECT flags, n FROM message_counts WHERE n <> 0 ORDER BY flags",
        "SELECT count(*), total(message_count), total(updated_at_ms), total(renamed_at_ms),"
        " total(pinned_at_ms), total(archived_at_ms), total(trashed_at_ms) FROM sessions",
        "SELECT count(*), max(id) FROM tombstones",
        "SELECT * FROM settings ORDER BY key",
        "SELECT max(id) FROM operations WHERE kind IN ('sessions.move', 'sessions.reset',"
        " 'sessions.rename', 'sessions.undo')",
    )
    return str([db.execute(sql).fetchall() for sql in counted])


def _described(source: apsw.Connection) -> Generator[Progress, None, Description]:
    """Read the moment through; return its counts and its hash."""
    rolling = ""
    for found in rolling_hash(source):
        if isinstance(found, str):
            rolling = found
        else:
            yield found
    return Description(
        schema=migrations.schema_version(source),
        sessions=source.execute("SELECT count(*) FROM sessions").get,
        messages=source.execute("SELECT count(*) FROM messages").get,
        rolling_hash=rolling,
        mark=change_mark(source),
    )


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(f"{path} cannot be changed: {error.strerror}") from error


def _reserved(folder: Path, reason: str) -> Path:
    """Return a path for a new snapshot that no other process takes: a description is there."""
    for _ in range(_MOST_NAMES):
        path = folder / _name(reason)
        with _told(path), suppress(FileExistsError):
            paths.create_private_file(path.with_suffix(".json"))
            if not os.path.lexists(path):
                return path
        time.sleep(0.001)  # another one was begun in this millisecond
    raise RefusedError(f"{path} exists already; it was left as it is")


def _name(reason: str) -> str:
    now = datetime.now(UTC)
    return f"state-{now:{_TIME}}{now.microsecond // 1000:03}Z-{reason}.db"


def _time_of(match: re.Match[str] | None) -> int:
    if match is None:
        return 0
    try:
        at = datetime.strptime(match[1], _TIME).replace(tzinfo=UTC)
    except ValueError:  # a 31st of February, say: nobody's clock
        return 0
    return int(at.timestamp()) * 1000 + int(match[2])


def _is_regular(path: Path) -> bool:
    return stat.S_ISREG(path.lstat().st_mode)
