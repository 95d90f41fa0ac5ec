"""What an append to a transcript costs while it is followed, whatever the transcript's size.

    python -m tests.bench.bench_follow CORPUS STORE_FOLDER

Each append is a prompt and an answer of two lines, imported as watching imports it.
"""

import base64
import json
import shutil
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import apsw

from core.sources.following import Followed
from core.sources.ingest import Import, run_sync
from core.store.connection import open_store
from tests.bench.measuring import Row, library, peak_mb, tell

SIZES_MB = (10, 100)
LINES_A_MB = 400
APPENDS = 15
BUDGET_MS = 100.0
RATIO = 2.0  # of a large to a small transcript, where both cost nearly nothing
MEMORY_BUDGET_MB = 300


def line(number: int, kind: str, *blocks: object) -> str:
    """Return a line of a transcript; each hangs on the one before."""
    at = f"2026-09-{1 + number // 86_400 % 28:02}T{number // 3600 % 24:02}:{number // 60 % 60:02}"
    message = {"role": kind, "content": list(blocks)}
    if kind == "assistant":
        message |= {"id": f"m{number // 3}", "model": "claude-x", "usage": {"output_tokens": 9}}
    parent = f"u{number - 1}" if number else None
    value = {"type": kind, "uuid": f"u{number}", "parentUuid": parent, "sessionId": "s"}
    value |= {"timestamp": f"{at}:{number % 60:02}.000Z", "cwd": "/w", "message": message}
    return json.dumps(value) + "\n"


def turn(number: int) -> str:
    """Return a prompt and its answer, which came as two lines of one API message."""
    prompt = line(3 * number, "user", {"type": "text", "text": f"question {number} about 漓江"})
    thought = {"type": "thinking", "thinking": f"thinking of {number}"}
    said = {"type": "text", "text": f"answer {number}: " + "plain words " * 20}
    return (
        prompt
        + line(3 * number + 1, "assistant", thought)
        + line(3 * number + 2, "assistant", said)
    )


def write(path: Path, megabytes: int) -> int:
    """Write a transcript of about that size, four fifths of it pictures; return its turns."""
    turns = megabytes * LINES_A_MB // 3
    picture = base64.b64encode(bytes(range(256)) * 2400).decode()
    block = {"type": "image", "source": {"type": "base64", "media_type": "x", "data": picture}}
    with path.open("w", encoding="utf-8") as stream:
        for number in range(turns):
            stream.write(turn(number))
            if number % (turns // megabytes) == 0:
                uuid = f'"p{number}"'
                stream.write(line(3 * number, "user", block).replace(f'"u{3 * number}"', uuid))
    return turns


def refresh(db: apsw.Connection, path: Path, followed: Followed) -> Import:
    """Import what there is of one file."""
    job = Import([path], followed=followed)
    for _ in run_sync(db, job):
        pass
    return job


def appends(db: apsw.Connection, path: Path, followed: Followed, turns: int) -> list[float]:
    """Append turn after turn; return the milliseconds of each import."""
    took = []
    for number in range(turns, turns + APPENDS):
        with path.open("a", encoding="utf-8") as stream:
            stream.write(turn(number))
        started = time.perf_counter()
        report = refresh(db, path, followed).report()
        took.append((time.perf_counter() - started) * 1000)
        if (report.new, report.failed, report.files[0].messages) != (2, 0, 2):
            raise SystemExit(f"an append of two messages came to {report}")
    return took


def measured(folder: Path) -> Iterator[Row]:
    """Follow a small and a large transcript, and tell what appends to them cost."""
    medians = []
    for megabytes in SIZES_MB:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True, mode=0o700)
        path = folder / "followed.jsonl"
        turns = write(path, megabytes)
        db = open_store(folder / "store" / "state.db", library())
        followed = Followed()
        started = time.perf_counter()
        refresh(db, path, followed)
        whole = time.perf_counter() - started
        took = appends(db, path, followed, turns)
        medians.append(statistics.median(took))
        size = path.stat().st_size / 1e6
        yield Row(
            f"append to a transcript of {size:.0f} MB",
            f"{medians[-1]:.0f} ms, at most {max(took):.0f} ms",
            f"≤ {BUDGET_MS:.0f} ms",
            medians[-1] <= BUDGET_MS,
        )
        yield Row("  its first import", f"{whole:.1f} s, {size / whole:.0f} MB/s")
        yield Row("  kept of it in memory", f"{followed.bytes / 1e6:.1f} MB")
        db.close()
    small, large = medians
    ratio = large / small
    yield Row("  large against small", f"{ratio:.2f} ×", f"≤ {RATIO} ×", ratio <= RATIO)
    peak = peak_mb()
    yield Row(
        "  peak memory", f"{peak:.0f} MB", f"≤ {MEMORY_BUDGET_MB} MB", peak < MEMORY_BUDGET_MB
    )
    shutil.rmtree(folder)


if __name__ == "__main__":
    tell(list(measured(Path(sys.argv[2]).with_name("followed"))))
