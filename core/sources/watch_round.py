"""All watched places together: who tells of their changes, what they wait for, what comes next."""

import os
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path

from core.source_types import PlaceState, WatchedPlace, WatchState
from core.sources.following import Followed
from core.sources.notifier import Notifier
from core.sources.watched_place import Following, Job

LOOK_S = 5.0
"""How often it is looked which places are to be watched, and whether they are there."""


class Round:
    """Everything of a watching but its loop: the places, what they wait for, what comes next.

    `look`, `job` and `close` ask the disk, and may run in a thread, one at a time.
    """

    def __init__(self, own: Path, wake: Callable[[], object]) -> None:
        self.followed = Followed()
        self.state = WatchState()
        self._own, self._wake = own, wake
        self._places: dict[str, Following] = {}
        self._there: dict[str, tuple[int, int] | None] = {}
        self._notifier = Notifier(self._on_told)
        self._told: list[frozenset[str]] = []
        self._lock = threading.Lock()

    def look(self, places: tuple[WatchedPlace, ...]) -> bool:
        """Watch these places from now on; returns whether anything is other than before."""
        there = {each.path: _number(each.path) for each in places}
        before = {each.place for each in self.state.places}
        if there == self._there and before == set(places):
            return False
        kept = {
            path: each
            for path, each in self._places.items()
            if each.place in places and there[path] == self._there.get(path)
        }
        self._places = {
            each.path: kept.get(each.path) or Following(each, self._own)
            for each in places
            if not each.paused and there[each.path] is not None
        }
        self._there = there
        self.state = WatchState(self._watched(places))
        return True

    def _watched(self, places: tuple[WatchedPlace, ...]) -> tuple[PlaceState, ...]:
        """Be told of these places; nothing is missed between those told of before and now."""
        roots = {path: each.root() for path, each in self._places.items()}
        notifier = Notifier(self._on_told)
        ways = notifier.begin(roots.values())
        self._notifier.close()
        self._notifier = notifier
        found = []
        for each in places:
            if each.paused:
                found.append(PlaceState(each, "paused"))
            elif each.path in roots:
                found.append(PlaceState(each, *ways[roots[each.path]]))
            else:
                found.append(PlaceState(each, "missing", f"{each.path} is not there now"))
        return tuple(found)

    def _on_told(self, paths: frozenset[str]) -> None:
        with self._lock:
            self._told.append(paths)
        self._wake()

    def next(self, now: float) -> Following | None:
        """Return the place that is to be read now, None where none is."""
        with self._lock:
            told, self._told = self._told, []
        for paths in told:
            for each in self._places.values():
                each.notice(paths)
        first = min(self._places.values(), key=Following.due_at, default=None)
        return first if first is not None and first.due_at() <= now else None

    def wait_s(self, now: float) -> float:
        """Return how long there is nothing to do, unless something changes."""
        due = min((each.due_at() for each in self._places.values()), default=now + LOOK_S)
        return min(LOOK_S, max(0.0, due - now))

    def ended(self, place: Following, job: Job | None) -> None:
        """Note that a place was read."""
        others = (each for each in self._places.values() if each is not place)
        waiting_s = sum(each.cost_s for each in others if each.is_waiting())
        place.ended(job, time.monotonic(), waiting_s)

    def close(self) -> None:
        """End the threads that tell of changes."""
        self._notifier.close()


def _number(path: str) -> tuple[int, int] | None:
    """Return what tells a place from another one of its name; None where there is none.

    A file is known by its folder: another may take its place, as editors do.
    """
    try:
        found = os.stat(path)  # noqa: PTH116 (half the time, each 5 s)
        if not stat.S_ISDIR(found.st_mode):
            found = os.stat(os.path.dirname(path))  # noqa: PTH116, PTH120
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino
