"""What the largest files need: a transcript, a file of JSON lines and an export, each alone.

    python -m tests.bench.bench_large CORPUS STORE_FOLDER

Most of their bytes are pictures and tool output, as in real ones that grow so large.
"""

import json
import random
import shutil
import sys
import time
import uuid
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

from core.sources.ingest import Import, run_sync
from core.store.connection import open_store
from tests.bench.measuring import Row, in_own_process, library, peak_mb, tell

MEMORY_BUDGET_MB = 300
MB = 1_000_000
WORDS = ("alpha", "beta", "gamma", "漓江", "delta", "plan", "订阅", "kestrel")


def transcript(path: Path, size: int) -> int:
    """Write many short lines; return the messages."""
    rng, parent, written, number = random.Random(1), None, 0, 0
    with path.open("w", encoding="utf-8") as stream:
        while written < size:
            kind, content = line(rng, number)
            message = {"role": kind, "content": content}
            if kind == "assistant":
                message |= {"id": f"msg_{number:024d}", "usage": {"output_tokens": 2}}
            value = {"type": kind, "uuid": str(uuid.UUID(int=rng.getrandbits(128)))}
            value |= {"parentUuid": parent, "sessionId": "s", "cwd": "/w", "message": message}
            value |= {"toolUseResult": "x" * 2_600 if number % 4 == 3 else None}
            written += stream.write(json.dumps(value, ensure_ascii=False) + "\n")
            parent, number = value["uuid"], number + 1
    return number


def line(rng: random.Random, number: int) -> tuple[str, object]:
    """Return whose a line is, and its content: a prompt, an answer, a call, a result."""
    told = f"{number} " + " ".join(rng.choices(WORDS, k=12))
    if number % 4 == 0:
        return "user", told
    if number % 4 == 1:
        return "assistant", [{"type": "text", "text": told}]
    call = f"toolu_{number - number % 2:024d}"
    if number % 4 == 2:
        arguments = {"command": told}
        return "assistant", [{"type": "tool_use", "id": call, "name": "Bash", "input": arguments}]
    return "user", [{"type": "tool_result", "tool_use_id": call, "content": told}]


def json_lines(path: Path, size: int) -> int:
    """Write lines of 2 MB whose text is short; return the messages."""
    padding, number = "x" * 2 * MB, 0
    with path.open("w", encoding="utf-8") as stream:
        while number * 2 * MB < size:
            value = {"session": f"s{number // 100}", "id": str(number), "role": "user"}
            value |= {"content": f"words {number}", "metadata": padding}
            stream.write(json.dumps(value) + "\n")
            number += 1
    return number


def export(path: Path, size: int) -> int:
    """Write an archive, not compressed, of conversations of 4 MB; return the messages."""
    padding, number = "x" * 4 * MB, 0
    with (
        zipfile.ZipFile(path, "w") as archive,
        archive.open("conversations.json", "w", force_zip64=True) as stream,
    ):
        stream.write(b"[")
        while number * 4 * MB < size:
            content = {"content_type": "text", "parts": [f"words {number}"]}
            message = {"id": f"m{number}", "author": {"role": "user"}, "content": content}
            message["metadata"] = {"x": padding}
            mapping = {f"m{number}": {"id": f"m{number}", "message": message, "parent": None}}
            value = {"id": f"c{number}", "title": "t", "mapping": mapping}
            stream.write((b"," if number else b"") + json.dumps(value).encode())
            number += 1
        stream.write(b"]")
    return number


FILES: dict[str, tuple[str, int, Callable[[Path, int], int]]] = {
    "transcript": ("transcript.jsonl", 545 * MB, transcript),
    "JSON lines": ("lines.jsonl", 2_000 * MB, json_lines),
    "zip": ("export.zip", 1_000 * MB, export),
}


def measured(name: str, folder: Path) -> Iterator[Row]:
    """Import one such file and tell how much memory this process needed."""
    file, size, write = FILES[name]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    messages = write(folder / file, size)
    db = open_store(folder / "store" / "state.db", library())
    job, started = Import([folder / file]), time.perf_counter()
    for _ in run_sync(db, job):
        pass
    took, report = time.perf_counter() - started, job.report()
    db.close()
    shutil.rmtree(folder)
    if report.failed or report.new != messages:
        raise SystemExit(f"{report.new} of {messages} messages came in: {report.files}")
    peak = peak_mb()
    yield Row(
        f"import of a {name} of {size / MB:,.0f} MB, {messages:,} messages",
        f"{took:.0f} s, {size / MB / took:.0f} MB/s",
    )
    yield Row(
        "  peak memory", f"{peak:.0f} MB", f"≤ {MEMORY_BUDGET_MB} MB", peak <= MEMORY_BUDGET_MB
    )


def everything(folder: Path) -> Iterator[Row]:
    """Measure each file in a process of its own."""
    for name in FILES:
        for row in in_own_process("tests.bench.bench_large", name, folder):
            yield Row(**row)


if __name__ == "__main__":
    where = Path(sys.argv[2]).with_name("large")
    tell(list(measured(sys.argv[1], where) if sys.argv[1] in FILES else everything(where)))
