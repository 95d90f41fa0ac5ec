"""Which snapshots stay: hourly for a day, daily for a week, weekly for a month, then monthly."""

import random

from core.upkeep.tiers import DAY_MS, HOUR_MS, superfluous
from core.upkeep_types import Snapshot

NOW = 20_000 * DAY_MS
MB = 1 << 20


def snapshot(age_ms: int, *, size: int = MB, proved: bool = True) -> Snapshot:
    at = NOW - age_ms
    return Snapshot(f"/s/{at}.db", "schedule", at, size, 4, 1, 1, "", at if proved else None)


def ages(found) -> list[int]:
    return [NOW - each.created_at_ms for each in found]


def kept(given: list[Snapshot]) -> list[Snapshot]:
    gone = set(superfluous(given, NOW))
    return [each for each in given if each not in gone]


def test_two_years_of_half_hours_leave_some_of_each_time():
    given = [snapshot(half * HOUR_MS // 2) for half in range(2 * 366 * 48)]
    left = ages(kept(given))
    in_days = [age / DAY_MS for age in left]
    assert left[0] == 0
    assert 24 <= sum(day <= 1 for day in in_days) <= 26
    assert 6 <= sum(1 < day <= 7 for day in in_days) <= 7
    assert 3 <= sum(7 < day <= 31 for day in in_days) <= 5
    assert 11 <= sum(31 < day <= 366 for day in in_days) <= 13
    assert max(in_days) <= 366


def test_thinning_again_and_again_as_time_goes_by_keeps_each_tier():
    """What is removed today must not be what the next tier would need tomorrow."""
    held: list[Snapshot] = []
    for hour in range(24 * 90):
        now = hour * HOUR_MS + NOW
        made = Snapshot(f"/s/{now}.db", "schedule", now, MB, 4, 1, 1, "", now)
        held = [made, *held]
        gone = superfluous(held, now)
        held = [each for each in held if each not in gone]
    in_days = [(now - each.created_at_ms) / DAY_MS for each in held]
    assert sum(day <= 1 for day in in_days) >= 24
    assert sum(1 < day <= 7 for day in in_days) >= 5
    assert sum(7 < day <= 31 for day in in_days) >= 3
    assert sum(day > 31 for day in in_days) >= 1


def test_the_last_proved_one_stays_however_old():
    given = [snapshot(HOUR_MS, proved=False), snapshot(3_000 * DAY_MS), snapshot(3_001 * DAY_MS)]
    assert kept(given) == given[:2]


def test_a_snapshot_from_the_future_stays():
    given = [snapshot(-5 * DAY_MS), snapshot(0), snapshot(900 * DAY_MS)]
    assert kept(given) == given[:2]


def test_large_ones_are_spread_over_time_within_four_times_the_store():
    size = 4 << 30
    given = [snapshot(hours * HOUR_MS, size=size) for hours in (0, 1, 2, 3, 24, 48, 24 * 40)]
    left = ages(kept(given))
    assert sum(each.bytes for each in kept(given)) <= 4 * size
    assert left[0] == 0
    assert left[-1] == 24 * 40 * HOUR_MS


def test_nothing_goes_where_there_is_nothing_or_one():
    assert superfluous([], NOW) == ()
    assert superfluous([snapshot(5_000 * DAY_MS, proved=False)], NOW) == ()


def test_whatever_is_given_the_newest_and_the_newest_proved_stay():
    chance = random.Random(4)
    for _ in range(300):
        given = sorted(
            (
                snapshot(
                    chance.randrange(800 * DAY_MS),
                    size=chance.choice([MB, 3 << 30]),
                    proved=chance.random() < 0.3,
                )
                for _ in range(chance.randrange(1, 30))
            ),
            key=lambda each: -each.created_at_ms,
        )
        left = kept(given)
        assert left[0] == given[0]
        proved = [each for each in given if each.proved_at_ms]
        assert not proved or proved[0] in left
