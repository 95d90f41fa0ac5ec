"""Where Pi, Oh-My-Pi and OpenClaw keep sessions, and which files of theirs are transcripts."""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from core.sources import there


class Program(NamedTuple):
    """One of the three. `instance` tells their sources apart."""

    instance: str
    name: str
    home: str


PI = Program("", "Pi", ".pi")
OMP = Program("omp", "Oh-My-Pi", ".omp")
OPENCLAW = Program("openclaw", "OpenClaw", ".openclaw")
_OLD_HOMES = (".clawdbot", ".moltbot")  # what OpenClaw was called before

# `<id>.jsonl`, `<id>-topic-<n>.jsonl`, and `<id>.jsonl.reset.<time>` of OpenClaw. Beside them:
# `.deleted.<time>`, `.bak-<n>`, `.lock` and `.checkpoint.<uuid>.jsonl`.
_TRANSCRIPT = re.compile(
    r"(?!.*\.(checkpoint|deleted|bak|lock)\b)[^/\\]+\.jsonl(\.reset\.[^/\\]+)?"
)
_RESET = re.compile(r"\.jsonl\.reset\.")


def is_transcript(name: str) -> bool:
    """Whether a file of this name can be a session's transcript."""
    return _TRANSCRIPT.fullmatch(name) is not None


def is_archived(name: str) -> bool:
    """Whether a transcript was put away at a reset."""
    return _RESET.search(name) is not None


def program_of(path: Path) -> Program:
    """Return the program that a place belongs to; Pi where nothing tells."""
    parts = path.resolve().parts
    if any(part in (OPENCLAW.home, *_OLD_HOMES) for part in parts):
        return OPENCLAW
    if path.parent.name == "sessions" and path.parent.parent.parent.name == "agents":
        return OPENCLAW
    return OMP if OMP.home in parts else PI


def is_home(folder: Path) -> bool:
    """Whether a folder is laid out as one of the programs lays out its own."""
    if there.is_dir(folder / "agent" / "sessions") or folder.parts[-2:] == ("agent", "sessions"):
        return True
    agents = folder if folder.name == "agents" else folder / "agents"
    return next(agents.glob("*/sessions/sessions.json"), None) is not None


def transcripts(folder: Path) -> Iterator[Path]:
    """Yield the transcripts below a home, a folder of sessions, or any other folder."""
    if there.is_dir(folder / "agent" / "sessions"):
        folder = folder / "agent" / "sessions"
    elif there.is_dir(folder / "agents"):
        folder = folder / "agents"
    for place, folders, names in os.walk(folder):
        folders.sort()
        told = (name for name in names if is_transcript(name))
        for name in sorted(told, key=lambda name: (not is_archived(name), name)):
            yield Path(place, name)


def roots(env: Mapping[str, str], home: Path) -> Iterator[tuple[Program, Path]]:
    """Yield each program's folder of sessions that is there."""
    given = env.get("PI_CODING_AGENT_SESSION_DIR")
    agent = Path(env.get("PI_CODING_AGENT_DIR") or home / PI.home / "agent")
    candidates = [(PI, Path(given) if given else agent / "sessions")]
    candidates.append((OMP, home / OMP.home / "agent" / "sessions"))
    state = env.get("OPENCLAW_STATE_DIR")
    homes = (state,) if state else (OPENCLAW.home, *_OLD_HOMES)
    candidates += [(OPENCLAW, home / each / "agents") for each in homes]
    yield from ((program, root) for program, root in candidates if there.is_dir(root))
