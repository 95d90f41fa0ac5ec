"""Where history comes from: the sources, and how far each of their files has been read."""

import json
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import apsw

from core.sources.records import SourceIdentity

FileState = Literal["reading", "done", "failed", "gone"]
BAD_RECORDS_KEPT = 1000
"""Of one file; whoever has more of them has another kind of file."""


@dataclass(frozen=True, slots=True)
class KnownFile:
    """A file as it was when it was read last; `kind` and `instance` name its source."""

    id: int
    source_id: int
    kind: str
    instance: str
    path: str
    inode: int
    size: int
    mtime_ns: int
    reader_version: int
    state: FileState
    head_hash: bytes | None
    tail_hash: bytes | None


@dataclass(frozen=True, slots=True)
class FileReading:
    """What a reading of a file came to. `bad_records` are (line, reason)."""

    path: str
    device: int
    inode: int
    size: int
    mtime_ns: int
    reader_version: int
    state: FileState
    offset: int = 0
    head_hash: bytes | None = None
    tail_hash: bytes | None = None
    error: str | None = None
    unknown_records: Mapping[str, int] = field(default_factory=dict)
    bad_records: Sequence[tuple[int, str]] = ()


def ensure_source(
    db: apsw.Connection, identity: SourceIdentity, root: str, reader_version: int
) -> int:
    """Return the row of a source; it is made where it is missing, else its reader follows."""
    found: int = db.execute(
        "INSERT INTO sources(kind, instance, root, display_name, reader_version)"
        " VALUES (?, ?, ?, ?, ?) ON CONFLICT(kind, instance) DO UPDATE"
        " SET reader_version = excluded.reader_version RETURNING id",
        (identity.kind, identity.instance, root, identity.display_name, reader_version),
    ).get
    return found


def known_files(db: apsw.Connection) -> dict[str, list[KnownFile]]:
    """Return every file that was read, by its path; a path may hold several sources."""
    found: dict[str, list[KnownFile]] = {}
    for row in db.execute(
        "SELECT f.id, f.source_id, s.kind, s.instance, f.path, f.inode, f.size, f.mtime_ns,"
        " f.reader_version, f.state, f.head_hash, f.tail_hash"
        " FROM source_files AS f JOIN sources AS s ON s.id = f.source_id ORDER BY f.id"
    ):
        found.setdefault(row[4], []).append(KnownFile(*row))
    return found


def is_read_whole(db: apsw.Connection) -> bool:
    """Tell whether every file that an import began was read to its end, as far as it is there."""
    unfinished = "SELECT EXISTS (SELECT 1 FROM source_files WHERE state IN ('reading', 'failed'))"
    return not db.execute(unfinished).get


def save_file(db: apsw.Connection, source_id: int, reading: FileReading) -> None:
    """Store how far a file was read, in the transaction that stores what was read."""
    db.execute(
        "INSERT INTO source_files(source_id, path, device, inode, size, mtime_ns, offset,"
        " head_hash, tail_hash, reader_version, state, error, unknown_records, bad_records)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT(source_id, path) DO UPDATE SET device = excluded.device,"
        " inode = excluded.inode, size = excluded.size, mtime_ns = excluded.mtime_ns,"
        " offset = excluded.offset, head_hash = excluded.head_hash,"
        " tail_hash = excluded.tail_hash, reader_version = excluded.reader_version,"
        " state = excluded.state, error = excluded.error,"
        " unknown_records = excluded.unknown_records, bad_records = excluded.bad_records",
        (
            source_id,
            reading.path,
            reading.device,
            reading.inode,
            reading.size,
            reading.mtime_ns,
            reading.offset,
            reading.head_hash,
            reading.tail_hash,
            reading.reader_version,
            reading.state,
            reading.error,
            json.dumps(reading.unknown_records, ensure_ascii=False),
            json.dumps(list(reading.bad_records), ensure_ascii=False),
        ),
    )


def move_file(db: apsw.Connection, file_id: int, path: str, inode: int, mtime_ns: int) -> None:
    """Let a file that was read be known by the path it has now."""
    db.execute(
        "UPDATE OR IGNORE source_files SET path = ?, inode = ?, mtime_ns = ? WHERE id = ?",
        (path, inode, mtime_ns, file_id),
    )


def mark_gone(db: apsw.Connection, file_ids: Iterable[int]) -> None:
    """Note that files are no longer there; what was read of them stays."""
    db.executemany(
        "UPDATE source_files SET state = 'gone' WHERE id = ?", ((each,) for each in file_ids)
    )


def end_run(db: apsw.Connection, source_ids: Iterable[int]) -> None:
    """Note for each source that it was read now, and sum up what its files hold unknown."""
    for source_id in source_ids:
        unknown: Counter[str] = Counter()
        for (counts,) in db.execute(
            "SELECT unknown_records FROM source_files"
            " WHERE source_id = ? AND unknown_records <> '{}'",
            (source_id,),
        ):
            unknown.update(json.loads(counts))
        db.execute(
            "UPDATE sources SET last_run_at_ms = ?, unknown_records = ? WHERE id = ?",
            (time.time_ns() // 1_000_000, json.dumps(unknown, ensure_ascii=False), source_id),
        )
