"""What the trash holds: looked at, never changed."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import apsw

from core import settings
from core.errors import NotFoundError
from core.history.deletion import BEING_DELETED, TEXT_BYTES
from core.history.sessions import sessions_by_id
from core.store import clock
from core.upkeep import operations
from core.upkeep.text_sizes import COUNTED, text_bytes
from core.upkeep_types import Trash, TrashItem

IN_TRASH = f"trashed_at_ms IS NOT NULL AND coalesce(trashed_by, 0) <> {BEING_DELETED}"
"""SQL for sessions that are in the trash and can come back from it."""

_ITEM_SAMPLE = 200  # messages of an item that its bytes are estimated from
_SINGLE_BYTES = TEXT_BYTES.format(m="m")
_SINGLE = f"SELECT m.uid, {_SINGLE_BYTES} FROM messages AS m"


def contents(db: apsw.Connection, limit: int = 200) -> Trash:
    """Return what the trash holds, the latest first, at most `limit` items.

    Bytes of more than some hundred messages of an item, and of many together, are estimated.
    Three looks at each session in it: some 100 ms for 100,000.
    """
    lasts_ms = settings.read(db, settings.TRASH_DAYS) * clock.DAY_MS
    moves, singles = _moves(db), _singles(db)
    times = [move.oldest_at_ms for move in moves]
    times += [singles.oldest_at_ms] if singles.oldest_at_ms is not None else []
    messages = sum(move.messages for move in moves)
    return Trash(
        items=tuple(_items(db, _listed(db, limit), lasts_ms)),
        total=sum(move.sessions for move in moves) + singles.messages,
        messages=messages + singles.messages,
        bytes=_session_bytes(db, messages) + singles.bytes,
        next_expiry_at_ms=min(times) + lasts_ms if times else None,
        undoable=_undoable(db, moves),
    )


class _Move(NamedTuple):
    """What one operation moved to the trash and is still there; None for it where unknown."""

    operation_id: int | None
    sessions: int
    messages: int
    oldest_at_ms: int


class _Singles(NamedTuple):
    """The single messages in the trash."""

    messages: int
    bytes: int
    oldest_at_ms: int | None


def _moves(db: apsw.Connection) -> list[_Move]:
    rows = db.execute(
        "SELECT trashed_by, count(*), sum(message_count), min(trashed_at_ms) FROM sessions"
        f" WHERE {IN_TRASH} GROUP BY trashed_by"
    )
    return [_Move(*row) for row in rows]


def _listed(db: apsw.Connection, limit: int) -> list[Any]:
    """Return the latest in the trash: session, message or None, time, operation."""
    if not limit:
        return []
    rows: list[Any] = db.execute(
        f"SELECT id, NULL, trashed_at_ms, trashed_by FROM sessions WHERE {IN_TRASH}"
        " UNION ALL SELECT session_id, message_id, trashed_at_ms, trashed_by FROM trashed_messages"
        " ORDER BY 3 DESC, 2 DESC, 1 DESC LIMIT ?",
        (limit,),
    ).fetchall()
    return rows


def _session_bytes(db: apsw.Connection, messages: int) -> int:
    """Return the bytes of the sessions in the trash; of many, those of some tell."""
    share = 1.0 if messages <= COUNTED else COUNTED / 3 / messages
    looked_at: list[Any] = db.execute(
        f"SELECT id, message_count FROM sessions WHERE {IN_TRASH}"
        f" AND (id * {_SPREAD}) % {_HASHED} < ?",
        (int(share * _HASHED),),
    ).fetchall()
    held = sum([count for _, count in looked_at])
    found = text_bytes(db, looked_at)
    return round(found * messages / held) if held and share < 1.0 else found


_SPREAD, _HASHED = 2654435761, 1 << 32


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


def _singles(db: apsw.Connection) -> _Singles:
    found: tuple[int, int, int | None] = db.execute(
        f"SELECT count(*), coalesce(sum({_SINGLE_BYTES}), 0), min(t.trashed_at_ms)"
        " FROM trashed_messages AS t JOIN messages AS m ON m.id = t.message_id"
    ).get
    return _Singles(*found)


def _undoable(db: apsw.Connection, moves: Iterable[_Move]) -> int | None:
    """Return the latest operation of which everything it moved is still in the trash."""
    sessions = {move.operation_id: move.sessions for move in moves}
    alone = {
        by
        for (by,) in db.execute(
            "SELECT trashed_by FROM trashed_messages UNION SELECT cleared_by FROM cleared_places"
        )
    }
    for operation_id in sorted({by for by in {*sessions, *alone} if by is not None}, reverse=True):
        try:
            receipt = operations.get(db, operation_id).receipt
        except NotFoundError:
            continue
        if sessions.get(operation_id, 0) == receipt.get("sessions", 0):
            return int(operation_id)
    return None
