"""What a live message and a search wait while an index is filled behind them.

    python -m tests.bench.bench_backfill CORPUS STORE_FOLDER

The store is the one that the import bench left; a copy of it is filled anew. Twenty messages a
second are stored, and as many searches asked, through the door that the window uses: what is
measured is how long whoever asked had to wait. Once behind everything else, as the window does
it, and once by a command that was told to do it now, in a process of its own.
"""

import asyncio
import itertools
import os
import shutil
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import apsw

from core.history.append import Batch, append
from core.index import backfill
from core.index.state import new_holder, statuses
from core.search.run import search
from core.sources.records import MessageRecord
from core.store import attachment, leftovers
from core.store.connection import open_reader, open_store, tokenizer_fingerprint
from core.store.indexes import CJK, INDEXES
from core.store.store import Store
from core.types import INDEX_NAMES, IndexName, Origin, Role, SearchRequest, TimeQuality
from tests.bench import terms
from tests.bench.measuring import ROOT, Row, library, tell

SECONDS = 15.0
EVERY_S = 0.05
APPEND_P99_MS, APPEND_MOST_MS = 150.0, 500.0
SEARCH_P50_MS, SEARCH_P99_MS = 10.0, 50.0
SLACK = 1.5
TRIGRAM = INDEX_NAMES[1]


@dataclass(slots=True)
class Waits:
    """How long each took, in milliseconds, and how many rows were indexed meanwhile."""

    appends: list[float] = field(default_factory=list)
    searches: list[float] = field(default_factory=list)
    rows: int = 0


def place(times: list[float], share: float) -> float:
    """Return the time that this share of all does not exceed."""
    ordered = sorted(times)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


@asynccontextmanager
async def copied(store: Path) -> AsyncIterator[Store]:
    """Open a copy of the store, in a profile folder of its own that is gone afterwards."""
    folder = store.parent / "backfill"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    shutil.copyfile(store, folder / store.name)
    (folder / store.name).chmod(0o600)
    if hasattr(os, "sync"):
        os.sync()  # else the first checkpoint waits for the copying
    opened = await Store.open(folder, tokenizer=library())
    try:
        yield opened
    finally:
        await opened.close()
        shutil.rmtree(folder)


def rebuild(db: apsw.Connection, name: IndexName) -> None:
    """Let the index be filled anew."""
    attachment.rebuild(db, INDEXES[name], tokenizer_fingerprint(db) if name == CJK else None)


def drop_old(db: apsw.Connection, name: IndexName) -> None:
    """Drop what was set aside at once, so that it is the filling that is measured."""
    for old in leftovers.names(db, INDEXES[name]):
        while not leftovers.drop_piece(db, old, 10_000):
            pass


def store_one(db: apsw.Connection, number: int, text: str) -> None:
    """Store one message of a session that is under way."""
    record = MessageRecord(
        "live", f"live-{time.time_ns()}", Role.ASSISTANT, f"{text} {number}", Origin.MODEL,
        created_at_ms=1_767_000_000_000 + number, time_quality=TimeQuality.EXACT,
    )  # fmt: skip
    append(db, Batch(1, [], [record]))


async def behind(store: Store, name: IndexName, queries: list[str], waits: Waits) -> None:
    """Fill the index as the window does, while messages come and searches are asked."""
    await store.write(rebuild, name)
    await store.write(drop_old, name)
    filling = asyncio.create_task(_fill(store, name))
    await beside(store, queries, waits)
    filling.cancel()
    with suppress(asyncio.CancelledError):
        await filling
    waits.rows = next(each.done for each in await store.read(statuses) if each.name == name)


async def alone(_store: Store, _name: IndexName, queries: list[str], waits: Waits) -> None:
    """Append and search while nothing is filled: what the others compare with."""
    await beside(_store, queries, waits)


async def by_command(store: Store, name: IndexName, queries: list[str], waits: Waits) -> None:
    """Let a process of its own fill the index without pauses meanwhile."""
    await store.write(rebuild, name)
    await store.write(drop_old, name)
    command = [sys.executable, "-m", "tests.bench.bench_backfill", "--fill", store.path, name]
    process = await asyncio.create_subprocess_exec(*map(str, command), cwd=ROOT)
    await asyncio.sleep(0.5)
    await beside(store, queries, waits)
    if process.returncode is None:
        process.kill()
    await process.wait()
    waits.rows = next(each.done for each in await store.read(statuses) if each.name == name)


async def beside(store: Store, queries: list[str], waits: Waits) -> None:
    """Append and search for `SECONDS`."""
    text = str(await store.read(_some_text))
    ends = time.perf_counter() + SECONDS
    await asyncio.gather(
        _each(ends, waits.appends, lambda number: store.write(store_one, number, text)),
        _each(
            ends,
            waits.searches,
            lambda number: store.read(search, SearchRequest(queries[number % len(queries)])),
        ),
    )


async def _fill(store: Store, name: IndexName) -> None:
    async for _ in backfill.run(store, new_holder(), (name,)):
        pass


async def _each(ends_s: float, times: list[float], work) -> None:  # type: ignore[no-untyped-def]
    for number in itertools.count():
        began = time.perf_counter()
        if began >= ends_s:
            return
        await work(number)
        times.append((time.perf_counter() - began) * 1000)
        await asyncio.sleep(max(0.0, EVERY_S - (time.perf_counter() - began)))


def _some_text(db: apsw.Connection) -> object:
    return db.execute("SELECT content FROM messages WHERE role = 'assistant' LIMIT 1").get


def rows(what: str, waits: Waits, idle: Waits, *, is_asked_whole: bool) -> Iterator[Row]:
    """Hold the waits against their budgets; a search of the index that is filled has none.

    A search that takes longer while nothing is filled may take half as much again.
    """
    append_p99, most = place(waits.appends, 0.99), max(waits.appends)
    yield Row(
        f"live append while {what}, {len(waits.appends)} messages",
        f"p50 {place(waits.appends, 0.5):.1f} ms, p99 {append_p99:.0f}, most {most:.0f}"
        f"; {waits.rows:,} rows indexed",
        f"p99 ≤ {APPEND_P99_MS:.0f} ms, most ≤ {APPEND_MOST_MS:.0f}",
        append_p99 <= APPEND_P99_MS and most <= APPEND_MOST_MS,
    )
    p50, p99 = place(waits.searches, 0.5), place(waits.searches, 0.99)
    seen = f"p50 {p50:.1f} ms, p99 {p99:.0f}, most {max(waits.searches):.0f}"
    if is_asked_whole:
        p50_ms = max(SEARCH_P50_MS, SLACK * place(idle.searches, 0.5))
        p99_ms = max(SEARCH_P99_MS, SLACK * place(idle.searches, 0.99))
        is_fast = p50 <= p50_ms and p99 <= p99_ms
        budget = f"p50 ≤ {p50_ms:.0f} ms, p99 ≤ {p99_ms:.0f}"
        yield Row(f"search while {what}, {len(waits.searches)} asked", seen, budget, is_fast)
    else:
        yield Row(f"search of the index itself while {what}", seen)


async def measured(store: Path) -> list[Row]:
    """Yield what was seen."""
    db = open_reader(store, tokenizer=library())
    cjk, latin = terms.cjk_terms(db), terms.latin_terms(db)
    db.close()
    queries = [cjk["medium"], latin["rare"], cjk["rare"]]
    found: list[Row] = []
    idle = Waits()
    async with copied(store) as opened:
        for name, work, what in (
            (TRIGRAM, alone, "nothing is filled"),
            (TRIGRAM, behind, "the trigram index is filled"),
            (TRIGRAM, by_command, "a command fills the trigram index now"),
            (CJK, behind, "the CJK index is filled"),
        ):
            waits = Waits()
            await work(opened, name, queries, waits)
            idle = waits if work is alone else idle
            found += rows(what, waits, idle, is_asked_whole=name != CJK)
    return found


def fill_now(path: Path, name: str) -> None:
    """Fill an index without pauses: what the other process does."""
    db = open_store(path, library())
    names = tuple(each for each in INDEX_NAMES if each == name)
    for _ in backfill.run_sync(db, new_holder(), names, now=True):
        pass
    db.close()


if __name__ == "__main__":
    if sys.argv[1] == "--fill":
        fill_now(Path(sys.argv[2]), sys.argv[3])
    else:
        tell(asyncio.run(measured(Path(sys.argv[2]) / "state.db")))
