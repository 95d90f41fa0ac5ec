"""One watched place: which of the paths that changed are history, and when they may be read."""

import os
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from core.errors import SourceError
from core.source_types import WatchedPlace
from core.sources import detect, files
from core.sources.detect import Reader
from core.sources.ingest_plan import NEVER_WALKED
from core.sources.notifier import Root

AT_MOST_EVERY_S = 1.0
"""A file that changes all the time is read so often, and less often the longer that takes."""

SHARE = 5
"""Reading what changes takes at most one part in so many of one core."""

WALK_EVERY_S = 30 * 60.0
"""How often a place is looked through for what was missed."""

LONGEST_PAUSE_S = 30.0
"""After a place was looked through: what it found to read comes once."""

_LISTING_SHARE = 20
_BESIDE = ("-wal", "-journal")  # what SQLite writes beside a database: sqlite.org/tempfiles.html


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be read of a place: these paths, as this kind; `whole` is all of it."""

    paths: tuple[Path, ...]
    kind: str | None
    whole: bool


class Following:
    """What is known of a watched place between its changes.

    `notice` and `is_due` are for the loop; `job` looks at the disk and may run in a thread.
    """

    def __init__(self, place: WatchedPlace, own: Path) -> None:
        self.place = place
        self.path = Path(place.path)
        self.is_folder = os.path.isdir(place.path)  # noqa: PTH112 (never raises)
        self.cost_s = 0.0
        self.walk_at = 0.0
        self._own = str(own.resolve()) + os.sep
        self._pending: set[str] = set()
        self._next_at = self._began = 0.0
        self._reader: Reader | None = None
        self._members: set[str] = set()
        self._beside: dict[str, str] = {}
        self._list_at = 0.0

    def root(self) -> Root:
        """Return the folder to be told of: a file's is watched for what comes and goes there."""
        return Root(self.path, deep=True) if self.is_folder else Root(self.path.parent, deep=False)

    def notice(self, paths: Iterable[str]) -> None:
        """Take in what changed anywhere; what is of this place waits to be read."""
        for path in paths:
            if self._is_here(path) and not path.startswith(self._own):
                self._pending.add(path)

    def is_waiting(self) -> bool:
        """Tell whether something of it changed and is not read yet."""
        return bool(self._pending)

    def due_at(self) -> float:
        """Return when there is something to do, on the monotonic clock."""
        return min(self._next_at if self._pending else self.walk_at, self.walk_at)

    def began(self, now: float) -> None:
        """Note that a reading begins."""
        self._began = now

    def ended(self, job: Job | None, now: float, waiting_cost_s: float) -> None:
        """Note that it ended: the next one waits, so that all places together keep to `SHARE`.

        `waiting_cost_s` is what one reading of each other place takes that waits as well.
        """
        is_first = self.walk_at == 0.0
        self.cost_s = now - self._began
        pause_s = max(AT_MOST_EVERY_S, SHARE * (self.cost_s + waiting_cost_s))
        if job is not None and job.whole:
            self.walk_at = now + WALK_EVERY_S
            pause_s = 0.0 if is_first else min(pause_s, LONGEST_PAUSE_S)
        self._next_at = self._began + pause_s

    def put_off(self, now: float, seconds: float, paths: Iterable[Path], *, whole: bool) -> None:
        """Let what could not be read now wait."""
        self._pending.update(map(str, paths))
        self._next_at = now + seconds
        if whole:
            self.walk_at = now + seconds

    def job(self, now: float) -> Job | None:
        """Return what is to be read now, None for nothing; looks at names on the disk alone.

        What vanished, or was renamed, has the whole place looked through: that knows it again.
        """
        changed, self._pending = self._pending, set()
        if now >= self.walk_at:
            return self._whole()
        if not changed:
            return None
        if not self.is_folder:
            there = os.path.exists(self.path)  # noqa: PTH110 (never raises)
            return Job((self.path,), self.place.kind or None, whole=False) if there else None
        if self._reader is None:
            return self._of_any_kind(changed)
        return self._of_home(changed, now, self._reader)

    def _is_here(self, path: str) -> bool:
        if self.is_folder:
            return path == self.place.path or path.startswith(
                self.place.path.rstrip("/\\") + os.sep
            )
        return path == self.place.path or path in map(self.place.path.__add__, _BESIDE)

    def _whole(self) -> Job:
        """Look through all of it, and learn what it holds for the changes that follow."""
        self._reader = None
        if self.is_folder:
            kind = self.place.kind
            with suppress(SourceError, OSError):  # the import of the whole place says why
                self._reader = detect.reader_of(kind) if kind else detect.home_of(self.path)
            if self._reader is not None:
                self._list(self._reader)
        return Job((self.path,), self.place.kind or None, whole=True)

    # A folder of one program

    def _of_home(self, changed: set[str], now: float, reader: Reader) -> Job | None:
        found, unknown = self._known(changed)
        if any(path in self._members and not os.path.lexists(path) for path in found):
            return self._whole()
        if unknown and now < self._list_at:
            self._pending |= unknown
        elif unknown:
            before = set(self._members)
            self._list(reader)
            known, _ = self._known(unknown)
            found |= known | {each for each in self._members - before if _is_below(each, unknown)}
        if not found:
            return None
        return Job(tuple(Path(each) for each in sorted(found)), reader.KIND, whole=False)

    def _known(self, changed: set[str]) -> tuple[set[str], set[str]]:
        """Return the members that changed, and the paths that may be new ones."""
        found, unknown = set[str](), set[str]()
        for path in changed:
            main = _main(path)
            if path in self._members:
                found.add(path)
            elif path in self._beside or main in self._members:
                found.add(self._beside.get(path, main))
            elif self._may_be_new(path):
                unknown.add(path)
        return found, unknown

    def _may_be_new(self, path: str) -> bool:
        if Path(path).name in files.CREDENTIAL_NAMES:
            return False
        return Path(path).suffix in detect.SUFFIXES or os.path.isdir(path)  # noqa: PTH112

    def _list(self, reader: Reader) -> None:
        """Learn which files its reader reads there, and which it reads along with them.

        One walk over names; it comes again so seldom that it takes a twentieth of the time.
        """
        began = time.monotonic()
        beside = getattr(reader, "stat_paths", None)
        try:
            members = [str(path) for path in reader.files(self.path)]
            pairs = ((path, beside(Path(path))) for path in members) if beside else ()
            self._beside = {str(other): path for path, others in pairs for other in others}
            self._members = set(members)
        except (SourceError, OSError):
            self._members, self._beside = set(), {}  # the import of the whole place says why
        now = time.monotonic()
        self._list_at = now + max(AT_MOST_EVERY_S, _LISTING_SHARE * (now - began))

    # A folder of anything

    def _of_any_kind(self, changed: set[str]) -> Job | None:
        found: list[Path] = []
        for path in map(Path, sorted(changed)):
            main = Path(_main(str(path)))
            if NEVER_WALKED & set(path.parts):
                continue
            is_gone = main.suffix in detect.SUFFIXES and not os.path.lexists(main)
            if is_gone or os.path.isdir(path):  # noqa: PTH112 (never raises)
                return self._whole()
            if main.suffix in detect.SUFFIXES and main.name not in files.CREDENTIAL_NAMES:
                reader = _recognised(main)
                if reader is not None and reader.CHOOSES != "file":
                    return self._whole()  # what is read there is for the reader to choose
                found += [main] if reader is not None else []
        return Job(tuple(dict.fromkeys(found)), None, whole=False) if found else None


def _recognised(path: Path) -> Reader | None:
    try:
        return detect.detect(path)
    except SourceError:
        return None  # it went meanwhile, or must not be read: not to be told at every change


def _main(path: str) -> str:
    """Return the database that a log of SQLite belongs to, else the path itself."""
    for ending in _BESIDE:
        if path.endswith(ending):
            return path.removesuffix(ending)
    return path


def _is_below(path: str, folders: Iterable[str]) -> bool:
    return any(path == each or path.startswith(each + os.sep) for each in folders)
