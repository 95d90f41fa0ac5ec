"""The neutral format: one message a line, for history that no reader of ours knows.

`{"session":"s1","id":"m1","role":"user","content":"…"}` and the optional fields below. The
same format is what an export writes, so an export can be imported again.
"""

import hashlib
import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from core.sources import files as disk
from core.sources import there
from core.sources.headline import derived_title
from core.sources.lines import JsonObject, Mark, objects
from core.sources.neutral.fields import (
    FieldError,
    choice,
    moment,
    text,
    to_iso,
    tool_calls,
)
from core.sources.records import (
    BadSourceRecord,
    EarlierChangedError,
    MessageRecord,
    ReaderState,
    ReadTo,
    Record,
    Remark,
    SessionRecord,
    SourceIdentity,
)
from core.types import (
    FoundSource,
    MessageState,
    Origin,
    Relation,
    Role,
    SessionKind,
    TitleSource,
    ToolStatus,
)

KIND = "jsonl"
READER_VERSION = 1
REWRITES = True
"""A later line of the same id corrects the earlier one, which stays as a revision."""

SUFFIXES = frozenset({".jsonl", ".ndjson", *disk.PACKED})
CHOOSES = "file"

_ORIGINS = {
    Role.USER: Origin.HUMAN,
    Role.ASSISTANT: Origin.MODEL,
    Role.TOOL: Origin.TOOL,
    Role.SYSTEM: Origin.SYNTHETIC,
}
_SNIFFED_OBJECTS = 20
_PROGRESS_BYTES = 1 << 20
_MOST_APPENDED_BYTES = 16 << 20


def identity(path: Path) -> SourceIdentity:
    """Return the instance that the file's first record names, '' if it names none.

    A file may hold records of several; `read` tells where another begins.
    """
    if there.is_file(path):
        with disk.unpacked(path) as stream:
            for line in itertools.islice(
                objects(disk.as_utf8(stream), is_record), _SNIFFED_OBJECTS
            ):
                if isinstance(line, JsonObject) and is_record(line.value):
                    return _instance(line.value)
    return SourceIdentity(KIND)


def recognises(path: Path) -> bool:
    """Whether the file's first object is a record of this format."""
    if disk.plain_name(path).suffix not in (".jsonl", ".ndjson"):
        return False
    with disk.unpacked(path) as stream:
        for line in itertools.islice(objects(disk.as_utf8(stream), is_record), _SNIFFED_OBJECTS):
            if isinstance(line, JsonObject):
                return is_record(line.value)
    return False


def is_record(value: Mapping[str, Any]) -> bool:
    """Whether an object has what every record must have."""
    return isinstance(value.get("session"), str) and isinstance(value.get("role"), str)


def files(path: Path) -> Iterator[Path]:
    """Yield the file, or the `.jsonl` files below a folder, in order of their paths."""
    if not there.is_dir(path):
        yield path
        return
    for found in sorted(path.rglob("*.jsonl*")):
        if disk.plain_name(found).suffix == ".jsonl" and there.is_file(found):
            yield found


def is_home(folder: Path) -> bool:  # noqa: ARG001 (no program has one)
    """Return False: no program keeps its history in this format."""
    return False


def found(env: Mapping[str, str], home: Path) -> Iterator[FoundSource]:  # noqa: ARG001
    """Yield nothing: there is no usual place."""
    yield from ()


def read(path: Path) -> Iterator[Record]:
    """Yield the sessions and messages of a file in its order, a session before its messages.

    A line that is not of the format is a bad record that says what is wrong with it. Memory
    grows with the sessions, and by about 130 bytes with each message that has no id.

    Raises:
        SourceError: the file cannot be read.
    """
    with disk.unpacked(path) as stream:
        total, text = disk.stamp_of(stream).size, disk.as_utf8(stream)
        reading, reached, told = _Reading(), 0, 0
        is_ended = True
        for line in objects(text, is_record, mark=reading.mark):
            yield from reading.told(line)
            if not isinstance(line, JsonObject):
                continue
            is_ended = line.terminated
            if is_ended:
                reached = line.offset + line.length + 1
            if reached - told >= _PROGRESS_BYTES:
                told = reached
                yield ReadTo(min(reached, total), total)
        yield from reading.undated(disk.stamp_of(stream))
        yield ReadTo(min(reached, total), total)
        if is_ended and text is stream and not disk.is_packed(path):
            yield ReaderState(reading, reading.bytes)


def read_on(path: Path, before: ReaderState) -> Iterator[Record]:
    """Yield what was appended to a file since.

    Raises:
        EarlierChangedError: the file has to be read whole; before the first record.
        SourceError: it cannot be read.
    """
    reading = before.state
    if not isinstance(reading, _Reading):
        raise EarlierChangedError
    with disk.opened(path) as stream:
        stamp = disk.stamp_of(stream)
        total = stamp.size
        if total - reading.mark.offset > _MOST_APPENDED_BYTES:
            raise EarlierChangedError
        stream.seek(reading.mark.offset)
        found = list(objects(stream, is_record, mark=reading.mark))
    if any(isinstance(line, JsonObject) and not line.terminated for line in found):
        raise EarlierChangedError
    yield reading.source
    for line in found:
        yield from reading.told(line)
    yield from reading.undated(stamp)
    yield ReadTo(reading.mark.offset, total)
    yield ReaderState(reading, reading.bytes)


class _Reading:
    """What has been read of a file so far, as far as later lines depend on it."""

    def __init__(self) -> None:
        self.mark = Mark()
        self._source = ""
        self._sessions: dict[tuple[str, str], SessionRecord] = {}
        self._ordinals: dict[int, int] = {}
        self._dated: set[tuple[str, str]] = set()

    def undated(self, stamp: disk.FileStamp) -> Iterator[Record]:
        """Tell of sessions without any time that they are as old as their file."""
        for (source, native_id), told in self._sessions.items():
            if (source, native_id) not in self._dated:
                if source != self._source:
                    self._source = source
                    yield self.source
                yield replace(told, updated_at_ms=stamp.mtime_ns // 1_000_000)

    @property
    def source(self) -> SourceIdentity:
        """The source that was named last."""
        return SourceIdentity(KIND, self._source, self._source)

    @property
    def bytes(self) -> int:
        """About how much memory this takes."""
        return 2_000 + 1_000 * len(self._sessions) + 130 * len(self._ordinals)

    def told(self, line: JsonObject | BadSourceRecord | Remark) -> Iterator[Record]:
        """Yield what a line tells, or what is wrong with it."""
        if not isinstance(line, JsonObject):
            yield line
            return
        try:
            yield from self.records(line)
        except FieldError as error:
            yield BadSourceRecord(line.line, str(error))
        if line.value.get("created_at") is not None and moment(line.value)[0] is None:
            yield Remark(line.line, "created_at is no time and was left out")

    def records(self, line: JsonObject) -> Iterator[Record]:
        value = line.value
        source = text(value, "source") or ""
        session, message = _session(value), self._message(source, line)
        if message.created_at_ms is not None:
            self._dated.add((source, message.session))
        if source != self._source:
            self._source = source
            yield _instance(value)
        yield from self._changed(source, session, message)
        yield message

    def _changed(
        self, source: str, session: SessionRecord, message: MessageRecord
    ) -> Iterator[SessionRecord]:
        """The session, where the line tells something of it that was not told before."""
        key = (source, session.native_id)
        before = self._sessions.get(key)
        human = message.role == Role.USER and message.origin == Origin.HUMAN
        if session.title is None and human and (before is None or before.title is None):
            title = derived_title(message.content)
            if title:
                session = replace(session, title=title, title_source=TitleSource.DERIVED)
        known = before or SessionRecord(session.native_id)
        told = _merged(known, session)
        if before is None or told != known:
            self._sessions[key] = told
            yield told

    def _message(self, source: str, line: JsonObject) -> MessageRecord:
        value = line.value
        role = choice(value, "role", Role, Role.USER, required=True)
        at_ms, quality = moment(value)
        message = MessageRecord(
            text(value, "session", required=True) or "",
            text(value, "id") or "",
            role,
            text(value, "content") or "",
            choice(value, "origin", Origin, _ORIGINS[role]),
            state=choice(value, "state", MessageState, MessageState.ACTIVE),
            created_at_ms=at_ms,
            time_quality=quality,
            model=text(value, "model"),
            reasoning=text(value, "reasoning"),
            tool_calls=tool_calls(value),
            tool_call_id=text(value, "tool_call_id"),
            tool_name=text(value, "tool_name"),
            tool_status=choice(value, "tool_status", ToolStatus, None),
            raw_ref=line.raw_ref,
        )
        return replace(message, uid=self._uid(source, message))

    def _uid(self, source: str, message: MessageRecord) -> str:
        """The given id, else one that is the same wherever the line stands at a later reading."""
        if message.uid:
            return message.uid
        words = "\0".join((message.role, message.content, message.reasoning or ""))
        key = hash((source, message.session, words))
        ordinal = self._ordinals.get(key, 0)
        self._ordinals[key] = ordinal + 1
        made = f"{message.session}\0{words}\0{ordinal}"
        return hashlib.blake2b(made.encode(errors="replace"), digest_size=12).hexdigest()


def _instance(value: Mapping[str, Any]) -> SourceIdentity:
    source = value.get("source")
    source = source if isinstance(source, str) else ""
    return SourceIdentity(KIND, source, source)


def _session(value: Mapping[str, Any]) -> SessionRecord:
    title = text(value, "title")
    return SessionRecord(
        text(value, "session", required=True) or "",
        kind=choice(value, "kind", SessionKind, SessionKind.INTERACTIVE),
        parent_native_id=text(value, "parent"),
        relation=choice(value, "relation", Relation, None),
        evidence="explicit" if value.get("parent") else None,
        title=title,
        title_source=TitleSource.USER if title else TitleSource.NONE,
        model=text(value, "model"),
        cwd=text(value, "cwd"),
        git_repo_root=text(value, "git_repo_root"),
        git_branch=text(value, "git_branch"),
        end_reason=text(value, "end_reason"),
    )


def _merged(before: SessionRecord, after: SessionRecord) -> SessionRecord:
    told: dict[str, Any] = {}
    for name in _TOLD:
        found = getattr(after, name)
        if found is not None:
            told[name] = found
    if after.kind != SessionKind.INTERACTIVE:
        told["kind"] = after.kind
    if after.title is not None:
        told["title_source"] = after.title_source
    return replace(before, **told)


_TOLD = (
    "parent_native_id",
    "relation",
    "evidence",
    "title",
    "model",
    "cwd",
    "git_repo_root",
    "git_branch",
    "end_reason",
)


def line_of(session: SessionRecord, message: MessageRecord, source: str = "") -> str:
    """Return the line, without its end, that reads back as this message of this session.

    A title that was derived is left out: it is derived again.
    """
    given = session.title if session.title_source != TitleSource.DERIVED else None
    calls = [
        {"id": c.id, "name": c.name, "arguments": c.arguments, "status": c.status}
        for c in message.tool_calls
    ]
    at_ms = message.created_at_ms
    value = {
        "session": message.session,
        "id": message.uid,
        "role": message.role,
        "content": message.content,
        "created_at": None if at_ms is None else to_iso(at_ms),
        "title": given,
        "source": source or None,
        "kind": session.kind if session.kind != SessionKind.INTERACTIVE else None,
        "parent": session.parent_native_id,
        "relation": session.relation,
        "end_reason": session.end_reason,
        "tool_name": message.tool_name,
        "tool_call_id": message.tool_call_id,
        "tool_calls": calls or None,
        "tool_status": message.tool_status,
        "reasoning": message.reasoning,
        "model": message.model,
        "state": message.state if message.state != MessageState.ACTIVE else None,
        "origin": message.origin if message.origin != _ORIGINS[message.role] else None,
        "cwd": session.cwd,
        "git_repo_root": session.git_repo_root,
        "git_branch": session.git_branch,
    }
    kept = {name: found for name, found in value.items() if found is not None}
    return json.dumps(kept, ensure_ascii=False)
