"""What the trash holds: looked at, never changed."""

from collections.abc import Iterable, Iterator
from typing import Any

import apsw

from core import settings
from core.errors import NotFoundError
from core.history.deletion import BEING_DELETED, TEXT_BYTES
from core.history.sessions import sessions_by_id
from core.store import clock
from core.upkeep import operations
from core.upkeep.text_sizes import text_bytes
from core.upkeep_types import Trash, TrashItem

IN_TRASH = f"trashed_at_ms IS NOT NULL AND coalesce(trashed_by, 0) <> {BEING_DELETED}"
"""SQL for sessions that are in the trash and can come back from it."""

_ITEM_SAMPLE = 200  # messages of an item that its bytes are estimated from
_SINGLE_BYTES = TEXT_BYTES.format(m="m")
_SINGLE = f"SELECT m.uid, {_SINGLE_BYTES} FROM messages AS m"


def contents(db: apsw.Connection, limit: int = 200) -> Trash:
    """Return what the trash holds, the latest first, at most `limit` items.

    Bytes of an item of more than some hundred messages are estimated. Some 50 ms for 100,000
    sessions in it.
    """
    lasts_ms = settings.read(db, settings.TRASH_DAYS) * clock.DAY_MS
    listed: list[Any] = db.execute(
        f"SELECT id, NULL, trashed_at_ms, trashed_by FROM sessions WHERE {IN_TRASH}"
        " UNION ALL SELECT session_id, message_id, trashed_at_ms, trashed_by FROM trashed_messages"
        " ORDER BY 3 DESC, 2 DESC, 1 DESC LIMIT ?",
        (limit,),
    ).fetchall()
    sessions: list[Any] = db.execute(
        f"SELECT id, message_count, trashed_at_ms FROM sessions WHERE {IN_TRASH}"
    ).fetchall()
    singles, single_bytes, oldest = _singles(db)
    times = [at_ms for *_, at_ms in sessions] + ([oldest] if oldest is not None else [])
    return Trash(
        items=tuple(_items(db, listed, lasts_ms)),
        total=len(sessions) + singles,
        messages=sum(count for _, count, _ in sessions) + singles,
        bytes=text_bytes(db, [(row, count) for row, count, _ in sessions]) + single_bytes,
        next_expiry_at_ms=min(times) + lasts_ms if times else None,
        undoable=_undoable(db),
    )


def session_in_trash(db: apsw.Connection, ref: str) -> int:
    """Return the row of the session of this name that is in the trash.

    Raises:
        NotFoundError: none is, or several are.
    """
    source, _, native_id = ref.partition("/")
    rows: list[Any] = db.execute(
        "SELECT s.id FROM sessions AS s JOIN sources AS r ON r.id = s.source_id"
        f" WHERE s.{IN_TRASH} AND (s.native_id = ?1"
        " OR (s.native_id = ?2 AND ?3 IN (r.kind, r.kind || '#' || r.id)))",
        (ref, native_id, source),
    ).fetchall()
    if len(rows) != 1:
        many = "several sessions are" if rows else "no session is"
        raise NotFoundError(f"{many} in the trash by the name {ref}")
    return int(rows[0][0])


def message_in_trash(db: apsw.Connection, ref: str, uid: str) -> int:
    """Return the row of a message in the trash, by its session's name and its uid.

    Raises:
        NotFoundError: there is none in it, or several are.
    """
    source, _, native_id = ref.partition("/")
    rows: list[Any] = db.execute(
        "SELECT DISTINCT m.id FROM messages AS m CROSS JOIN trashed_messages AS t"
        " ON t.message_id = m.id CROSS JOIN message_placements AS p ON p.message_id = m.id"
        " CROSS JOIN sessions AS s ON s.id = p.session_id"
        " CROSS JOIN sources AS r ON r.id = s.source_id WHERE m.uid = ?1 AND (s.native_id = ?2"
        " OR (s.native_id = ?3 AND ?4 IN (r.kind, r.kind || '#' || r.id)))",
        (uid, ref, native_id, source),
    ).fetchall()
    if len(rows) != 1:
        raise NotFoundError(f"no message {uid} of {ref} is in the trash")
    return int(rows[0][0])


def _items(db: apsw.Connection, listed: Iterable[Any], lasts_ms: int) -> Iterator[TrashItem]:
    rows = list(listed)
    sessions = sessions_by_id(db, {row[0] for row in rows})
    for session_id, message_id, at_ms, operation_id in rows:
        session = sessions[session_id]
        uid = size = None
        if message_id is not None:
            uid, size = db.execute(f"{_SINGLE} WHERE m.id = ?", (message_id,)).get
        else:
            size = text_bytes(db, [(session_id, session.message_count)], _ITEM_SAMPLE)
        yield TrashItem(
            session=session.ref,
            title=session.title,
            source=session.source,
            message=uid,
            messages=session.message_count if message_id is None else 1,
            bytes=size,
            trashed_at_ms=at_ms,
            expires_at_ms=at_ms + lasts_ms,
            operation_id=operation_id,
        )


def _singles(db: apsw.Connection) -> tuple[int, int, int | None]:
    """Return how many single messages are in the trash, their bytes, and the earliest time."""
    found: tuple[int, int, int | None] = db.execute(
        f"SELECT count(*), coalesce(sum({_SINGLE_BYTES}), 0), min(t.trashed_at_ms)"
        " FROM trashed_messages AS t JOIN messages AS m ON m.id = t.message_id"
    ).get
    return found


def _undoable(db: apsw.Connection) -> int | None:
    """Return the latest operation of which everything it moved is still in the trash."""
    rows: list[Any] = db.execute(
        "SELECT trashed_by, sum(is_session), sum(NOT is_session) FROM"
        f" (SELECT trashed_by, 1 AS is_session FROM sessions WHERE {IN_TRASH}"
        " UNION ALL SELECT trashed_by, 0 FROM trashed_messages)"
        " WHERE trashed_by IS NOT NULL GROUP BY trashed_by ORDER BY trashed_by DESC"
    ).fetchall()
    for operation_id, sessions, messages in rows:
        try:
            receipt = operations.get(db, operation_id).receipt
        except NotFoundError:
            continue
        moved = receipt.get("sessions", 0)
        if sessions == moved and (sessions or messages):
            return int(operation_id)
    return None
