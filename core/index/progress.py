"""How fast an index moves now: not on the whole, but in the last half minute."""

from collections import deque

SPAN_S = 30.0
FIRST_S = 5.0


class Movement:
    """Told of every batch, it knows the rate. Times are seconds of a monotonic clock."""

    def __init__(self, start_s: float) -> None:
        self._start_s = start_s
        self._batches: deque[tuple[float, int]] = deque()
        self._rows = 0

    def note(self, now_s: float, rows: int) -> None:
        """Note that so many rows were done until now, since the last call."""
        self._batches.append((now_s, rows))
        self._rows += rows
        while now_s - self._batches[0][0] > SPAN_S:
            self._rows -= self._batches.popleft()[1]

    def rate(self, now_s: float) -> float | None:
        """Return rows a second, waiting included; None in the first five seconds."""
        elapsed = now_s - self._start_s
        return self._rows / min(elapsed, SPAN_S) if elapsed >= FIRST_S else None
