import time
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import QueryError
from core.search.times import parse_time

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 3, 31, 12, 0, tzinfo=BERLIN)


def at(text: str) -> datetime:
    return datetime.fromtimestamp(parse_time(text, now=NOW, zone=BERLIN) / 1000, UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-01-15", "2026-01-14T23:00:00+00:00"),
        ("2026-07-15", "2026-07-14T22:00:00+00:00"),  # summer time, though `now` is not in July
        ("2026-01-15T10:30", "2026-01-15T09:30:00+00:00"),
        ("2026-01-15T10:30:00Z", "2026-01-15T10:30:00+00:00"),
        ("2026-01-15T10:30+09:00", "2026-01-15T01:30:00+00:00"),
        ("24h", "2026-03-30T10:00:00+00:00"),
        ("2w", "2026-03-17T10:00:00+00:00"),
        ("1mo", "2026-02-28T11:00:00+00:00"),  # February has no 31st
        ("13mo", "2025-02-28T11:00:00+00:00"),
    ],
)
def test_a_time_is_read_as_people_mean_it(text, expected):
    assert at(text) == datetime.fromisoformat(expected)


@pytest.mark.parametrize(
    "text", ["", "yesterday", "2026-13-01", "2026-02-30", "999999mo", "-3d", "20260115", "3 d"]
)
def test_anything_else_is_refused_in_words(text):
    with pytest.raises(QueryError, match="is not a time"):
        parse_time(text, now=NOW)


@given(st.text())
def test_any_text_is_a_time_or_refused(text):
    try:
        parse_time(text, now=NOW, zone=BERLIN)
    except QueryError:
        pass


@given(
    st.datetimes(min_value=datetime(1970, 1, 2), max_value=datetime(2100, 1, 1)),
    st.integers(-14 * 60, 14 * 60),
)
def test_a_time_with_a_zone_is_taken_as_given(moment, minutes):
    aware = moment.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    assert parse_time(aware.isoformat(), now=NOW) == round(aware.timestamp() * 1000)


@pytest.fixture
def here(monkeypatch):
    """Set the system's zone; it is put back behind the test."""

    def go(name):
        monkeypatch.setenv("TZ", name)
        time.tzset()

    yield go
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("place", "text", "expected"),
    [
        ("Europe/Berlin", "2026-03-29", "2026-03-28T23:00Z"),  # the day the clocks go forward
        ("Europe/Berlin", "2026-03-30", "2026-03-29T22:00Z"),
        ("Europe/Berlin", "2026-10-25", "2026-10-24T22:00Z"),  # the day they go back
        ("Europe/Berlin", "2026-10-26", "2026-10-25T23:00Z"),
        ("Europe/Berlin", "2026-03-29T02:30", "2026-03-29T01:30Z"),  # there is no such time
        ("Europe/Berlin", "2026-10-25T02:30", "2026-10-25T00:30Z"),  # the first of two
        ("Africa/Cairo", "2026-04-24", "2026-04-23T22:00Z"),  # a day without a midnight
        ("Asia/Shanghai", "2026-01-01", "2025-12-31T16:00Z"),
        ("Pacific/Kiritimati", "2026-01-01", "2025-12-31T10:00Z"),
        ("Asia/Shanghai", "2024-02-29", "2024-02-28T16:00Z"),
    ],
)
def test_a_date_is_a_day_of_the_place_one_is_in(here, place, text, expected):
    here(place)
    moment = datetime.fromtimestamp(parse_time(text, now=NOW) / 1000, UTC)
    assert moment == datetime.fromisoformat(expected)


def test_months_keep_the_time_of_day_when_the_clocks_change(here):
    here("Europe/Berlin")
    now = datetime(2026, 5, 15, 12, 0, tzinfo=timezone(timedelta(hours=2)))
    moment = datetime.fromtimestamp(parse_time("3mo", now=now) / 1000, UTC)
    assert moment == datetime(2026, 2, 15, 11, 0, tzinfo=UTC)
    moment = datetime.fromtimestamp(parse_time("90d", now=now) / 1000, UTC)
    assert moment == datetime(2026, 2, 14, 10, 0, tzinfo=UTC)


@pytest.mark.parametrize("place", ["UTC", "Europe/Berlin", "America/New_York", "Asia/Tokyo"])
@pytest.mark.parametrize(
    "text",
    ["99999w", "1000mo", "0000-00-00", "0001-01-01", "0001-01-01T00:00+14:00",
     "9999-12-31T23:59-12:00", "999999d", "999999w", "999999mo", "2026-02-29",
     "2026-01-01T24:01", "2026-01-01T10:60", "10000-01-01"],
)  # fmt: skip
def test_what_no_calendar_has_is_refused_wherever_one_is(here, place, text):
    here(place)
    with pytest.raises(QueryError, match="is not a time"):
        parse_time(text, now=NOW)


@given(st.sampled_from(["h", "d", "w", "mo"]), st.integers(0, 999_999))
def test_an_age_lies_in_the_past_and_a_larger_one_before_it(unit, count):
    try:
        earlier = parse_time(f"{count + 1}{unit}", now=NOW, zone=BERLIN)
    except QueryError:
        return
    later = parse_time(f"{count}{unit}", now=NOW, zone=BERLIN)
    assert earlier <= later <= NOW.timestamp() * 1000
