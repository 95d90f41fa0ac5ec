"""A chat of Cursor's command line: `chats/<workspace>/<session>/store.db`.

Content is stored by its hash: blobs of JSON are messages, in the order of their rows; the other
blobs are the graph that the program walks. A message repeated word for word is one blob, and
so appears once. Messages have no times; they get the session's.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import apsw

from core.errors import SourceError
from core.sources import files as disk
from core.sources.cursor.talk import Talk
from core.sources.foreign_rows import Table
from core.sources.foreign_sqlite import glimpsed_columns, is_sqlite, snapshot
from core.sources.instants import instant
from core.sources.json_value import json_file, json_value
from core.sources.lines import without_surrogates
from core.sources.loose import Json, identifier, json_text, mapping, text
from core.sources.records import (
    BadSourceRecord,
    MessageRecord,
    ReadTo,
    Record,
    SessionRecord,
    UnknownRecord,
)
from core.types import TimeQuality, TitleSource

NAME = "store.db"
_PLACEHOLDERS = {"new agent", "new chat"}
_MOST_ROWS = 1 << 52
_ROOM = 1024  # positions of a blob: the message and the results in it


def recognises(path: Path) -> bool:
    """Tell whether a file is such a database."""
    return (
        is_sqlite(path)
        and glimpsed_columns(path, "blobs") == {"id", "data"}
        and glimpsed_columns(path, "meta") == {"key", "value"}
    )


def beside(path: Path) -> Path:
    """Return the file beside a database that tells its title and times."""
    return path.with_name("meta.json")


def read(path: Path) -> Iterator[Record]:
    """Yield the session and its messages.

    Raises:
        SourceError: the database cannot be copied or read, or is another program's.
    """
    try:
        with snapshot(path) as db:
            yield from _records(db, path)
    except apsw.Error as error:  # what damage the reading of rows did not get over
        raise SourceError(f"{path} is damaged: {error}", path=str(path)) from error


def has_messages(path: Path) -> bool:
    """Tell whether a database holds a message; one that cannot be read holds none."""
    with contextlib.suppress(SourceError):
        return any(isinstance(record, MessageRecord) for record in read(path))
    return False


def _records(db: apsw.Connection, path: Path) -> Iterator[Record]:
    try:
        blobs, meta = Table(db, "blobs"), Table(db, "meta")
    except SourceError as error:
        raise SourceError(f"{path} is no chat of Cursor: {error}", path=str(path)) from error
    told = _told(meta)
    record = _session(path, told)
    created = (
        record.started_at_ms,
        TimeQuality.SESSION if record.started_at_ms else TimeQuality.NONE,
    )
    talk = Talk(record, created)
    yield record
    total = int(db.execute("SELECT count(*) FROM main.blobs").get)
    for row in blobs.rows(("id", "data")):
        if isinstance(row, BadSourceRecord):
            yield row
            continue
        name, data = row.values
        value = json_value(data) if isinstance(data, str) and data.lstrip()[:1] == "{" else None
        if not isinstance(value, dict):
            continue
        if text(value, "role") is None:
            yield UnknownRecord("blob without a role")
            continue
        position = max(0, min(row.rowid, _MOST_ROWS)) * _ROOM
        native_id = f"{record.native_id}:{name}" if identifier(name) else None
        for found in talk.records(
            text(value, "role") or "", value, value.get("content"), position,
            f"rowid:{row.rowid}", native_id,
        ):  # fmt: skip
            yield found
            if isinstance(found, MessageRecord) and (again := talk.titled(found)) is not None:
                yield again
    yield ReadTo(total, total)


def _told(meta: Table) -> Json:
    """What the program notes of the chat: JSON, most often as hexadecimal digits."""
    for row in meta.rows(("key", "value")):
        if isinstance(row, BadSourceRecord) or row.values[0] != "0":
            continue
        value = row.values[1]
        if isinstance(value, str):
            with contextlib.suppress(ValueError):
                value = bytes.fromhex(value).decode("utf-8", "replace")
            return mapping(json_value(value))
    return {}


def _session(path: Path, told: Json) -> SessionRecord:
    extra: Json = {}
    with contextlib.suppress(SourceError):  # most often there is none
        extra = mapping(json_file(beside(path)))
    title = text(extra, "title") or text(told, "name")
    if title is not None and title.strip().lower() in _PLACEHOLDERS:
        title = None
    mode = text(told, "mode")
    changed = instant(extra.get("updatedAtMs"))[0] or disk.stamp(path).mtime_ns // 1_000_000
    return SessionRecord(
        identifier(told.get("agentId")) or without_surrogates(path.parent.name),
        title=title,
        title_source=TitleSource.MODEL if title else TitleSource.NONE,
        model=text(told, "lastUsedModel"),
        started_at_ms=instant(told.get("createdAt"))[0] or instant(extra.get("createdAtMs"))[0],
        updated_at_ms=changed,
        metadata=json_text({"mode": mode}) if mode else None,
    )
