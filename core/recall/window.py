"""Reading around a message: the window it stands in, what comes before and after, the ends.

Everything here shows what a session shows, messages that are active or compacted, and bounds
what one message may take of the screen; `core.history.messages.message_text` reads on.
"""

from collections.abc import Iterable
from typing import Any

import apsw

from core.errors import NotFoundError
from core.history.messages import (
    IS_VISIBLE,
    MESSAGE_COLUMNS,
    as_known,
    message_from,
    number_of,
)
from core.history.sessions import session_by_id
from core.recall.numbering import Place, visible_before
from core.types import Bookends, Message, Window

WINDOW_CHARS = 4_000
"""The most characters that a window shows of a message."""

BOOKEND_CHARS = 1_200
"""The same for the first and last messages around a window."""

READ_CHARS = 2_000
"""The same for a session read from its start."""

START, END = Place(-(1 << 62), 0), Place(1 << 62, 0)
"""Places before and behind every message of any session."""

_Row = tuple[Any, ...]
_SEQ, _ID = 3, 0  # in MESSAGE_COLUMNS


def window(
    db: apsw.Connection,
    message_id: int,
    *,
    session_id: int | None = None,
    before: int = 5,
    after: int = 5,
    behind: int | None = None,
) -> Window:
    """Return a message with the visible ones around it, oldest first.

    The message is there even if its session no longer shows it; it then has the number of
    the next one that is shown. Costs under 1 ms for 41 messages, but see
    `numbering.visible_before` for the first look at a very long session.

    Args:
        db: a connection to a store.
        message_id: the message's row.
        session_id: the session to show it in; its owner when not given.
        before: the most messages before it.
        after: the most messages behind it.
        behind: a `seq`; what is not behind it is neither shown nor counted.

    Raises:
        NotFoundError: the message is gone, or the session does not hold it.
    """
    if session_id is None:
        session_id = _owner(db, message_id)
    row = placed(db, session_id, message_id)
    place = Place(row[_SEQ], message_id)
    session = session_by_id(db, session_id)
    total = session.message_count
    only = "true" if behind is None else f"p.seq > {behind}"
    earlier = list(neighbours(db, session_id, place, before, earlier=True, only=only))[::-1]
    later = list(neighbours(db, session_id, place, after, earlier=False))
    number = visible_before(db, session_id, place, total) + 1
    step = 1 if is_visible(db, message_id) else 0
    messages = as_known(
        db,
        session_id,
        (
            *_numbered(earlier, number - len(earlier), WINDOW_CHARS),
            *_numbered([row], number, WINDOW_CHARS),
            *_numbered(later, number + step, WINDOW_CHARS),
        ),
    )
    unseen = total - (number - 1 + step + len(later))
    skipped = _not_behind(db, session_id, behind)
    return Window(session, messages, number - 1 - len(earlier) - skipped, unseen, message_id)


def more(
    db: apsw.Connection,
    session_id: int,
    *,
    before_seq: int | None = None,
    after_seq: int | None = None,
    count: int = 20,
) -> tuple[Message, ...]:
    """Return the visible messages next to an edge of what is shown, oldest first.

    Args:
        db: a connection to a store.
        session_id: the session.
        before_seq: the `seq` of the first message shown; those before it are returned.
        after_seq: the `seq` of the last message shown; those behind it are returned.
        count: how many at most.
    """
    total = session_by_id(db, session_id).message_count
    if before_seq is not None:
        edge = Place(before_seq, 0)
        rows = list(neighbours(db, session_id, edge, count, earlier=True))[::-1]
    elif after_seq is not None:
        rows = list(neighbours(db, session_id, Place(after_seq + 1, -1), count, earlier=False))
    else:
        raise ValueError("an edge is needed: before_seq or after_seq")
    if not rows:
        return ()
    number = visible_before(db, session_id, Place(rows[0][_SEQ], rows[0][_ID]), total) + 1
    return as_known(db, session_id, _numbered(rows, number, WINDOW_CHARS))


def bookends(db: apsw.Connection, session_id: int, first: int = 3, last: int = 3) -> Bookends:
    """Return the first and the last visible messages of a session; none is in both."""
    return _ends(db, session_id, first, last, BOOKEND_CHARS)


def opening(
    db: apsw.Connection,
    session_id: int,
    first: int = 20,
    last: int = 10,
    *,
    behind: int | None = None,
) -> Bookends:
    """Return how a session begins and ends, at reading length; no message is in both.

    `behind` is a `seq`: what is not behind it is neither shown nor in the total.
    """
    return _ends(db, session_id, first, last, READ_CHARS, behind)


def _ends(
    db: apsw.Connection,
    session_id: int,
    first: int,
    last: int,
    chars: int,
    behind: int | None = None,
) -> Bookends:
    every = session_by_id(db, session_id).message_count
    skipped = _not_behind(db, session_id, behind)
    total = every - skipped
    start = START if behind is None else Place(behind, END.seq)
    head = list(neighbours(db, session_id, start, first, earlier=False))
    rest = min(last, total - len(head))
    tail = list(neighbours(db, session_id, END, rest, earlier=True))[::-1]
    return Bookends(
        as_known(db, session_id, _numbered(head, skipped + 1, chars)),
        as_known(db, session_id, _numbered(tail, every - len(tail) + 1, chars)),
        total,
    )


def _not_behind(db: apsw.Connection, session_id: int, behind: int | None) -> int:
    """Return how many of a session's visible messages are not behind a `seq`."""
    return 0 if behind is None else number_of(db, session_id, behind + 1, -1) - 1


def neighbours(
    db: apsw.Connection,
    session_id: int,
    place: Place,
    count: int,
    *,
    earlier: bool,
    only: str = "true",
) -> Iterable[_Row]:
    """Return up to `count` visible messages before or behind `place`, the nearest first.

    `only` is SQL over `message_keys AS k` that narrows them. The narrow rows are walked along
    the primary key, and only those wanted are read: as `MESSAGE_COLUMNS`.
    """
    beyond, order = ("<", "DESC") if earlier else (">", "ASC")
    return db.execute(
        f"SELECT {MESSAGE_COLUMNS} FROM (SELECT p.session_id, p.seq, p.message_id"
        " FROM message_placements AS p CROSS JOIN message_keys AS k ON k.id = p.message_id"
        f" WHERE p.session_id = ? AND (p.seq, p.message_id) {beyond} (?, ?) AND {IS_VISIBLE}"
        f" AND {only}"
        f" ORDER BY p.seq {order}, p.message_id {order} LIMIT ?) AS p"
        " CROSS JOIN messages AS m ON m.id = p.message_id",
        (session_id, *place, max(0, count)),
    )


def _owner(db: apsw.Connection, message_id: int) -> int:
    found = db.execute("SELECT session_id FROM message_keys WHERE id = ?", (message_id,)).get
    if found is None:
        raise NotFoundError("this message is no longer in the store")
    return int(found)


def placed(db: apsw.Connection, session_id: int, message_id: int) -> _Row:
    """Return the `MESSAGE_COLUMNS` of a message at its place in a session, visible or not."""
    row: _Row | None = db.execute(
        f"SELECT {MESSAGE_COLUMNS} FROM message_placements AS p"
        " CROSS JOIN messages AS m ON m.id = p.message_id"
        " WHERE p.message_id = ? AND p.session_id = ?",
        (message_id, session_id),
    ).get
    if row is None:
        raise NotFoundError("the session has no such message")
    return row


def is_visible(db: apsw.Connection, message_id: int) -> bool:
    """Tell whether sessions show a message."""
    sql = f"SELECT {IS_VISIBLE} FROM message_keys AS k WHERE k.id = ?"
    return bool(db.execute(sql, (message_id,)).get)


def _numbered(rows: Iterable[_Row], first: int, chars: int) -> tuple[Message, ...]:
    return tuple(message_from(row, first + at, chars) for at, row in enumerate(rows))
