"""The sources of a store in numbers, file by file, and forgetting one."""

import json
from collections.abc import Iterable
from typing import Any

import apsw

from core.errors import AmbiguousError, NotFoundError
from core.history import sources, watched
from core.source_types import (
    KnownSource,
    ReportedFile,
    SourceReport,
    StoredPlace,
    WatchedPlace,
)
from core.store.migrations import schema_version
from core.types import BadRecord

_ROWS = (
    "SELECT id, kind, instance, display_name, root, reader_version, enabled, last_run_at_ms,"
    " unknown_records FROM sources ORDER BY kind, display_name, id"
)
_SESSIONS = (
    "SELECT source_id, count(*), coalesce(sum({gone} IS NOT NULL), 0), sum(message_count)"
    " FROM sessions WHERE trashed_at_ms IS NULL GROUP BY source_id"
)
_FILES = (
    "SELECT source_id, sum(state <> 'gone'), sum(state = 'failed'), sum(state = 'gone'),"
    " sum(json_array_length(bad_records)) FROM source_files GROUP BY source_id"
)
_REPORTED = """
SELECT f.path, f.state, f.size, f.error, f.bad_records, f.unknown_records,
  (SELECT count(*) FROM session_files AS l WHERE l.file_id = f.id),
  (SELECT coalesce(sum(s.message_count), 0) FROM session_files AS l
   JOIN sessions AS s ON s.id = l.session_id WHERE l.file_id = f.id)
FROM source_files AS f WHERE f.source_id = ?
ORDER BY f.state <> 'failed', f.bad_records = '[]', f.unknown_records = '{}', f.state <> 'gone',
  f.path LIMIT ?
"""

_BELOW = "(path = ? OR (path >= ? AND path < ?))"
_HOLDS = f"SELECT EXISTS (SELECT 1 FROM source_files WHERE source_id = ? AND {_BELOW})"
_SESSIONS_AT = f"""
SELECT count(*), coalesce(sum(message_count), 0) FROM sessions
WHERE trashed_at_ms IS NULL AND id IN (
  SELECT l.session_id FROM source_files AS f CROSS JOIN session_files AS l ON l.file_id = f.id
  WHERE f.source_id = ? AND {_BELOW})
"""
_TROUBLES_AT = (
    "SELECT coalesce(sum(state = 'failed'), 0), coalesce(sum(json_array_length(bad_records)), 0)"
    f" FROM source_files WHERE source_id = ? AND {_BELOW}"
)
_PLACES_SINCE = 5  # m0005


def known(db: apsw.Connection) -> tuple[KnownSource, ...]:
    """Return every source that was ever read, by kind and name.

    One walk over sessions and one over files: some 50 ms for 100,000 of each.
    """
    runs = sources.last_runs(db)
    is_old = schema_version(db) < _PLACES_SINCE  # read only, and made by an older version
    gone_at = "NULL" if is_old else "gone_at_ms"
    sessions: dict[int, Any] = {
        row[0]: row[1:] for row in db.execute(_SESSIONS.format(gone=gone_at))
    }
    files: dict[int, Any] = {row[0]: row[1:] for row in db.execute(_FILES)}
    places = () if is_old else watched.places(db)
    found = []
    for row, kind, instance, name, root, version, enabled, run_ms, unknown in db.execute(_ROWS):
        count, gone, messages = sessions.get(row, (0, 0, 0))
        read, failed, vanished, bad = files.get(row, (0, 0, 0, 0))
        run = runs.get(str(row))
        found.append(
            KnownSource(
                id=row,
                kind=kind,
                instance=instance,
                name=name,
                root=root,
                reader_version=version,
                is_removed=not enabled,
                last_run_at_ms=run_ms,
                sessions=count,
                gone_sessions=gone,
                messages=messages or 0,
                files=read,
                failed=failed,
                gone_files=vanished,
                bad_records=bad or 0,
                new=run.new if run else None,
                changed=run.changed if run else None,
                skipped=run.skipped if run else None,
                unknown_records=json.loads(unknown),
                watch=_watched(db, row, kind, places),
            )
        )
    return tuple(found)


def at(
    db: apsw.Connection, sources_known: Iterable[KnownSource], paths: Iterable[str]
) -> dict[str, StoredPlace]:
    """Return what the store has of places, by path; those of which it has nothing are left out.

    Of a place with several sources the one with the most sessions is told.
    """
    if schema_version(db) < _PLACES_SINCE:
        return {}
    every = tuple(sources_known)
    found: dict[str, StoredPlace] = {}
    for path in paths:
        for source in every:
            bindings = (source.id, *_below(path))
            if not db.execute(_HOLDS, bindings).get:
                continue
            sessions, messages = db.execute(_SESSIONS_AT, bindings).get
            if path not in found or found[path].sessions < sessions:
                troubles = db.execute(_TROUBLES_AT, bindings).get
                found[path] = StoredPlace(source, sessions, messages, *troubles)
    return found


def named(db: apsw.Connection, text: str) -> KnownSource:
    """Return the source that a text names: its kind, `kind#row`, name, instance or folder.

    Raises:
        NotFoundError: there is none.
        AmbiguousError: there are several.
    """
    asked = text.strip()
    every = known(db)
    exact = [each for each in every if asked == f"{each.kind}#{each.id}"]
    folded = asked.casefold()
    fitting = exact or [
        each
        for each in every
        if folded in (each.kind, each.name.casefold())
        or asked.rstrip("/\\") in (each.instance, each.root.rstrip("/\\"))
        or (each.watch is not None and asked == each.watch.path)
    ]
    if not fitting:
        names = ", ".join(f"{each.kind}#{each.id} ({each.name})" for each in every)
        raise NotFoundError(f"no source is called {asked}; the store has {names or 'none'}")
    if len(fitting) > 1:
        names = ", ".join(
            f"{each.kind}#{each.id} ({each.instance or each.root})" for each in fitting
        )
        raise AmbiguousError(f"several sources are called {asked}: {names}")
    return fitting[0]


def report(db: apsw.Connection, source: KnownSource, most: int = 1000) -> SourceReport:
    """Return a source file by file, what is wrong first; at most `most` files."""
    files = []
    for path, state, size, error, bad, unknown, sessions, messages in db.execute(
        _REPORTED, (source.id, most)
    ):
        records = tuple(BadRecord(path, line, reason) for line, reason in json.loads(bad))
        told = (sessions, messages, size, error or "", records, json.loads(unknown))
        files.append(ReportedFile(path, state, *told))
    return SourceReport(
        kind=source.kind,
        instance=source.instance,
        name=source.name,
        root=source.root,
        reader_version=source.reader_version,
        is_removed=source.is_removed,
        sessions=source.sessions,
        messages=source.messages,
        files=tuple(files),
        total=source.files + source.gone_files,
        unknown_records=source.unknown_records,
    )


def session_ids(db: apsw.Connection, source: KnownSource) -> list[int]:
    """Return the rows of a source's sessions that are not in the trash."""
    rows = db.execute(
        "SELECT id FROM sessions WHERE source_id = ? AND trashed_at_ms IS NULL", (source.id,)
    )
    return [row for (row,) in rows]


def forget(db: apsw.Connection, source: KnownSource) -> int:
    """Forget, in the caller's transaction, where a source lies; its sessions stay as they are.

    The places that hold files of no other source are watched no longer. An import of the same
    place makes it a source again.

    Returns:
        How many files were known.
    """
    for place in watched.places(db):
        is_here = _holds(db, place, source.id)
        others = db.execute(
            f"SELECT count(DISTINCT source_id) FROM source_files WHERE source_id <> ? AND {_BELOW}",
            (source.id, *_below(place.path)),
        ).get
        if is_here and not others:
            watched.unwatch(db, place.path)
    db.execute("DELETE FROM legacy_imports WHERE source_id = ?", (source.id,))
    db.execute("DELETE FROM source_files WHERE source_id = ?", (source.id,))
    files = db.changes()
    db.execute("UPDATE sources SET enabled = 0 WHERE id = ?", (source.id,))
    return files


def _below(path: str) -> tuple[str, str, str]:
    """Bind `_BELOW`: the path itself, and what lies below it."""
    separator = "\\" if "\\" in path and "/" not in path else "/"
    folder = path.rstrip("/\\")
    return path, folder + separator, folder + chr(ord(separator) + 1)


def _watched(
    db: apsw.Connection, source_id: int, kind: str, places: Iterable[WatchedPlace]
) -> WatchedPlace | None:
    fitting = (each for each in places if each.kind in ("", kind))
    return next((each for each in fitting if _holds(db, each, source_id)), None)


def _holds(db: apsw.Connection, place: WatchedPlace, source_id: int) -> bool:
    return bool(db.execute(_HOLDS, (source_id, *_below(place.path))).get)
