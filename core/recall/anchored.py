"""A message with what was said around it, how its session began and how it ended.

Only what a person and the model said is shown around it, since tool output would take all the
room; a summary that a compaction wrote is neither a beginning nor an end.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import apsw

from core.history.messages import IS_VISIBLE, MESSAGE_COLUMNS, as_known, message_from
from core.recall.caps import capped
from core.recall.numbering import Place, visible_before
from core.recall.window import (
    BOOKEND_CHARS,
    END,
    START,
    WINDOW_CHARS,
    is_visible,
    neighbours,
    placed,
)
from core.search.scope import has_role
from core.store.keys import ORIGIN_BITS, ORIGIN_MASK
from core.types import Message, Origin, Role, Session

BOOKEND = 3
"""So many first and last messages are shown beside a window."""

_SUMMARIES = ("[CONTEXT COMPACTION", "[CONTEXT SUMMARY]:")  # as Hermes begins them
_BLANKS = " \t\r\n"
_SPOKEN = has_role(frozenset({Role.USER, Role.ASSISTANT}))
_OWN = (
    f"(k.flags & {ORIGIN_MASK}) NOT IN"
    f" ({ORIGIN_BITS[Origin.INJECTED]}, {ORIGIN_BITS[Origin.SYNTHETIC]})"
)

_ENDS = (
    f"SELECT {MESSAGE_COLUMNS} FROM message_placements AS p"
    " CROSS JOIN message_keys AS k ON k.id = p.message_id"
    " CROSS JOIN messages AS m ON m.id = p.message_id"
    " WHERE p.session_id = ? AND (p.seq, p.message_id) {beyond} (?, ?)"
    f" AND {IS_VISIBLE} AND {_SPOKEN} AND {_OWN} AND trim(m.content, ?) <> ''"
    f" AND {' AND '.join(['substr(m.content, 1, ?) <> ?'] * len(_SUMMARIES))}"
    " ORDER BY p.seq {order}, p.message_id {order} LIMIT ?"
)

_Row = tuple[Any, ...]
_SEQ, _ID = 3, 0  # in MESSAGE_COLUMNS


@dataclass(frozen=True, slots=True)
class Anchored:
    """A window and the ends of its session; no message is in two of them, all are in order.

    `before` and `after` count the visible messages on each side of `messages`.
    """

    opening: tuple[Message, ...]
    messages: tuple[Message, ...]
    resolution: tuple[Message, ...]
    before: int
    after: int


def anchored(
    db: apsw.Connection,
    session: Session,
    message_id: int,
    *,
    window: int,
    bookend: int = BOOKEND,
) -> Anchored:
    """Return a message in its session, with up to `window` spoken ones on each side.

    The message itself is there whatever its role. Costs some 0.1 ms, and what it takes to
    pass the tool rows between spoken ones.

    Raises:
        NotFoundError: the session does not hold the message.
    """
    row = placed(db, session.id, message_id)
    place = _place(row)
    earlier, later = (
        list(neighbours(db, session.id, place, window, earlier=side, only=_SPOKEN))
        for side in (True, False)
    )
    rows = [*earlier[::-1], row, *later]
    first, last = _place(rows[0]), _place(rows[-1])
    opening = list(_ends(db, session, START, bookend, until=first))
    resolution = list(_ends(db, session, END, bookend, until=last))[::-1]
    before = visible_before(db, session.id, first, session.message_count)
    told = visible_before(db, session.id, last, session.message_count)
    told += 1 if is_visible(db, last.message_id) else 0
    return Anchored(
        _numbered(db, session, opening, BOOKEND_CHARS),
        _numbered(db, session, rows, WINDOW_CHARS),
        _numbered(db, session, resolution, BOOKEND_CHARS),
        before,
        session.message_count - told,
    )


def anchor_alone(db: apsw.Connection, session: Session, message_id: int) -> Anchored:
    """Return a message in its session without anything around it."""
    return anchored(db, session, message_id, window=0, bookend=0)


def _ends(
    db: apsw.Connection, session: Session, end: Place, count: int, *, until: Place
) -> Iterable[_Row]:
    """Return up to `count` messages from an end of a session on, but not as far as `until`."""
    if not count:
        return []
    beyond, order, is_near = (
        (">", "ASC", lambda row: _place(row) < until)
        if end is START
        else ("<", "DESC", lambda row: _place(row) > until)
    )
    summaries = [value for text in _SUMMARIES for value in (len(text), text)]
    rows = db.execute(
        _ENDS.format(beyond=beyond, order=order),
        (session.id, *end, _BLANKS, *summaries, count),
    ).fetchall()
    return filter(is_near, rows)


def _numbered(
    db: apsw.Connection, session: Session, rows: Iterable[_Row], chars: int
) -> tuple[Message, ...]:
    total = session.message_count
    found = (
        capped(message_from(row, visible_before(db, session.id, _place(row), total) + 1, chars))
        for row in rows
    )
    return as_known(db, session.id, found)


def _place(row: _Row) -> Place:
    return Place(row[_SEQ], row[_ID])
