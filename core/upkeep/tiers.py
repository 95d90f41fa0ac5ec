"""Which snapshots are kept: many of today, fewer of each time before it."""

from collections.abc import Sequence

from core.upkeep_types import Snapshot

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
TIERS = (
    (DAY_MS, HOUR_MS),
    (7 * DAY_MS, DAY_MS),
    (31 * DAY_MS, 7 * DAY_MS),
    (366 * DAY_MS, 30 * DAY_MS),
)
"""Up to this age, one is kept of each span of that length; older ones are not kept."""

LEAST_BUDGET = 1 << 30
BUDGET_STORES = 4
"""All snapshots together may take 1 GiB, or four times the newest one if that is more."""


def superfluous(snapshots: Sequence[Snapshot], now_ms: int) -> tuple[Snapshot, ...]:
    """Return the snapshots that need not be kept; those given are the newest first.

    The newest of each span of a tier is kept. Where all that are kept take too much room, those
    go first that another one stands closest to, in proportion to their age. Never among them:
    the newest one, the newest proved one, and any from the future, whose clock was wrong.
    """
    held = list(snapshots[:1])
    held += [each for each in snapshots if each.proved_at_ms is not None and not each.problem][:1]
    held += [each for each in snapshots if each.created_at_ms > now_ms]
    wanted = {*held, *_newest_of_spans(snapshots, now_ms)}
    kept = [each for each in snapshots if each in wanted]
    budget = max(LEAST_BUDGET, BUDGET_STORES * snapshots[0].bytes) if snapshots else 0
    while sum(each.bytes for each in kept) > budget:
        spare = [each for each in kept if each not in held]
        if not spare:
            break
        kept.remove(min(spare, key=lambda each: _distance(kept, each, now_ms)))
    staying = set(kept)
    return tuple(each for each in snapshots if each not in staying)


def _newest_of_spans(snapshots: Sequence[Snapshot], now_ms: int) -> list[Snapshot]:
    """Return the newest of each span; spans are counted from the epoch, so they do not move."""
    found: dict[tuple[int, int], Snapshot] = {}
    for snapshot in snapshots:
        age = now_ms - snapshot.created_at_ms
        span = next((length for oldest, length in TIERS if age <= oldest), None)
        if span is not None:
            found.setdefault((span, snapshot.created_at_ms // span), snapshot)
    return list(found.values())


def _distance(kept: Sequence[Snapshot], snapshot: Snapshot, now_ms: int) -> float:
    """Return how far the next newer one is, as a part of the snapshot's age."""
    newer = kept[kept.index(snapshot) - 1] if kept.index(snapshot) else snapshot
    age = max(1, now_ms - snapshot.created_at_ms)
    return (newer.created_at_ms - snapshot.created_at_ms) / age
