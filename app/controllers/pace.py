"""How fast a job goes and how long it will take, from what it did in the last half minute."""

from collections import deque

_SPAN_S = 30.0
_FIRST_S = 5.0


class Pace:
    """Told the state of a job now and then, it knows rates and the time left.

    Times are seconds of a monotonic clock.
    """

    def __init__(self, now_s: float) -> None:
        self._start_s = now_s
        self._seen: deque[tuple[float, int, int]] = deque([(now_s, 0, 0)])

    def note(self, now_s: float, done_bytes: int, messages: int) -> None:
        """Note how much has been done until now."""
        self._seen.append((now_s, done_bytes, messages))
        while len(self._seen) > 2 and now_s - self._seen[0][0] > _SPAN_S:
            self._seen.popleft()

    def skip(self, seconds: float) -> None:
        """Leave a pause out of the reckoning."""
        self._start_s += seconds
        self._seen = deque((at + seconds, done, messages) for at, done, messages in self._seen)

    def messages_per_second(self) -> float | None:
        """Return the rate, or None in the first second."""
        return self._rate(2, 1.0)

    def left_s(self, total_bytes: int) -> float | None:
        """Return the seconds to go, or None in the first five, when nobody can know."""
        rate = self._rate(1, _FIRST_S)
        if not rate:
            return None
        return max(0.0, total_bytes - self._seen[-1][1]) / rate

    def _rate(self, field: int, least_s: float) -> float | None:
        first, last = self._seen[0], self._seen[-1]
        if last[0] - self._start_s < least_s or last[0] <= first[0]:
            return None
        return (last[field] - first[field]) / (last[0] - first[0])
