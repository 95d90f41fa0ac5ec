"""What the benches share: medians, the machine, a table, and one process for each bench.

Figures of different runs compare only as ratios; each bench measures its peer in the same run.
"""

import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from core.index import tokenizer

ROOT = Path(__file__).resolve().parents[2]
RUNS = 21


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table. `ok` is None where there is no budget."""

    work: str
    seen: str
    budget: str = ""
    ok: bool | None = None


class Timing(NamedTuple):
    """What a piece of work takes, in milliseconds; `cpu` is a median, and no load adds to it."""

    median: float
    slow: float  # the 95th percentile
    cpu: float

    def __str__(self) -> str:
        return f"{self.median:.2f} ms (p95 {self.slow:.2f}, CPU {self.cpu:.2f})"


def timed(work: Callable[[], Any], runs: int = RUNS) -> Timing:
    """Time some runs, after two that do not count."""
    for _ in range(2):
        work()
    wall, cpu = [], []
    for _ in range(runs):
        started, spent = time.perf_counter(), time.process_time()
        work()
        wall.append((time.perf_counter() - started) * 1000)
        cpu.append((time.process_time() - spent) * 1000)
    wall.sort()
    slow = wall[min(len(wall) - 1, int(len(wall) * 0.95))]
    return Timing(statistics.median(wall), slow, statistics.median(cpu))


def peak_mb() -> float:
    """The most memory this process ever held, in MB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak / 1e3


def library() -> Path:
    """The tokenizer to measure with; it is built where it is missing."""
    found = tokenizer.locate()
    if found is None:
        tokenizer.build(Path(sys.prefix))
        found = tokenizer.locate()
    if found is None:
        raise SystemExit("the CJK tokenizer cannot be built here; the benches need it")
    return found


def in_own_process(module: str, *arguments: object) -> list[dict[str, Any]]:
    """Run a bench alone in a process, so that memory and caches are its own."""
    command = [sys.executable, "-m", module, *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    found: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return found


def tell(rows: Sequence[Row]) -> None:
    """Hand the rows to the process that asked for them."""
    print(json.dumps([asdict(row) for row in rows], ensure_ascii=False))


def machine() -> str:
    """The processor, how many of it, how busy it was, and the versions that matter."""
    name = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        models = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        name = models[0].partition(":")[2].strip() if models else name
    load = f", load {os.getloadavg()[0]:.1f} at the start" if hasattr(os, "getloadavg") else ""
    return (
        f"{datetime.now(UTC):%Y-%m-%d}; {name}, {os.cpu_count()} cores{load};"
        f" {platform.system()} {platform.release()}; Python {platform.python_version()},"
        f" APSW {apsw.apsw_version()}, SQLite {apsw.sqlite_lib_version()}"
    )


def table(rows: Sequence[Row]) -> str:
    """The rows as Markdown that is also readable as it is."""
    cells = [("work", "seen", "budget", "")]
    for row in rows:
        verdict = "" if row.ok is None else "ok" if row.ok else "OVER"
        cells.append((row.work, row.seen, row.budget, verdict))
    widths = [max(len(line[column]) for line in cells) for column in range(4)]
    lines = ["| " + " | ".join(c.ljust(w) for c, w in zip(each, widths, strict=True)) + " |"
             for each in cells]  # fmt: skip
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)
