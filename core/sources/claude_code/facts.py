"""What a Claude Code transcript tells about its conversations besides their messages."""

import json
import os
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from core.errors import SourceError
from core.sources import files, there
from core.sources.headline import derived_title
from core.types import TitleSource

Json = Mapping[str, Any]
HEAD_BYTES = 65_536
AGENT_PREFIX = "agent-"


class SessionFacts:
    """What the lines of one conversation said about it: first, last or best, as they came."""

    def __init__(self, root: str | None, offset: int) -> None:
        """Begin a sidechain at its first line, or at offset -1 the file's own conversation."""
        self.root = root
        self.offset = offset
        self.started_at_ms: int | None = None
        self.updated_at_ms: int | None = None
        self.cwd: str | None = None
        self.branch: str | None = None
        self.model: str | None = None
        self.version: str | None = None
        self.first_id: str | None = None
        self.last_id: str | None = None
        self.forked_from: str | None = None
        self.given: tuple[int, str] | None = None
        self.summaries: dict[str, str] = {}
        self.prompt: str | None = None
        self.task: str | None = None
        self.command: str | None = None
        self.answer: str | None = None
        self.lines = 0

    def native_id(self, stem: str) -> str:
        """Return the session's id: the file's name, and a sidechain's first line behind it."""
        if self.offset < 0:
            return stem
        return f"{stem}#{self.root or '@' + str(self.offset)}"

    def see(self, record: Json, at_ms: int | None) -> None:
        """Take in what every line of a message says."""
        self.lines += 1
        if at_ms is not None:
            if self.started_at_ms is None or at_ms < self.started_at_ms:
                self.started_at_ms = at_ms
            if self.updated_at_ms is None or at_ms > self.updated_at_ms:
                self.updated_at_ms = at_ms
        session = record.get("sessionId")
        if isinstance(session, str):
            self.first_id = self.first_id or session
            self.last_id = session
        if self.cwd is None and isinstance(cwd := record.get("cwd"), str) and cwd:
            self.cwd = cwd
        if self.branch is None and isinstance(branch := record.get("gitBranch"), str) and branch:
            self.branch = branch
        if isinstance(version := record.get("version"), str):
            self.version = version
        if self.forked_from is None and isinstance(fork := record.get("forkedFrom"), dict):
            parent = fork.get("sessionId")
            self.forked_from = parent if isinstance(parent, str) else None

    def models(self, model: object) -> None:
        """Remember the last real model; `<synthetic>` marks the program's own words."""
        if isinstance(model, str) and not model.startswith("<"):
            self.model = model

    def titled(self, title: str, rank: int) -> None:
        """Take a title in; the lower rank wins, and the last of a rank."""
        if title.strip() and (self.given is None or rank <= self.given[0]):
            self.given = (rank, title.strip())

    def prompted(self, text: str) -> None:
        """Take a prompt in: the first that gives a title counts."""
        if self.task is None:
            self.task = text
        if self.prompt is None:
            self.prompt = derived_title(text)

    def answered(self, text: object) -> None:
        """Take an answer in, as the last resort for a title."""
        if isinstance(text, str):
            self.answer = derived_title(text)

    def title(self, summary: str | None) -> tuple[str | None, TitleSource]:
        """Return the best title: given, summed up, or made of what was said first."""
        if self.given is not None:
            rank, title = self.given
            return title, TitleSource.MODEL if rank else TitleSource.USER
        if summary:
            return summary, TitleSource.MODEL
        derived = self.prompt or self.command or self.answer
        return derived, TitleSource.DERIVED if derived else TitleSource.NONE

    def absorb(self, other: "SessionFacts") -> None:
        """Take in what was said of a part that turns out to be this conversation."""
        times = (self.started_at_ms, other.started_at_ms)
        self.started_at_ms = min((t for t in times if t is not None), default=None)
        times = (self.updated_at_ms, other.updated_at_ms)
        self.updated_at_ms = max((t for t in times if t is not None), default=None)
        for name in ("cwd", "branch", "first_id", "forked_from", "prompt", "task", "command"):
            setattr(self, name, getattr(self, name) or getattr(other, name))
        self.answer = self.answer or other.answer
        self.model = other.model or self.model
        self.version = other.version or self.version
        self.last_id = other.last_id or self.last_id
        self.lines += other.lines


def parent_by_folder(path: Path) -> str | None:
    """Return the session whose folder a subagent's file lies in: `<session>/subagents/…`."""
    for folder in path.parents:
        if folder.name == "subagents":
            return folder.parent.name
    return None


def told_beside(path: Path) -> dict[str, object]:
    """Return what `agent-….meta.json` beside an agent's file says of it, {} without one."""
    meta = path.with_suffix(".meta.json")
    if not there.is_file(meta):
        return {}
    try:
        with files.opened(meta) as stream:
            found = json.loads(stream.read(HEAD_BYTES))
    except (SourceError, ValueError, RecursionError):
        return {}  # the transcript stands without it
    kept = ("agentType", "description", "toolUseId", "spawnDepth")
    return {key: found[key] for key in kept if key in found} if isinstance(found, dict) else {}


def summaries_beside(path: Path) -> dict[str, str]:
    """Return the summaries by leaf id that the files of a project's folder begin with.

    Old versions put the summary of one conversation into the file of another.
    """
    folder = path.parent
    try:
        changed = folder.stat().st_mtime_ns
    except OSError:
        return {}
    return _summaries_in(folder, changed)


@lru_cache(maxsize=64)
def _summaries_in(folder: Path, changed_ns: int) -> dict[str, str]:  # noqa: ARG001 (cache key)
    found: dict[str, str] = {}
    with os.scandir(folder) as entries:
        names = sorted(e.name for e in entries if e.name.endswith(".jsonl"))
    for name in names:
        if name.startswith(AGENT_PREFIX):
            continue
        try:
            with files.opened(folder / name) as stream:
                head = stream.read(HEAD_BYTES)
        except SourceError:
            continue  # the file itself is reported when its turn comes
        if b'"leafUuid"' in head:
            found.update(_summaries_of(head))
    return found


_SUMMARY = re.compile(rb'\s*\{"type":\s*"summary"')


def _summaries_of(head: bytes) -> dict[str, str]:
    found = {}
    for line in head.split(b"\n")[:200]:
        if not _SUMMARY.match(line):
            break  # they stand at the top of the file or nowhere
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record.get("summary"), str) and isinstance(record.get("leafUuid"), str):
            found[record["leafUuid"]] = record["summary"]
    return found
