"""The day that a session stands under, and the filter of that day, in any zone.

Expected days are those of the zone's own rules, which `zoneinfo` reads from the system's tables.
"""

import time
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from app.controllers import filters
from app.models.sessions import SessionsModel
from core.history.saved_searches import SavedFilters
from core.search.saved import period
from tests.gui.values import session

# In the last three the clocks go on at midnight: such a day begins at one o'clock.
ZONES = {
    "Asia/Shanghai": "2026-03-11",
    "America/Bogota": "2026-03-11",
    "Europe/Berlin": "2026-03-29",
    "Asia/Beirut": "2026-03-29",
    "Africa/Cairo": "2026-04-24",
    "America/Santiago": "2026-09-06",
}
MOMENTS = [
    "2026-03-10T16:30:00Z", "2026-03-11T04:30:00Z", "2026-03-29T00:59:59Z", "2026-03-29T01:00:00Z",
]  # fmt: skip
HALF_AN_HOUR = 1_800_000


@pytest.fixture(params=ZONES)
def zone(request, monkeypatch):
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield request.param
    monkeypatch.undo()
    time.tzset()


def moments(zone):
    """The case's moments, and every half hour around the day on which clocks may change."""
    middle = int(datetime.fromisoformat(ZONES[zone]).replace(tzinfo=UTC).timestamp() * 1000)
    around = [middle + n * HALF_AN_HOUR for n in range(-80, 80)]
    told = [int(datetime.fromisoformat(each).timestamp() * 1000) for each in MOMENTS]
    return [edge for at in (*told, *around) for edge in (at - 1, at)]


def day_of(at_ms, zone):
    return datetime.fromtimestamp(at_ms / 1000, ZoneInfo(zone)).date()


def test_a_session_stands_under_the_day_that_its_filter_names(qapp, zone):
    every = moments(zone)
    model = SessionsModel()
    model.replace([session(n, last_active_at_ms=at) for n, at in enumerate(every)], complete=True)
    shown = [model.index(row).data(SessionsModel.DayRole) for row in range(len(every))]

    assert shown == [day_of(at, zone) for at in every]
    for day in sorted(set(shown)):
        under = [at for at, each in zip(every, shown, strict=True) if each == day]
        for since, until in (chosen(day), typed(day)):
            assert [at for at in every if since <= at < until] == under, day


def test_the_last_days_begin_with_a_whole_one(qapp, zone):
    """Whatever the day on which it is asked: with 1 day it is that day, from its first moment."""
    day = date.fromisoformat(ZONES[zone])
    now = datetime.combine(day, datetime.min.time()).replace(hour=12, tzinfo=ZoneInfo(zone))
    since, until = period(SavedFilters(days=1), now)

    assert until is None
    assert (day_of(since - 1, zone), day_of(since, zone)) == (day - timedelta(days=1), day)


def chosen(day):
    """What the filter asks for when a day is chosen in the calendar."""
    return filters._midnight_ms(f"{day:%Y%m%d}", 0), filters._midnight_ms(f"{day:%Y%m%d}", 1)


def typed(day):
    """What it asks for when the day is typed, or comes with a saved search."""
    next_day = day + timedelta(days=1)
    return period(SavedFilters(since=str(day), until=str(next_day)), datetime.now().astimezone())
