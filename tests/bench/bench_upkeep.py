"""What keeping costs: a snapshot with its proof, going back to it, and erasing what was deleted.

    python -m tests.bench.bench_upkeep CORPUS STORE_FOLDER

Works on a copy of the store, beside it. VACUUM INTO, the other way to make a snapshot, is
measured in the same run.
"""

import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw

from core.store.connection import open_store, open_writer, transaction
from core.store.copying import copy_store
from core.types import Progress
from core.upkeep import backup, purge, restore, trash
from tests.bench.measuring import Row, library, tell

RTO_S_PER_100K = 60.0
PURGE_S_PER_10K, BLOCKED_MS = 60.0, 500.0
DELETED_SHARE = 100  # one session of so many goes


def drained(steps: Iterator[Any]) -> tuple[list[float], Any]:
    """Run steps to their end; return how long each took, in ms, and the last item."""
    took, last = [], None
    while True:
        began = time.perf_counter()
        try:
            item = next(steps)
        except StopIteration:
            return took, last
        took.append((time.perf_counter() - began) * 1000)
        last = item


def snapshots(profile: Path) -> Iterator[Row]:
    """Time a plain copy, VACUUM INTO, and a snapshot with its proof."""
    with closing(open_writer(profile / "state.db", tokenizer=library())) as db:
        messages = int(db.execute("SELECT count(*) FROM messages").get)
        size_mb = db.pragma("page_count") * db.pragma("page_size") / 1e6
        began = time.perf_counter()
        drained(copy_store(db, profile / "copy.db"))
        copied_s = time.perf_counter() - began
        began = time.perf_counter()
        db.execute("VACUUM INTO ?", (str(profile / "vacuumed.db"),))
        vacuumed_s = time.perf_counter() - began
        vacuumed_mb = (profile / "vacuumed.db").stat().st_size / 1e6
        yield Row(
            f"copy of {size_mb:.0f} MB by the backup API, by VACUUM INTO",
            f"{copied_s:.2f} s, {vacuumed_s:.2f} s ({vacuumed_mb:.0f} MB)",
        )
        for name in ("copy.db", "vacuumed.db"):
            (profile / name).unlink()
        began = time.perf_counter()
        took, made = drained(backup.make(db, "manual", "command"))
        assert made.problem == "", made.problem
        yield Row(
            f"snapshot of {messages:,} messages, proved by a restore",
            f"{time.perf_counter() - began:.2f} s, the store's thread free after"
            f" {max(took):.0f} ms at most",
        )


def going_back(profile: Path) -> Iterator[Row]:
    """Time a restore of the newest snapshot."""
    newest = backup.snapshots_of(profile)[0]
    began = time.perf_counter()
    drained(restore.restore(profile, Path(newest.path), "command"))
    took = time.perf_counter() - began
    budget = RTO_S_PER_100K * max(1.0, newest.messages / 100_000)
    yield Row(
        f"restore of {newest.messages:,} messages, checked",
        f"{took:.2f} s",
        f"≤ {budget:.0f} s",
        took <= budget,
    )


def erasing(profile: Path) -> Iterator[Row]:
    """Delete one session of a hundred, then purge; tell VACUUM from what comes before it."""
    with closing(open_store(profile / "state.db", library())) as db:
        rows = db.execute(f"SELECT id FROM sessions WHERE id % {DELETED_SHARE} = 0").fetchall()
        with transaction(db):
            trash.trash_sessions(db, [row for (row,) in rows], "command")
        began = time.perf_counter()
        deleting, report = drained(trash.empty(db, "command"))
        deleted_s = time.perf_counter() - began
        messages = int(report.facts["messages"])
        yield Row(
            f"delete {messages:,} messages for good",
            f"{deleted_s:.2f} s, others wait {max(deleting):.0f} ms at most",
        )
        yield from _purge(db, messages)


def _purge(db: apsw.Connection, messages: int) -> Iterator[Row]:
    longest, before_s, anew_s, began = 0.0, 0.0, 0.0, time.perf_counter()
    steps, is_anew = purge.run(db, "command", True), False
    while True:
        step_began = time.perf_counter()
        try:
            item = next(steps)
        except StopIteration:
            break
        took = time.perf_counter() - step_began
        if is_anew:
            anew_s, is_anew = took, False
        elif not anew_s:
            longest, before_s = max(longest, took), time.perf_counter() - began
        is_anew = isinstance(item, Progress) and item.what == "writing the store anew"
    budget = PURGE_S_PER_10K * max(1.0, messages / 10_000)
    yield Row(
        f"purge of {messages:,} messages, before the file is written anew",
        f"{before_s:.2f} s",
        f"≤ {budget:.0f} s",
        before_s <= budget,
    )
    yield Row(
        "writer blocked by it, but for that",
        f"{longest * 1000:.0f} ms",
        f"≤ {BLOCKED_MS:.0f} ms",
        longest * 1000 <= BLOCKED_MS,
    )
    size_mb = db.pragma("page_count") * db.pragma("page_size") / 1e6
    yield Row(f"writing {size_mb:.0f} MB anew (announced)", f"{anew_s:.2f} s")
    yield Row("all of it, with the new snapshot", f"{time.perf_counter() - began:.2f} s")


def measured(folder: Path) -> Iterator[Row]:
    """Measure on a copy of the store below `folder`."""
    profile = folder.with_name(f"{folder.name}-kept")
    shutil.rmtree(profile, ignore_errors=True)
    profile.mkdir(mode=0o700)
    try:
        with closing(open_writer(folder / "state.db", tokenizer=library())) as db:
            drained(copy_store(db, profile / "state.db"))
        open_store(profile / "state.db", library()).close()
        yield from snapshots(profile)
        yield from going_back(profile)
        yield from erasing(profile)
    finally:
        shutil.rmtree(profile, ignore_errors=True)


if __name__ == "__main__":
    tell(list(measured(Path(sys.argv[2]))))
