"""Filling indexes with what is stored already, while everything else goes on.

Goals, in this order: live writes and searches hardly notice (25 ms a batch, pauses between);
nothing is lost or indexed twice at any interruption (the cursor commits with the rows, and
only rows that the index does not hold are given to it); it ends, also for an empty store.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing

import apsw

from core import settings
from core.errors import StoreBusyError
from core.index.filling import needs_work, step
from core.index.pace import OtherWriters, Pace, Quiet
from core.index.state import is_held_by_another, release
from core.store import attachment
from core.store.connection import transaction
from core.store.index_state import paused_names
from core.store.indexes import CJK
from core.store.store import Store
from core.types import INDEX_NAMES, IndexName, Progress

__all__ = ["Pace", "is_paused", "needs_work", "run", "run_sync", "set_paused", "step", "unfinished"]

RETRY_S = 5.0
"""How often a run that waits for another's, or for quiet, looks whether it may begin."""


def is_paused(db: apsw.Connection, name: IndexName | None = None) -> bool:
    """Tell whether the user stopped the backfill of this index, or (None) of all of them."""
    paused = paused_names(db)
    return len(paused) == len(INDEX_NAMES) if name is None else name in paused


def set_paused(db: apsw.Connection, paused: bool, name: IndexName | None = None) -> None:
    """Stop the backfill for good, or let it go on; in the caller's transaction.

    One index that is let go on while all were stopped leaves the others stopped. `name` None
    is all of them: those that were stopped alone go on too.
    """
    if name is None:
        settings.write(db, settings.BACKFILL_PAUSED, paused)
        if not paused:
            settings.write(db, settings.BACKFILL_PAUSED_INDEXES, ())
        return
    found = paused_names(db)
    names = found | {name} if paused else found - {name}
    settings.write(db, settings.BACKFILL_PAUSED, False)
    settings.write(
        db, settings.BACKFILL_PAUSED_INDEXES, tuple(each for each in INDEX_NAMES if each in names)
    )


def unfinished(
    db: apsw.Connection, names: tuple[IndexName, ...] = INDEX_NAMES, *, now: bool = False
) -> tuple[IndexName, ...]:
    """Return those indexes that this connection can bring further and the user did not stop.

    `now` passes over what the user stopped.
    """
    paused = frozenset[IndexName]() if now else paused_names(db)
    return tuple(name for name in names if name not in paused and needs_work(db, name))


def batches(
    db: apsw.Connection,
    holder: str,
    names: tuple[IndexName, ...],
    pace: Pace,
    *,
    now: bool = False,
    is_background: bool = False,
) -> Iterator[Progress]:
    """Bring the indexes to `ready`; yields after every batch, and waits for nobody.

    Each batch is a transaction, so closing the generator loses nothing. Ends early where the
    user stopped it (unless `now`), or another process holds the work. In the background an
    index that was just detached is left alone.
    """
    try:
        for name in names:
            while name in unfinished(db, (name,), now=now):
                if is_background and name not in pace.draining and _is_too_soon(db, name):
                    break
                started = time.perf_counter()
                with transaction(db):
                    progress = step(db, name, pace, holder)
                pace.last_s = time.perf_counter() - started  # with what COMMIT took
                if progress is None:
                    break
                yield progress
    finally:
        with transaction(db):
            release(db, holder)


def run_sync(
    db: apsw.Connection,
    holder: str,
    names: tuple[IndexName, ...] = INDEX_NAMES,
    is_busy: Callable[[], bool] | None = None,
    *,
    now: bool = False,
) -> Iterator[Progress]:
    """Bring the indexes to `ready`, as `batches`, with pauses while anything else is active.

    That is what `is_busy` tells; without it, whether others write. `now`: with hardly a pause,
    and also what the user stopped.
    """
    pace, others = Pace(), is_busy or OtherWriters(db).are_active
    for progress in batches(db, holder, names, pace, now=now):
        yield progress
        time.sleep(pace.pause_s(is_busy=others(), now=now))


async def run(
    store: Store,
    holder: str,
    names: tuple[IndexName, ...] = INDEX_NAMES,
    is_busy: Callable[[], bool] | None = None,
    *,
    now: bool = False,
    waits: bool = False,
) -> AsyncIterator[Progress]:
    """Do as `run_sync` through the store's writer, which is free between the batches.

    Ends when the indexes are ready or stopped by the user. Where another process works on
    them, or one was detached less than 30 seconds ago, it ends too, unless it `waits` for that.
    Without `is_busy` it looks whether others read or write.
    """
    while True:
        pace, others = Pace(), _Others(store)
        steps = store.steps(_watched, holder, names, pace, now)
        try:
            async with aclosing(steps) as found:
                async for progress, others_wrote in found:
                    yield progress
                    others.steps += 1
                    busy = is_busy() if is_busy is not None else others.are_active(others_wrote)
                    await asyncio.sleep(pace.pause_s(is_busy=busy, now=now))
        except StoreBusyError:  # another program held the lock for long: later is soon enough
            if not waits:
                raise
        else:
            if not waits or not await store.read(_may_come, holder, names, now):
                return
        await asyncio.sleep(RETRY_S)


class _Others:
    """What the store's own counts tell of everybody else in this process."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._quiet = Quiet(store.writes)
        self.steps = 0

    def are_active(self, others_wrote: bool) -> bool:
        wrote_here = self._quiet.is_broken(self._store.writes - self.steps)
        return wrote_here or others_wrote or self._store.is_reading


def _watched(
    db: apsw.Connection, holder: str, names: tuple[IndexName, ...], pace: Pace, now: bool
) -> Iterator[tuple[Progress, bool]]:
    """Yield what `batches` does, with whether another process wrote a moment ago."""
    others = OtherWriters(db)
    for progress in batches(db, holder, names, pace, now=now, is_background=not now):
        yield progress, others.are_active()


def _may_come(db: apsw.Connection, holder: str, names: tuple[IndexName, ...], now: bool) -> bool:
    """Tell whether there is work that only somebody else's, or a recent writer, holds up."""
    waiting = unfinished(db, names, now=now)
    if any(_is_too_soon(db, name) for name in waiting):
        return True
    return bool(waiting) and is_held_by_another(db, holder)


def _is_too_soon(db: apsw.Connection, name: IndexName) -> bool:
    """Tell whether whoever writes without the tokenizer may not have ended yet."""
    return name == CJK and attachment.was_just_detached(db)
