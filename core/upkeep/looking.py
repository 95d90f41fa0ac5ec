"""What came of an operation whose program died: seen in the store and its folder, never repeated.

One look for each kind. Each reads a few rows, or names of files, and says in words what it saw.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import apsw
import msgspec

from core.store.connection import tokenizer_fingerprint
from core.store.index_state import statuses
from core.upkeep import erasure
from core.upkeep_types import Operation


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen. `state` is None where the store does not tell how the operation ended."""

    state: Literal["succeeded", "failed"] | None
    words: str
    facts: Mapping[str, object] = field(default_factory=dict)


Look = Callable[[apsw.Connection, Operation], Seen]


class _Proof(msgspec.Struct):
    """What is looked at of the page beside a snapshot."""

    created_at_ms: int = 0
    proved_at_ms: int | None = None


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
    words = f"{sessions:,} sessions and {messages:,} single messages are in the trash by it"
    if operation.kind == "retention.apply" and operation.receipt.get("planned") != sessions:
        return Seen(
            "failed", f"it stopped before its end: {words}; the rest was not touched", facts
        )
    return Seen("succeeded", words, facts)


def _emptied(db: apsw.Connection, operation: Operation) -> Seen:
    left = sum(
        int(db.execute(f"SELECT count(*) FROM {table}", (operation.started_at_ms,)).get)
        for table in (
            "sessions WHERE trashed_at_ms < ?",
            "trashed_messages WHERE trashed_at_ms < ?",
        )
    )
    if operation.kind == "trash.empty" and not left:
        return Seen("succeeded", "nothing that was in the trash then is left", {"left": left})
    words = f"it stopped before its end: {left:,} are still in the trash; what is gone stays gone"
    return Seen("failed", words, {"left": left})


def _purged(db: apsw.Connection, operation: Operation) -> Seen:
    found = erasure.waiting(db)
    facts = {"messages": found.messages, "bytes": found.bytes}
    if not found.messages:
        return Seen("succeeded", "nothing waits to be erased", facts)
    state: Literal["failed"] | None = None if operation.state == "pending" else "failed"
    why = f": {found.blocked}" if found.blocked else ""
    return Seen(state, f"{found.messages:,} messages wait to be erased{why}", facts)


def _backed_up(db: apsw.Connection, operation: Operation) -> Seen:
    made = [
        (page.stem, proof)
        for page in sorted((Path(db.filename).parent / "snapshots").glob("state-*.json"))
        if (proof := _proof(page)) is not None
        and proof.created_at_ms >= operation.started_at_ms
        and page.with_suffix(".db").exists()
    ]
    if not made:
        return Seen("failed", "it left no snapshot behind")
    name, proof = made[0]
    if proof.proved_at_ms is None:
        return Seen("failed", f"{name} is there, but was not proved by a restore", {"name": name})
    return Seen("succeeded", f"{name} is there and proved", {"name": name})


def _proof(page: Path) -> _Proof | None:
    try:
        return msgspec.json.decode(page.read_bytes(), type=_Proof)
    except (OSError, msgspec.MsgspecError):
        return None


def _indexes(db: apsw.Connection, _operation: Operation) -> Seen:
    unready: dict[str, object] = {each.name: each.state for each in statuses(db) if not each.ready}
    if unready:
        told = ", ".join(f"{name} is {state}" for name, state in unready.items())
        return Seen("failed", f"it stopped before its end: {told}; it goes on from there", unready)
    return Seen("succeeded", "every index is ready")


def _compacted(db: apsw.Connection, _operation: Operation) -> Seen:
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
    "retention.apply": _trashed,
    "trash.sessions": _trashed,
    "trash.message": _trashed,
    "trash.empty": _emptied,
    "trash.expire": _emptied,
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
