"""Where Gemini CLI keeps recordings, and of which project a folder of them is.

Below `~/.gemini/tmp/` each project has a folder, named by a slug that `projects.json` lists, or
by the SHA-256 of the project's path. That cannot be inverted: paths that may be the project are
hashed until one fits.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from core.errors import SourceError
from core.sources import files, there

CHATS = "chats"
_TOLD_BYTES = 1 << 20
_MOST_PATHS = 4000
_HASH = re.compile(r"[0-9a-f]{64}")
_PATH = re.compile(r"(?:[A-Za-z]:\\|/)[^\s\"'<>|*?:;,()\[\]{}`]+")


def chats_folder(path: Path) -> Path | None:
    """Return the folder `chats` that a recording lies in or below, None for another place."""
    return next((p for p in list(path.parents)[:3] if p.name == CHATS), None)


def project_folder(path: Path) -> Path:
    """Return the folder of the project that a file of the program belongs to."""
    chats = chats_folder(path)
    return path.parent if chats is None else chats.parent


def parent_session(path: Path) -> str | None:
    """Return the session whose subagent a recording is: `chats/<session>/<agent>.jsonl`."""
    chats = chats_folder(path)
    return None if chats in (None, path.parent) else path.parent.name


def project_path(path: Path, told_hash: str | None, candidates: Iterable[str]) -> str | None:
    """Return the path of the project of a recording, None where nothing tells it.

    Args:
        path: the recording.
        told_hash: the hash that the recording itself names.
        candidates: paths that may be the project, or lie in it.
    """
    folder = project_folder(path)
    root = folder.parent.parent
    told = _told_text(folder / ".project_root")
    if told is not None:
        return told
    listed = _listed(root)
    for place, slug in listed.items():
        if slug == folder.name:
            return place
    wanted = {each for each in (folder.name, told_hash) if each and _HASH.fullmatch(each)}
    if not wanted:
        return None
    for place in (*listed, *candidates, *_around(root)):
        for each in _with_parents(place):
            if hashlib.sha256(each.encode(errors="replace")).hexdigest() in wanted:
                return each
    return None


def paths_in(value: object, found: set[str]) -> None:
    """Add the absolute paths that a tool's arguments name, up to a bound."""
    todo = [value]
    while todo and len(found) < _MOST_PATHS:
        part = todo.pop()
        if isinstance(part, str):
            if _PATH.match(part) and "\n" not in part and len(part) <= 500:
                found.add(part)
            found.update(match[:500] for match in _PATH.findall(part[:4000]))
        elif isinstance(part, dict):
            todo.extend(part.values())
        elif isinstance(part, list):
            todo.extend(part)


def _with_parents(place: str) -> Iterator[str]:
    pure = PureWindowsPath(place) if "\\" in place else PurePosixPath(place)
    yield place
    yield from (str(each) for each in pure.parents)


@lru_cache(maxsize=16)
def _listed(root: Path) -> Mapping[str, str]:
    """The projects that the program lists, with their slugs ('' where it tells none)."""
    found: dict[str, str] = {}
    for name in ("projects.json", "trustedFolders.json"):
        told = _told_json(root / name)
        inner = told.get("projects")
        for place, slug in (inner if isinstance(inner, dict) else told).items():
            found.setdefault(place, slug if name == "projects.json" and _is_text(slug) else "")
    return found


def _is_text(value: object) -> bool:
    return isinstance(value, str)


@lru_cache(maxsize=16)
def _around(root: Path) -> tuple[str, ...]:
    """The folders of the person whose `.gemini` it is, two levels down."""
    if root.name != ".gemini":
        return ()
    found = [str(root.parent)]
    for place in found:
        if len(found) > _MOST_PATHS or len(Path(place).parts) > len(root.parent.parts) + 1:
            break
        try:
            with os.scandir(place) as entries:
                found += [e.path for e in entries if e.is_dir(follow_symlinks=False)]
        except OSError:
            continue  # what may not be looked into is no candidate
    return tuple(found[:_MOST_PATHS])


def _told_text(path: Path) -> str | None:
    if not there.is_file(path):
        return None
    try:
        with files.opened(path) as stream:
            told = stream.read(4096).decode("utf-8", "replace").strip()
    except SourceError:
        return None  # the recording stands without it
    return told or None


def _told_json(path: Path) -> dict[str, Any]:
    if not there.is_file(path):
        return {}
    try:
        with files.opened(path) as stream:
            found = json.loads(stream.read(_TOLD_BYTES))
    except (SourceError, ValueError, RecursionError):
        return {}  # the recording stands without it
    return found if isinstance(found, dict) else {}
