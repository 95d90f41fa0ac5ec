"""Gemini CLI: recordings of sessions below `~/.gemini/tmp/<project>/`.

`chats/session-*.jsonl` is a replay log (`replay`), `chats/session-*.json` one object that older
versions wrote anew at every turn; a session resumed by a newer version is in both, and its log
is the one that is read. `chats/<session>/` holds the recordings of its subagents,
`checkpoint-<tag>.json` what a person saved by `/chat save`. `logs.json` lists the prompts of
versions that recorded nothing else: it is read where there is no `chats`.
"""

import io
import itertools
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from core.errors import SourceError
from core.sources import files as disk
from core.sources import found as places
from core.sources import there
from core.sources.gemini_cli import old
from core.sources.gemini_cli.facts import Facts, is_message, speaker
from core.sources.gemini_cli.messages import Messages
from core.sources.gemini_cli.projects import (
    CHATS,
    chats_folder,
    parent_session,
    paths_in,
    project_path,
)
from core.sources.gemini_cli.replay import Fold, values
from core.sources.genai_parts import json_text
from core.sources.lines import JsonObject, objects
from core.sources.records import (
    MessageRecord,
    ReadTo,
    Record,
    SessionRecord,
    SourceIdentity,
    UnknownRecord,
)
from core.types import FoundSource, Relation, SessionKind, TitleSource

KIND = "gemini-cli"
READER_VERSION = 1
REWRITES = True
"""A message is written again while it grows, and an old recording as a whole."""

SUFFIXES = frozenset({".json", ".jsonl"})
CHOOSES = "tree"

_SNIFFED_OBJECTS = 5
_SNIFFED_BYTES = 1 << 20


def identity(path: Path) -> SourceIdentity:
    """Every recording is of one source: session ids are unique in the world."""
    del path
    return SourceIdentity(KIND, "", "Gemini CLI")


def recognises(path: Path) -> bool:
    """Whether the file begins like a recording, a saved chat or a list of prompts."""
    if ".tmp-" in path.name:
        return False
    with disk.opened(path) as stream:
        if path.suffix == ".json":
            return old.begins_like_one(stream.read(old.GLIMPSE_BYTES))
        if path.suffix != ".jsonl":
            return False
        found = objects(disk.as_utf8(stream), _is_line, limit=_SNIFFED_BYTES)
        for line in itertools.islice(found, _SNIFFED_OBJECTS):
            if isinstance(line, JsonObject):
                return _is_line(line.value)
    return False


def _is_line(value: Mapping[str, Any]) -> bool:
    """Whether an object is a line of a replay log."""
    if "$set" in value or "$rewindTo" in value:
        return True
    if "type" not in value:
        began = "projectHash" in value or "startTime" in value
        return isinstance(value.get("sessionId"), str) and began
    is_bare = not any(key in value for key in ("sessionId", "uuid", "message", "data"))
    return is_bare and "id" in value and is_message(value) and speaker(value) is not None


def files(path: Path) -> Iterator[Path]:
    """Yield what to read at a place: a file, or what a folder holds of the program.

    Of two recordings of one session the log is read.
    """
    if not there.is_dir(path):
        yield path
        return
    root = path / "tmp" if is_home(path) else path
    for folder, folders, names in os.walk(root):
        folders.sort()
        here = [Path(folder, name) for name in sorted(names) if _is_named(name)]
        logs = [each for each in here if each.suffix == ".jsonl"]
        sessions = {old.session_of(each) for each in logs} if len(logs) < len(here) else set()
        for each in here:
            if root != path and not _is_in_its_place(each):
                continue
            if each.suffix == ".json" and sessions and old.session_of(each) in sessions - {None}:
                continue
            if root != path or _is_ours(each):
                yield each


def _is_named(name: str) -> bool:
    return name.endswith((".json", ".jsonl")) and ".tmp-" not in name


def _is_in_its_place(path: Path) -> bool:
    """Whether a file in the program's own folder is history by its place and name."""
    saved = path.name.startswith("checkpoint-") and path.suffix == ".json"
    return chats_folder(path) is not None or saved or path.name == old.LOGS


def _is_ours(path: Path) -> bool:
    """Whether a file is of this kind; one that cannot be looked into is said to be, and fails."""
    if path.name in disk.CREDENTIAL_NAMES:
        return False
    try:
        return recognises(path)
    except SourceError:
        return True


def is_home(folder: Path) -> bool:
    """Whether the folder is the program's own, where only `tmp` holds history."""
    return folder.name == ".gemini" and there.is_dir(folder / "tmp")


def found(env: Mapping[str, str], home: Path) -> Iterator[FoundSource]:
    """Yield the person's own folder of recordings."""
    root = Path(env.get("GEMINI_CLI_HOME") or home) / ".gemini"
    if not there.is_dir(root / "tmp"):
        return
    listed = places.sizes(root / "tmp", (".json", ".jsonl"))
    sizes = {p: size for p, size in listed if _is_named(p.name) and _is_in_its_place(p)}
    mains = {(p.parent, p.stem) for p in sizes if p.parent.name == CHATS}
    size = sum(sizes.values())
    yield places.found(KIND, root, "Gemini CLI", sessions=len(mains), size=size)


def read(path: Path) -> Iterator[Record]:
    """Yield the sessions and messages of one file; a session before its messages.

    A replay log is gone through twice, and nothing is kept in between but where its messages
    are. Of an old recording the whole object is held, of a list one entry.

    Raises:
        SourceError: the file cannot be read, or was rewritten meanwhile.
    """
    if path.suffix == ".json":
        for told in old.read(path):
            if isinstance(told, old.Document):
                yield from _session(path, told.native_id, told.facts, told.listed)
            else:
                yield told
        size = disk.stamp(path).size
        yield ReadTo(size, size)
        return
    with disk.opened(path) as raw:
        total, reached = disk.stamp_of(raw).size, 0
        stream = _seekable(raw)
        fold = Fold(Facts())
        for line in objects(stream, _is_line):
            if not isinstance(line, JsonObject):
                yield line
                continue
            unknown = fold.add(line)
            if unknown is not None:
                yield UnknownRecord(unknown[:100])
            if line.terminated:
                reached = line.offset + line.length + 1
        facts = fold.facts
        listed = (
            (value, f"{slot.offset}:{slot.length}", slot.rewound)
            for slot, value in values(stream, fold.slots, str(path))
        )
        yield from _session(path, facts.session or path.stem, facts, listed)
        yield ReadTo(min(reached, total), total)


def _seekable(stream: BinaryIO) -> BinaryIO:
    """The stream itself, or its text as UTF-8 in memory where it is written otherwise."""
    text = disk.as_utf8(stream)
    return stream if text is stream else io.BytesIO(b"".join(iter(lambda: text.read(1 << 20), b"")))


def _session(
    path: Path, native_id: str, facts: Facts, listed: Iterable[tuple[Any, str, bool]]
) -> Iterator[Record]:
    """Yield a session, its messages, and again what is known of it only then."""
    is_agent = facts.kind == "subagent" or parent_session(path) is not None
    messages = Messages(native_id, is_agent=is_agent)
    mentioned: set[str] = set(facts.directories)
    told = False
    for value, raw_ref, rewound in listed:
        for call in _calls(value):
            paths_in(call.get("args"), mentioned)
        for record in messages.records(value, raw_ref, rewound=rewound):
            if isinstance(record, MessageRecord) and not told:
                told = True
                yield _record(path, native_id, facts, messages, None)
            yield record
    if told:
        cwd = project_path(path, facts.project_hash, sorted(mentioned))
        yield _record(path, native_id, facts, messages, cwd)


def _calls(value: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    calls = value.get("toolCalls")
    yield from (call for call in calls if isinstance(call, dict)) if isinstance(calls, list) else ()


def _record(
    path: Path, native_id: str, facts: Facts, messages: Messages, cwd: str | None
) -> SessionRecord:
    parent = parent_session(path)
    is_agent = facts.kind == "subagent" or parent is not None
    title, source = facts.summary, TitleSource.MODEL
    if title is None:
        title = messages.title
        source = TitleSource.DERIVED if title else TitleSource.NONE
    kept: dict[str, object] = {}
    if facts.project_hash:
        kept["projectHash"] = facts.project_hash
    if facts.directories:
        kept["directories"] = facts.directories
    return SessionRecord(
        native_id,
        kind=SessionKind.SUBAGENT if is_agent else SessionKind.INTERACTIVE,
        parent_native_id=parent,
        relation=Relation.SUBAGENT if parent else None,
        evidence="explicit" if parent else None,
        title=title,
        title_source=source,
        model=messages.model,
        cwd=cwd,
        started_at_ms=facts.started_at_ms,
        updated_at_ms=facts.updated_at_ms,
        metadata=json_text(kept) if kept else None,
    )
