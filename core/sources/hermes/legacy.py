"""Hermes' session files from before it had a database, and those it still writes beside it.

`sessions/session_<id>.json` is a snapshot of one session, rewritten whole; `sessions/<id>.jsonl`
one message a line behind a line of role `session_meta`, with naive local times. Either may hold
more than the database does. `hermes sessions export` writes one snapshot a line.
"""

import difflib
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.errors import SourceError
from core.sources import files as source_files
from core.sources.hermes.copies import digest, told_by
from core.sources.instants import Instant, instant, instant_ms
from core.sources.lines import LINE_BYTES, JsonObject, objects, too_deep, without_surrogates
from core.sources.records import BadSourceRecord, SessionRecord
from core.types import TimeQuality, TitleSource

FOLDER = "sessions"
SUFFIXES = (".json", ".jsonl")

_PREFIX = "session_"
_INDEX = "sessions.json"  # which chat goes to which session; no messages
_COUNT = re.compile(rb'"message_count"\s*:\s*(\d{1,9})\b')
_COMPARED = 4_000_000  # pairs of messages up to which two transcripts are aligned


@dataclass(slots=True)
class OldSession:
    """One session of an old file: its header, its rows as they stand, and where they stand."""

    native_id: str
    header: dict[str, Any]
    rows: list[dict[str, Any]] = field(default_factory=list)

    def told(self) -> list[bytes | None]:
        """Return what identifies the words of each row; see `hermes.copies.told_by`."""
        return [
            told_by(r.get("role"), r.get("content"), r.get("tool_call_id"), _calls(r))
            for r in self.rows
        ]

    def record(self, title: str | None) -> SessionRecord:
        """Return the session itself, for a database that does not know it."""
        told = _string(self.header.get("title"))
        config = self.header.get("model_config")
        cwd = _string(self.header.get("cwd"))
        if cwd is None and isinstance(config, dict):
            cwd = _string(config.get("cwd"))
        derived = TitleSource.DERIVED if title else TitleSource.NONE
        platform = _string(self.header.get("platform")) or _string(self.header.get("source"))
        return SessionRecord(
            self.native_id,
            title=told or title,
            title_source=TitleSource.MODEL if told else derived,
            model=_string(self.header.get("model")),
            cwd=cwd,
            started_at_ms=self.started()[0],
            updated_at_ms=instant_ms(self.header.get("last_updated")),
            channel=platform.strip().lower() if platform else None,
            metadata=json.dumps({"source": platform}, ensure_ascii=False) if platform else None,
        )

    def started(self) -> Instant:
        """Return when the session began, as the header tells."""
        return instant(self.header.get("session_start", self.header.get("started_at")))

    def at(self, row: dict[str, Any]) -> Instant:
        """Return the time of a row: its own, else the session's."""
        own = instant(row.get("timestamp"))
        if own[0] is not None:
            return own
        start = self.started()[0]
        return start, TimeQuality.SESSION if start is not None else TimeQuality.NONE

    def uids(self) -> list[str]:
        """Return an id for each row: of its words, and which of its equals in the session it is."""
        seen: Counter[bytes] = Counter()
        found = []
        for row, told in zip(self.rows, self.told(), strict=True):
            key = told or digest(8, row.get("role"))
            seen[key] += 1
            found.append(digest(16, "old", self.native_id, key.hex(), seen[key]).hex())
        return found


def recognises(path: Path) -> bool:
    """Tell by name and first bytes whether a file is an old session file or an export."""
    if path.name == _INDEX or path.suffix not in SUFFIXES:
        return False
    try:
        with source_files.opened(path) as stream:
            head = stream.read(4096).lstrip()
    except SourceError:
        return False
    if path.suffix == ".json":
        # Cline names a session's file alike, which tells where its messages are.
        ours = b'"session_id"' in head and b'"messages_path"' not in head
        return path.name.startswith(_PREFIX) and ours
    first = head.partition(b"\n")[0]
    meta = b'"session_meta"' in first and b'"role"' in first
    return meta or (first.startswith(b'{"id"') and b'"started_at"' in first)


def files(home: Path) -> Iterator[Path]:
    """Yield the old files of a home, or of a folder of them, one per session: the longer one."""
    for folder in (home / FOLDER, home):
        chosen: dict[str, Path] = {}
        for path in sorted((*folder.glob(f"{_PREFIX}*.json"), *folder.glob("*.jsonl"))):
            if recognises(path):
                key = path.stem.removeprefix(_PREFIX)
                # Of two equally long ones the lines, which have times, come second and stay.
                if key not in chosen or at_most(path) >= at_most(chosen[key]):
                    chosen[key] = path
        yield from chosen.values()


def at_most(path: Path) -> int:
    """Return a number of messages that the file does not exceed, without parsing it."""
    with source_files.opened(path) as stream:
        raw = stream.read(LINE_BYTES)
    if path.suffix == ".jsonl":
        return raw.count(b"\n") + 1
    told = _COUNT.search(raw)
    return int(told.group(1)) if told else raw.count(b'"role"')


def sessions_in(path: Path) -> Iterator[OldSession | BadSourceRecord]:
    """Yield the sessions of a file. A damaged line costs itself, a damaged snapshot the file.

    Memory: one session, which is at most `LINE_BYTES` of JSON.
    """
    if path.suffix == ".json":
        yield _snapshot(path)
        return
    session = OldSession(without_surrogates(path.stem), {})
    with source_files.opened(path) as stream:
        for found in objects(stream, _is_row):
            if isinstance(found, BadSourceRecord):
                yield found
            elif isinstance(found, JsonObject):
                if isinstance(found.value.get("messages"), list):
                    yield _of_snapshot(path, found.value)
                elif found.value.get("role") == "session_meta":
                    session.header = {**found.value, **session.header}
                else:
                    session.rows.append(found.value)
    if session.rows or session.header:
        session.header.setdefault("session_start", session.header.get("timestamp"))
        session.native_id = _string(session.header.get("session_id")) or session.native_id
        yield session


def missing(
    stored: Sequence[tuple[int, bytes | None]], told: Sequence[bytes | None]
) -> list[tuple[int, int, int]]:
    """Return what of `told` a transcript lacks, as (index, position before it, how far behind).

    Both are aligned by their longest common runs; where that would take too long, by counting
    equal words.
    """
    before = [words for _, words in stored]
    places = [place for place, _ in stored]
    found: list[tuple[int, int, int]] = []
    if len(before) * len(told) > _COMPARED:
        left = Counter(before)
        for index, words in enumerate(told):
            left[words] -= 1
            if left[words] < 0:
                found.append((index, places[min(index, len(places) - 1)], len(found) + 1))
        return found
    matcher = difflib.SequenceMatcher(None, before, list(told), autojunk=False)
    for tag, old, _, new, end in matcher.get_opcodes():
        if tag in ("insert", "replace"):
            anchor = places[old - 1] if old else (places[0] - 1 if places else 0)
            found += [(i, anchor, i - new + 1) for i in range(new, end)]
    return found


def _snapshot(path: Path) -> OldSession | BadSourceRecord:
    with source_files.opened(path) as stream:
        raw = stream.read(LINE_BYTES + 1)
    if len(raw) > LINE_BYTES:
        return BadSourceRecord(1, f"{path.name} is larger than is read at once")
    if too_deep(raw):
        return BadSourceRecord(1, f"{path.name} is nested too deep")
    try:
        value = json.loads(raw.decode("utf-8-sig", "replace"), strict=False)
    except ValueError as error:
        return BadSourceRecord(1, f"{path.name} is not JSON: {str(error).partition(';')[0]}")
    if not isinstance(value, dict):
        return BadSourceRecord(1, f"{path.name} holds no session")
    return _of_snapshot(path, value)


def _of_snapshot(path: Path, value: dict[str, Any]) -> OldSession:
    rows = value.pop("messages", None)
    native_id = _string(value.get("session_id")) or _string(value.get("id"))
    session = OldSession(native_id or without_surrogates(path.stem.removeprefix(_PREFIX)), value)
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, dict) and row.get("role") != "session_meta":
            session.rows.append(row)
    return session


def _is_row(value: dict[str, Any]) -> bool:
    return isinstance(value.get("role"), str) or isinstance(value.get("messages"), list)


def _calls(row: dict[str, Any]) -> str | None:
    """Calls as a database would keep them."""
    calls = row.get("tool_calls")
    return json.dumps(calls) if isinstance(calls, list) and calls else None


def _string(value: object) -> str | None:
    return without_surrogates(value) if isinstance(value, str) and value.strip() else None
