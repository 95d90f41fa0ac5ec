"""Pi, Oh-My-Pi and OpenClaw: one JSONL file a session, whose entries form a tree.

The three share a writer: a header, then entries that name their parent, so that going back
and saying something else leaves both branches in the file. The branch that is shown is that of
the last entry. Files of versions 1 and 2 have no ids and are one line.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from core.sources import files as disk
from core.sources import found as places_found
from core.sources.lines import JsonObject, objects
from core.sources.pi import places
from core.sources.pi.messages import Messages
from core.sources.pi.outline import Outline, is_entry
from core.sources.pi.sessions import session
from core.sources.records import (
    MessageRecord,
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
CHOOSES = "folder"

_SNIFFED_BYTES = 1 << 20
_PROGRESS_BYTES = 1 << 20
_KEPT_BYTES = 2 << 20
"""The objects of a file up to this size are kept for the second time: some 10 MB."""


def identity(path: Path) -> SourceIdentity:
    """Return which of the three programs wrote a file, as far as its place tells; else Pi."""
    program = places.program_of(path)
    return SourceIdentity(KIND, program.instance, program.name)


def recognises(path: Path) -> bool:
    """Whether the file begins with a session's header, or a folder holds such files."""
    if path.is_dir():
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
    if not path.is_dir():
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
        outline = Outline(path)
        kept: list[JsonObject] | None = [] if total <= _KEPT_BYTES else None
        for line in objects(disk.as_utf8(stream), is_entry):
            if not isinstance(line, JsonObject):
                yield line
                continue
            if kept is not None:
                kept.append(line)
            if unknown := outline.add(line):
                yield UnknownRecord(unknown[:100])
        outline.settle()
        stream.seek(0)
        again = objects(disk.as_utf8(stream), is_entry) if kept is None else iter(kept)
        own = session(path, outline)
        waiting: SessionRecord | None = own
        messages, index, reached, told = Messages(outline, own), -1, 0, 0
        for line in again:
            if not isinstance(line, JsonObject):
                continue
            index += 1
            if index == len(outline.on_path):
                break  # it grew meanwhile; the next import reads that
            for record in messages.records(index, line):
                if waiting is not None and isinstance(record, MessageRecord):
                    yield waiting
                    waiting = None
                yield record
            if line.terminated:
                reached = line.offset + line.length + 1
            if reached - told >= _PROGRESS_BYTES:
                told = reached
                yield ReadTo(min(reached, total), total)
        yield ReadTo(min(reached, total), total)
