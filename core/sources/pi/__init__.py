"""Pi, Oh-My-Pi and OpenClaw: one JSONL file a session, whose entries form a tree.

The three share a writer: a header, then entries that name their parent, so that going back
and saying something else leaves both branches in the file. The branch that is shown is that of
the last entry. Files of versions 1 and 2 have no ids and are one line.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.sources import files as disk
from core.sources import found as places_found
from core.sources import there
from core.sources.lines import JsonObject, Mark, objects
from core.sources.pi import places
from core.sources.pi.messages import Messages
from core.sources.pi.outline import Outline, is_entry
from core.sources.pi.sessions import session
from core.sources.records import (
    EarlierChangedError,
    MessageRecord,
    ReaderState,
    ReadTo,
    Record,
    SessionRecord,
    SourceIdentity,
    UnknownRecord,
)
from core.types import FoundSource

KIND = "pi"
READER_VERSION = 1
REWRITES = False
MOVES = True
"""A file of an old version is written anew with ids, once: the same messages elsewhere in it."""

SUFFIXES = frozenset({".jsonl"})
CHOOSES = "file"

_SNIFFED_BYTES = 1 << 20
_PROGRESS_BYTES = 1 << 20
_MOST_APPENDED_BYTES = 16 << 20
"""More than that appended is read with the whole file."""

_KEPT_BYTES = 2 << 20
"""The objects of a file up to this size are kept for the second time: some 10 MB."""


def identity(path: Path) -> SourceIdentity:
    """Return which of the three programs wrote a file, as far as its place tells; else Pi."""
    program = places.program_of(path)
    return SourceIdentity(KIND, program.instance, program.name)


def recognises(path: Path) -> bool:
    """Whether the file begins with a session's header, or a folder holds such files."""
    if there.is_dir(path):
        return next(files(path), None) is not None
    if not places.is_transcript(path.name):
        return False
    with disk.opened(path) as stream:
        for line in objects(disk.as_utf8(stream), is_entry, limit=_SNIFFED_BYTES):
            if isinstance(line, JsonObject):
                return is_header(line.value)
    return False


def is_header(value: Mapping[str, object]) -> bool:
    """Whether the object is the first line of a session. DeepSeek's has no such time."""
    return (
        value.get("type") == "session"
        and isinstance(value.get("id"), str)
        and isinstance(value.get("timestamp"), str)
        and "data" not in value
    )


def files(path: Path) -> Iterator[Path]:
    """Yield the transcripts at a place; backups, checkpoints and what was deleted are none.

    What OpenClaw archived at a reset is earlier history, and is yielded before what followed.
    """
    if not there.is_dir(path):
        yield path
        return
    yield from places.transcripts(path)


def is_home(folder: Path) -> bool:
    """Whether one of the three programs laid the folder out as its own."""
    return places.is_home(folder)


def found(env: Mapping[str, str], home: Path) -> Iterator[FoundSource]:
    """Yield the folders of sessions of each of the three programs that are there."""
    for program, root in places.roots(env, home):
        sizes = [
            size
            for path, size in places_found.sizes(root, ("",))
            if places.is_transcript(path.name)
        ]
        yield places_found.found(KIND, root, program.name, sessions=len(sizes), size=sum(sizes))


def read(path: Path) -> Iterator[Record]:
    """Yield the session of one file, then its messages in the order of its lines.

    The file is gone through twice. A label that OpenClaw keeps in `sessions.json` is read along,
    whenever the transcript itself has changed. A last line without its end is yielded, `ReadTo`
    stays before it.

    Raises:
        SourceError: the file cannot be read.
    """
    with disk.opened(path) as stream:
        total = disk.stamp_of(stream).size
        outline, mark = Outline(path), Mark()
        kept: list[JsonObject] | None = [] if total <= _KEPT_BYTES else None
        text, is_ended = disk.as_utf8(stream), True
        for line in objects(text, is_entry, mark=mark):
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
        again = objects(disk.as_utf8(stream), is_entry) if kept is None else iter(kept)
        told = session(path, outline)
        transcript = Transcript(outline, Messages(outline, told), mark)
        yield from _told(transcript, told, again, total)
        yield ReadTo(min(mark.offset, total), total)
        if text is stream and is_ended:
            yield ReaderState(transcript, transcript.bytes)


def read_on(path: Path, before: ReaderState) -> Iterator[Record]:
    """Yield what was appended since, and the earlier messages whose calls it answers.

    Raises:
        EarlierChangedError: the file has to be read whole; before the first record.
        SourceError: it cannot be read.
    """
    transcript = before.state
    if not isinstance(transcript, Transcript):
        raise EarlierChangedError
    outline = transcript.outline
    with disk.opened(path) as stream:
        total = disk.stamp_of(stream).size
        if total - transcript.mark.offset > _MOST_APPENDED_BYTES:
            raise EarlierChangedError
        stream.seek(transcript.mark.offset)
        found = list(objects(stream, is_entry, mark=transcript.mark))
    unknown: list[str] = []
    for line in found:
        if isinstance(line, JsonObject):
            if not line.terminated or outline.changes_earlier(line.value):
                raise EarlierChangedError
            unknown += filter(None, [outline.add(line)])
    outline.go_on()
    yield from (line for line in found if not isinstance(line, JsonObject))
    yield from (UnknownRecord(kind[:100]) for kind in unknown)
    yield from _told(transcript, session(path, outline), iter(found), total)
    yield ReadTo(transcript.mark.offset, total)
    yield ReaderState(transcript, transcript.bytes)


@dataclass(slots=True)
class Transcript:
    """A transcript that was read to `mark`; `told` is its session, once a message was told."""

    outline: Outline
    messages: Messages
    mark: Mark
    entries: int = 0
    told: SessionRecord | None = None

    @property
    def bytes(self) -> int:
        """About how much memory this takes."""
        return self.outline.bytes + self.messages.bytes


def _told(
    transcript: Transcript, now: SessionRecord, lines: Iterator[Any], total: int
) -> Iterator[Record]:
    """The messages of lines, and the session before the first, or where it changed."""
    if transcript.told not in (None, now):
        transcript.told = now
        yield now
    messages, reported = transcript.messages, 0
    for line in lines:
        if not isinstance(line, JsonObject):
            continue
        if transcript.entries == len(transcript.outline.on_path):
            break  # it grew meanwhile; the next import reads that
        index, transcript.entries = transcript.entries, transcript.entries + 1
        for record in (*messages.answered(line), *messages.records(index, line)):
            if transcript.told is None and isinstance(record, MessageRecord):
                transcript.told = now
                yield now
            yield record
        if line.offset - reported >= _PROGRESS_BYTES:
            reported = line.offset
            yield ReadTo(min(reported, total), total)
