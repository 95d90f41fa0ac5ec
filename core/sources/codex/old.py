"""Reads the sessions of 2025-04: one pretty-printed JSON object with a list of items."""

import json
from collections.abc import Iterator
from pathlib import Path

from core.errors import SourceError
from core.sources.codex import rollout_files
from core.sources.codex.drafts import Plan
from core.sources.codex.survey import JsonDict, metadata_of
from core.sources.codex.texts import mapping, string
from core.sources.codex.walk import Walk
from core.sources.instants import instant_ms
from core.sources.lines import JsonObject, without_surrogates
from core.sources.records import BadSourceRecord, MessageRecord, ReadTo, Record, SessionRecord
from core.types import TitleSource

LARGEST_BYTES = 256 << 20


def read(path: Path) -> Iterator[Record]:
    """Yield the session and its items. The items have no times; the session's start stands in.

    Of a damaged file the items before the damage are read.

    Raises:
        SourceError: the file is no session, or too large to be read at once.
    """
    if path.stat().st_size > LARGEST_BYTES:
        raise SourceError("the file is too large for its format", path=str(path))
    text = path.read_bytes().decode("utf-8-sig", "replace")
    meta, items, damage = parsed(text)
    if meta is None:
        raise SourceError("this is not a Codex session", path=str(path))
    session = string(meta.get("id")) or rollout_files.id_in(path.name) or path.stem
    walk = Walk(Plan(session, started_at_ms=instant_ms(meta.get("timestamp"))))
    begun = False
    for record in _told(walk, items):
        if isinstance(record, MessageRecord) and not begun:
            yield _header(path, session, meta, walk)
            begun = True
        yield record
    if damage:
        yield BadSourceRecord(len(items) + 1, damage)
    if begun:
        yield _header(path, session, meta, walk)
    yield ReadTo(path.stat().st_size, path.stat().st_size)


def _told(walk: Walk, items: list[object]) -> Iterator[Record]:
    for number, item in enumerate(items):
        if isinstance(item, dict):
            yield from walk.line(JsonObject(number + 1, number, 0, item, terminated=True))
        else:
            yield BadSourceRecord(number + 1, "an item that is not an object")
    yield from walk.finish()


def _header(path: Path, session: str, meta: JsonDict, walk: Walk) -> SessionRecord:
    title = walk.first_prompt or walk.first_answer
    return SessionRecord(
        native_id=session,
        title=title,
        title_source=TitleSource.DERIVED if title else TitleSource.NONE,
        started_at_ms=instant_ms(meta.get("timestamp")),
        updated_at_ms=walk.last_at_ms,
        archived="archived_sessions" in path.parts,
        metadata=metadata_of(meta),
    )


def parsed(text: str) -> tuple[JsonDict | None, list[object], str | None]:
    """Return the session's header, its items, and what is wrong with the text, if anything."""
    decoder = json.JSONDecoder(strict=False)
    try:
        whole = mapping(decoder.decode(without_surrogates(text)))
    except (ValueError, RecursionError) as error:
        return _before_damage(decoder, text, str(error))
    items = whole.get("items")
    header = whole.get("session")
    if not isinstance(header, dict) or not isinstance(items, list):
        return None, [], None
    return header, items, None


def _before_damage(
    decoder: json.JSONDecoder, text: str, damage: str
) -> tuple[JsonDict | None, list[object], str | None]:
    header = _value_of(decoder, text, '"session"')
    start = text.find("[", max(text.find('"items"'), 0))
    items: list[object] = []
    while start >= 0:
        try:
            item, end = decoder.raw_decode(text, start + 1 + _spaces(text, start + 1))
        except (ValueError, RecursionError):
            break
        items.append(item)
        start = text.find(",", end) if text[end : end + 16].lstrip().startswith(",") else -1
    return (header if isinstance(header, dict) else None), items, damage


def _value_of(decoder: json.JSONDecoder, text: str, key: str) -> object:
    colon = text.find(":", max(text.find(key), 0))
    try:
        return decoder.raw_decode(text, colon + 1 + _spaces(text, colon + 1))[0]
    except (ValueError, RecursionError):
        return None


def _spaces(text: str, start: int) -> int:
    return len(text[start : start + 4096]) - len(text[start : start + 4096].lstrip())
