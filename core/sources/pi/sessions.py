"""The session of a transcript of Pi, with what OpenClaw keeps of it in `sessions.json`."""

import re
from pathlib import Path

from core.errors import SourceError
from core.sources import files as disk
from core.sources import there
from core.sources.instants import instant_ms
from core.sources.lines import whole, without_surrogates
from core.sources.loose import Json, identifier, json_text, mapping, text
from core.sources.pi.outline import Outline
from core.sources.pi.places import is_archived
from core.sources.records import SessionRecord
from core.types import Relation, SessionKind, TitleSource

INDEX = "sessions.json"
_INDEX_BYTES = 16 << 20
_NAME = re.compile(r"(?:[0-9T:.Z-]+_)?(.+?)\.jsonl(?:\.reset\..*)?$")


def session(path: Path, outline: Outline) -> SessionRecord:
    """Return the session of an outlined transcript."""
    key, entry, parent_of = _indexed(path, _native_id(path, outline.header))
    beside = path.parent.with_name(path.parent.name + ".jsonl")
    kind, evidence = _kind(key), "explicit"
    # Oh-My-Pi keeps what a session makes in its folder
    if parent_of is None and there.is_file(beside):
        kind, parent_of, evidence = SessionKind.SUBAGENT, id_in(beside.name), "heuristic"
    parent, relation = parent_of, Relation.SUBAGENT if parent_of else None
    if parent is None and (told := text(outline.header, "parentSession", "branchedFrom")):
        parent, relation = id_in(told), Relation.FORK
    native_id = _native_id(path, outline.header)
    if parent == native_id:
        parent, relation = None, None
    title, source = _title(outline, entry)
    return SessionRecord(
        native_id,
        kind=kind,
        parent_native_id=parent,
        relation=relation,
        evidence=evidence if parent else None,
        title=title,
        title_source=source,
        model=outline.model or text(outline.header, "modelId"),
        cwd=text(outline.header, "cwd"),
        started_at_ms=instant_ms(outline.header.get("timestamp")) or outline.started_at_ms,
        updated_at_ms=outline.updated_at_ms,
        end_reason="reset" if is_archived(path.name) else None,
        metadata=json_text({"key": key}) if key else None,
        channel=text(entry, "channel", "lastChannel"),
    )


def id_in(told: str) -> str:
    """Return the id of a session that is named by its file, or by its id."""
    name = told.replace("\\", "/").rsplit("/", 1)[-1]
    found = _NAME.match(name)
    return without_surrogates(found[1] if found else name)[:200] or "?"


def _native_id(path: Path, header: Json) -> str:
    return identifier(header.get("id")) or id_in(path.name)


def _title(outline: Outline, entry: Json) -> tuple[str | None, TitleSource]:
    given = outline.title or text(entry, "label")
    if given:
        return given, TitleSource.USER
    made = outline.made_title or text(outline.header, "title") or text(entry, "subject")
    if made:
        return made, TitleSource.MODEL
    derived = outline.prompt or outline.answer
    return derived, TitleSource.DERIVED if derived else TitleSource.NONE


def _kind(key: str) -> SessionKind:
    """What started a session, by its key: `agent:<agent>:cron:<id>`, `…:subagent:<id>`."""
    parts = key.split(":")
    if "subagent" in parts:
        return SessionKind.SUBAGENT
    return SessionKind.CRON if "cron" in parts else SessionKind.INTERACTIVE


def _indexed(path: Path, native_id: str) -> tuple[str, Json, str | None]:
    """Return the key, the entry and the parent of a session in the index beside it."""
    try:
        with disk.opened(path.with_name(INDEX)) as stream:
            raw = stream.read(_INDEX_BYTES + 1)
    except SourceError:
        return "", {}, None
    index = whole(raw) if len(raw) <= _INDEX_BYTES else None
    for key, value in (index or {}).items():
        entry = mapping(value)
        if entry.get("sessionId") == native_id:
            spawner = mapping((index or {}).get(str(entry.get("spawnedBy"))))
            return key, entry, identifier(spawner.get("sessionId"))
    return "", {}, None
