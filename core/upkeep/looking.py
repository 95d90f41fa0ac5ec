"""What came of an operation whose program died: seen in the store and its folder, never repeated.

One look for each kind. Each reads a few rows, or names of files, and says in words what it saw.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import apsw
import msgspec

from core.store import recipe, snapshots
from core.store.connection import tokenizer_fingerprint
from core.store.index_state import statuses
from core.upkeep import emptying, erasure, retention
from core.upkeep.wording import counted
from core.upkeep_types import Operation, RetentionRule


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen. `state` is None where the store does not tell how the operation ended."""

    state: Literal["succeeded", "failed"] | None
    words: str
    facts: Mapping[str, object] = field(default_factory=dict)


Look = Callable[[apsw.Connection, Operation], Seen]


_LONG_LOG_BYTES = recipe.WAL_LIMIT_BYTES


def look(db: apsw.Connection, operation: Operation) -> Seen:
    """Return what is seen of an operation; reads alone."""
    seeing = LOOKS.get(operation.kind)
    if seeing is None:
        return Seen(None, "nothing in the store tells what came of it")
    return seeing(db, operation)


def _trashed(db: apsw.Connection, operation: Operation) -> Seen:
    sessions, messages = (
        int(db.execute(f"SELECT count(*) FROM {table} WHERE trashed_by = ?", (operation.id,)).get)
        for table in ("sessions", "trashed_messages")
    )
    facts = {"sessions": sessions, "messages": messages}
    if not sessions and not messages:
        return Seen("failed", "nothing is in the trash by it", facts)
    told = [counted(n, noun) for n, noun in ((sessions, "session"), (messages, "message")) if n]
    return Seen("succeeded", f"in the trash by it: {', '.join(told)}", facts)


def _retained(db: apsw.Connection, operation: Operation) -> Seen:
    """Whether anything is left that would have gone: by its own days and moment."""
    days, cutoff_ms = (operation.arguments.get(name) for name in ("days", "cutoff_at_ms"))
    seen = _trashed(db, operation)
    if not isinstance(days, int) or not isinstance(cutoff_ms, int):
        return Seen(None, seen.words, seen.facts)
    rule = RetentionRule(days, retention.rule(db).sources)
    if retention.going(db, rule, before_ms=cutoff_ms, limit=1):
        words = f"it stopped before its end; {seen.words}; the rest is where it was"
        return Seen("failed", words, seen.facts)
    return Seen("succeeded", f"nothing is left that was to go; {seen.words}", seen.facts)


def _restored(db: apsw.Connection, operation: Operation) -> Seen:
    asked = operation.arguments
    left = _still_in_trash(db, asked.get("sessions"), asked.get("message"), asked.get("operation"))
    if left:
        return Seen("failed", f"{counted(left, 'item')} of it are still in the trash")
    return Seen("succeeded", "nothing of it is in the trash")


def _emptied(db: apsw.Connection, operation: Operation) -> Seen:
    asked = operation.arguments
    if "sessions" in asked or "messages" in asked:
        left = _still_in_trash(db, asked.get("sessions"), asked.get("messages"), None)
    else:
        before = asked.get("before_ms")
        bound = before if isinstance(before, int) else operation.started_at_ms
        left = int(emptying.is_any(db, bound))
    if left:
        return Seen(
            "failed", "it stopped before its end; what is gone stays gone, the rest is there"
        )
    return Seen("succeeded", "nothing is left of what was to be deleted")


def _still_in_trash(db: apsw.Connection, sessions: object, messages: object, by: object) -> int:
    """Count what is in the trash of sessions and messages by their rows, or by an operation."""
    return sum(
        int(db.execute(sql, (msgspec.json.encode(rows).decode(),)).get)
        for sql, rows in (
            (f"{_SESSIONS} id {_AMONG}", sessions or []),
            (f"{_MESSAGES} message_id {_AMONG}", _listed(messages)),
            (f"{_SESSIONS} trashed_by {_AMONG}", _listed(by)),
            (f"{_MESSAGES} trashed_by {_AMONG}", _listed(by)),
        )
    )


_AMONG = "IN (SELECT value FROM json_each(?))"
_SESSIONS = "SELECT count(*) FROM sessions WHERE trashed_at_ms IS NOT NULL AND"
_MESSAGES = "SELECT count(*) FROM trashed_messages WHERE"


def _listed(rows: object) -> list[object]:
    return rows if isinstance(rows, list) else [] if rows is None else [rows]


def _purged(db: apsw.Connection, operation: Operation) -> Seen:
    found = erasure.waiting(db)
    facts = {"messages": found.messages, "bytes": found.bytes}
    if not found.messages:
        return Seen("succeeded", "nothing waits to be erased", facts)
    state: Literal["failed"] | None = None if operation.state == "pending" else "failed"
    why = f": {found.blocked}" if found.blocked else ""
    return Seen(state, f"{found.messages:,} messages wait to be erased{why}", facts)


def _backed_up(db: apsw.Connection, operation: Operation) -> Seen:
    folder = operation.arguments.get("folder")
    own = snapshots.folder_of(Path(db.filename).parent)
    made = [
        each
        for each in snapshots.listed(own if folder is None else Path(str(folder)))
        if each.created_at_ms >= operation.started_at_ms
        and each.reason == operation.arguments.get("reason")
    ]
    if not made:
        return Seen("failed", "it left no snapshot behind")
    first = made[-1]
    name = Path(first.path).name
    if first.proved_at_ms is None:
        why = first.problem or "not proved yet by a restore"
        return Seen("failed", f"{name} is there, but {why}", {"name": name})
    return Seen("succeeded", f"{name} is there and proved by a restore", {"name": name})


def _indexes(db: apsw.Connection, operation: Operation) -> Seen:
    asked = _listed(operation.arguments.get("indexes"))
    unready: dict[str, object] = {
        each.name: each.state
        for each in statuses(db)
        if not each.ready and (not asked or each.name in asked)
    }
    if unready:
        told = ", ".join(f"{name} is {state}" for name, state in unready.items())
        return Seen("failed", f"it stopped before its end: {told}; it goes on from there", unready)
    return Seen("succeeded", "every index of it is ready")


def _compacted(db: apsw.Connection, operation: Operation) -> Seen:
    if operation.state == "pending":
        log = Path(f"{db.filename}-wal")
        log_bytes = log.stat().st_size if log.exists() else 0
        state: Literal["succeeded"] | None = None if log_bytes > _LONG_LOG_BYTES else "succeeded"
        return Seen(state, f"the log has {log_bytes:,} bytes", {"log_bytes": log_bytes})
    free, pages = int(db.pragma("freelist_count")), int(db.pragma("page_count"))
    facts = {"free_pages": free, "pages": pages}
    if free:
        return Seen("failed", "the file was left as it was: it has unused pages", facts)
    return Seen("succeeded", "the file has no unused pages", facts)


def _tokenizer(db: apsw.Connection, _operation: Operation) -> Seen:
    if tokenizer_fingerprint(db) is None:
        return Seen("failed", "the CJK tokenizer does not load here")
    return Seen("succeeded", "the CJK tokenizer loads")


def _stopped(words: str) -> Look:
    return lambda _db, _operation: Seen("failed", f"it stopped before its end: {words}")


LOOKS: Mapping[str, Look] = {
    "retention.apply": _retained,
    "trash.sessions": _trashed,
    "trash.message": _trashed,
    "trash.restore": _restored,
    "trash.empty": _emptied,
    "purge": _purged,
    "backup": _backed_up,
    "backfill": _indexes,
    "repair": _indexes,
    "compact": _compacted,
    "tokenizer.install": _tokenizer,
    "optimize": _stopped("the indexes are as whole as before, and can be merged on"),
    "check.full": _stopped("it only reads, so nothing was changed"),
    "import": _stopped("what it stored is kept, and importing again goes on from there"),
}
