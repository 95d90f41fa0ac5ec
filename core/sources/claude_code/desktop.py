"""Claude Desktop's own agent sessions: Claude Code's transcripts in folders of their own.

Below `<app data>/Claude/local-agent-mode-sessions/<two ids of the account>/` each session has
`local_<uuid>.json`, which tells of it, and `local_<uuid>/.claude/projects/*/<id>.jsonl`, its
transcript. The lines were written in a virtual machine, whose folder they name.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.errors import SourceError
from core.sources import files, there
from core.sources.instants import instant_ms

SESSIONS = "local-agent-mode-sessions"
CHANNEL = "desktop"

_TOLD_BYTES = 4 << 20
_IN_MACHINE = "/sessions/"


@dataclass(frozen=True, slots=True)
class Told:
    """What the program tells of a session, as far as it does."""

    title: str | None = None
    cwd: str | None = None
    model: str | None = None
    started_at_ms: int | None = None
    updated_at_ms: int | None = None
    archived: bool = False


def is_home(folder: Path) -> bool:
    """Whether the folder is where the program keeps its sessions."""
    return folder.name == SESSIONS


def transcripts(root: Path) -> Iterator[Path]:
    """Yield the transcripts of all sessions; what else a session's folder holds is not history."""
    for projects in sorted(root.glob("*/*/local_*/.claude/projects")):
        yield from sorted(path for path in projects.rglob("*.jsonl") if there.is_file(path))


def homes(env: Mapping[str, str], home: Path) -> Iterator[Path]:
    """Yield where the sessions may be: on Linux, macOS and Windows."""
    bases = (
        Path(env.get("XDG_CONFIG_HOME") or home / ".config"),
        home / "Library/Application Support",
        Path(env.get("APPDATA") or home / "AppData/Roaming"),
    )
    for base in dict.fromkeys(bases):
        if there.is_dir(base / "Claude" / SESSIONS):
            yield base / "Claude" / SESSIONS


def told(path: Path) -> Told | None:
    """Return what is told of the session of a transcript, None for one of Claude Code itself.

    Nothing of the account is read out of it.
    """
    folder = _session_folder(path)
    if folder is None:
        return None
    beside = folder.with_name(f"{folder.name}.json")
    try:
        with files.opened(beside) as stream:
            value = json.loads(stream.read(_TOLD_BYTES))
    except (SourceError, ValueError, RecursionError):
        return Told()  # the transcript stands without it
    return _read(value, path.stem) if isinstance(value, dict) else Told()


def _session_folder(path: Path) -> Path | None:
    """The folder `local_…` of a transcript's session."""
    if "local_" not in str(path):  # a look at each folder above is dear for thousands of files
        return None
    for folder in path.parents:
        if folder.name == ".claude" and folder.parent.name.startswith("local_"):
            return folder.parent
    return None


def _read(value: Mapping[str, Any], stem: str) -> Told:
    cwd = _text(value.get("cwd"))
    selected = value.get("userSelectedFolders")
    if cwd is None or cwd.startswith(_IN_MACHINE):
        given = selected[0] if isinstance(selected, list) and selected else None
        cwd = _text(given) or cwd
    if _text(value.get("cliSessionId")) not in (None, stem):
        return Told(cwd=cwd)  # of another transcript: a subagent's, or what was begun anew
    return Told(
        _text(value.get("title")),
        cwd,
        _text(value.get("model")),
        _at_ms(value.get("createdAt")),
        _at_ms(value.get("lastActivityAt")),
        value.get("isArchived") is True,
    )


def _text(value: object) -> str | None:
    return value.strip() or None if isinstance(value, str) else None


def _at_ms(value: object) -> int | None:
    """A time of the program, which counts milliseconds, or writes it as text."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return instant_ms(value / 1000)
        except OverflowError:  # an integer beyond every float
            return None
    return instant_ms(value)
