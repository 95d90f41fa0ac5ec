"""Emptying the trash: deletion in batches that hold the write lock only for moments."""

import json
import time
from collections.abc import Collection, Iterator
from typing import Any

import apsw

from core.history import deletion
from core.history.deletion import BEING_DELETED, Deleted
from core.store.connection import transaction
from core.types import Progress
from core.upkeep import erasure
from core.upkeep.wording import counted

AIM_S = 0.05
"""How long a batch should hold the write lock."""

_FIRST, _SMALLEST, _LARGEST = 200, 50, 2_000  # places of messages in a batch
_AMONG = "IN (SELECT value FROM json_each(?))"


def is_any(db: apsw.Connection, before_ms: int) -> bool:
    """Tell whether something was moved to the trash before a time, or is half deleted."""
    return bool(
        db.execute(
            "SELECT EXISTS (SELECT 1 FROM sessions WHERE trashed_at_ms IS NOT NULL"
            " AND (trashed_at_ms < ?1 OR trashed_by = ?2))"
            " OR EXISTS (SELECT 1 FROM trashed_messages WHERE trashed_at_ms < ?1)",
            (before_ms, BEING_DELETED),
        ).get
    )


class Emptying:
    """One run of deletion; what an earlier one left half done is brought to its end first."""

    def __init__(
        self,
        db: apsw.Connection,
        key: bytes,
        before_ms: int | None,
        sessions: Collection[int] | None,
        messages: Collection[int] | None,
    ) -> None:
        self._db, self._key = db, key
        self._limit = _FIRST
        self._deleted = Deleted()
        self._sessions = self._singles = 0
        self._done = 0
        bound = before_ms if before_ms is not None else 1 << 62
        named = sessions is not None or messages is not None
        self._unfinished = deletion.half_deleted(db)
        self._waiting = self._trashed_sessions(bound, sessions if named else None, named)
        self._waiting_messages = self._trashed_messages(bound, messages if named else None, named)
        self._total = sum(places for _, places in self._waiting) + len(self._waiting_messages)

    def batches(self) -> Iterator[Progress]:
        """Delete batch by batch; yields after each transaction."""
        for session_id in self._unfinished:
            yield from self._part_by_part(session_id)
        while self._waiting:
            if self._waiting[-1][1] > self._limit:
                session_id, _ = self._waiting.pop()
                yield from self._large(session_id)
            else:
                yield self._some_sessions()
        while self._waiting_messages:
            yield self._some_messages()

    def outcome(self) -> str:
        """Return what was done, in words."""
        parts = [
            counted(number, noun)
            for number, noun in ((self._sessions, "session"), (self._singles, "single message"))
            if number
        ]
        if not parts:
            return "The trash held nothing to delete"
        texts = counted(self._deleted.messages, "message")
        return f"{' and '.join(parts)} deleted ({texts}); their bytes go with the next purge"

    def receipt(self) -> dict[str, Any]:
        """Return what was done, in numbers."""
        return {
            "sessions": self._sessions,
            "single_messages": self._singles,
            "messages": self._deleted.messages,
            "bytes": self._deleted.bytes,
        }

    def _trashed_sessions(
        self, bound: int, named: Collection[int] | None, only_named: bool
    ) -> list[tuple[int, int]]:
        """Return the sessions to delete with the places of each, the oldest in the trash last."""
        only = f" AND id {_AMONG}" if only_named else ""
        rows: list[Any] = self._db.execute(
            "SELECT id, (SELECT count(*) FROM message_placements AS p"
            " WHERE p.session_id = sessions.id) FROM sessions WHERE trashed_at_ms IS NOT NULL"
            f" AND trashed_at_ms < ? AND coalesce(trashed_by, 0) <> {BEING_DELETED}{only}"
            " ORDER BY trashed_at_ms DESC, id DESC",
            (bound, *([json.dumps(sorted(named or ()))] if only_named else [])),
        ).fetchall()
        return rows

    def _trashed_messages(
        self, bound: int, named: Collection[int] | None, only_named: bool
    ) -> list[int]:
        only = f" AND message_id {_AMONG}" if only_named else ""
        rows = self._db.execute(
            f"SELECT message_id FROM trashed_messages WHERE trashed_at_ms < ?{only}"
            " ORDER BY trashed_at_ms DESC, message_id DESC",
            (bound, *([json.dumps(sorted(named or ()))] if only_named else [])),
        )
        return [row for (row,) in rows]

    def _some_sessions(self) -> Progress:
        chosen, places = list[int](), 0
        while self._waiting and places + self._waiting[-1][1] <= self._limit and len(chosen) < 100:
            session_id, count = self._waiting.pop()
            chosen.append(session_id)
            places += count
        with _Timed(self), deletion.own_key_checks(self._db), transaction(self._db):
            still = self._still_trashed(chosen)
            self._note(deletion.delete_sessions(self._db, still, self._key))
        self._sessions += len(still)
        return self._progress(places)

    def _large(self, session_id: int) -> Iterator[Progress]:
        with transaction(self._db):
            if not self._still_trashed([session_id]):
                return
            deletion.begin(self._db, session_id, self._key)
        yield from self._part_by_part(session_id)

    def _part_by_part(self, session_id: int) -> Iterator[Progress]:
        is_gone = False
        while not is_gone:
            limit = self._limit
            with _Timed(self), deletion.own_key_checks(self._db), transaction(self._db):
                deleted, is_gone = deletion.go_on(self._db, session_id, limit)
                self._note(deleted)
            yield self._progress(min(limit, max(self._total - self._done, 0)))
        self._sessions += 1

    def _some_messages(self) -> Progress:
        count = min(self._limit, len(self._waiting_messages))
        chosen = [self._waiting_messages.pop() for _ in range(count)]
        with _Timed(self), deletion.own_key_checks(self._db), transaction(self._db):
            still = self._still_trashed_messages(chosen)
            self._note(deletion.delete_messages(self._db, still, self._key))
        self._singles += len(still)
        return self._progress(count)

    def _still_trashed(self, chosen: list[int]) -> list[int]:
        """Return those that nobody brought back meanwhile; asked within the transaction."""
        rows = self._db.execute(
            f"SELECT id FROM sessions WHERE trashed_at_ms IS NOT NULL AND id {_AMONG}"
            f" AND coalesce(trashed_by, 0) <> {BEING_DELETED}",
            (json.dumps(chosen),),
        )
        return [row for (row,) in rows]

    def _still_trashed_messages(self, chosen: list[int]) -> list[int]:
        rows = self._db.execute(
            f"SELECT message_id FROM trashed_messages WHERE message_id {_AMONG}",
            (json.dumps(chosen),),
        )
        return [row for (row,) in rows]

    def _note(self, deleted: Deleted) -> None:
        self._deleted = self._deleted.plus(deleted)
        if deleted.messages:
            erasure.add(self._db, deleted.messages, deleted.bytes)

    def _progress(self, places: int) -> Progress:
        self._done += places
        return Progress(self._done, self._total, "messages", "deleting", self._deleted.messages)

    def adapt(self, elapsed_s: float) -> None:
        """Make the next batch as large as the time of the last allows."""
        factor = min(2.0, max(0.25, AIM_S / max(elapsed_s, 0.001)))
        self._limit = int(min(_LARGEST, max(_SMALLEST, self._limit * factor)))


class _Timed:
    """Measures a batch and lets the next one be larger or smaller for it."""

    def __init__(self, run: Emptying) -> None:
        self._run = run

    def __enter__(self) -> None:
        self._began = time.monotonic()

    def __exit__(self, *_: object) -> None:
        self._run.adapt(time.monotonic() - self._began)
