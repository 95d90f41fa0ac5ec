"""Reading the messages of a session: by number, and one to its last character."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import apsw

from core.errors import NotFoundError
from core.graphemes import cut_at
from core.history.absence import gone_messages
from core.history.bodies import VISIBLE, read_calls, read_media
from core.history.calls import with_outcomes
from core.store.keys import STATE_BITS, STATE_MASK
from core.types import Message, MessageState, Origin, Role, TimeQuality, ToolStatus

PAGE_CHARS = 100_000
"""How much of a message a page shows by default; `message_text` reads on."""

MESSAGE_COLUMNS = (
    "m.id, m.uid, p.session_id, p.seq, m.role, m.origin, m.state, m.content, m.created_at_ms,"
    " m.time_quality, m.model, m.reasoning, m.tool_calls, m.tool_call_id, m.tool_name,"
    " m.tool_status, m.media_refs"
)
"""What `message_from` reads, of `messages AS m` and `message_placements AS p`."""

_STATE = 6  # in MESSAGE_COLUMNS

IS_VISIBLE = (
    f"(k.flags & {STATE_MASK}) IN ({', '.join(str(STATE_BITS[s]) for s in sorted(VISIBLE))})"
)
"""SQL that is true for rows of `message_keys AS k` that windows and lists show."""


def newest_message(db: apsw.Connection) -> int:
    """Return the highest row id of a message, 0 where there is none; it grows with each new one."""
    return int(db.execute("SELECT coalesce(max(id), 0) FROM message_keys").get)


def messages_page(
    db: apsw.Connection, session_id: int, *, first: int, count: int, chars: int = PAGE_CHARS
) -> tuple[Message, ...]:
    """Return visible messages by their 1-based number, in order; fewer at the session's end.

    Contents are cut to `chars`. Costs a walk over the narrow rows between the page and the
    nearer end of the session: some 20 ms in the middle of 100,000 messages.
    """
    total = db.execute("SELECT message_count FROM sessions WHERE id = ?", (session_id,)).get
    start, stop = first - 1, min(first - 1 + count, total or 0)
    if start >= stop:
        return ()
    from_end = start > total // 2
    order = "DESC" if from_end else "ASC"
    skipped = total - stop if from_end else start
    rows = db.execute(
        f"SELECT {MESSAGE_COLUMNS} FROM (SELECT p.session_id, p.seq, p.message_id"
        " FROM message_placements AS p CROSS JOIN message_keys AS k ON k.id = p.message_id"
        f" WHERE p.session_id = ? AND {IS_VISIBLE}"
        f" ORDER BY p.seq {order}, p.message_id {order} LIMIT ? OFFSET ?) AS p"
        " CROSS JOIN messages AS m ON m.id = p.message_id",
        (session_id, stop - start, skipped),
    ).fetchall()
    rows.sort(key=lambda row: (row[3], row[0]))
    found = (message_from(row, start + 1 + n, chars) for n, row in enumerate(rows))
    return as_known(db, session_id, found)


def as_known(
    db: apsw.Connection, session_id: int, messages: Iterable[Message]
) -> tuple[Message, ...]:
    """Return messages of a session, in order, as it is known what became of them.

    Calls have the outcome that results tell, and those that the source no longer has are marked.
    """
    found = with_outcomes(db, session_id, messages)
    if not found:
        return found
    rows = [message.id for message in found]
    gone = gone_messages(db, session_id, min(rows), max(rows))
    if not gone:
        return found
    return tuple(replace(m, gone=True) if m.id in gone else m for m in found)


def message_from(row: tuple[Any, ...], number: int, chars: int) -> Message:
    """Return a message from a row of `MESSAGE_COLUMNS`, its content cut to `chars`.

    What people see as one character is not cut, so it may be a little less.
    """
    (row_id, uid, session_id, seq, role, origin, state, content, created_at_ms) = row[:9]
    (quality, model, reasoning, calls, call_id, tool_name, tool_status, media) = row[9:]
    end = cut_at(content, chars)
    return Message(
        id=row_id,
        uid=uid,
        session_id=session_id,
        seq=seq,
        number=number,
        role=Role(role),
        origin=Origin(origin),
        state=MessageState(state),
        content=content[:end],
        content_length=len(content),
        truncated=len(content) > end,
        created_at_ms=created_at_ms,
        time_quality=TimeQuality(quality),
        model=model,
        reasoning=reasoning,
        tool_calls=read_calls(calls),
        tool_call_id=call_id,
        tool_name=tool_name,
        tool_status=ToolStatus(tool_status) if tool_status else None,
        media_refs=read_media(media),
    )


def message_text(
    db: apsw.Connection, message_id: int, *, offset: int = 0, chars: int = PAGE_CHARS
) -> tuple[str, int]:
    """Return `chars` characters of a message from `offset` on, and how many it has in all.

    Raises:
        NotFoundError: it is gone.
    """
    content = db.execute("SELECT content FROM messages WHERE id = ?", (message_id,)).get
    if content is None:
        raise NotFoundError("this message is no longer in the store")
    return content[offset : offset + chars], len(content)


def message_piece(db: apsw.Connection, message_id: int, offset: int, chars: int) -> str:
    """Return some `chars` characters of a message from `offset` on, cut at a whole character.

    What follows begins at `offset` and the length of what is returned; '' behind the end.

    Raises:
        NotFoundError: it is gone.
    """
    content = db.execute("SELECT content FROM messages WHERE id = ?", (message_id,)).get
    if content is None:
        raise NotFoundError("this message is no longer in the store")
    end = cut_at(content, offset + chars)
    return str(content[offset : end if end > offset else offset + chars])


def message_by_ref(db: apsw.Connection, session_id: int, uid: str) -> Message:
    """Return the message that a session shows under a uid, with the whole of its content.

    Its number is that among the visible messages; one that is not visible has the number of
    the next that is. A superseded text is found only where no other has its uid; nothing is
    where one in the trash has it.

    Raises:
        NotFoundError: the session has no such message.
    """
    row = db.execute(
        f"SELECT {MESSAGE_COLUMNS} FROM message_placements AS p"
        " JOIN messages AS m ON m.id = p.message_id WHERE p.session_id = ?"
        " AND m.uid = ? AND m.source_id = (SELECT source_id FROM sessions WHERE id = ?)"
        " ORDER BY m.state = 'superseded', m.state <> 'trashed', m.id LIMIT 1",
        (session_id, uid, session_id),
    ).get
    if row is None or row[_STATE] == MessageState.TRASHED:
        raise NotFoundError(f"the session has no message named {uid}")
    found = message_from(row, number_of(db, session_id, row[3], row[0]), len(row[7]))
    return as_known(db, session_id, [found])[0]


def number_of(db: apsw.Connection, session_id: int, seq: int, message_id: int) -> int:
    """Return the 1-based number among the session's visible messages of a place in it."""
    before = db.execute(
        "SELECT count(*) FROM message_placements AS p"
        " CROSS JOIN message_keys AS k ON k.id = p.message_id"
        f" WHERE p.session_id = ? AND (p.seq, p.message_id) < (?, ?) AND {IS_VISIBLE}",
        (session_id, seq, message_id),
    ).get
    return int(before) + 1
