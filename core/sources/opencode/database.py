"""OpenCode's database: sessions, messages and parts, each a row, from a private copy.

The ids of messages and parts begin with a time that wrapped on 2026-08-14, so nothing is
ordered by them alone. The rows are surveyed once into temporary tables beside the copy (about
150 bytes a row, on disk when they outgrow the cache); then one message is read at a time.
"""

from collections.abc import Iterable, Iterator
from itertools import islice

import apsw

from core.errors import SourceError
from core.sources.foreign_rows import Row, Table, Value
from core.sources.json_value import json_value
from core.sources.loose import Json, identifier, mapping, text
from core.sources.opencode.messages import created
from core.sources.opencode.sessions import Told, position, revert_of, session_record, sort_key
from core.sources.records import BadSourceRecord, ReadTo, Record, UnknownRecord

_SESSION = (
    "id", "project_id", "parent_id", "slug", "directory", "title", "version", "share_url",
    "revert", "time_created", "time_updated", "time_archived", "agent", "model", "cost",
)  # fmt: skip
_EVENTS = {"agent-switched", "model-switched"}
_PROGRESS_ROWS = 500
_SURVEYED_ROWS = 5000

_SCHEMA = """
CREATE TEMP TABLE said(
  id INTEGER PRIMARY KEY, session TEXT NOT NULL, at INTEGER, tie INTEGER NOT NULL, message TEXT
);
CREATE TEMP TABLE pieces(
  id INTEGER PRIMARY KEY, message TEXT NOT NULL, at INTEGER, tie INTEGER NOT NULL, part TEXT
);
"""
_INDEXES = """
CREATE INDEX temp.said_in_order ON said(session, at, tie, message);
CREATE INDEX temp.said_by_message ON said(message);
CREATE INDEX temp.pieces_in_order ON pieces(message, at, tie, part);
"""


class Database:
    """One database while it is read.

    Raises:
        SourceError: a table is missing.
    """

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db
        self._messages = Table(db, "message")
        self._parts = Table(db, "part")
        self._gaps: list[BadSourceRecord] = []
        self._total = self._done = 0

    def _survey(self, table: Table, owner: str) -> Iterator[tuple[int, str, int | None, int, str]]:
        """Yield (row, whose it is, its time or None, its row where it has no time, its id)."""
        for row in table.rows((owner, "time_created", "id")):
            if isinstance(row, BadSourceRecord):
                self._gaps.append(row)
                continue
            whose, time, own = row.values
            if not isinstance(whose, str) or not whose:
                self._gaps.append(BadSourceRecord(row.rowid, f"{table.name}: no {owner}"))
                continue
            at = sort_key(time)
            yield row.rowid, whose, at, row.rowid if at is None else 0, _key(own) or ""

    def _surveyed(self) -> Iterator[ReadTo]:
        """Fill the temporary tables; whoever waits may look in between."""
        self._db.execute(_SCHEMA)
        for table, owner, into in (
            (self._messages, "session_id", "said"),
            (self._parts, "message_id", "pieces"),
        ):
            rows = self._survey(table, owner)
            while chunk := list(islice(rows, _SURVEYED_ROWS)):
                self._db.executemany(f"INSERT INTO temp.{into} VALUES(?,?,?,?,?)", chunk)
                yield ReadTo(0)
        self._db.execute(_INDEXES)
        self._total = int(self._db.execute("SELECT count(*) FROM temp.said").get)

    def records(self) -> Iterator[Record]:
        """Yield everything: the sessions in the order of their times, each with its messages."""
        yield from self._surveyed()
        yield from self._gaps
        known: set[str] = set()
        for name, fields in self._sessions():
            if isinstance(fields, BadSourceRecord):
                yield fields
            elif name not in known:
                known.add(name)
                yield from self._session(name, fields)
        for row in self._db.execute("SELECT DISTINCT session FROM temp.said").fetchall():
            if (name := str(row[0])) not in known:  # its row is gone, or was never written
                yield from self._session(name, {})
        yield from self._left_over()
        yield ReadTo(self._total, self._total)

    def _sessions(self) -> Iterator[tuple[str, Json | BadSourceRecord]]:
        table = _table(self._db, "session")
        if table is None:
            return
        worktrees = self._worktrees()
        order: list[tuple[int, int]] = []
        for row in table.rows(("time_created",)):
            if isinstance(row, BadSourceRecord):
                yield "", row
            else:
                order.append((sort_key(row.values[0]) or 0, row.rowid))
        for _, rowid in sorted(order):
            found = table.row(rowid, _SESSION)
            name = _key(found.values[0]) if found else None
            if found is None or name is None:
                yield "", BadSourceRecord(rowid, "session: no id, or it cannot be read")
                continue
            fields: dict[str, Value] = dict(zip(_SESSION, found.values, strict=True))
            fields["worktree"] = worktrees.get(str(fields["project_id"]))
            yield name, fields

    def _worktrees(self) -> dict[str, str]:
        """The repositories of the projects that are any."""
        table, found = _table(self._db, "project"), {}
        for row in table.rows(("id", "worktree", "vcs")) if table else ():
            if isinstance(row, Row):
                name, place, vcs = row.values
                if isinstance(place, str) and place not in ("", "/") and vcs == "git":
                    found[str(name)] = place
        return found

    def _session(self, name: str, fields: Json) -> Iterator[Record]:
        told = Told(
            session_record(name, fields, text(fields, "worktree")), revert_of(fields.get("revert"))
        )
        yield told.record
        before: int | None = None
        ordinal = 0
        rows = self._db.execute(
            "SELECT id, at FROM temp.said WHERE session = ? ORDER BY at, tie, message", (name,)
        )
        for rowid, at in rows:
            ordinal = ordinal + 1 if at == before else 0
            before = at
            yield from self._message(told, rowid, position(at, ordinal, rowid))
            self._done += 1
            if self._done % _PROGRESS_ROWS == 0:
                yield ReadTo(self._done, self._total)
        if (more := told.more()) is not None:
            yield more

    def _message(self, told: Told, rowid: int, place: int) -> Iterator[Record]:
        row = self._messages.row(rowid, ("id", "time_created", "data"))
        if row is None:
            yield BadSourceRecord(rowid, "message: the row cannot be read again")
            return
        own, time, data = row.values
        message = _object(data)
        if message is None:
            yield BadSourceRecord(rowid, "message: not a JSON object")
            return
        parts = []
        for found in self._pieces(_key(own)):
            if isinstance(found, BadSourceRecord):
                yield found
            else:
                parts.append(found)
        at = created(message) if sort_key(time) is None else time
        yield from told.message(identifier(own), message, parts, place, (at, f"rowid:{rowid}"))

    def _pieces(self, message: str | None) -> Iterator[tuple[str | None, Json] | BadSourceRecord]:
        rows: Iterable[tuple[int, str]] = self._db.execute(
            "SELECT id, part FROM temp.pieces WHERE message = ? ORDER BY at, tie, part", (message,)
        )
        for rowid, part_id in rows:
            row = self._parts.row(rowid, ("data",))
            part = _object(row.values[0]) if row else None
            if part is None:
                yield BadSourceRecord(rowid, "part: not a JSON object, or it cannot be read")
            else:
                yield part_id, part

    def _left_over(self) -> Iterator[Record]:
        """Count parts whose message was deleted, and events of types that are not known."""
        lost = self._db.execute(
            "SELECT count(*) FROM temp.pieces"
            " WHERE message NOT IN (SELECT message FROM temp.said WHERE message IS NOT NULL)"
        ).get
        for _ in range(int(lost)):
            yield UnknownRecord("part of a message that is not there")
        table = _table(self._db, "session_message")
        for row in table.rows(("type",)) if table else ():
            if isinstance(row, BadSourceRecord):
                yield row
            elif row.values[0] not in _EVENTS:
                yield UnknownRecord(f"session_message {row.values[0]}"[:100])


def _table(db: apsw.Connection, name: str) -> Table | None:
    try:
        return Table(db, name)
    except SourceError:
        return None


def _key(value: Value) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


def _object(value: Value) -> Json | None:
    found = json_value(value) if isinstance(value, str) else None
    return mapping(found) if isinstance(found, dict) else None
