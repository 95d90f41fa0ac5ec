"""What it costs to look again at the homes of three programs in which nothing changed.

    python -m tests.bench.bench_homes CORPUS STORE_FOLDER

A thousand sessions each, of four messages: Claude Code's transcripts, Codex' rollouts, and the
files of OpenCode before its database, nine of them for a session.
"""

import json
import shutil
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import apsw

from core.sources.ingest import Import, run_sync
from core.store.connection import open_store
from tests.bench.measuring import Row, library, tell, timed

SESSIONS = 1000
MESSAGES = 4
BUDGET_MS = 300.0
RUNS = 7
AT = "2026-09-01T00:00:00.000Z"
ROLES = ("user", "assistant")


def _write(path: Path, *values: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(value) + "\n" for value in values), encoding="utf-8")


def claude_code(home: Path) -> Path:
    """Write transcripts into twenty projects; return the program's folder."""
    root = home / ".claude"
    for n in range(SESSIONS):
        name = str(uuid.UUID(int=n))
        lines = [
            {"type": ROLES[m % 2], "uuid": f"{name}-{m}", "sessionId": name, "timestamp": AT,
             "parentUuid": f"{name}-{m - 1}" if m else None, "cwd": "/w",
             "message": {"role": ROLES[m % 2], "content": f"words {n} {m}"}}
            for m in range(MESSAGES)
        ]  # fmt: skip
        _write(root / "projects" / f"-w-{n % 20}" / f"{name}.jsonl", *lines)
    return root


def codex(home: Path) -> Path:
    """Write rollouts into a folder for each day; return the program's folder."""
    root = home / ".codex"
    for n in range(SESSIONS):
        name, month, day = uuid.UUID(int=n), 1 + n % 12, 1 + n % 28
        meta = {"id": str(name), "timestamp": AT, "cwd": "/w", "cli_version": "0.50"}
        lines: list[dict[str, object]] = [
            {"timestamp": AT, "type": "session_meta", "payload": meta}
        ]
        for m in range(MESSAGES):
            part = {"type": ("input_text", "output_text")[m % 2], "text": f"words {n} {m}"}
            said = {"type": "message", "role": ROLES[m % 2], "content": [part]}
            lines.append({"timestamp": AT, "type": "response_item", "payload": said})
        folder = root / "sessions" / "2026" / f"{month:02}" / f"{day:02}"
        _write(folder / f"rollout-2026-{month:02}-{day:02}T09-00-00-{name}.jsonl", *lines)
    return root


def opencode(home: Path) -> Path:
    """Write a file for each session, message and part; return the program's folder."""
    root = home / "opencode"
    for n in range(SESSIONS):
        name, at_ms = f"ses_{n:06}", 1_750_000_000_000 + n * 1000
        told = {"id": name, "title": f"t {n}", "time": {"created": at_ms, "updated": at_ms}}
        _write(root / "storage" / "session" / f"p{n % 10}" / f"{name}.json", told)
        for m in range(MESSAGES):
            message, part = f"msg_{n:06}{m}", f"prt_{n:06}{m}"
            of = {"sessionID": name, "messageID": message}
            said = {"id": message, "sessionID": name, "role": ROLES[m % 2]}
            said_at = {"time": {"created": at_ms + m}}
            _write(root / "storage" / "message" / name / f"{message}.json", said | said_at)
            text = {"id": part, **of, "type": "text", "text": f"words {n} {m}"}
            _write(root / "storage" / "part" / message / f"{part}.json", text)
    return root


def measured(folder: Path) -> Iterator[Row]:
    """Import each home once, then look at it again and again."""
    for name, write in (("Claude Code", claude_code), ("Codex", codex), ("OpenCode", opencode)):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True, mode=0o700)
        home = write(folder)
        db = open_store(folder / "store" / "state.db", library())

        def look(home: Path = home, db: apsw.Connection = db) -> Import:
            job = Import([home])
            for _ in run_sync(db, job):
                pass
            return job

        first = look().report()
        again = timed(look, RUNS)
        last = look().report()
        if (first.new, last.new, last.unchanged) != (SESSIONS * MESSAGES, 0, SESSIONS):
            raise SystemExit(
                f"{name}: {first.new} new, then {last.new}, {last.unchanged} unchanged"
            )
        yield Row(
            f"another look at {SESSIONS:,} sessions of {name}",
            f"{again.median:.0f} ms (CPU {again.cpu:.0f})",
            f"≤ {BUDGET_MS:.0f} ms of CPU",
            again.cpu <= BUDGET_MS,
        )
        db.close()
    shutil.rmtree(folder)


if __name__ == "__main__":
    tell(list(measured(Path(sys.argv[2]).with_name("homes"))))
