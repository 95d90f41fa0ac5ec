"""Which rows of a Hermes database are one message.

Hermes copies rows: a compaction archives the live rows and writes the ones it carries on anew,
a branch begins with its parent's rows, an undo deletes a session's rows and inserts what is
left under new ids. A row id therefore names a row, not a message. Rows that agree in role,
content, time, call id, calls and tool name are one message; it stands where its first row
stood and says what its newest row says. The hash of those fields is its id: it stays the same
through every rewrite, and copies in several sessions share one body.

The rows are surveyed once into temporary tables next to the private copy; about 150 bytes a
row, on disk when they outgrow the cache.
"""

import hashlib
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import apsw

from core.sources.foreign_rows import Row, Table, Value
from core.sources.hermes.content import JSON_MARK, content_of
from core.sources.instants import instant_ms
from core.sources.records import BadSourceRecord
from core.types import MessageState

TWICE_WRITTEN_S = 0.1

_COLUMNS = (
    "session_id",
    "role",
    "content",
    "timestamp",
    "tool_call_id",
    "tool_calls",
    "tool_name",
    "active",
    "compacted",
    "display_kind",
    "display_order",
    "reasoning",
    "reasoning_content",
)

_SCHEMA = """
CREATE TEMP TABLE seen(
  id INTEGER PRIMARY KEY,
  session INTEGER NOT NULL,
  body BLOB NOT NULL,
  told BLOB,
  at REAL,
  place INTEGER NOT NULL,
  shown INTEGER NOT NULL,
  reasons INTEGER NOT NULL,
  kind TEXT
)
"""

_BODIES = """
CREATE TEMP TABLE bodies AS
SELECT body, coalesce(max(CASE WHEN reasons THEN id END), max(id)) AS payload, min(id) AS first,
       max(shown) AS shown, max(kind) AS kind, max(kind = 'hidden') AS hidden
FROM temp.seen GROUP BY body
"""

_PLACEMENTS = """
SELECT s.session, s.body, s.place, s.told, s.at, b.payload, o.session, b.shown, b.kind, b.hidden
FROM (SELECT session, body, min(place) AS place, told, at FROM temp.seen {where}
      GROUP BY session, body) AS s
JOIN temp.bodies AS b ON b.body = s.body
JOIN temp.seen AS o ON o.id = b.first
ORDER BY s.place, s.session
"""

_ACTIVE, _COMPACTED, _REWOUND = 2, 1, 0


@dataclass(frozen=True, slots=True)
class Placement:
    """A message at its place in one session.

    `payload` is the row that tells it, `owner` the session of its first row: what a copy says
    of itself must not depend on which session it is read in.
    """

    session: str
    uid: str
    position: int
    payload: int
    owner: str
    state: MessageState
    display_kind: str | None


class Copies:
    """The survey of one database's messages, made when it is built."""

    def __init__(self, db: apsw.Connection, messages: Table) -> None:
        self._db = db
        self._messages = messages
        self._sessions: list[str] = []
        self._numbers: dict[str, int] = {}
        self.gaps: list[BadSourceRecord] = []
        db.execute(_SCHEMA)
        db.executemany("INSERT INTO temp.seen VALUES(?,?,?,?,?,?,?,?,?)", self._survey())
        db.execute(_BODIES)
        db.execute("CREATE INDEX temp.bodies_by_body ON bodies(body)")
        db.execute("CREATE INDEX temp.seen_by_session ON seen(session, body)")

    def sessions(self) -> Sequence[str]:
        """Return the sessions that have rows, in the order of their first row."""
        return self._sessions

    def counts(self) -> dict[str, int]:
        """Return how many messages each session holds, undone ones included."""
        rows = self._db.execute(
            "SELECT session, count(DISTINCT body) FROM temp.seen GROUP BY session"
        )
        return {self._sessions[session]: count for session, count in rows}

    def told_in(self, session: str) -> list[tuple[int, bytes | None]]:
        """Return position and words of every message of one session, in order."""
        rows = self._db.execute(
            "SELECT min(place), told FROM temp.seen WHERE session = ?"
            " GROUP BY body ORDER BY min(place)",
            (self._numbers.get(session),),
        )
        return [(place, told) for place, told in rows]

    def placements(self, only: str | None = None) -> Iterator[Placement]:
        """Yield every message of every session, or of one, in the order of their first rows."""
        last: dict[int, tuple[bytes | None, float | None]] = {}
        if only is None:
            rows = self._db.execute(_PLACEMENTS.format(where=""))
        else:
            where = _PLACEMENTS.format(where="WHERE session = ?")
            rows = self._db.execute(where, (self._numbers[only],))
        for session, body, place, told, at, payload, owner, shown, kind, hidden in rows:
            state = _state(shown, hidden=bool(hidden))
            if shown:
                if _twice(last.get(session), told, at):
                    state = MessageState.SUPERSEDED
                last[session] = (told, at)
            yield Placement(
                self._sessions[session],
                body.hex(),
                place,
                payload,
                self._sessions[owner],
                state,
                kind,
            )

    def _survey(self) -> Iterator[tuple[object, ...]]:
        flagged = "active" in self._messages.columns
        for row in self._messages.rows(_COLUMNS):
            if isinstance(row, BadSourceRecord):
                self.gaps.append(row)
                continue
            session, role = row.values[0], row.values[1]
            if not isinstance(session, str) or not session or not isinstance(role, str):
                self.gaps.append(BadSourceRecord(row.rowid, "a message without session or role"))
            elif role != "session_meta":
                yield self._seen(session, row, flagged=flagged)

    def _seen(self, session: str, row: Row, *, flagged: bool) -> tuple[object, ...]:
        (_, role, content, at, call, calls, name, active, compacted, kind, order, *reasons) = (
            row.values
        )
        known_time = instant_ms(at) is not None
        # Without a time, equal words in two sessions are no sign of a copy.
        body = digest(
            16, role, content, _time(at), call, calls, name, *(() if known_time else (session,))
        )
        number = self._numbers.setdefault(session, len(self._sessions))
        if number == len(self._sessions):
            self._sessions.append(session)
        shown = _REWOUND
        if not flagged or active is None or active:
            shown = _ACTIVE
        elif compacted:
            shown = _COMPACTED
        return (
            row.rowid,
            number,
            body,
            told_by(role, content, call, calls),
            float(at) if known_time and isinstance(at, int | float) else None,
            min(row.rowid, order) if isinstance(order, int) and order > 0 else row.rowid,
            shown,
            any(reasons),
            kind if isinstance(kind, str) and kind else None,
        )


def told_by(role: object, content: object, call: object, calls: object) -> bytes | None:
    """Return what identifies the words of a message, or None when it has none."""
    if isinstance(content, str) and not content.startswith(JSON_MARK):
        text = content
    else:
        text = content_of(content, "").text
    if not text and not calls:
        return None
    return digest(8, role, text, call, None if text else calls)


def digest(size: int, *parts: object) -> bytes:
    """Hash values so that no two different lists agree; empty text and None are the same."""
    hashed = hashlib.blake2b(digest_size=size)
    for part in parts:
        raw = str(part or "").encode("utf-8", "surrogatepass")
        hashed.update(struct.pack("<q", len(raw)))
        hashed.update(raw)
    return hashed.digest()


def _time(at: Value) -> str:
    """A time as text, the same for 5 and 5.0: SQLite may give either."""
    return repr(float(at)) if isinstance(at, int | float) else str(at)


def _state(shown: int, *, hidden: bool) -> MessageState:
    if shown == _REWOUND:
        return MessageState.REWOUND
    if hidden:
        return MessageState.HIDDEN
    return MessageState.ACTIVE if shown == _ACTIVE else MessageState.COMPACTED


def _twice(
    before: tuple[bytes | None, float | None] | None, told: bytes | None, at: float | None
) -> bool:
    """Whether Hermes wrote the same words twice at once, as some versions did."""
    if before is None or told is None or before[0] != told or at is None or before[1] is None:
        return False
    return abs(at - before[1]) <= TWICE_WRITTEN_S
