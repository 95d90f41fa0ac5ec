"""Removing a source: it is forgotten, and its sessions stay or go to the trash."""

from dataclasses import dataclass

import apsw

from core.history import known_sources
from core.source_types import KnownSource
from core.upkeep import operations, trash
from core.upkeep.wording import counted
from core.upkeep_types import Actor


@dataclass(frozen=True, slots=True)
class Removed:
    """What a removal did; `operation` brings back what it moved to the trash."""

    operation: int
    files: int
    kept: int
    trashed: int
    outcome: str


def preview(source: KnownSource, *, with_history: bool) -> str:
    """Return what would be done, in a sentence with counts."""
    held = f"{counted(source.sessions, 'session')} with {counted(source.messages, 'message')}"
    is_one = source.sessions == 1
    becomes = "is kept" if is_one else "are kept"
    if with_history:
        becomes = "goes to the trash" if is_one else "go to the trash"
    files = counted(source.files + source.gone_files, "file")
    return f"{source.name or source.kind} with {files} is forgotten; {held} {becomes}."


def remove(
    db: apsw.Connection, source: KnownSource, actor: Actor, *, with_history: bool
) -> Removed:
    """Forget a source in the caller's transaction; no file of it is touched.

    With its history its sessions go to the trash by one operation, which takes them back.
    """
    ids = known_sources.session_ids(db, source) if with_history else []
    moved = trash.trash_sessions(db, ids, actor).id if ids else None
    told = {"source": f"{source.kind}#{source.id}", "with_history": with_history}
    operation = operations.begin(db, "source.remove", told, actor)
    files = known_sources.forget(db, source)
    kept = 0 if with_history else source.sessions
    becomes = (
        f"{counted(len(ids), 'session')} moved to the trash"
        if ids
        else f"{counted(kept, 'session')} kept"
    )
    outcome = f"source {source.name or source.kind} forgotten, {counted(files, 'file')}; {becomes}"
    receipt: dict[str, object] = {"files": files, "kept": kept, "trashed": len(ids)}
    operations.finish(db, operation, "succeeded", outcome, receipt)
    return Removed(moved or operation.id, files, kept, len(ids), outcome)
