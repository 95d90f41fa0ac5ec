"""Claude Code: one JSONL transcript a session below `projects/`, and one a subagent.

The session is the file's name, whatever the lines say: forks and resumed sessions copy lines of
others. Lines are kept by their own ids, so copies meet in one body. No schema is published; the
facts are those of real files and of the programs that read them.
"""

import itertools
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from core.sources import files as disk
from core.sources import found as found_at
from core.sources import there
from core.sources.claude_code import desktop, growth
from core.sources.claude_code.facts import parent_by_folder, summaries_beside, told_beside
from core.sources.claude_code.growth import Transcript
from core.sources.claude_code.messages import Messages
from core.sources.claude_code.outline import SILENT_TYPES, Outline
from core.sources.claude_code.texts import json_text
from core.sources.claude_code.tree import settle
from core.sources.lines import JsonObject, Mark, objects
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
from core.sources.unread import is_iflow_line
from core.types import FoundSource, Relation, SessionKind, TitleSource

KIND = "claude-code"
READER_VERSION = 1
REWRITES = True
"""A message is written line by line while it streams, so an early reading sees a part of it."""

SUFFIXES = frozenset({".jsonl", *disk.PACKED})
CHOOSES = "file"
COPIES_SILENTLY = True

_TYPES = SILENT_TYPES | {
    "ai-title",
    "agent-name",
    "assistant",
    "attachment",
    "custom-title",
    "queue-operation",
    "summary",
    "system",
    "user",
}
_OTHER_FILES = {"audit.jsonl", "history.jsonl", "journal.jsonl"}
_SNIFFED_OBJECTS = 20
_SNIFFED_BYTES = 8 << 20
_HEARTBEAT_BYTES = 16 << 20
_KEPT_BYTES = 2 << 20
"""The objects of a file up to this size are kept for the second time: some 10 MB."""


def identity(path: Path) -> SourceIdentity:
    """Every transcript is of one source: session and message ids are unique in the world."""
    del path
    return SourceIdentity(KIND, "", "Claude Code")


def recognises(path: Path) -> bool:
    """Whether one of the first objects of the file is a line of a transcript."""
    if not _may_be_ours(path):
        return False
    with disk.unpacked(path) as stream:
        found = objects(disk.as_utf8(stream), is_line, limit=_SNIFFED_BYTES)
        for line in itertools.islice(found, _SNIFFED_OBJECTS):
            if not isinstance(line, JsonObject):
                continue
            if is_line(line.value):
                return True
            if line.offset > _SNIFFED_BYTES or _is_other(line.value):
                return False
    return False


def is_line(value: Mapping[str, Any]) -> bool:
    """Whether the object has the envelope of a transcript's line."""
    kind = value.get("type")
    if not isinstance(kind, str) or kind not in _TYPES or _is_other(value):
        return False
    if any(key in value for key in ("uuid", "parentUuid", "leafUuid")):
        return True
    if kind in ("user", "assistant"):
        message = value.get("message")
        return isinstance(message, dict) and "content" in message
    return "sessionId" in value


def _is_other(value: Mapping[str, Any]) -> bool:
    """Whether the object is of a program with a like envelope (Qwen Code, Droid, iFlow)."""
    if is_iflow_line(value):
        return True
    message = value.get("message")
    if isinstance(message, dict) and "parts" in message:
        return True
    return "systemPayload" in value or isinstance(value.get("timestamp"), int)


def files(path: Path) -> Iterator[Path]:
    """Yield the transcripts at a place: a file, a project's folder or the program's own."""
    if not there.is_dir(path):
        yield path
        return
    if desktop.is_home(path):
        yield from desktop.transcripts(path)
        return
    root = path / "projects" if is_home(path) else path
    for folder, folders, names in os.walk(root):
        folders.sort()
        for name in sorted(names):
            if _may_be_ours(Path(name)):
                yield Path(folder, name)


def _may_be_ours(path: Path) -> bool:
    """Whether a file is named as a transcript is, compressed or not."""
    plain = disk.plain_name(path)
    return plain.suffix == ".jsonl" and plain.name not in _OTHER_FILES


def is_home(folder: Path) -> bool:
    """Whether the folder is the program's own, where only `projects` holds transcripts.

    Claude Desktop's folder of agent sessions is one, too.
    """
    if desktop.is_home(folder):
        return True
    named = folder.name == ".claude" or there.is_file(folder / "history.jsonl")
    return named and there.is_dir(folder / "projects")


def found(env: Mapping[str, str], home: Path) -> Iterator[FoundSource]:
    """Yield the person's own folder of projects, and Claude Desktop's of agent sessions."""
    root = Path(env.get("CLAUDE_CONFIG_DIR") or home / ".claude")
    if there.is_dir(root):
        projects = root / "projects"
        yield _found(projects, "Claude Code", dict(found_at.sizes(projects, (".jsonl",))))
    for folder in desktop.homes(env, home):
        sizes = {path: path.stat().st_size for path in desktop.transcripts(folder)}
        yield _found(folder, "Claude Desktop", sizes)


def _found(place: Path, name: str, sizes: Mapping[Path, int]) -> FoundSource:
    mains = [p for p in sizes if not p.name.startswith("agent-") and "subagents" not in p.parts]
    return found_at.found(KIND, place, name, sessions=len(mains), size=sum(sizes.values()))


def read(path: Path) -> Iterator[Record]:
    """Yield the sessions and messages of one transcript; a session before its messages.

    Raises:
        SourceError: as `read_named`.
    """
    return read_named(path, path)


def read_named(path: Path, name: Path) -> Iterator[Record]:
    """Yield what a transcript holds whose session is known by the `name` that the file had.

    The file is gone through twice (about 30 MB/s together); of a large one nothing is kept in
    between but the outline. A last line without its end is yielded, `ReadTo` stays before it.

    Raises:
        SourceError: the file cannot be read, or was rewritten meanwhile.
    """
    with disk.unpacked(path) as stream:
        outline, mark = Outline(disk.plain_name(name).stem), Mark()
        total, told = disk.stamp_of(stream).size, 0
        kept: list[JsonObject] | None = [] if total <= _KEPT_BYTES else None
        text, last = disk.as_utf8(stream), None
        for line in objects(text, is_line, mark=mark):
            if not isinstance(line, JsonObject):
                yield line
                continue
            if kept is not None:
                kept.append(line)
            last = line
            unknown = outline.add(line)
            if unknown is not None:
                yield UnknownRecord(unknown[:100])
            if line.offset - told > _HEARTBEAT_BYTES:
                told = line.offset
                yield ReadTo(0, total)
        settle(outline)
        stream.seek(0)
        lines = objects(disk.as_utf8(stream), is_line) if kept is None else iter(kept)
        transcript = Transcript(outline, Messages(str(path), outline), mark)
        yield from _with_sessions(path, transcript, transcript.messages.read(lines, total))
        yield ReadTo(min(mark.offset, total), total)
        is_plain = text is stream and not disk.is_packed(path)
        if is_plain and (last is None or last.terminated):
            yield from transcript.state()


def read_on(path: Path, before: ReaderState) -> Iterator[Record]:
    """Yield what was appended since, and the earlier messages that it changes.

    Raises:
        EarlierChangedError: the file has to be read whole; before the first record.
        SourceError: it cannot be read.
    """
    if not isinstance(before.state, Transcript):
        raise EarlierChangedError
    yield from growth.read_on(path, is_line, before.state, _sessions)


def _with_sessions(
    path: Path, transcript: Transcript, records: Iterator[Record]
) -> Iterator[Record]:
    """Put each session's record before its first message; one without messages is none."""
    waiting = {record.native_id: record for record in _sessions(path, transcript.outline)}
    for record in records:
        if waiting and isinstance(record, MessageRecord):
            session = waiting.pop(record.session, None)
            if session is not None:
                transcript.told[record.session] = session
                yield session
        yield record


def _sessions(path: Path, outline: Outline) -> Iterator[SessionRecord]:
    main = outline.sessions[0]
    yield _main_session(path, outline)
    for facts in outline.sessions[1:]:
        call = outline.task_calls.get(facts.task or "")
        title, source = facts.title(None)
        yield SessionRecord(
            facts.native_id(outline.stem),
            kind=SessionKind.SUBAGENT,
            parent_native_id=outline.stem,
            relation=Relation.SUBAGENT,
            evidence="explicit" if call else "heuristic",
            title=title,
            title_source=source,
            model=facts.model,
            cwd=facts.cwd or main.cwd,
            git_branch=facts.branch or main.branch,
            started_at_ms=facts.started_at_ms,
            updated_at_ms=facts.updated_at_ms,
            metadata=json_text({"toolUseId": call}) if call else None,
        )


def _main_session(path: Path, outline: Outline) -> SessionRecord:
    facts = outline.sessions[0]
    parent, relation, evidence = _parent(path, outline)
    title, source = _title(path, outline)
    told = desktop.told(path)
    beside = told or desktop.Told()
    if beside.title and source != TitleSource.USER:
        title, source = beside.title, TitleSource.MODEL
    metadata: dict[str, object] = told_beside(path) if outline.is_agent else {}
    if facts.version:
        metadata["version"] = facts.version
    return SessionRecord(
        outline.stem,
        kind=SessionKind.SUBAGENT if outline.is_agent else SessionKind.INTERACTIVE,
        parent_native_id=parent,
        relation=relation,
        evidence=evidence,
        title=title,
        title_source=source,
        model=facts.model or beside.model,
        cwd=beside.cwd or facts.cwd or _folder_name(path),
        git_branch=facts.branch,
        started_at_ms=facts.started_at_ms or beside.started_at_ms,
        updated_at_ms=facts.updated_at_ms
        or beside.updated_at_ms
        or disk.stamp(path).mtime_ns // 1_000_000,
        archived=beside.archived,
        channel=desktop.CHANNEL if told else None,
        metadata=json_text(metadata) if metadata else None,
    )


def _folder_name(path: Path) -> str | None:
    """The name of a project's folder: all that is known where no line says where it was."""
    return path.parent.name if path.parent.parent.name == "projects" else None


def _parent(path: Path, outline: Outline) -> tuple[str | None, Relation | None, str | None]:
    """The session that this one comes from, as far as its own lines tell."""
    facts = outline.sessions[0]
    if outline.is_agent:
        told = facts.first_id if facts.first_id != outline.stem else None
        parent = told or parent_by_folder(path)
        return (parent, Relation.SUBAGENT, "explicit") if parent else (None, None, None)
    if facts.forked_from and facts.forked_from != outline.stem:
        return facts.forked_from, Relation.FORK, "explicit"
    if facts.first_id not in (None, outline.stem) and facts.last_id == outline.stem:
        return facts.first_id, Relation.CONTINUATION, "heuristic"  # it begins with copied lines
    return None, None, None


def _title(path: Path, outline: Outline) -> tuple[str | None, TitleSource]:
    """The title, with a summary that names a line of this file, wherever it stands."""
    facts = outline.sessions[0]
    own = [text for leaf, text in facts.summaries.items() if outline.holds(leaf)]
    if not own and facts.given is None and not outline.is_agent:
        beside = summaries_beside(path)
        own = [text for leaf, text in beside.items() if outline.holds(leaf)]
    return facts.title(own[-1] if own else None)
