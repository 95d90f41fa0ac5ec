"""Chats of the main database: one row of `agentchat` is one chat, rewritten with every turn.

A row holds the talk twice: `agent_messages` for the model and `display_messages` for people.
The first is what is yielded; the second gives times where both agree on who spoke when, what a
summary has taken out of the first, and all there is where the first is empty. Times of a row
are local and naive. Users share the table: what each of them said is an instance of its own.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import apsw

from core.errors import SourceError
from core.sources import columns
from core.sources.foreign_rows import Row, Table, Value
from core.sources.headline import derived_title
from core.sources.instants import Instant, instant
from core.sources.lines import without_surrogates
from core.sources.moviepilot import places
from core.sources.moviepilot.history import UNNAMED
from core.sources.moviepilot.messages import Said, record, said
from core.sources.moviepilot.stores import Stores
from core.sources.records import (
    BadSourceRecord,
    LegacyCursor,
    MessageRecord,
    ReadTo,
    Record,
    SessionRecord,
    SourceIdentity,
    UnknownRecord,
)
from core.types import Origin, Provenance, Role, TimeQuality, TitleSource

TABLE = "agentchat"
PAGE_ROWS = 20

_COLUMNS = (
    "session_id",
    "user_id",
    "username",
    "title",
    "channel",
    "source",
    "client_session_id",
    "original_chat_id",
    "preview",
    "message_count",
    "agent_messages",
    "display_messages",
    "created_at",
    "updated_at",
)
_KEPT = ("user_id", "username", "source", "client_session_id", "original_chat_id", "preview")

Fields = Mapping[str, Value]


def has_any(db: apsw.Connection) -> bool:
    """Tell whether the database has a table of chats."""
    try:
        return Table(db, TABLE).columns >= {"session_id", "agent_messages", "display_messages"}
    except SourceError:
        return False


def pages(db: apsw.Connection, path: Path, cursor: int) -> Iterator[Record]:
    """Yield the chats behind row `cursor`, and after each page of them how far it is.

    Memory: one row, and some 200 bytes for each row of the table.

    Raises:
        SourceError: there is no such table.
    """
    table = Table(db, TABLE)
    chats = _Chats(path, _firsts(table))
    total = db.execute(f"SELECT count(*) FROM {TABLE}").get
    last = cursor
    for done, row in enumerate(table.rows(_COLUMNS, cursor), 1):
        if isinstance(row, BadSourceRecord):
            yield row
        else:
            yield from chats.records(row)
            last = max(last, row.rowid)
        if done % PAGE_ROWS == 0:
            yield LegacyCursor(last)
            yield ReadTo(done, total)
    yield ReadTo(int(total or 0), total)
    yield LegacyCursor(last, complete=True)


def _firsts(table: Table) -> dict[tuple[str | None, str | None], int]:
    """Return the first row of each user's session: further ones are chats of their own."""
    found: dict[tuple[str | None, str | None], int] = {}
    for row in table.rows(("session_id", "user_id", "username")):
        if isinstance(row, Row):
            session, user, name = map(columns.text, row.values)
            found.setdefault((session, user or f"name:{name}"), row.rowid)
    return found


class _Chats:
    """Makes records of rows, row by row."""

    def __init__(self, main: Path, firsts: Mapping[tuple[str | None, str | None], int]) -> None:
        self._main = main
        self._firsts = firsts
        self._stores = Stores(main)
        self._source: SourceIdentity | None = None

    def records(self, row: Row) -> Iterator[Record]:
        """Yield one chat; nothing of one that is read from the user's own store."""
        fields = dict(zip(_COLUMNS, row.values, strict=True))
        session, user = columns.text(fields["session_id"]), columns.text(fields["user_id"])
        name = columns.text(fields["username"])
        if session is None:
            yield BadSourceRecord(row.rowid, f"{TABLE}: a row without a session")
            return
        store = self._stores.of(user)
        if store.has_moved(session, row.rowid):
            return
        source = places.identity_of_user(self._main, user, name)
        if source != self._source:
            self._source = source
            yield source
        is_first = self._firsts.get((session, user or f"name:{name}"), row.rowid) == row.rowid
        native_id = session if is_first else f"{session}#{row.rowid}"
        yield from _Chat(row.rowid, session, native_id, fields).records(store.uids(session))


class _Chat:
    """One row while it is read."""

    def __init__(self, rowid: int, session: str, native_id: str, fields: Fields) -> None:
        self._rowid, self._session, self._native_id = rowid, session, native_id
        self._fields = fields
        self._notes: list[Record] = []
        self._said = self._messages()
        self._shown = self._display()
        self._started = instant(fields["created_at"])
        self._updated = instant(fields["updated_at"])

    def records(self, stored: set[str] | None) -> Iterator[Record]:
        """Yield the session, its messages less those that are `stored`, and what was odd."""
        messages = [
            *(self._of_display(n, each) for n, each in enumerate(self._earlier())),
            *self._of_agent(stored),
        ]
        yield self._record(messages)
        yield from messages
        yield from self._notes

    def _record(self, messages: Sequence[MessageRecord]) -> SessionRecord:
        title, told = columns.text(self._fields["title"]), TitleSource.MODEL
        if title is None or title == UNNAMED:
            prompts = (m for m in messages if m.origin == Origin.HUMAN)
            derived = next((t for m in prompts if (t := derived_title(m.content))), None)
            title, told = derived or title, TitleSource.DERIVED if derived else TitleSource.NONE
        kept = {key: self._fields[key] for key in _KEPT if self._fields[key] not in (None, "")}
        models = [m.model for m in messages if m.model]
        return SessionRecord(
            self._native_id,
            title=title,
            title_source=told,
            model=models[-1] if models else None,
            started_at_ms=self._started[0],
            updated_at_ms=self._updated[0] or self._started[0],
            metadata=without_surrogates(json.dumps(kept, ensure_ascii=False)) if kept else None,
            channel=columns.text(self._fields["channel"]),
            is_snapshot=True,
        )

    def _messages(self) -> list[tuple[int, Said]]:
        """Return (place in the list, what it says) of the messages for the model."""
        found = []
        for index, value in enumerate(self._listed("agent_messages")):
            message = said(value)
            if isinstance(message, str):
                self._notes.append(UnknownRecord(message))
            else:
                found.append((index, message))
                self._notes += map(UnknownRecord, message.unknown)
        return found

    def _display(self) -> list[dict[str, Any]]:
        listed = self._listed("display_messages")
        return [e for e in listed if isinstance(e, dict) and e.get("role") in ("user", "assistant")]

    def _listed(self, column: str) -> Sequence[object]:
        value = self._fields[column]
        found = columns.loaded(value)
        if isinstance(found, list):
            return found
        if columns.is_damaged(value):
            self._notes.append(
                BadSourceRecord(self._rowid, f"{TABLE}: {column} is not JSON, or cut short")
            )
        elif found not in (None, "", {}):
            self._notes.append(UnknownRecord(f"{column} that is no list"))
        return ()

    def _earlier(self) -> list[dict[str, Any]]:
        """Return what is shown to people alone: all, or what a summary took from the model."""
        if not self._said:
            return self._shown
        if not any(message.origin == Origin.SYNTHETIC for _, message in self._said):
            return []
        spoken = [message.text.strip() for _, message in self._said if message.is_spoken]
        shown = [_words(each).strip() for each in self._shown]
        alike = 0
        while alike < min(len(spoken), len(shown)) and spoken[-alike - 1] == shown[-alike - 1]:
            alike += 1
        return self._shown[: len(shown) - alike] if alike else []

    def _of_agent(self, stored: set[str] | None) -> Iterator[MessageRecord]:
        times = self._times()
        last = len(self._said) - 1
        used: dict[str, str] = {}
        for n, (index, message) in enumerate(self._said):
            own = message.uid
            uid = own or self._legacy_uid(index, message)
            if stored is not None and uid in stored:
                continue
            if used.setdefault(uid, message.text) != message.text:
                uid = f"{uid}~{_digest(message.text)}"
            at_ms, quality = times.get(n) or self._about(is_last=n == last)
            yield record(
                message,
                self._native_id,
                uid,
                # In a session that the user's store has a part of, ahead of that part.
                position=None if stored is None else index + 1,
                provenance=Provenance.LEGACY_SNAPSHOT,
                created_at_ms=at_ms,
                time_quality=quality,
                raw_ref=f"rowid:{self._rowid}#{index}",
                aligned=own is None,
                as_of_ms=self._updated[0],
            )

    def _of_display(self, index: int, shown: dict[str, Any]) -> MessageRecord:
        at_ms, quality = columns.ms(shown.get("createdAt"))
        if at_ms is None:
            at_ms, quality = self._about(is_last=False)
        is_user, content = shown.get("role") == "user", _words(shown)
        key = columns.text(shown.get("id")) or f"{index}:{_digest(content)}"
        attached = shown.get("attachments")
        media = [columns.media(each) for each in attached] if isinstance(attached, list) else []
        return MessageRecord(
            self._native_id,
            f"display:{self._native_id}:{key}",
            Role.USER if is_user else Role.ASSISTANT,
            content,
            Origin.HUMAN if is_user else Origin.MODEL,
            provenance=Provenance.LEGACY_SNAPSHOT,
            created_at_ms=at_ms,
            time_quality=quality,
            tool_calls=() if is_user else tuple(columns.calls(shown.get("tools"))),
            media_refs=tuple(each for each in media if each),
            raw_ref=f"rowid:{self._rowid}#display:{index}",
            aligned=True,
            as_of_ms=self._updated[0],
        )

    def _times(self) -> dict[int, Instant]:
        """Return the times that people are shown, where both lists agree on who spoke when."""
        spoken = [n for n, (_, message) in enumerate(self._said) if message.is_spoken]
        roles = [self._said[n][1].role.value for n in spoken]
        if roles != [each.get("role") for each in self._shown]:
            return {}
        times = (columns.ms(each.get("createdAt")) for each in self._shown)
        return {n: at for n, at in zip(spoken, times, strict=True) if at[0] is not None}

    def _about(self, *, is_last: bool) -> Instant:
        """Return about when a message was said: the chat began, or was last changed."""
        first, second = self._started[0], self._updated[0]
        at_ms = (second or first) if is_last else (first or second)
        return at_ms, TimeQuality.NONE if at_ms is None else TimeQuality.SESSION

    def _legacy_uid(self, index: int, message: Said) -> str:
        """Return the uid that MoviePilot itself gives such a message when it moves it."""
        told = [self._session, index, message.kind, message.fields.get("content")]
        text = json.dumps(told, ensure_ascii=False, sort_keys=True)
        return "legacy:" + hashlib.sha256(text.encode(errors="replace")).hexdigest()


def _words(shown: Mapping[str, Any]) -> str:
    value = shown.get("content")
    return without_surrogates(value) if isinstance(value, str) else columns.json_text(value)


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(errors="replace"), digest_size=8).hexdigest()
