"""Reads what changes at the watched places, as it changes, for as long as it is let.

One program at a time does so for a store: it holds a lease that ends with it. What happens
while nobody watches is found by the walk with which every watching begins.
"""

import asyncio
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing, closing, suppress
from pathlib import Path
from typing import ParamSpec, TypeVar

import apsw

from core.errors import CoreError, RunningError
from core.history import watched
from core.source_types import Noticed, PlaceState, WatchedPlace, WatcherAt, WatchState
from core.sources import ingest
from core.sources.following import Followed
from core.sources.watch_round import LOOK_S, Round
from core.sources.watched_place import Following, Job
from core.store.connection import written
from core.store.store import Store
from core.types import ImportReport, Progress

AGAIN_S = 10.0
"""After so long it is tried again to read what could not be read, or to become the watcher."""

Told = WatchState | Noticed
P = ParamSpec("P")
T = TypeVar("T")
_log = logging.getLogger(__name__)


def watch_sync(
    db: apsw.Connection, program: str, progress: Callable[[Progress], object] = lambda _: None
) -> Iterator[Told]:
    """Watch on one connection until the generator is closed; yields what was noticed.

    The first value tells how each place is watched; it comes again when that changes.
    `progress` is called as a place is read.

    Raises:
        RunningError: another program watches already, or took over.
        StoreError: the store cannot be written.
    """
    holder, changed = watched.new_holder(), threading.Event()
    turn = Round(Path(db.filename).parent, changed.set)
    looked_at = -LOOK_S
    try:
        while True:
            if time.monotonic() - looked_at >= LOOK_S:
                _hold(db, holder, program)
                if turn.look(watched.places(db)):
                    yield turn.state
                looked_at = time.monotonic()
            changed.clear()
            now = time.monotonic()
            place = turn.next(now)
            if place is None:
                changed.wait(turn.wait_s(now))
                continue
            place.began(now)
            job = place.job(now)
            if job is not None:
                yield _read(db, place, job, turn.followed, progress)
            turn.ended(place, job)
    finally:
        turn.close()
        watched.leave(holder)
        try:
            written(db, watched.release, holder)
        except CoreError as error:
            _log.warning("the end of watching is not written down: %s", error)


async def watch(
    store: Store,
    program: str,
    wake: asyncio.Event | None = None,
    may_read: Callable[[], bool] = lambda: True,
    progress: Callable[[Progress], object] = lambda _: None,
) -> AsyncIterator[Told]:
    """Watch through the store's writer until the task is cancelled; yields what was noticed.

    While another program watches, what it watches is told, and it is taken over from when it
    ends. Setting `wake` has the places looked at again at once; nothing is read while
    `may_read` says no. `progress` is called as a place is read.

    Raises:
        StoreError: the store cannot be read or written.
    """
    wake = wake or asyncio.Event()
    loop, holder = asyncio.get_running_loop(), watched.new_holder()
    turn = Round(store.path.parent, lambda: loop.call_soon_threadsafe(wake.set))
    looked_at, told = -LOOK_S, None
    try:
        while True:
            if wake.is_set() or time.monotonic() - looked_at >= LOOK_S:
                wake.clear()
                state = await _looked(store, turn, holder, program)
                if state != told:
                    told = state
                    yield state
                looked_at = time.monotonic()
            now = time.monotonic()
            place = turn.next(now) if may_read() else None
            if place is None:
                with suppress(TimeoutError):
                    await asyncio.wait_for(wake.wait(), turn.wait_s(now) if may_read() else LOOK_S)
                continue
            place.began(now)
            job = await _in_thread(place.job, now)
            if job is not None:
                yield await _read_async(store, place, job, turn.followed, progress)
            turn.ended(place, job)
    finally:
        watched.leave(holder)
        await asyncio.shield(_closed(store, turn, holder))


async def _looked(store: Store, turn: Round, holder: str, program: str) -> WatchState:
    """Take or keep the lease, and watch what is to be watched now; return how that stands."""
    other = await _claimed(store, holder, program)
    places = await store.read(watched.places)
    await _in_thread(turn.look, () if other else places)
    return turn.state if other is None else WatchState(_by_another(places), other)


def _hold(db: apsw.Connection, holder: str, program: str) -> None:
    """Be the one that watches; a store that is not written to is read alone for that."""
    other = watched.watcher(db)
    if other is None or (other.holder == holder and watched.needs_beats()):
        other = written(db, watched.claim, holder, program)
    if other is not None and other.holder != holder:
        raise RunningError(words(other))


async def _claimed(store: Store, holder: str, program: str) -> WatcherAt | None:
    """Become the one that watches if nobody else is; return who else is."""
    other = await store.read(watched.watcher)
    if other is None or (other.holder == holder and watched.needs_beats()):
        other = await store.write(watched.claim, holder, program)
    return other if other is not None and other.holder != holder else None


def words(other: WatcherAt) -> str:
    """Return who watches, as a sentence."""
    who = {"window": "The window", "command": "The command import --watch"}
    return f"{who.get(other.program, other.program)} watches already (process {other.pid})"


def _by_another(places: tuple[WatchedPlace, ...]) -> tuple[PlaceState, ...]:
    return tuple(PlaceState(each, "paused" if each.paused else "native") for each in places)


def _read(
    db: apsw.Connection,
    place: Following,
    job: Job,
    followed: Followed,
    progress: Callable[[Progress], object],
) -> Noticed:
    work = ingest.Import(job.paths, job.kind, followed=followed)
    try:
        with closing(ingest.run_sync(db, work)) as batches:  # type: ignore[type-var]
            for each in batches:
                progress(each)
    except CoreError as error:
        return _put_off(place, job, error)
    return _noticed(place, job, work.report())


async def _read_async(
    store: Store,
    place: Following,
    job: Job,
    followed: Followed,
    progress: Callable[[Progress], object],
) -> Noticed:
    work = ingest.Import(job.paths, job.kind, followed=followed)
    try:
        async with aclosing(ingest.run(store, work)) as batches:  # type: ignore[type-var]
            async for each in batches:
                progress(each)
    except CoreError as error:
        return _put_off(place, job, error)
    return _noticed(place, job, work.report())


def _put_off(place: Following, job: Job, error: CoreError) -> Noticed:
    place.put_off(time.monotonic(), AGAIN_S, job.paths, whole=job.whole)
    return Noticed(place.place, whole=job.whole, trouble=str(error))


def _noticed(place: Following, job: Job, report: ImportReport) -> Noticed:
    return Noticed(place.place, report, job.whole)


async def _in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run `work` in a thread to its end, though the task is being cancelled."""
    running = asyncio.ensure_future(asyncio.to_thread(work, *args, **kwargs))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait({running})
        raise


async def _closed(store: Store, turn: Round, holder: str) -> None:
    await asyncio.to_thread(turn.close)
    try:
        if store.read_only_reason is None:
            await store.write(watched.release, holder)
    except CoreError as error:
        _log.warning("the end of watching is not written down: %s", error)
