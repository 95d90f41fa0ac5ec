"""Cursor's agent transcripts: JSON lines with a role and blocks, and next to nothing else.

`projects/<project>/agent-transcripts/**/<session>.jsonl` has no ids, no times and most often no
results of tools. A message is known again by its words. The file's own time is that of its
last message, and that message alone gets it: the earlier ones keep the times that they got
while they were the last.
"""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from core.sources import files as disk
from core.sources import there
from core.sources.cursor.talk import Talk
from core.sources.lines import JsonObject, objects, without_surrogates
from core.sources.loose import Json, mapping, text
from core.sources.records import MessageRecord, ReadTo, Record, SessionRecord, UnknownRecord
from core.types import Relation, Role, SessionKind, TimeQuality

FOLDER = "agent-transcripts"

_CONTROL = {"turn_ended", "turn_started"}
_SNIFFED_OBJECTS = 20


def recognises(path: Path) -> bool:
    """Tell whether the first message of a file is a transcript's."""
    with disk.opened(path) as stream:
        for line in itertools.islice(objects(disk.as_utf8(stream), _is_message), _SNIFFED_OBJECTS):
            if isinstance(line, JsonObject):
                return _is_message(line.value)
    return False


def _is_message(value: Json) -> bool:
    if value.keys() & {"id", "session", "sessionId", "timestamp", "type", "uuid"}:
        return False
    content = mapping(value.get("message")).get("content")
    told = isinstance(content, str | list) and "role" not in mapping(value.get("message"))
    return told and text(value, "role") is not None


def parent_of(path: Path) -> tuple[str | None, str | None]:
    """Return the session whose subagent wrote a file, and how that is known."""
    if path.parent.name != "subagents":
        return None, None
    above = path.parent.parent
    if there.is_file(above / f"{above.name}.jsonl") or there.is_file(
        above.parent / f"{above.name}.jsonl"
    ):
        return without_surrogates(above.name), "explicit"
    others = [each.stem for each in itertools.islice(above.glob("*.jsonl"), 2)]
    if len(others) == 1:
        return without_surrogates(others[0]), "heuristic"
    return (
        (without_surrogates(above.name), "explicit")
        if above.parent.name == FOLDER
        else (None, None)
    )


def read(path: Path) -> Iterator[Record]:
    """Yield a session, unless it has no message, and its messages in file order.

    Raises:
        SourceError: the file cannot be read.
    """
    with disk.opened(path) as stream:
        stamp = disk.stamp_of(stream)
        talk, reached = Talk(_session(path, stamp.mtime_ns // 1_000_000)), 0
        held: list[MessageRecord] = []
        is_told = False
        for line in objects(disk.as_utf8(stream), _is_message):
            if not isinstance(line, JsonObject):
                yield line
                continue
            for record in _records(talk, line):
                if not isinstance(record, MessageRecord):
                    yield record
                    continue
                if not is_told:
                    is_told = True
                    yield talk.record
                if record.role == Role.TOOL and held:
                    held.append(_paired(held, record))
                    continue
                yield from held
                held = [record]
                if (session := talk.titled(record)) is not None:
                    yield session
            if line.terminated:
                reached = line.offset + line.length + 1
        if held:
            quality = TimeQuality.FILE_MTIME
            at = stamp.mtime_ns // 1_000_000
            held[-1] = replace(held[-1], created_at_ms=at, time_quality=quality)
        yield from held
        yield ReadTo(min(reached, stamp.size), stamp.size)


def _records(talk: Talk, line: JsonObject) -> Iterator[Record]:
    value, named = line.value, text(line.value, "role")
    if named is not None:
        content = mapping(value.get("message")).get("content", value.get("content"))
        yield from talk.records(named, value, content, line.offset, line.raw_ref)
    elif (kind := text(value, "type")) not in _CONTROL:
        yield UnknownRecord(f"line {kind or 'without a role'}"[:100])


def _paired(held: list[MessageRecord], result: MessageRecord) -> MessageRecord:
    """Return the result as the answer to the call it names, else to the first without one.

    Calls have no ids in these files, results sometimes do: the call gets the result's.
    """
    calls = list(held[0].tool_calls)
    answered = {each.tool_call_id for each in held[1:]}
    for number, call in enumerate(calls):
        if call.id is not None and call.id in answered:
            continue
        if result.tool_call_id is not None and call.id not in (None, result.tool_call_id):
            continue
        key = call.id or result.tool_call_id or f"{held[0].uid}:{number}"
        calls[number] = replace(call, id=key)
        held[0] = replace(held[0], tool_calls=tuple(calls))
        return replace(result, tool_call_id=key, tool_name=result.tool_name or call.name)
    return result


def _session(path: Path, mtime_ms: int) -> SessionRecord:
    parent, evidence = parent_of(path)
    is_subagent = path.parent.name == "subagents"
    return SessionRecord(
        without_surrogates(path.stem),
        kind=SessionKind.SUBAGENT if is_subagent else SessionKind.INTERACTIVE,
        parent_native_id=parent,
        relation=Relation.SUBAGENT if parent else None,
        evidence=evidence,
        cwd=project_of(path),
        updated_at_ms=mtime_ms,
    )


def project_of(path: Path) -> str | None:
    """Return the name of the project's folder; its place cannot be told from it."""
    parts = path.parts
    if FOLDER in parts and (at := parts.index(FOLDER)) > 0:
        return without_surrogates(parts[at - 1])
    return None
