"""What is kept in memory of files that grow, so that an append costs the appended bytes alone.

A file is gone on with only where it is surely the one that was read: the same inode, not
shorter, and at the place that was reached the same head and tail, as the store knows it too.
Anything else is read whole, and so is everything in a new process.
"""

from collections import Counter, OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from core.errors import SourceError
from core.history.sources import FileReading, KnownFile
from core.sources import files
from core.sources.records import ReaderState, SourceIdentity
from core.types import BadRecord

MOST_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Kept:
    """A file as it was read to `offset`, and what its reader needs to read on from there.

    `unknown`, `bad` and `sessions` are those of all that was read of it so far.
    """

    reading: FileReading
    state: ReaderState
    hashes: tuple[bytes, bytes]
    unknown: Counter[str] = field(default_factory=Counter)
    bad: tuple[BadRecord, ...] = ()
    bad_count: int = 0
    sessions: frozenset[tuple[SourceIdentity, str]] = frozenset()


class Followed:
    """The files that were read last, by path, as far as their states take `most_bytes`.

    May be used from several threads. What is taken is no longer kept: a state changes while
    its reader goes on, and only a reading that was stored puts it back.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._kept: OrderedDict[str, Kept] = OrderedDict()
        self._lock = Lock()

    @property
    def bytes(self) -> int:
        """About how much memory is used."""
        with self._lock:
            return sum(each.state.bytes for each in self._kept.values())

    def take(self, path: Path, known: KnownFile) -> Kept | None:
        """Return what is kept of a file, if the file only grew since then; it is kept no longer.

        `known` is what the store has of it: what was read and never stored is of no use.
        """
        with self._lock:
            kept = self._kept.pop(known.path, None)
        if kept is None or not _is_stored(kept.reading, known):
            return None
        try:
            with files.opened(path) as stream:
                stamp, offset = files.stamp_of(stream), kept.reading.offset
                grew = stamp.inode == kept.reading.inode and stamp.size >= offset
                if grew and files.hashes(stream, offset) == kept.hashes:
                    return kept
        except SourceError:
            pass  # whoever reads the file tells why it cannot be read
        return None

    def keep(self, kept: Kept) -> None:
        """Keep a file whose reading was stored, instead of those that were not asked for longest.

        One whose state alone is too large is not kept.
        """
        with self._lock:
            self._kept.pop(kept.reading.path, None)
            if kept.state.bytes > self._most_bytes:
                return
            self._kept[kept.reading.path] = kept
            used = sum(each.state.bytes for each in self._kept.values())
            while used > self._most_bytes:
                _, oldest = self._kept.popitem(last=False)
                used -= oldest.state.bytes

    def forget(self, paths: Iterable[str] | None = None) -> None:
        """Let go of some paths, or of all."""
        with self._lock:
            for path in list(self._kept) if paths is None else paths:
                self._kept.pop(path, None)


def _is_stored(reading: FileReading, known: KnownFile) -> bool:
    before = (known.inode, known.size, known.mtime_ns, known.reader_version)
    is_same = before == (reading.inode, reading.size, reading.mtime_ns, reading.reader_version)
    return is_same and known.state == "done"
