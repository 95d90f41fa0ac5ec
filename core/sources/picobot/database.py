"""Sessions and messages of a PicoBot database, in the order of `seq`.

Evidence: the design document of its store ("PicoBot 持久化设计说明", sections 3 to 9). A cleared
or deleted session starts again at `seq` 1 under the same id. So that what is stored of it stays
ahead and nothing meets, a message's position is the time of the first row its session has now,
and `seq` behind that: it grows, stays the same from reading to reading, and starts higher after
each clearing. A reset clears nothing; `reset_cutoff_seq` becomes such a position too.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import apsw

from core.errors import SourceError
from core.sources import columns
from core.sources.foreign_rows import Row, Table, Value
from core.sources.headline import derived_title
from core.sources.instants import EARLIEST_MS
from core.sources.lines import without_surrogates
from core.sources.records import (
    BadSourceRecord,
    MessageRecord,
    ReadTo,
    Record,
    SessionRecord,
    UnknownRecord,
)
from core.types import Origin, Role, TitleSource, ToolStatus

_PROGRESS_ROWS = 200
_SEQ_BITS = 20
_MOST_SEQ = 1 << 40
_TITLE_ROWS = 50

_SESSION = (
    "id",
    "title",
    "channel_name",
    "chat_id",
    "summary",
    "created_at",
    "updated_at",
    "last_active_at",
    "archived_at",
    "deleted_at",
    "message_count",
    "reset_cutoff_seq",
    "user_turn_count",
    "agent_prompt_reinjection_count",
)
_KEPT = ("chat_id", "summary", "message_count", "user_turn_count", "agent_prompt_reinjection_count")
_MESSAGE = (
    "id",
    "role",
    "content",
    "media_refs_json",
    "tool_call_id",
    "tool_name",
    "tool_calls_json",
    "created_at",
)
_ROLES = {
    "user": (Role.USER, Origin.HUMAN),
    "assistant": (Role.ASSISTANT, Origin.MODEL),
    "tool": (Role.TOOL, Origin.TOOL),
    "system": (Role.SYSTEM, Origin.INJECTED),  # AGENT.md, again every so many turns
}

Fields = Mapping[str, Value]


class Database:
    """One database while it is read.

    Raises:
        SourceError: it has no table of messages.
    """

    def __init__(self, db: apsw.Connection, path: Path) -> None:
        self._db = db
        self._done = 0
        self._twice: set[str] = set()
        try:
            self._messages = Table(db, "messages")
        except SourceError as error:
            raise SourceError(f"{path} is no PicoBot database: {error}", path=str(path)) from error
        known = db.execute(
            "SELECT 1 FROM main.sqlite_schema WHERE type = 'table' AND name = 'sessions'"
            " AND rootpage"
        ).get
        self._sessions = Table(db, "sessions") if known else None

    def records(self) -> Iterator[Record]:
        """Yield what is damaged, then each session with its messages in the order of `seq`."""
        yield from self._sort()
        total = int(self._db.execute("SELECT count(*) FROM temp.places").get or 0)
        told = set[str]()
        for record in self._session_rows():
            if isinstance(record, BadSourceRecord):
                yield record
                continue
            name = columns.text(record["id"])
            if name is None:
                yield BadSourceRecord(0, "sessions: a row without an id")
            elif name not in told:
                told.add(name)
                yield self._session(name, record)
                yield from self._transcript(name, total)
        for (name,) in self._db.execute(
            "SELECT DISTINCT session FROM temp.places ORDER BY session"
        ):
            if name not in told:  # its row is gone
                yield self._session(name, dict.fromkeys(_SESSION))
                yield from self._transcript(name, total)
        yield ReadTo(total, total)

    def _sort(self) -> Iterator[BadSourceRecord]:
        """Put where each row belongs into a private table; yield what cannot be read."""
        self._db.execute(
            "CREATE TEMP TABLE places(session TEXT, seq INTEGER, place INTEGER, uid TEXT, at_ms)"
        )
        with self._db:
            for row in self._messages.rows(("session_id", "seq", "id", "created_at")):
                if isinstance(row, BadSourceRecord):
                    yield row
                    continue
                name, seq, uid, at = row.values
                session = columns.text(name)
                if session is None:
                    yield BadSourceRecord(row.rowid, "messages: a row without a session")
                    continue
                at_ms = columns.ms(at)[0]
                self._db.execute(
                    "INSERT INTO temp.places VALUES (?, ?, ?, ?, ?)",
                    (session, _seq(seq), row.rowid, columns.text(uid), at_ms),
                )
        self._db.execute("CREATE INDEX temp.places_in_order ON places(session, seq, place)")
        # Ids are keys; in a damaged table one may come twice, and then only the first has it.
        self._twice = {
            uid
            for (uid,) in self._db.execute(
                "SELECT uid FROM temp.places WHERE uid IS NOT NULL GROUP BY uid HAVING count(*) > 1"
            )
        }

    def _session_rows(self) -> Iterator[Fields | BadSourceRecord]:
        for row in self._sessions.rows(_SESSION) if self._sessions else ():
            yield dict(zip(_SESSION, row.values, strict=True)) if isinstance(row, Row) else row

    def _session(self, name: str, fields: Fields) -> SessionRecord:
        title, source = columns.text(fields["title"]), TitleSource.USER
        if title is None:
            title = self._first_words(name)
            source = TitleSource.DERIVED if title else TitleSource.NONE
        base = self._base(name)
        if base is None:  # nothing since it was made or cleared: all there ever was lies before
            base = _base(columns.ms(fields["last_active_at"])[0])
        active = columns.ms(fields["last_active_at"])[0] or columns.ms(fields["updated_at"])[0]
        kept = {key: fields[key] for key in _KEPT if fields[key] not in (None, "", 0)}
        return SessionRecord(
            name,
            title=title,
            title_source=source,
            started_at_ms=columns.ms(fields["created_at"])[0],
            updated_at_ms=active,
            archived=_is_set(fields["archived_at"]),
            reset_cutoff_seq=base + (_seq(fields["reset_cutoff_seq"]) or 0),
            metadata=without_surrogates(json.dumps(kept, ensure_ascii=False)) if kept else None,
            channel=columns.text(fields["channel_name"]) or _channel(name),
            deleted_at_source=_is_set(fields["deleted_at"]),
        )

    def _transcript(self, name: str, total: int) -> Iterator[Record]:
        """Yield the messages of one session, in the order of `seq`."""
        base, last = self._base(name) or 0, 0
        equals: Counter[bytes] = Counter()
        for seq, place in self._places(name):
            last = max(last + 1, seq) if seq is not None else last + 1
            self._done += 1
            row = self._messages.row(place, _MESSAGE)
            if row is None:
                yield BadSourceRecord(place, "messages: the row cannot be read again")
                continue
            fields = dict(zip(_MESSAGE, row.values, strict=True))
            yield from self._message(name, fields, base + last, f"rowid:{place}", equals)
            if self._done % _PROGRESS_ROWS == 0:
                yield ReadTo(self._done, total)

    def _message(
        self, session: str, fields: Fields, position: int, raw_ref: str, equals: Counter[bytes]
    ) -> Iterator[Record]:
        named = (columns.text(fields["role"]) or "").casefold()
        role, origin = _ROLES.get(named, (Role.SYSTEM, Origin.SYNTHETIC))
        content = _content(fields["content"])
        at_ms, quality = columns.ms(fields["created_at"])
        is_tool = role == Role.TOOL
        yield MessageRecord(
            session,
            self._uid(session, fields["id"], role, content, equals),
            role,
            content,
            origin,
            position=position,
            created_at_ms=at_ms,
            time_quality=quality,
            tool_calls=columns.calls(fields["tool_calls_json"]) if role == Role.ASSISTANT else (),
            tool_call_id=columns.text(fields["tool_call_id"]) if is_tool else None,
            tool_name=columns.text(fields["tool_name"]) if is_tool else None,
            tool_status=ToolStatus.UNKNOWN if is_tool else None,
            media_refs=_media(fields["media_refs_json"]),
            raw_ref=raw_ref,
        )
        if named not in _ROLES:
            yield UnknownRecord(f"role {named[:80]}")
        for key in ("media_refs_json", "tool_calls_json"):
            if columns.is_damaged(fields[key]):
                yield UnknownRecord(f"{key} that is not JSON")

    def _uid(
        self, session: str, value: Value, role: Role, content: str, equals: Counter[bytes]
    ) -> str:
        """Return the row's own id, or one derived from its words and their ordinal."""
        uid = columns.text(value)
        if uid is not None and uid not in self._twice:
            return uid
        told = "\0".join((session, uid or "", role, content)).encode()
        digest = hashlib.blake2b(told, digest_size=16).digest()
        equals[digest] += 1
        if uid is not None and equals[uid.encode()] == 0:
            equals[uid.encode()] += 1
            return uid
        return f"derived:{digest.hex()}:{equals[digest]}"

    def _places(self, name: str) -> list[tuple[int | None, int]]:
        """Return (seq, row) of a session's rows; those without a `seq` come last."""
        found: list[Any] = self._db.execute(
            "SELECT seq, place FROM temp.places WHERE session = ? ORDER BY seq IS NULL, seq, place",
            (name,),
        ).fetchall()
        return found

    def _base(self, name: str) -> int | None:
        """Return the position before a session's first row, None where it has no row."""
        row = self._db.execute(
            "SELECT at_ms FROM temp.places WHERE session = ?"
            " ORDER BY seq IS NULL, seq, place LIMIT 1",
            (name,),
        ).fetchone()
        return None if row is None else _base(row[0])

    def _first_words(self, name: str) -> str | None:
        """Return a title made of the first prompt of a session, else of its first answer."""
        fallback = None
        for _, place in self._places(name)[:_TITLE_ROWS]:
            row = self._messages.row(place, ("role", "content"))
            role = str(row.values[0]).casefold() if row else ""
            title = derived_title(_content(row.values[1])) if row else None
            if title and role == "user":
                return title
            if title and role == "assistant":
                fallback = fallback or title
        return fallback


def _base(at_ms: object) -> int:
    """Return a position that is higher the later a session began, with room for `seq` behind it."""
    return max(0, at_ms - EARLIEST_MS) << _SEQ_BITS if isinstance(at_ms, int) else 0


def _seq(value: object) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return min(max(value, 0), _MOST_SEQ)
    return None


def _is_set(value: object) -> bool:
    return value not in (None, "", 0)


def _content(value: object) -> str:
    if isinstance(value, str):
        return without_surrogates(value)
    return "" if value is None else str(value)


def _media(value: object) -> tuple[str, ...]:
    found = columns.loaded(value)
    listed = found if isinstance(found, list) else [found]
    return tuple(name for each in listed if (name := columns.media(each)))


def _channel(name: str) -> str | None:
    """Return the channel that a session's id begins with; ids of the command line have none."""
    channel, colon, chat = name.partition(":")
    return channel if colon and channel and chat else None
