"""Qwen Code: one JSONL transcript a session in `~/.qwen/projects/<project>/chats/`.

Lines have the envelope of Claude Code's and messages in Google's shape. The session is the
file's name, whatever the lines say. Facts: the program's source and the samples.
"""

import itertools
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from core.sources import files as disk
from core.sources import found as places
from core.sources import there
from core.sources.genai_parts import json_text
from core.sources.lines import JsonObject, objects
from core.sources.qwen_code.messages import Messages
from core.sources.qwen_code.outline import TYPES, Outline
from core.sources.records import (
    MessageRecord,
    Record,
    SessionRecord,
    SourceIdentity,
    UnknownRecord,
)
from core.types import FoundSource

KIND = "qwen-code"
READER_VERSION = 1
REWRITES = True
"""A message is written line by line while it streams, so an early reading sees a part of it."""

SUFFIXES = frozenset({".jsonl"})
CHOOSES = "file"

_SNIFFED_OBJECTS = 20
_SNIFFED_BYTES = 8 << 20


def identity(path: Path) -> SourceIdentity:
    """Every transcript is of one source: session and message ids are unique in the world."""
    del path
    return SourceIdentity(KIND, "", "Qwen Code")


def recognises(path: Path) -> bool:
    """Whether one of the first objects of the file is a line of a transcript."""
    if path.suffix != ".jsonl":
        return False
    with disk.opened(path) as stream:
        found = objects(disk.as_utf8(stream), is_line, limit=_SNIFFED_BYTES)
        for line in itertools.islice(found, _SNIFFED_OBJECTS):
            if isinstance(line, JsonObject) and is_line(line.value):
                return True
    return False


def is_line(value: Mapping[str, Any]) -> bool:
    """Whether the object is a line of a transcript: Claude Code's have no parts."""
    kind, message = value.get("type"), value.get("message")
    if not isinstance(kind, str) or kind not in TYPES or "sessionId" not in value:
        return False
    return "systemPayload" in value or (isinstance(message, dict) and "parts" in message)


def files(path: Path) -> Iterator[Path]:
    """Yield the transcripts at a place: a file, a folder of them or the program's own."""
    if not there.is_dir(path):
        yield path
        return
    root = path / "projects" if is_home(path) else path
    for folder, folders, names in os.walk(root):
        folders.sort()
        if root == path or Path(folder).name == "chats":
            yield from (Path(folder, name) for name in sorted(names) if name.endswith(".jsonl"))


def is_home(folder: Path) -> bool:
    """Whether the folder is the program's own, where only `projects` holds transcripts."""
    return folder.name == ".qwen" and there.is_dir(folder / "projects")


def found(env: Mapping[str, str], home: Path) -> Iterator[FoundSource]:
    """Yield the person's own folder of projects."""
    root = Path(env.get("QWEN_HOME") or home / ".qwen")
    if not there.is_dir(root / "projects"):
        return
    listed = places.sizes(root / "projects", (".jsonl",))
    sizes = {path: size for path, size in listed if path.parent.name == "chats"}
    size = sum(sizes.values())
    yield places.found(KIND, root / "projects", "Qwen Code", sessions=len(sizes), size=size)


def read(path: Path) -> Iterator[Record]:
    """Yield the session and messages of one transcript; the session before its messages.

    The file is gone through twice; nothing is kept in between but the outline. A last line
    without its end is yielded, `ReadTo` stays before it.

    Raises:
        SourceError: the file cannot be read, or was rewritten meanwhile.
    """
    with disk.opened(path) as stream:
        outline = Outline()
        total = disk.stamp_of(stream).size
        for line in objects(disk.as_utf8(stream), is_line):
            if not isinstance(line, JsonObject):
                yield line
                continue
            unknown = outline.add(line)
            if unknown is not None:
                yield UnknownRecord(unknown[:100])
        outline.settle()
        stream.seek(0)
        lines = objects(disk.as_utf8(stream), is_line)
        told = False
        for record in Messages(str(path), path.stem, outline).read(lines, total):
            if isinstance(record, MessageRecord) and not told:
                told = True
                yield _session(path, outline)
            yield record


def _session(path: Path, outline: Outline) -> SessionRecord:
    title, source = outline.title()
    project = path.parent.parent
    is_placed = path.parent.name == "chats" and project.parent.name == "projects"
    return SessionRecord(
        path.stem,
        title=title,
        title_source=source,
        model=outline.model,
        cwd=outline.cwd or (project.name if is_placed else None),
        git_branch=outline.branch,
        started_at_ms=outline.started_at_ms,
        updated_at_ms=outline.updated_at_ms or disk.stamp(path).mtime_ns // 1_000_000,
        metadata=json_text({"version": outline.version}) if outline.version else None,
    )
