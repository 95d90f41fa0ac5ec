"""Where history comes from: the sources, and how far each of their files has been read."""

import json
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import apsw
import msgspec

from core.history import legacy_imports
from core.history.bodies import clean
from core.history.legacy_imports import LegacyState
from core.sources.records import SourceIdentity
from core.store import clock
from core.upkeep_types import SourceState, SourceTrouble

FileState = Literal["reading", "done", "failed", "gone"]
_LAST_RUNS = "sources.last_runs"
BAD_RECORDS_KEPT = 1000
"""Of one file; whoever has more of them has another kind of file."""


@dataclass(frozen=True, slots=True)
class KnownFile:
    """A file as it was when it was read last; `kind` and `instance` name its source.

    `named_as` is the path under which it was met first, where it was moved since. `legacy` is
    how far it is where it is a snapshot that is moved in once, `device` the disk it lay on.
    """

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
    named_as: str | None = None
    legacy: LegacyState | None = None
    device: int | None = None


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


class LastRun(msgspec.Struct):
    """What the last import made of a source: messages new and changed, files left unread."""

    new: int = 0
    changed: int = 0
    skipped: int = 0

    def add(self, new: int, changed: int) -> None:
        """Count what was stored of a batch."""
        self.new += new
        self.changed += changed


def ensure_source(
    db: apsw.Connection, identity: SourceIdentity, root: str, reader_version: int
) -> int:
    """Return the row of a source; it is made where it is missing, else its reader follows."""
    found: int = db.execute(
        "INSERT INTO sources(kind, instance, root, display_name, reader_version)"
        " VALUES (?, ?, ?, ?, ?) ON CONFLICT(kind, instance) DO UPDATE"
        " SET reader_version = excluded.reader_version, enabled = 1 RETURNING id",
        (
            identity.kind,
            clean(identity.instance),  # a path, whose folders may have names that are no text
            clean(root),
            clean(identity.display_name),
            reader_version,
        ),
    ).get
    return found


def known_files(db: apsw.Connection) -> dict[str, list[KnownFile]]:
    """Return every file that was read, by its path; a path may hold several sources."""
    found: dict[str, list[KnownFile]] = {}
    moved_in = legacy_imports.by_source(db)
    for row in db.execute(
        "SELECT f.id, f.source_id, s.kind, s.instance, f.path, f.inode, f.size, f.mtime_ns,"
        " f.reader_version, f.state, f.head_hash, f.tail_hash, f.named_as, f.device"
        " FROM source_files AS f JOIN sources AS s ON s.id = f.source_id ORDER BY f.id"
    ):
        *others, device = row
        known = replace(KnownFile(*others), device=device)
        legacy = moved_in.get(known.source_id)
        found.setdefault(known.path, []).append(replace(known, legacy=legacy) if legacy else known)
    return found


def others_holding(
    db: apsw.Connection, source_id: int, native_id: str, file_id: int
) -> list[KnownFile]:
    """Return the other files that are there and hold a session."""
    rows = db.execute(
        "SELECT f.id, f.source_id, r.kind, r.instance, f.path, f.inode, f.size, f.mtime_ns,"
        " f.reader_version, f.state, f.head_hash, f.tail_hash, f.named_as"
        " FROM sessions AS s CROSS JOIN session_files AS l ON l.session_id = s.id"
        " CROSS JOIN source_files AS f ON f.id = l.file_id AND f.state = 'done'"
        " CROSS JOIN sources AS r ON r.id = f.source_id"
        " WHERE s.source_id = ? AND s.native_id = ? AND f.id <> ? ORDER BY f.id",
        (source_id, clean(native_id), file_id),
    )
    return [KnownFile(*row) for row in rows]


def last_active(db: apsw.Connection, source_id: int, native_id: str) -> int | None:
    """Return when a session was last active; None where that is not known."""
    found: int | None = db.execute(
        "SELECT last_active_at_ms FROM sessions WHERE source_id = ? AND native_id = ?",
        (source_id, clean(native_id)),
    ).get
    return found


def save_file(db: apsw.Connection, source_id: int, reading: FileReading) -> int:
    """Store how far a file was read, in the transaction that stores it; return the file's row."""
    found: int = db.execute(
        "INSERT INTO source_files(source_id, path, device, inode, size, mtime_ns, offset,"
        " head_hash, tail_hash, reader_version, state, error, unknown_records, bad_records)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT(source_id, path) DO UPDATE SET device = excluded.device,"
        " inode = excluded.inode, size = excluded.size, mtime_ns = excluded.mtime_ns,"
        " offset = excluded.offset, head_hash = excluded.head_hash,"
        " tail_hash = excluded.tail_hash, reader_version = excluded.reader_version,"
        " state = excluded.state, error = excluded.error,"
        " unknown_records = excluded.unknown_records, bad_records = excluded.bad_records"
        " RETURNING id",
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
            None if reading.error is None else clean(reading.error),
            clean(json.dumps(reading.unknown_records, ensure_ascii=False)),
            clean(json.dumps(list(reading.bad_records), ensure_ascii=False)),
        ),
    ).get
    return found


def move_file(db: apsw.Connection, file_id: int, path: str, inode: int, mtime_ns: int) -> None:
    """Let a file that was read be known by the path it has now, and by its first name."""
    db.execute(
        "UPDATE OR IGNORE source_files SET named_as = coalesce(named_as, path), path = ?,"
        " inode = ?, mtime_ns = ?, state = 'done' WHERE id = ?",
        (path, inode, mtime_ns, file_id),
    )


def mark_gone(db: apsw.Connection, file_ids: Iterable[int]) -> None:
    """Note that files are no longer there; what was read of them stays.

    One that was not read to its end is read should it come back, even if it is as it was.
    """
    db.executemany(
        "UPDATE source_files SET state = 'gone',"
        " reader_version = CASE state WHEN 'done' THEN reader_version ELSE 0 END WHERE id = ?",
        ((each,) for each in file_ids),
    )


def end_run(db: apsw.Connection, runs: Mapping[int, LastRun]) -> None:
    """Note for each source that it was read now, and what came of it; sum up what is unknown."""
    clock.observe(db)
    known = last_runs(db) | {str(source_id): run for source_id, run in runs.items()}
    if runs:
        db.execute(
            "INSERT INTO meta(key, value) VALUES (?, ?)"
            " ON CONFLICT(key) DO UPDATE SET value = excluded.value",
            (_LAST_RUNS, msgspec.json.encode(known).decode()),
        )
    for source_id in runs:
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


def states(db: apsw.Connection, most_troubles: int = 200) -> tuple[SourceState, ...]:
    """Return every source: what the last import made of it, and what could not be read.

    By name; at most `most_troubles` of each are listed. Some milliseconds per 10,000 files.
    """
    runs = last_runs(db)
    rows: list[Any] = db.execute(
        "SELECT id, kind, display_name, root, last_run_at_ms, unknown_records FROM sources"
        " ORDER BY kind, display_name, id"
    ).fetchall()
    found = []
    for source_id, kind, name, root, last_run_at_ms, unknown in rows:
        run = runs.get(str(source_id))
        files, failed, bad, troubles = _troubles(db, source_id, most_troubles)
        found.append(
            SourceState(
                kind=kind,
                name=name,
                root=root,
                last_run_at_ms=last_run_at_ms,
                files=files,
                new=run.new if run else None,
                changed=run.changed if run else None,
                skipped=run.skipped if run else None,
                failed=failed,
                bad_records=bad,
                troubles=troubles,
                unknown_records=json.loads(unknown),
            )
        )
    return tuple(found)


def last_runs(db: apsw.Connection) -> dict[str, LastRun]:
    """Return what the last import made of each source, by the source's row as text."""
    stored = db.execute("SELECT value FROM meta WHERE key = ?", (_LAST_RUNS,)).get
    return msgspec.json.decode(stored, type=dict[str, LastRun]) if stored else {}


def _troubles(
    db: apsw.Connection, source_id: int, most: int
) -> tuple[int, int, int, tuple[SourceTrouble, ...]]:
    """Return a source's files, those that failed, its broken records, and where they are."""
    files, failed = db.execute(
        "SELECT count(*), coalesce(sum(state = 'failed'), 0) FROM source_files"
        " WHERE source_id = ? AND state <> 'gone'",
        (source_id,),
    ).get
    bad, listed = 0, list[SourceTrouble]()
    for path, error, records in db.execute(
        "SELECT path, error, bad_records FROM source_files"
        " WHERE source_id = ? AND (state = 'failed' OR bad_records <> '[]') ORDER BY path",
        (source_id,),
    ):
        told = json.loads(records)
        bad += len(told)
        if error:
            listed.append(SourceTrouble(path, 0, error))
        listed += [SourceTrouble(path, line, reason) for line, reason in told]
        del listed[most:]
    return files, failed, bad, tuple(listed)
