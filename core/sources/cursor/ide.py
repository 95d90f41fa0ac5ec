"""Cursor's editor: `state.vscdb` of all workspaces and of each, tables of keys and JSON.

`cursorDiskKV` has `composerData:<session>` and `bubbleId:<session>:<message>`. The order is
that of the session's list of headers and of nothing else. A bubble that the list no longer
names was taken back, by going back to a checkpoint; one that it names may be missing. Older
versions have the bubbles inside the session, and the oldest in a tab of a panel, both in
`ItemTable`. What a workspace's own database adds is where a session was held.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

import apsw

from core.errors import SourceError
from core.sources.cursor.bubbles import message_of, panel_message
from core.sources.cursor.keys import Found, Keys
from core.sources.foreign_sqlite import glimpsed, glimpsed_columns, is_sqlite, snapshot
from core.sources.headline import derived_title
from core.sources.instants import instant
from core.sources.json_value import json_file
from core.sources.loose import Json, identifier, items, json_text, mapping, text
from core.sources.records import (
    BadSourceRecord,
    MessageRecord,
    ReadTo,
    Record,
    SessionRecord,
    UnknownRecord,
)
from core.sources.uids import Uids
from core.types import (
    MessageState,
    Origin,
    Relation,
    Role,
    SessionKind,
    TimeQuality,
    TitleSource,
)

NAME = "state.vscdb"
COMPOSERS = "composer.composerData"
PANEL = "workbench.panel.aichat.view.aichat.chatdata"
"""The two keys of `ItemTable` that are history. No other is ever asked for."""

_STEP = 1024


def recognises(path: Path) -> bool:
    """Tell whether a database is Cursor's: VS Code's own has the same name."""
    if not is_sqlite(path):
        return False
    if glimpsed_columns(path, "cursorDiskKV") >= {"key", "value"}:
        return True
    return any(glimpsed(path, "ItemTable", "key", key) for key in (COMPOSERS, PANEL))


def holds(path: Path, session: str) -> bool:
    """Tell whether a database has messages of a session."""
    first = f"bubbleId:{session}:"
    return glimpsed(path, "cursorDiskKV", "key", first, f"bubbleId:{session};")


def beside(path: Path) -> Path:
    """Return the file that tells which folder a workspace's database belongs to."""
    return path.with_name("workspace.json")


def read(path: Path) -> Iterator[Record]:
    """Yield the sessions of one database, each with its messages.

    Memory: one session's list of headers, one message, and the ids of all sessions.

    Raises:
        SourceError: the database cannot be copied or read.
    """
    try:
        with snapshot(path) as db:
            yield from _Database(db, _folder(path)).records()
    except apsw.Error as error:  # what damage the reading of rows did not get over
        raise SourceError(f"{path} is damaged: {error}", path=str(path)) from error


class _Database:
    """One database while it is read."""

    def __init__(self, db: apsw.Connection, folder: str | None) -> None:
        self._items = Keys(db, "ItemTable")
        self._disk = Keys(db, "cursorDiskKV")
        self._folder = folder

    def records(self) -> Iterator[Record]:
        """Yield what the disk table holds, then what the two keys of the other do."""
        keys = list(self._disk.below("composerData:"))
        for number, key in enumerate(keys, 1):
            session = key.partition(":")[2]
            found = self._disk.get(key)
            if found is not None and isinstance(found.value, dict):
                yield from self._composer(session, found.value)
            else:
                if found is None:
                    yield UnknownRecord("composerData without a value")
                else:
                    reason = found.reason or "not an object"
                    yield BadSourceRecord(number, f"composerData: {reason}")
                if next(self._disk.below(f"bubbleId:{session}:"), None) is not None:
                    yield from self._composer(session, {})
            yield ReadTo(number, len(keys))
        known = {key.partition(":")[2] for key in keys}
        for value in self._listed(COMPOSERS, "allComposers"):
            name = identifier(value.get("composerId"))
            if name is not None and name in known:
                yield self._session(name, value)
            elif name is not None:
                yield from self._composer(name, value)
        for value in self._listed(PANEL, "tabs"):
            yield from self._tab(value)

    def _listed(self, key: str, name: str) -> Iterator[Json]:
        found = self._items.get(key)
        value = mapping(found.value) if found is not None else {}
        return (mapping(each) for each in items(value.get(name)))

    def _composer(self, name: str, value: Json) -> Iterator[Record]:
        session = self._session(name, value)
        yield session
        uids, told = Uids(name), session
        inline = _inline(value)
        headers = [mapping(h) for h in items(value.get("fullConversationHeadersOnly"))]
        headers = headers or [mapping(b) for b in items(value.get("conversation"))]
        if not value.keys() & {"fullConversationHeadersOnly", "conversation"}:
            headers = self._by_time(name)  # without a list of its own; an empty one is a list
        listed: set[str] = set()
        is_asked = session.kind == SessionKind.SUBAGENT
        for number, header in enumerate(headers, 1):
            bubble_id = identifier(header.get("bubbleId"))
            bubble = self._bubble(name, bubble_id, inline) or (
                Found(header) if _says(header) else None
            )
            if bubble_id is not None:
                listed.add(bubble_id)
            if bubble is None:
                yield UnknownRecord("bubble that is listed and not there")
                continue
            if not isinstance(bubble.value, dict):
                yield BadSourceRecord(number, f"bubble: {bubble.reason or 'not an object'}")
                continue
            merged = {"type": header.get("type"), **bubble.value}
            for record in message_of(merged, bubble_id, name, uids, is_delegated=is_asked):
                if isinstance(record, MessageRecord):
                    record = _placed(record, number * _STEP, session)
                    told = _with_more(told, record, bubble.value)
                yield record
        yield from self._taken_back(session, listed, uids, len(headers))
        if told is not session:
            yield told

    def _by_time(self, name: str) -> list[Json]:
        """The ids of a session's bubbles in the order of their times."""
        prefix, order = f"bubbleId:{name}:", []
        for key in list(self._disk.below(prefix)):
            found = self._disk.get(key)
            at = instant(mapping(found.value).get("createdAt"))[0] if found is not None else None
            order.append((at or 0, key.removeprefix(prefix)))
        return [{"bubbleId": bubble_id} for _, bubble_id in sorted(order)]

    def _bubble(self, name: str, bubble_id: str | None, inline: dict[str, Json]) -> Found | None:
        if bubble_id is None:
            return None
        found = self._disk.get(f"bubbleId:{name}:{bubble_id}")
        if found is None and bubble_id in inline:
            return Found(inline[bubble_id])
        return found

    def _taken_back(
        self, session: SessionRecord, listed: set[str], uids: Uids, number: int
    ) -> Iterator[Record]:
        """Yield the bubbles that no list names, behind those that one does."""
        name = session.native_id
        prefix = f"bubbleId:{name}:"
        for key in list(self._disk.below(prefix)):
            bubble_id = key.removeprefix(prefix)
            found = None if bubble_id in listed else self._disk.get(key)
            if found is None:
                continue
            if not isinstance(found.value, dict):
                yield BadSourceRecord(number, f"bubble: {found.reason or 'not an object'}")
                continue
            number += 1
            for record in message_of(found.value, bubble_id, name, uids):
                if isinstance(record, MessageRecord):
                    yield _placed(record, number * _STEP, session, MessageState.REWOUND)
                else:
                    yield record

    def _session(self, name: str, value: Json) -> SessionRecord:
        title = text(value, "name")
        told = mapping(value.get("subagentInfo"))
        parent = identifier(told.get("parentComposerId")) or identifier(
            value.get("parentComposerId")
        )
        parent = parent if parent != name else None
        kept = {k: t for k in ("unifiedMode", "status") if (t := text(value, k)) is not None}
        return SessionRecord(
            name,
            kind=SessionKind.SUBAGENT if parent else SessionKind.INTERACTIVE,
            parent_native_id=parent,
            relation=Relation.SUBAGENT if parent else None,
            evidence="explicit" if parent else None,
            title=title,
            title_source=TitleSource.MODEL if title else TitleSource.NONE,
            cwd=self._folder,
            started_at_ms=instant(value.get("createdAt"))[0],
            updated_at_ms=instant(value.get("lastUpdatedAt"))[0],
            archived=value.get("isArchived") is True,
            metadata=json_text(kept) if kept else None,
        )

    def _tab(self, value: Json) -> Iterator[Record]:
        name = identifier(value.get("tabId"))
        if name is None:
            yield UnknownRecord("tab without an id")
            return
        sent = instant(value.get("lastSendTime"))[0]
        title = text(value, "chatTitle")
        session = told = SessionRecord(
            name,
            title=title,
            title_source=TitleSource.MODEL if title else TitleSource.NONE,
            cwd=self._folder,
            updated_at_ms=sent,
        )
        yield session
        at = (sent, TimeQuality.SESSION if sent else TimeQuality.NONE)
        uids = Uids(name)
        for number, bubble in enumerate(map(mapping, items(value.get("bubbles"))), 1):
            for record in panel_message(bubble, name, uids, at):
                if isinstance(record, MessageRecord):
                    record = _placed(record, number * _STEP, session)
                    told = _with_more(told, record, {})
                yield record
        if told is not session:
            yield told


def _placed(
    record: MessageRecord,
    position: int,
    session: SessionRecord,
    state: MessageState | None = None,
) -> MessageRecord:
    """Return the message at its place; one without a time of its own has its session's."""
    if record.created_at_ms is None and session.started_at_ms is not None:
        at = session.started_at_ms
        record = replace(record, created_at_ms=at, time_quality=TimeQuality.SESSION)
    return replace(record, position=position, state=state or record.state)


def _with_more(session: SessionRecord, record: MessageRecord, bubble: Json) -> SessionRecord:
    """Return the session with what a message adds to it, the same where it adds nothing."""
    changes: dict[str, object] = {}
    if session.cwd is None and (place := text(bubble, "workspaceProjectDir")):
        changes["cwd"] = place
    if session.model is None and record.model is not None:
        changes["model"] = record.model
    spoken = record.role == Role.USER and record.origin in (Origin.HUMAN, Origin.MODEL)
    if session.title is None and spoken and (title := derived_title(record.content)):
        changes |= {"title": title, "title_source": TitleSource.DERIVED}
    return replace(session, **changes) if changes else session  # type: ignore[arg-type]


def _inline(value: Json) -> dict[str, Json]:
    """The bubbles that stand within a session, by their ids."""
    found: dict[str, Json] = {}
    for bubble in map(mapping, items(value.get("conversation"))):
        if (bubble_id := identifier(bubble.get("bubbleId"))) is not None:
            found[bubble_id] = bubble
    mapped = mapping(value.get("conversationMap"))
    return found | {name: each for name, each in mapped.items() if isinstance(each, dict)}


def _says(header: Json) -> bool:
    return "text" in header or "toolFormerData" in header


def _folder(path: Path) -> str | None:
    """Return the folder that a workspace's database belongs to."""
    try:
        told = mapping(json_file(beside(path)))
    except SourceError:  # the database of all workspaces has none
        return None
    address = text(told, "folder", "workspace")
    if address is None or not address.startswith("file:"):
        return address
    place = unquote(urlsplit(address).path)
    is_drive = len(place) > 2 and place[2] == ":"
    return place[1:] if is_drive else place
