r"""Goose: `sessions.db`, and the `.jsonl` files of the versions before it.

Both lie in `~/.local/share/goose/sessions` (`XDG_DATA_HOME`, also on macOS), in
`%APPDATA%\Block\goose\data\sessions`, or in `$GOOSE_PATH_ROOT/data/sessions`. The database took
the old files over and left them there: one whose session the database has is read from there
alone. Columns are found by asking; schemas up to 15 are known.

Session ids are dates with a number and so of one place only. Order is by row. The program
deletes and inserts all rows of a session when it compacts it: a message is known again by its
id, or by its words, and stays where it was.
"""

import itertools
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import apsw

from core.errors import SourceError
from core.sources import files as disk
from core.sources import found as places
from core.sources import there
from core.sources.foreign_rows import Row, Table, Value
from core.sources.foreign_sqlite import glimpsed, glimpsed_columns, is_sqlite, snapshot
from core.sources.goose.messages import Place, Talk
from core.sources.goose.sessions import SESSION, session_record
from core.sources.instants import instant
from core.sources.json_value import json_value
from core.sources.lines import JsonObject, objects, without_surrogates
from core.sources.loose import Json, identifier, items, mapping, number, text
from core.sources.records import (
    BadSourceRecord,
    ReadTo,
    Record,
    SessionRecord,
    SourceIdentity,
    UnknownRecord,
)
from core.types import FoundSource, TitleSource

KIND = "goose"
READER_VERSION = 1
REWRITES = True
SUFFIXES = frozenset({".db", ".jsonl"})
CHOOSES = "file"
MOVES = False

DATABASE = "sessions.db"

_SIGNATURE = {"session_id", "role", "content_json", "created_timestamp"}
_MESSAGE = (
    "message_id", "session_id", "role", "content_json", "created_timestamp", "metadata_json",
)  # fmt: skip
_ROOM = 1024  # positions of a row: the message and the results in it
_MOST_ROWS = 1 << 52
_SNIFFED_OBJECTS = 5
_PROGRESS_ROWS = 500


def identity(path: Path) -> SourceIdentity:
    """Return the instance: the database's path, which old files beside it share."""
    database = path.resolve()
    if there.is_dir(database):
        database = _folder(database) / DATABASE
    elif database.suffix == ".jsonl":
        database = database.parent / DATABASE
    return SourceIdentity(KIND, str(database), "Goose")


def recognises(path: Path) -> bool:
    """Tell whether a file is a database or an old session, by a glimpse at what is inside."""
    if there.is_dir(path):
        return is_home(path)
    if path.suffix == ".jsonl":
        with disk.opened(path) as stream:
            found = objects(disk.as_utf8(stream), _is_message)
            for line in itertools.islice(found, _SNIFFED_OBJECTS):
                if isinstance(line, JsonObject):
                    return _is_header(line.value) or _is_message(line.value)
        return False
    return is_sqlite(path) and glimpsed_columns(path, "messages") >= _SIGNATURE


def _is_header(value: Json) -> bool:
    return isinstance(value.get("working_dir"), str) and not value.keys() & {"role", "type"}


def _is_message(value: Json) -> bool:
    if value.keys() & {"session", "sessionId", "timestamp", "type", "uuid"}:
        return False
    parts = items(value.get("content"))
    typed = bool(parts) and all("type" in mapping(part) for part in parts)
    return typed and text(value, "role") is not None and number(value.get("created")) is not None


def _folder(path: Path) -> Path:
    """The folder of sessions within one of the program's folders."""
    below = (path, path / "sessions", path / "data" / "sessions")
    return next((each for each in below if there.is_file(each / DATABASE)), path)


def files(path: Path) -> Iterator[Path]:
    """Yield a file itself, or what a folder holds: old files, then the database."""
    if not there.is_dir(path):
        yield path
        return
    folder = _folder(path)
    yield from (each for each in sorted(folder.glob("*.jsonl")) if recognises(each))
    if there.is_file(folder / DATABASE) and recognises(folder / DATABASE):
        yield folder / DATABASE


def is_home(folder: Path) -> bool:
    """Tell whether the program's database lies in the folder, or where it puts it below one."""
    database = _folder(folder) / DATABASE
    return there.is_file(database) and recognises(database)


def found(env: Mapping[str, str], home: Path) -> Iterator[FoundSource]:
    """Yield the person's own folder of sessions."""
    data = Path(env.get("XDG_DATA_HOME") or home / ".local" / "share") / "goose"
    if sys.platform == "win32" and env.get("APPDATA"):
        data = Path(env["APPDATA"]) / "Block" / "goose" / "data"
    if env.get("GOOSE_PATH_ROOT"):
        data = Path(env["GOOSE_PATH_ROOT"]) / "data"
    folder = data / "sessions"
    if there.is_dir(folder):
        old = sum(size for _, size in places.sizes(folder, (".jsonl",)))
        size = old + places.size_of(folder / DATABASE)
        yield places.found(KIND, folder, "Goose", size=size)


def stat_paths(path: Path) -> tuple[Path, ...]:
    """Return the files whose size and time decide whether anything is new."""
    return (path,) if path.suffix == ".jsonl" else (path, path.with_name(path.name + "-wal"))


def read(path: Path) -> Iterator[Record]:
    """Yield the sessions and messages of a database or of one old file.

    Memory: one message, and about 150 bytes for each that was read before it.

    Raises:
        SourceError: it cannot be copied or read, or is no Goose database.
    """
    if path.suffix == ".jsonl":
        name = without_surrogates(path.stem)
        if glimpsed(path.parent / DATABASE, "sessions", "id", name):
            yield ReadTo(0)
        else:
            yield from _old_file(path, name)
        return
    try:
        with snapshot(path) as db:
            yield from _database(db, path)
    except apsw.Error as error:  # what damage the reading of rows did not get over
        raise SourceError(f"{path} is damaged: {error}", path=str(path)) from error


def _database(db: apsw.Connection, path: Path) -> Iterator[Record]:
    try:
        messages = Table(db, "messages")
    except SourceError as error:
        raise SourceError(f"{path} is no Goose database: {error}", path=str(path)) from error
    talks: dict[str, Talk] = {}
    for record in _sessions(db):
        if isinstance(record, SessionRecord):
            talks[record.native_id] = Talk(record.native_id, record.kind, record.title)
        yield record
    total = int(db.execute("SELECT count(*) FROM main.messages").get)
    for done, row in enumerate(messages.rows(_MESSAGE), 1):
        if isinstance(row, BadSourceRecord):
            yield row
            continue
        yield from _message(row, talks)
        if done % _PROGRESS_ROWS == 0:
            yield ReadTo(done, total)
    yield ReadTo(total, total)


def _sessions(db: apsw.Connection) -> Iterator[SessionRecord | BadSourceRecord]:
    try:
        table = Table(db, "sessions")
    except SourceError:  # some databases have messages only
        return
    for row in table.rows(SESSION):
        if isinstance(row, BadSourceRecord):
            yield row
            continue
        fields: dict[str, Value] = dict(zip(SESSION, row.values, strict=True))
        native_id = text(fields, "id")
        if native_id is None:
            yield BadSourceRecord(row.rowid, "sessions: no id")
        else:
            yield session_record(native_id, fields)


def _message(row: Row, talks: dict[str, Talk]) -> Iterator[Record]:
    native_id, session, role, content, created, metadata = row.values
    if not isinstance(session, str) or not session:
        yield BadSourceRecord(row.rowid, "messages: no session_id")
        return
    parts = json_value(content) if isinstance(content, str) else None
    if parts is None:
        yield BadSourceRecord(row.rowid, "messages: the content is not JSON")
        return
    if session not in talks:  # its row is gone
        talks[session] = Talk(session)
        yield SessionRecord(session)
    told = mapping(json_value(metadata) if isinstance(metadata, str) else None)
    place = Place(
        max(0, min(row.rowid, _MOST_ROWS)) * _ROOM, instant(created), f"rowid:{row.rowid}"
    )
    named = role if isinstance(role, str) else ""
    yield from _told(talks[session], identifier(native_id), named, parts, told, place)


def _told(
    talk: Talk, native_id: str | None, role: str, content: object, metadata: Json, place: Place
) -> Iterator[Record]:
    """Yield a message, and its session again once there is a title to be made of it."""
    was = talk.title
    yield from talk.records(native_id, role, content, metadata, place)
    if was is None and talk.title is not None:
        yield SessionRecord(
            talk.session, talk.kind, title=talk.title, title_source=TitleSource.DERIVED
        )


def _old_file(path: Path, name: str) -> Iterator[Record]:
    with disk.opened(path) as stream:
        total, reached, talk = disk.stamp_of(stream).size, 0, None
        for line in objects(disk.as_utf8(stream), lambda v: _is_message(v) or _is_header(v)):
            if not isinstance(line, JsonObject):
                yield line
                continue
            value = line.value
            if talk is None:
                record = session_record(name, value if _is_header(value) else {})
                talk = Talk(name, record.kind, record.title)
                yield record
            if text(value, "role") is not None:
                at = instant(value.get("created"))
                place = Place(line.offset, at, line.raw_ref)
                native_id = identifier(value.get("id"))
                told = mapping(value.get("metadata"))
                role = text(value, "role") or ""
                yield from _told(talk, native_id, role, value.get("content"), told, place)
            elif not _is_header(value):
                yield UnknownRecord("line without a role")
            if line.terminated:
                reached = line.offset + line.length + 1
        yield ReadTo(min(reached, total), total)
