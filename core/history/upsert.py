"""Storing session records: what a source says of a session, without undoing the user's words."""

import time
from collections.abc import Iterable, Sequence
from typing import Any

import apsw

from core.history.bodies import clean, clean_fields
from core.sources.records import SessionRecord
from core.store import turns
from core.text import project
from core.types import TitleSource

_PRECEDENCE = "(CASE {} WHEN 'user' THEN 3 WHEN 'model' THEN 2 WHEN 'derived' THEN 1 ELSE 0 END)"
_RENAMED = "sessions.renamed_at_ms IS NOT NULL"
_STORED = _PRECEDENCE.format(
    f"CASE WHEN {_RENAMED} THEN sessions.told_title_source ELSE sessions.title_source END"
)
_TOLD = _PRECEDENCE.format("excluded.title_source")

# A derived title is made from the first prompt a reading meets, so the first one is the best.
_TITLE_WINS = (
    "excluded.title <> ''"
    f" AND ({_TOLD} > {_STORED} OR ({_TOLD} = {_STORED} AND excluded.title_source <> 'derived'))"
)
_TITLE_COLUMNS = ("title", "title_source", "search_title")
_TOLD_COLUMNS = ("title", "title_source")  # of a renamed session, as told_…
_LASTING_COLUMNS = (
    "parent_native_id", "relation", "evidence", "model", "cwd", "git_repo_root", "git_branch",
    "started_at_ms", "updated_at_ms", "end_reason", "metadata", "channel",
)  # fmt: skip

_UPSERT = f"""
INSERT INTO sessions(source_id, native_id, kind, {", ".join(_TITLE_COLUMNS)},
    {", ".join(_LASTING_COLUMNS)}, reset_cutoff_seq, told_cutoff_seq, archived_at_ms,
    pinned_at_ms, told_project)
  VALUES (:source_id, :native_id, :kind, {", ".join(":" + c for c in _TITLE_COLUMNS)},
    {", ".join(":" + c for c in _LASTING_COLUMNS)},
    coalesce(:reset_cutoff_seq, 0), coalesce(:reset_cutoff_seq, 0), :archived_at_ms,
    :pinned_at_ms, :project)
  ON CONFLICT(source_id, native_id) DO UPDATE SET
    kind = CASE excluded.kind WHEN 'interactive' THEN kind ELSE excluded.kind END,
    {
    ", ".join(
        f"{c} = CASE WHEN {_TITLE_WINS} AND NOT {_RENAMED} THEN excluded.{c} ELSE {c} END"
        for c in _TITLE_COLUMNS
    )
},
    {
    ", ".join(
        f"told_{c} = CASE WHEN {_TITLE_WINS} AND {_RENAMED} THEN excluded.{c} ELSE told_{c} END"
        for c in _TOLD_COLUMNS
    )
},
    {", ".join(f"{c} = coalesce(excluded.{c}, {c})" for c in _LASTING_COLUMNS)},
    told_project = coalesce(excluded.told_project, told_project),
    told_cutoff_seq = coalesce(:reset_cutoff_seq, told_cutoff_seq),
    reset_cutoff_seq = max(coalesce(:reset_cutoff_seq, told_cutoff_seq),
      coalesce(own_cutoff_seq, 0))
  WHERE NOT (:is_snapshot AND coalesce(excluded.updated_at_ms < sessions.updated_at_ms, 0))
"""


def upsert_sessions(
    db: apsw.Connection, source_id: int, records: Sequence[SessionRecord], named: Iterable[str]
) -> dict[str, int]:
    """Store the records, in order, and return the row of each session by its native id.

    `named` are sessions that messages name; one without a record is stored with nothing but
    its name. Archived and pinned count when a session is first met; later they are the
    user's. So are its title once it was renamed, and its project once it was moved: what the
    source tells of them is kept beside the user's. Of two resets, the user's and the source's,
    the later one counts. A record's None leaves a column as it is, and so does the kind
    `interactive`, which is what records say that do not know better. A snapshot that is older
    than the stored session changes nothing of it.
    """
    names = {record.native_id for record in records}
    bare = [SessionRecord(name) for name in dict.fromkeys(named) if name not in names]
    told = [record for record in records if record.reset_cutoff_seq is not None]
    before = _cutoffs(db, source_id, told)
    db.executemany(_UPSERT, (_bindings(source_id, record) for record in records))
    after = _cutoffs(db, source_id, told)
    turns.recount(db, [row for row, cutoff in after.items() if before.get(row, 0) != cutoff])
    db.executemany(
        "INSERT INTO sessions(source_id, native_id) VALUES (?, ?) ON CONFLICT DO NOTHING",
        [(source_id, clean(record.native_id)) for record in bare],
    )
    found = "SELECT id FROM sessions WHERE source_id = ? AND native_id = ?"
    return {
        record.native_id: db.execute(found, (source_id, clean(record.native_id))).get
        for record in (*records, *bare)
    }


def _cutoffs(
    db: apsw.Connection, source_id: int, records: Sequence[SessionRecord]
) -> dict[int, int]:
    """Return up to where the sessions that are stored are reset, by their row."""
    found = "SELECT id, reset_cutoff_seq FROM sessions WHERE source_id = ? AND native_id = ?"
    rows: Iterable[tuple[int, int]] = db.executemany(
        found, [(source_id, clean(record.native_id)) for record in records]
    )
    return dict(rows)


def _bindings(source_id: int, record: SessionRecord) -> dict[str, Any]:
    record = clean_fields(record)
    now = time.time_ns() // 1_000_000
    title = record.title or ""
    searchable = project(title)
    return {
        "source_id": source_id,
        "native_id": record.native_id,
        "kind": record.kind,
        "title": title,
        "title_source": record.title_source if title else TitleSource.NONE,
        "search_title": None if searchable == title else searchable,
        "archived_at_ms": now if record.archived else None,
        "pinned_at_ms": now if record.pinned else None,
        "reset_cutoff_seq": record.reset_cutoff_seq,
        "project": record.project,
        "is_snapshot": record.is_snapshot,
        **{column: getattr(record, column) for column in _LASTING_COLUMNS},
    }
