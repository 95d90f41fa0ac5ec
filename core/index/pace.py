"""How much one batch takes, and how long to wait after it while others use the store."""

import time
from dataclasses import dataclass, field

import apsw

from core.index.progress import Movement
from core.store.waiting import GAP_S
from core.types import IndexName

TARGET_S = 0.025
SHORTEST_PAUSE_S = 0.2
LONGEST_PAUSE_S = 10.0
"""A third of the heartbeat's limit, so that whoever waits is not taken for dead."""

HELD_S = 0.3
"""After so much time with the lock comes a gap that whoever waits for it finds."""

QUIET_S = 2.0
"""Others count as active for so long after something of theirs was seen."""

_LEAST_BYTES, _MOST_BYTES = 8 * 1024, 4 * 1024 * 1024


@dataclass(slots=True)
class Pace:
    """What one run knows: how much text the next batch takes, so that it lasts `TARGET_S`.

    `last_s` is how long the last batch held the lock, `held_s` all of them since the last gap.
    `bulk` are the indexes whose filling was begun, `merging` those whose merge was, `draining`
    those whose queue is being taken in, `moved` how fast each of them goes.
    """

    text_bytes: int = 64 * 1024
    blocks: int = 64
    last_s: float = 0.0
    held_s: float = 0.0
    bulk: set[IndexName] = field(default_factory=set)
    merging: set[IndexName] = field(default_factory=set)
    draining: set[IndexName] = field(default_factory=set)
    moved: dict[IndexName, Movement] = field(default_factory=dict)

    def learn(self, text_bytes: int, elapsed_s: float) -> None:
        """Adapt to a batch of so many bytes that took so long."""
        self.last_s = elapsed_s
        if text_bytes and elapsed_s > 0:
            fitting = text_bytes * TARGET_S / elapsed_s
            grown = min(fitting, 2.0 * self.text_bytes)
            self.text_bytes = int(min(max(grown, _LEAST_BYTES), _MOST_BYTES))

    def learn_blocks(self, elapsed_s: float) -> None:
        """Adapt how many blocks of an old index are dropped at once."""
        fitting = self.blocks * TARGET_S / max(elapsed_s, 0.001)
        self.blocks = int(min(max(fitting, 8, self.blocks / 2), 2 * self.blocks, 1_024))

    def pause_s(self, *, is_busy: bool, now: bool = False) -> float:
        """Return how long to wait before the next batch, while others work or not.

        Where it does not make way for others, because none is seen or it is to be done `now`,
        there are gaps all the same: who waits for the lock looks for it every 3 ms, and between
        batches that follow at once hardly ever finds it free.
        """
        self.held_s += self.last_s
        if is_busy and not now:
            self.held_s = 0.0
            return min(max(SHORTEST_PAUSE_S, 4 * self.last_s), LONGEST_PAUSE_S)
        if self.held_s >= HELD_S:
            self.held_s = 0.0
            return GAP_S
        return max(TARGET_S, self.last_s) if is_busy else 0.0


class Quiet:
    """Tells from a number that grows with what others do whether they do something now."""

    def __init__(self, seen: int) -> None:
        self._seen = seen
        self._until_s = 0.0

    def is_broken(self, seen: int) -> bool:
        """Return whether the number changed now or within the last `QUIET_S`."""
        now = time.monotonic()
        if seen != self._seen:
            self._seen, self._until_s = seen, now + QUIET_S
        return now < self._until_s


class OtherWriters:
    """Tells whether another connection, in any process, committed a moment ago."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db
        self._quiet = Quiet(_version(db))

    def are_active(self) -> bool:
        """Return whether that is so; some microseconds."""
        return self._quiet.is_broken(_version(self._db))


def _version(db: apsw.Connection) -> int:
    """Return a number that is another one after every commit of other connections."""
    return int(db.pragma("data_version"))
