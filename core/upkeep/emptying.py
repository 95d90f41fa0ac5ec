"""Emptying the trash: deletion in batches that hold the write lock only for moments."""

import json
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import apsw

from core.history import deletion, tombstones
from core.history.deletion import BEING_DELETED, Deleted
from core.store.connection import transaction
from core.types import Progress
from core.upkeep import erasure
from core.upkeep.wording import counted

AIM_S = 0.05
"""How long a batch should hold the write lock."""

_FIRST, _SMALLEST, _LARGEST = 100_000, 20_000, 2_000_000  # bytes that a batch weighs
_MOST_PLACES, _MOST_SESSIONS = 2_000, 100  # in a batch
_AMONG = "IN (SELECT value FROM json_each(?))"


def is_any(db: apsw.Connection, before_ms: int) -> bool:
    """Tell whether something was moved to the trash before a time, or is half deleted."""
    return bool(
        db.execute(
            "SELECT EXISTS (SELECT 1 FROM sessions WHERE trashed_at_ms IS NOT NULL"
            " AND (trashed_at_ms < ?1 OR trashed_by = ?2))"
            " OR EXISTS (SELECT 1 FROM trashed_messages WHERE trashed_at_ms < ?1)"
            " OR EXISTS (SELECT 1 FROM cleared_places WHERE cleared_at_ms < ?1)",
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
        self._limit, self._cost_s = _FIRST, AIM_S / _FIRST
        self._deleted = Deleted()
        self._sessions = self._singles = 0
        self._done = 0
        bound = before_ms if before_ms is not None else 1 << 62
        self._is_bounded = before_ms is not None
        named = sessions is not None or messages is not None
        self._cleared_before = None if named else bound
        self._unfinished = deletion.half_deleted(db)
        self._waiting = self._trashed_sessions(bound, sessions if named else None, named)
        self._waiting_messages = self._trashed_messages(bound, messages if named else None, named)
        self._total = sum(places for _, places in self._waiting) + len(self._waiting_messages)

    def batches(self) -> Iterator[Progress]:
        """Delete batch by batch; yields after each transaction."""
        for session_id in self._unfinished:
            yield from self._part_by_part(session_id)
        while self._waiting:
            if chosen := self._light_enough():
                yield self._some_sessions(chosen)
            else:
                session_id, _ = self._waiting.pop()
                yield from self._large(session_id)
        while self._waiting_messages:
            yield self._some_messages()
        if self._cleared_before is not None:
            with transaction(self._db):
                tombstones.bury_cleared(self._db, self._key, self._cleared_before)

    def outcome(self) -> str:
        """Return what was done, in words."""
        parts = [
            counted(number, noun)
            for number, noun in ((self._sessions, "session"), (self._singles, "single message"))
            if number
        ]
        if not parts:
            if self._is_bounded:
                return "Nothing has been in the trash for so long"
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

    def _light_enough(self) -> list[tuple[int, int, int]]:
        """Take sessions that one batch can delete, with the places and the weight of each.

        None where the next is too large for one.
        """
        chosen, places, weighed = list[tuple[int, int, int]](), 0, 0
        while self._waiting and len(chosen) < _MOST_SESSIONS:
            session_id, count = self._waiting[-1]
            places += count
            if places > _MOST_PLACES:
                break
            weight = deletion.weight(self._db, session_id)
            weighed += weight
            if weighed > self._limit:
                break
            chosen.append((session_id, count, weight))
            self._waiting.pop()
        return chosen

    def _some_sessions(self, chosen: list[tuple[int, int, int]]) -> Progress:
        with self._batch() as batch:
            still = self._still_trashed([session_id for session_id, _, _ in chosen])
            self._note(deletion.delete_sessions(self._db, still, self._key))
            batch.weight = sum(weight for _, _, weight in chosen)
        self._sessions += len(still)
        return self._progress(sum(count for _, count, _ in chosen))

    def _large(self, session_id: int) -> Iterator[Progress]:
        with transaction(self._db):
            if not self._still_trashed([session_id]):
                return
            deletion.begin(self._db, session_id, self._key)
        yield from self._part_by_part(session_id)

    def _part_by_part(self, session_id: int) -> Iterator[Progress]:
        is_gone = False
        while not is_gone:
            with self._batch() as batch:
                part = deletion.go_on(self._db, session_id, _MOST_PLACES, self._limit)
                self._note(part.deleted)
                batch.weight = part.weight
            is_gone = part.is_gone
            yield self._progress(min(part.places, max(self._total - self._done, 0)))
        self._sessions += 1

    def _some_messages(self) -> Progress:
        weights = deletion.message_weights(self._db, self._waiting_messages[-_MOST_PLACES:])
        chosen, weighed = list[int](), 0
        while self._waiting_messages and len(chosen) < _MOST_PLACES:
            weight = weights.get(self._waiting_messages[-1], 0)
            if chosen and weighed + weight > self._limit:
                break
            chosen.append(self._waiting_messages.pop())
            weighed += weight
        with self._batch() as batch:
            still = self._still_trashed_messages(chosen)
            self._note(deletion.delete_messages(self._db, still, self._key))
            batch.weight = weighed
        self._singles += len(still)
        return self._progress(len(chosen))

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

    @contextmanager
    def _batch(self) -> Iterator["_Batch"]:
        """Run the block in a transaction, and let its time tell how large the next may be."""
        batch, began = _Batch(), time.monotonic()
        with deletion.own_key_checks(self._db), transaction(self._db):
            yield batch
        self._adapt(batch.weight, time.monotonic() - began)

    def _adapt(self, weight: int, elapsed_s: float) -> None:
        """Make the next batch as large as what a byte cost lately allows.

        By the average of some batches: one in which an index merges takes several times as long
        as the next, and says little of it.
        """
        if weight < self._limit // 4:
            return  # what every transaction costs would be taken for the cost of its bytes
        cost_s = min(elapsed_s / weight, _MOST_CHANGE * self._cost_s)
        self._cost_s += _BELIEVED * (cost_s - self._cost_s)
        self._limit = int(min(_LARGEST, max(_SMALLEST, AIM_S / self._cost_s)))


_BELIEVED, _MOST_CHANGE = 0.25, 3.0


@dataclass(slots=True)
class _Batch:
    """What one transaction deletes: the weight of it, once that is known."""

    weight: int = 0
