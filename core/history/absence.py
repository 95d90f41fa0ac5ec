"""What a source no longer has: marked and never deleted, and unmarked when it is there again.

A session is gone when no file that is still there holds it, a message when a reading of all of
the only file of its only session did not tell it. Since when is the moment of that import.
"""

import time
from collections.abc import Collection, Iterable, Iterator, Set
from itertools import islice

import apsw

from core.history.bodies import clean
from core.store.keys import STATE_BITS, STATE_MASK
from core.store.migrations import schema_version
from core.types import MessageState

_SINCE_SCHEMA = 5
_SOME = 500  # bindings of one statement
_GONE = "SELECT message_id FROM gone_messages WHERE session_id = ? AND message_id BETWEEN ? AND ?"


def note_sessions(
    db: apsw.Connection, file_id: int, held: Iterable[tuple[int, str]], *, only: bool
) -> None:
    """Store which sessions, by source and native id, a file holds; they are not gone.

    `only` tells that the file was read from its begin to its end without a fault: what it held
    before and does not now may be gone.
    """
    before = {
        row for (row,) in db.execute(
            "SELECT session_id FROM session_files WHERE file_id = ?", (file_id,)
        )
    }  # fmt: skip
    now = set(_rows(db, held))
    db.executemany(
        "INSERT INTO session_files(session_id, file_id) VALUES (?, ?) ON CONFLICT DO NOTHING",
        ((session, file_id) for session in sorted(now - before)),
    )
    for some, marks in _in_lots(now):
        db.execute(
            f"UPDATE sessions SET gone_at_ms = NULL WHERE id IN ({marks})"
            " AND gone_at_ms IS NOT NULL",
            some,
        )
    if only and (lost := before - now):
        db.executemany(
            "DELETE FROM session_files WHERE session_id = ? AND file_id = ?",
            ((session, file_id) for session in sorted(lost)),
        )
        _mark_without_file(db, lost)


def note_deleted(db: apsw.Connection, source_id: int, native_ids: Collection[str]) -> None:
    """Note that sessions were deleted where they came from, on purpose: gone, and archived.

    Archived once: who takes one out of the archive has it there no more.
    """
    now = _now()
    db.executemany(
        "UPDATE sessions SET gone_at_ms = ?1, archived_at_ms = coalesce(archived_at_ms, ?1)"
        " WHERE source_id = ?2 AND native_id = ?3 AND gone_at_ms IS NULL",
        [(now, source_id, clean(name)) for name in native_ids],
    )


def note_gone_files(db: apsw.Connection, file_ids: Collection[int]) -> None:
    """Mark the sessions that only files held which are there no more."""
    lost: set[int] = set()
    for some, marks in _in_lots(file_ids):
        lost.update(
            row for (row,) in db.execute(
                f"SELECT session_id FROM session_files WHERE file_id IN ({marks})", some
            )
        )  # fmt: skip
    _mark_without_file(db, lost)


def note_files_back(db: apsw.Connection, file_ids: Collection[int]) -> None:
    """Unmark what files hold that are there again as they were read."""
    for some, marks in _in_lots(file_ids):
        db.execute(
            "UPDATE source_files SET state = CASE WHEN error IS NULL THEN 'done' ELSE 'failed' END"
            f" WHERE id IN ({marks}) AND state = 'gone'",
            some,
        )
        db.execute(
            "UPDATE sessions SET gone_at_ms = NULL WHERE gone_at_ms IS NOT NULL AND id IN"
            f" (SELECT session_id FROM session_files WHERE file_id IN ({marks}))",
            some,
        )


def note_messages(db: apsw.Connection, source_id: int, native_id: str, told: Set[int]) -> None:
    """Mark what a session shows and its only file no longer tells; unmark what it tells again.

    `told` are the hashes of the uids that a reading of the whole file told. Costs some µs for
    each message of a session that has more than was told, else a tenth of that.
    """
    session: int | None = db.execute(
        "SELECT id FROM sessions WHERE source_id = ? AND native_id = ?",
        (source_id, clean(native_id)),
    ).get
    if session is None or _files(db, session) != 1:
        return
    marked = {
        row for (row,) in db.execute(
            "SELECT message_id FROM gone_messages WHERE session_id = ?", (session,)
        )
    }  # fmt: skip
    if not marked and _shown(db, session) <= len(told):
        return
    missing, there = _parted(db, session, told)
    now = _now()
    db.executemany(
        "INSERT INTO gone_messages(message_id, session_id, gone_at_ms) SELECT ?1, ?2, ?3"
        " WHERE (SELECT count(*) FROM message_placements WHERE message_id = ?1) = 1",
        ((row, session, now) for row in missing - marked),
    )
    db.executemany(
        "DELETE FROM gone_messages WHERE message_id = ?", ((row,) for row in marked & there)
    )


def note_told(db: apsw.Connection, message_ids: Iterable[int]) -> None:
    """Unmark messages that a file tells, be it another one, or what was appended to one.

    One look where nothing is marked, else a few µs for each message.
    """
    if db.execute("SELECT 1 FROM gone_messages LIMIT 1").get is not None:
        db.executemany(
            "DELETE FROM gone_messages WHERE message_id = ?", ((row,) for row in message_ids)
        )


def gone_messages(db: apsw.Connection, session_id: int, first: int, last: int) -> frozenset[int]:
    """Return the rows from `first` to `last` of the session's messages that its source lost.

    One look into an index, some µs where there are none. An older store that is only read
    knows of none.
    """
    if schema_version(db) < _SINCE_SCHEMA:
        return frozenset()
    found = db.execute(_GONE, (session_id, first, last))
    return frozenset(row for (row,) in found)


def _parted(db: apsw.Connection, session: int, told: Set[int]) -> tuple[set[int], set[int]]:
    missing: set[int] = set()
    there: set[int] = set()
    for row, uid in db.execute(
        "SELECT m.id, m.uid FROM message_placements AS p JOIN messages AS m ON m.id = p.message_id"
        " WHERE p.session_id = ? AND m.state <> 'superseded'",
        (session,),
    ):
        (there if hash(uid) in told else missing).add(row)
    return missing, there


def _shown(db: apsw.Connection, session: int) -> int:
    return int(
        db.execute(
            "SELECT count(*) FROM message_placements AS p"
            " CROSS JOIN message_keys AS k ON k.id = p.message_id"
            f" WHERE p.session_id = ? AND (k.flags & {STATE_MASK}) <> ?",
            (session, STATE_BITS[MessageState.SUPERSEDED]),
        ).get
    )


def _files(db: apsw.Connection, session: int) -> int:
    """How many files that are still there hold a session."""
    return int(
        db.execute(
            "SELECT count(*) FROM session_files AS s JOIN source_files AS f ON f.id = s.file_id"
            " WHERE s.session_id = ? AND f.state <> 'gone'",
            (session,),
        ).get
    )


def _mark_without_file(db: apsw.Connection, sessions: Iterable[int]) -> None:
    now = _now()
    db.executemany(
        "UPDATE sessions SET gone_at_ms = ? WHERE id = ? AND gone_at_ms IS NULL",
        [(now, session) for session in sorted(sessions) if not _files(db, session)],
    )


def _rows(db: apsw.Connection, sessions: Iterable[tuple[int, str]]) -> Iterator[int]:
    found = "SELECT id FROM sessions WHERE source_id = ? AND native_id = ?"
    for source_id, native_id in sessions:
        row = db.execute(found, (source_id, clean(native_id))).get
        if row is not None:  # else it was deleted here for good
            yield row


def _in_lots(rows: Iterable[int]) -> Iterator[tuple[tuple[int, ...], str]]:
    left = iter(sorted(rows))
    while some := tuple(islice(left, _SOME)):
        yield some, ", ".join("?" * len(some))


def _now() -> int:
    return time.time_ns() // 1_000_000
