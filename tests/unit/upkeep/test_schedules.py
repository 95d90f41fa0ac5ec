"""When a job is due, against a clock that is stepped minute by minute.

The oracle knows only what crontab(5) and cron(8) of Debian say: which minutes five fields name,
and that a fixed time left out by a clock change comes at once, one that comes twice comes once.
"""

import itertools
import os
import time
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import SettingError
from core.upkeep.schedules import LOCAL, At, Cron, Delay, Every, next_fire, parse

ZONES = {name: ZoneInfo(name) for name in ("America/Bogota", "Europe/Berlin", "Asia/Tokyo")}
BERLIN = ZONES["Europe/Berlin"]
SPRING, AUTUMN = datetime(2026, 3, 29, 1, tzinfo=UTC), datetime(2026, 10, 25, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def ms(moment):
    return round(moment.timestamp() * 1000)


def local(text, zone=BERLIN, fold=0):
    return datetime.fromisoformat(text).replace(tzinfo=zone, fold=fold)


@pytest.mark.parametrize(
    ("text", "schedule"),
    [
        ("delay:10m", Delay(600_000)),
        ("delay:0s", Delay(0)),
        (" every:30m ", Every(1_800_000)),
        ("every:1d", Every(86_400_000)),
        ("every:60s", Every(60_000)),
        ("every:2w", Every(1_209_600_000)),
        ("at:2026-12-01T03:00", At(ms(local("2026-12-01T03:00")))),
        ("at:2026-12-01T03:00Z", At(ms(datetime(2026, 12, 1, 3, tzinfo=UTC)))),
        ("cron:0 3 * * *", Cron("0 3 * * *")),
        ("cron: 0  3 * * mon-fri ", Cron("0 3 * * mon-fri")),
    ],
)
def test_a_schedule_is_read_as_it_is_typed(text, schedule):
    assert parse(text, BERLIN) == schedule


@pytest.mark.parametrize(
    "text",
    ["", "daily", "10m", "every", "every:", "every:0m", "every:59s", "every:-1h", "every:1.5h",
     "every:30", "every:1y", "every:367d", "every:9999999w", "delay:-1s", "delay:²m", "soon:1h",
     "at:", "at:tomorrow", "at:2026-02-30", "at:0000-00-00", "at:99999-01-01", "cron:",
     "cron:@daily",
     "cron:0 3 * *", "cron:0 3 * * * *", "cron:60 3 * * *", "cron:0 24 * * *", "cron:0 0 30 2 *",
     "cron:0 0 31 4,6 *", "cron:*/0 * * * *", "cron:5-1 * * * *", "cron:0 0 * * 1#6",
     "cron:0 0 * * 2#2/2", "cron:a b c d e", "every:1h" + " " * 200],
)  # fmt: skip
def test_what_is_no_schedule_is_refused_in_words(text):
    with pytest.raises(SettingError, match=r"\w+ \w+"):
        parse(text, BERLIN)


@given(text=st.text(max_size=60) | st.from_regex(r"cron:[0-9*/,#LW\-a-z ]{5,40}", fullmatch=True))
def test_any_text_is_a_schedule_or_refused(text):
    try:
        schedule = parse(text, BERLIN)
    except SettingError:
        return
    at_ms = ms(datetime(2026, 11, 30, tzinfo=UTC))
    found = next_fire(schedule, at_ms, BERLIN)
    assert found is not None
    assert isinstance(schedule, At) or found >= at_ms


def test_an_interval_counts_from_where_it_was_fired_through_a_clock_change():
    before = ms(SPRING) - 1_800_000
    assert next_fire(Every(3_600_000), before, BERLIN) == before + 3_600_000
    assert next_fire(Delay(600_000), before, BERLIN) == before + 600_000
    assert next_fire(At(5), before, BERLIN) == 5


# Clock changes, as cron(8) has them


@pytest.mark.parametrize(
    ("expression", "after", "fires"),
    [
        # 02:30 is left out: it comes at once, at 03:00 of summer time.
        ("30 2 * * *", "2026-03-28T12:00", "2026-03-29T03:00"),
        ("30 2 * * *", "2026-03-29T03:00", "2026-03-30T02:30"),
        # 02:30 comes twice: it fires in the first of both hours alone.
        ("30 2 * * *", "2026-10-24T12:00", "2026-10-25T02:30"),
        ("30 2 * * *", "2026-10-25T02:30", "2026-10-26T02:30"),
        # Wildcards follow real time: both hours of autumn, none of spring.
        ("*/30 * * * *", "2026-03-29T01:30", "2026-03-29T03:00"),
        ("0 3 * * *", "2026-03-28T03:00", "2026-03-29T03:00"),
        ("0 3 * * *", "2026-10-24T03:00", "2026-10-25T03:00"),
    ],
)
def test_a_clock_change_neither_loses_nor_doubles_a_fixed_time(expression, after, fires):
    assert next_fire(Cron(expression), ms(local(after)), BERLIN) == ms(local(fires))


def test_a_fixed_time_is_not_found_again_in_the_second_of_two_equal_hours():
    second = ms(local("2026-10-25T02:10", fold=1))
    assert next_fire(Cron("30 2 * * *"), second, BERLIN) == ms(local("2026-10-26T02:30"))


def test_every_half_hour_fires_twice_in_the_hour_that_comes_twice():
    at_ms, fired = ms(local("2026-10-25T01:30")), []
    while len(fired) < 5:
        at_ms = next_fire(Cron("*/30 * * * *"), at_ms, BERLIN)
        fired.append(at_ms)
    assert [later - earlier for earlier, later in itertools.pairwise(fired)] == [1_800_000] * 4


# The oracle


def matches(field, value, least, most):
    """Whether a field of crontab(5) holds a value: `*`, numbers, ranges, lists, steps."""
    for part in field.split(","):
        span, _, step = part.partition("/")
        first, _, last = (f"{least}-{most}" if span == "*" else span).partition("-")
        last = last or (str(most) if step else first)
        if value in range(int(first), int(last) + 1, int(step or 1)):
            return True
    return False


def names(expression, moment):
    """Whether five fields name a local minute."""
    minute, hour, day, month, weekday = expression.split()
    if not (
        matches(minute, moment.minute, 0, 59)
        and matches(hour, moment.hour, 0, 23)
        and matches(month, moment.month, 1, 12)
    ):
        return False
    by_day = matches(day, moment.day, 1, 31)
    sunday = moment.isoweekday() % 7
    by_weekday = matches(weekday, sunday, 0, 7) or (sunday == 0 and matches(weekday, 7, 0, 7))
    if day.startswith("*") or weekday.startswith("*"):
        return by_day and by_weekday
    return by_day or by_weekday


def stepped(expression, after, zone, minutes=60 * 24 * 40):
    """The next minute that the fields name, found by looking at every minute of real time."""
    is_fixed = not any(field.startswith("*") for field in expression.split()[:2])
    moment = after.replace(second=0, microsecond=0)
    for _ in range(minutes):
        before, moment = moment.astimezone(zone), moment + MINUTE
        now = moment.astimezone(zone)
        skipped = now.replace(tzinfo=None) - before.replace(tzinfo=None) - MINUTE
        if is_fixed and now.fold:
            continue
        if is_fixed and skipped > timedelta(0):
            left_out = (
                before.replace(tzinfo=None) + MINUTE * n
                for n in range(1, round(skipped / MINUTE) + 1)
            )
            if any(names(expression, each) for each in left_out):
                return moment
        if names(expression, now):
            return moment
    return None


def fields(least, most):
    number = st.integers(least, most)
    # Not 2-2: the library reads 2-2/1 as 2/1, which nobody types.
    spans = st.lists(number, min_size=2, max_size=2, unique=True).map(sorted)
    spans = spans.map(lambda both: f"{both[0]}-{both[1]}")
    steps = st.tuples(st.just("*") | spans, st.integers(1, most)).map(lambda p: f"{p[0]}/{p[1]}")
    one = number.map(str) | spans | steps
    return (
        st.just("*") | one | st.lists(number.map(str) | spans, min_size=2, max_size=3).map(",".join)
    )


EXPRESSIONS = st.tuples(
    fields(0, 59),
    fields(0, 23),
    st.just("*") | fields(1, 28),
    st.just("*"),
    st.just("*") | fields(0, 6),
).map(" ".join)
NEAR = st.builds(
    lambda change, seconds: change + timedelta(seconds=seconds),
    st.sampled_from([SPRING, AUTUMN]),
    st.integers(-90_000, 90_000),
)
ANY_TIME = st.integers(ms(datetime(2026, 1, 1, tzinfo=UTC)), ms(datetime(2028, 12, 31, tzinfo=UTC)))
MOMENTS = NEAR | ANY_TIME.map(lambda at: datetime.fromtimestamp(at / 1000, UTC))


def agrees(expression, after, zone):
    found = next_fire(parse(f"cron:{expression}"), ms(after), zone)
    expected = stepped(expression, after, zone)
    if expected is None:
        assert found is None or found > ms(after + timedelta(days=39))
    else:
        told = datetime.fromtimestamp(found / 1000, zone)
        assert found == ms(expected), f"{expression} after {after.astimezone(zone)}: {told}"


@settings(max_examples=60, deadline=None)
@given(expression=EXPRESSIONS, after=MOMENTS, zone=st.sampled_from(sorted(ZONES)))
def test_cron_fires_at_the_first_minute_that_its_fields_name(expression, after, zone):
    agrees(expression, after, ZONES[zone])


@pytest.mark.long
@settings(max_examples=2_000, deadline=None)
@given(expression=EXPRESSIONS, after=MOMENTS, zone=st.sampled_from(sorted(ZONES)))
def test_cron_fires_at_the_first_minute_that_its_fields_name_long(expression, after, zone):
    agrees(expression, after, ZONES[zone])


# The system's own zone


@pytest.fixture(params=sorted(ZONES))
def system_zone(request):
    before = os.environ.get("TZ")
    os.environ["TZ"] = request.param
    time.tzset()
    yield ZONES[request.param]
    if before is None:
        del os.environ["TZ"]
    else:
        os.environ["TZ"] = before
    time.tzset()


def test_local_times_are_those_of_the_system_through_every_clock_change(system_zone):
    hours = (SPRING, AUTUMN, datetime(2027, 1, 15, 12, tzinfo=UTC))
    for change in hours:
        for minutes in range(-180, 180, 10):
            moment = change + minutes * MINUTE
            here, there = moment.astimezone(LOCAL), moment.astimezone(system_zone)
            assert here.replace(tzinfo=None) == there.replace(tzinfo=None)
            assert (here.fold, here.utcoffset()) == (there.fold, there.utcoffset())
            assert here.timestamp() == moment.timestamp()
    for expression in ("30 2 * * *", "*/20 * * * *", "0 3 1 * *"):
        for change in hours:
            after = ms(change - timedelta(hours=2))
            schedule = Cron(expression)
            assert next_fire(schedule, after) == next_fire(schedule, after, system_zone)
