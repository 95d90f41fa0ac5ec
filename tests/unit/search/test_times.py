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
