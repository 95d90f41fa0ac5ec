"""Plain text within one session: every place of it in all that the session shows.

A message is looked through in the order it is read: its reasoning, its content, its tool calls
(each by name and argument values). System, injected and added messages show no calls, nor do
tool rows; the tool's name that a row repeats is no text of it.
"""

from dataclasses import dataclass
from typing import NamedTuple

import apsw

from core.errors import NotFoundError
from core.history.messages import IS_VISIBLE
from core.recall.message_texts import COLUMNS, MessageTexts
from core.recall.plain_text import Sought
from core.store.deadline import deadline

BLOCK_MESSAGES = 2_048
"""So many messages are asked for at once; between two of them the time is looked at."""


class MessageMatches(NamedTuple):
    """A message by row id and 1-based number in its session, and how often it matches."""

    message_id: int
    number: int
    matches: int


@dataclass(frozen=True, slots=True)
class Found:
    """The messages that match, in order, and how far the session was looked through.

    `looked_at` messages were; when not `is_whole`, `find` goes on behind them.
    """

    messages: tuple[MessageMatches, ...]
    looked_at: int
    is_whole: bool

    @property
    def total(self) -> int:
        """How many matches there are."""
        return sum(each.matches for each in self.messages)


class Spot(NamedTuple):
    """Where in a message a match is.

    `part` is one of `message_texts`. `start` is the offset in that text as it is stored; of a
    call it is the match's number among those of the call.
    """

    message_id: int
    part: str
    start: int


def find(
    db: apsw.Connection,
    session_id: int,
    wanted: Sought,
    *,
    behind: int = 0,
    deadline_s: float | None = None,
) -> Found:
    """Return where the visible messages of a session hold a text.

    Costs a walk over the session's rows and a look at every text: 0.1 s for 100,000 short
    messages. It may be interrupted.

    Args:
        db: a connection to a store.
        session_id: the session.
        wanted: what is looked for.
        behind: begin behind the message of this number.
        deadline_s: return what was found so far when so much time is over.
    """
    found: list[MessageMatches] = []
    done = behind
    edge = _place_ahead(db, session_id, _START, behind) if behind else _START
    is_whole = edge is None
    try:
        with deadline(db, 1e6 if deadline_s is None else deadline_s) as limit:
            while edge is not None and limit.remaining_s > 0:
                matches, seen, edge = _block(db, session_id, wanted, edge, done)
                found += matches
                done += seen
                is_whole = edge is None
    except apsw.InterruptError:
        if not limit.expired:
            raise
    return Found(tuple(found), done, is_whole)


def spot_of(db: apsw.Connection, message_id: int, wanted: Sought, number: int) -> Spot | None:
    """Return where the match `number`, from 0, of a message is; None when it has not so many.

    Costs as much as looking through the message.

    Raises:
        NotFoundError: the message is gone.
    """
    row = db.execute(f"SELECT {COLUMNS} FROM messages AS m WHERE m.id = ?", (message_id,)).get
    if row is None:
        raise NotFoundError("this message is no longer in the store")
    left = number
    texts = MessageTexts(db, message_id, row)
    for part in texts.parts():
        here = texts.count(part, wanted)
        if left < here:
            return Spot(message_id, part, texts.start(part, wanted, left))
        left -= here
    return None


_Key = tuple[int, int]
_START, _END = (-(1 << 62), 0), (1 << 62, 0)
_LIKE = "LIKE ? ESCAPE '\\'"
_MAY_MATCH = (
    f"(coalesce(m.search_text, m.content) {_LIKE}"
    f" OR m.tool_calls_text {_LIKE} OR octet_length(m.tool_calls) > 200000"
    f" OR (m.reasoning IS NOT NULL AND (m.reasoning {_LIKE}"
    " OR octet_length(m.reasoning) > length(m.reasoning) OR instr(m.reasoning, char(27))"
    " OR octet_length(m.reasoning) > 4096)))"
)
"""True for every message that may match: reasoning is stored as it was, all else projected.

Of reasoning only plain ASCII stays as it is, so only that can be asked by LIKE; a NUL ends it
for `length`, and a long one may hold base64. What is kept of calls is cut at 262,144 characters.
"""
_SHOWN = (
    "FROM message_placements AS p CROSS JOIN message_keys AS k ON k.id = p.message_id"
    f" WHERE p.session_id = ? AND (p.seq, p.message_id) > (?, ?) AND {IS_VISIBLE}"
)
_IN_ORDER = "ORDER BY p.seq, p.message_id"


def _place_ahead(db: apsw.Connection, session_id: int, edge: _Key, ahead: int) -> _Key | None:
    """Return the place of the visible message that is `ahead` behind a place, or None."""
    found: _Key | None = db.execute(
        f"SELECT p.seq, p.message_id {_SHOWN} {_IN_ORDER} LIMIT 1 OFFSET ?",
        (session_id, *edge, ahead - 1),
    ).get
    return found


def _block(
    db: apsw.Connection, session_id: int, wanted: Sought, edge: _Key, done: int
) -> tuple[list[MessageMatches], int, _Key | None]:
    """Look through the messages behind a place; return the matches, how many, and where it ended.

    The place is None when the session has ended.
    """
    end = _place_ahead(db, session_id, edge, BLOCK_MESSAGES)
    inside = (session_id, *edge, *(end or _END))
    rows = db.execute(
        f"SELECT m.id, {COLUMNS} FROM (SELECT p.seq, p.message_id {_SHOWN}"
        f" AND (p.seq, p.message_id) <= (?, ?)) AS p CROSS JOIN messages AS m"
        f" ON m.id = p.message_id WHERE {_MAY_MATCH} {_IN_ORDER}",
        (*inside, *(wanted.like,) * 3),
    )
    counts: dict[int, int] = {}
    for message_id, *row in rows:
        texts = MessageTexts(db, message_id, row)
        if here := texts.count_all(wanted):
            counts[message_id] = here
    matches: list[MessageMatches] = []
    if counts:  # numbering by a window function costs as much as all the rest
        ids = db.execute(
            f"SELECT p.message_id {_SHOWN} {_IN_ORDER} LIMIT ?", (session_id, *edge, BLOCK_MESSAGES)
        )
        matches = [
            MessageMatches(each, number, counts[each])
            for number, (each,) in enumerate(ids, done + 1)
            if each in counts
        ]
    return matches, BLOCK_MESSAGES if end else 0, end
