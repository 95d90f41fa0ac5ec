"""GitHub Copilot CLI: one log of events a session, `session-state/<id>/events.jsonl`.

Older versions wrote `session-state/<id>.jsonl`. Lines are only ever appended; a call stands in
the message that requests it and again where it starts, and is one. The session is the one that
its first event names, else the name of its folder or file.
"""

import itertools
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.sources import files as disk
from core.sources import found as places
from core.sources import there
from core.sources.copilot_cli import kinds, workspace
from core.sources.copilot_cli.events import Events
from core.sources.copilot_cli.outline import Outline
from core.sources.copilot_cli.sessions import sessions
from core.sources.lines import JsonObject, Mark, objects
from core.sources.records import (
    EarlierChangedError,
    ReaderState,
    ReadTo,
    Record,
    SessionRecord,
    SourceIdentity,
    UnknownRecord,
)
from core.types import FoundSource

KIND = "copilot-cli"
READER_VERSION = 1
REWRITES = True
"""A call that starts later belongs to a message that was read before."""

SUFFIXES = frozenset({".jsonl"})
CHOOSES = "file"

FOLDER = "session-state"
EVENTS = "events.jsonl"
_SNIFFED_OBJECTS = 20
_SNIFFED_BYTES = 8 << 20
_PROGRESS_BYTES = 1 << 20
_MOST_APPENDED_BYTES = 16 << 20
"""More than that appended is read with the whole file."""

_KEPT_BYTES = 2 << 20
"""The objects of a file up to this size are kept for the second time: some 10 MB."""


def identity(path: Path) -> SourceIdentity:
    """Every session is of one source: ids of sessions and events are unique in the world."""
    del path
    return SourceIdentity(KIND, "", "GitHub Copilot CLI")


def recognises(path: Path) -> bool:
    """Whether the first whole object of the file is an event."""
    if path.suffix != ".jsonl":
        return False
    with disk.opened(path) as stream:
        found = objects(disk.as_utf8(stream), is_event, limit=_SNIFFED_BYTES)
        for line in itertools.islice(found, _SNIFFED_OBJECTS):
            if isinstance(line, JsonObject):
                return is_event(line.value)
    return False


def is_event(value: Mapping[str, Any]) -> bool:
    """Whether the object has the envelope of an event."""
    kind = value.get("type")
    return (
        isinstance(kind, str)
        and (kind in kinds.KNOWN or kind.startswith(("session.", "assistant.", "tool.")))
        and isinstance(value.get("data"), dict)
        and ("id" in value or "timestamp" in value)
    )


def files(path: Path) -> Iterator[Path]:
    """Yield the logs at a place: a file, a session's folder, or the program's own."""
    if not there.is_dir(path):
        yield path
        return
    root = path / FOLDER if there.is_dir(path / FOLDER) else path
    for folder, folders, names in os.walk(root):
        folders.sort()
        if EVENTS in names:
            yield Path(folder, EVENTS)
            folders.clear()  # what a session keeps beside its log is no history
        elif root.name == FOLDER and Path(folder) != root:
            continue
        else:
            yield from (Path(folder, name) for name in sorted(names) if name.endswith(".jsonl"))


def is_home(folder: Path) -> bool:
    """Whether the folder is the program's own, or `session-state`, which alone holds sessions."""
    return folder.name == FOLDER or there.is_dir(folder / FOLDER)


def stat_paths(path: Path) -> tuple[Path, ...]:
    """Return the files whose size and time decide whether anything is new."""
    return (path, path.with_name(workspace.NAME)) if path.name == EVENTS else (path,)


def found(env: Mapping[str, str], home: Path) -> Iterator[FoundSource]:
    """Yield the person's own folder of sessions."""
    root = Path(env.get("COPILOT_HOME") or home / ".copilot")
    if not there.is_dir(root):
        return
    folder = root / FOLDER
    logs = [
        size
        for path, size in places.sizes(folder, (".jsonl",))
        if path.name == EVENTS or path.parent == folder
    ]
    yield places.found(KIND, root, "GitHub Copilot CLI", sessions=len(logs), size=sum(logs))


def read(path: Path) -> Iterator[Record]:
    """Yield the sessions and messages of one log; a session before its messages.

    The file is gone through twice; of a large one nothing is kept in between but what events
    say of others. A last line without its end is yielded, `ReadTo` stays before it.

    Raises:
        SourceError: the file cannot be read.
    """
    with disk.opened(path) as stream:
        total = disk.stamp_of(stream).size
        outline, mark = Outline(path), Mark()
        kept: list[JsonObject] | None = [] if total <= _KEPT_BYTES else None
        text, is_ended = disk.as_utf8(stream), True
        for line in objects(text, is_event, mark=mark):
            if not isinstance(line, JsonObject):
                yield line
                continue
            is_ended = line.terminated
            if kept is not None:
                kept.append(line)
            if unknown := outline.add(line):
                yield UnknownRecord(unknown[:100])
        outline.settle()
        stream.seek(0)
        again = objects(disk.as_utf8(stream), is_event) if kept is None else iter(kept)
        log = Log(outline, Events(outline), mark)
        yield from _told(log, again, total)
        yield ReadTo(min(mark.offset, total), total)
        if text is stream and is_ended:
            yield ReaderState(log, log.bytes)


def read_on(path: Path, before: ReaderState) -> Iterator[Record]:
    """Yield what was appended since, and the earlier messages whose calls it answers.

    Raises:
        EarlierChangedError: the file has to be read whole; before the first record.
        SourceError: it cannot be read.
    """
    log = before.state
    if not isinstance(log, Log):
        raise EarlierChangedError
    with disk.opened(path) as stream:
        total = disk.stamp_of(stream).size
        if total - log.mark.offset > _MOST_APPENDED_BYTES:
            raise EarlierChangedError
        stream.seek(log.mark.offset)
        found = list(objects(stream, is_event, mark=log.mark))
    unknown: list[str] = []
    for line in found:
        if isinstance(line, JsonObject):
            if not line.terminated or log.outline.changes_earlier(line.value):
                raise EarlierChangedError
            unknown += filter(None, [log.outline.add(line)])
    yield from (line for line in found if not isinstance(line, JsonObject))
    yield from (UnknownRecord(kind[:100]) for kind in unknown)
    yield from _told(log, iter(found), total)
    yield ReadTo(log.mark.offset, total)
    yield ReaderState(log, log.bytes)


@dataclass(slots=True)
class Log:
    """A log that was read to `mark`, and the sessions of it that were told."""

    outline: Outline
    events: Events
    mark: Mark
    told: dict[str, SessionRecord] = field(default_factory=dict)

    @property
    def bytes(self) -> int:
        """About how much memory this takes."""
        return self.outline.bytes + self.events.bytes


def _told(log: Log, lines: Iterator[Any], total: int) -> Iterator[Record]:
    """The messages, each session before its first one; one without messages is none."""
    waiting = {session.native_id: session for session in sessions(log.outline.path, log.outline)}
    for name, before in log.told.items():
        if (now := waiting.pop(name, before)) != before:
            log.told[name] = now
            yield now
    told = 0
    for line in lines:
        if not isinstance(line, JsonObject):
            continue
        for record in (*log.events.answered(line), *log.events.records(line)):
            if record.session in waiting:
                log.told[record.session] = waiting.pop(record.session)
                yield log.told[record.session]
            yield record
        if line.offset - told >= _PROGRESS_BYTES:
            told = line.offset
            yield ReadTo(min(told, total), total)
