"""What goes by age is what was previewed, and nothing else (cases R03 and R10)."""

import json
import os
import time
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.errors import RefusedError, SettingError
from core.history.lifecycle import set_pinned
from core.search.times import parse_time
from core.store import clock
from core.store.connection import transaction
from core.upkeep import operations, retention, trash
from core.upkeep_types import RetentionRule
from tests.unit.store.making import add_source, message, store_at, store_messages

DAY = 86_400_000
NOW = 1_782_820_800_000  # 2026-06-30T12:00:00Z
CASES = Path(__file__).parents[2] / "data" / "cases" / "public_cases.jsonl"


@pytest.fixture
def db(tmp_path):
    made = store_at(tmp_path)
    yield made
    made.close()


@pytest.fixture
def now(monkeypatch):
    """The clock of the program; set it by calling."""

    def at(ms):
        monkeypatch.setattr(clock, "now_ms", lambda: ms)

    at(NOW)
    return at


@contextmanager
def zone(name):
    before = os.environ.get("TZ")
    os.environ["TZ"] = name
    time.tzset()
    try:
        yield
    finally:
        if before is None:
            del os.environ["TZ"]
        else:
            os.environ["TZ"] = before
        time.tzset()


def store(db, name, last=None, *, parent=None, pinned=False, ended=True, messages=1, source=1):
    with transaction(db):
        db.execute(
            "INSERT INTO sessions(source_id, native_id, parent_native_id, last_active_at_ms,"
            " pinned_at_ms, end_reason, message_count) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                source,
                name,
                parent,
                last,
                1 if pinned else None,
                "done" if ended else None,
                messages,
            ),
        )


def ms(text):
    return round(datetime.fromisoformat(text).timestamp() * 1000)


def names(db, condition="trashed_at_ms IS NOT NULL"):
    rows = db.execute(f"SELECT native_id FROM sessions WHERE {condition} ORDER BY id")
    return [name for (name,) in rows]


def apply(db, token, **more):
    *_, report = retention.apply(db, token, "you", **more)
    return report


def test_recorded_case_r03(db, now):
    """Only what was really not active for longer goes; the preview counts what goes."""
    now(ms("2026-06-30T12:00:00+00:00"))
    store(db, "A", ms("2026-06-30T10:00:00+00:00"))
    store(db, "B", ms("2026-03-01T00:00:00+00:00"))
    store(db, "C", ms("2026-01-01T00:00:00+00:00"))
    store(db, "C's", ms("2026-06-29T00:00:00+00:00"), parent="C")
    store(db, "D", ms("2025-01-01T00:00:00+00:00"), pinned=True)
    store(db, "E", None)
    store(db, "F", clock.now_ms() - 90 * DAY)
    found = retention.preview(db, RetentionRule(90))
    assert (found.sessions, found.kept_by_lineage, found.kept_pinned) == (1, 1, 1)
    assert found.kept_without_time == 1
    assert [each.ref for each in retention.going(db, RetentionRule(90))] == ["B"]
    assert apply(db, found.token).facts["sessions"] == 1
    assert names(db) == ["B"]


@pytest.mark.parametrize(
    ("tz", "before", "goes"),
    [
        ("America/Bogota", "2026-03-01", ["2026-03-01T04:59:59+00:00"]),
        ("Europe/Berlin", "2026-10-25", []),
        ("Europe/Berlin", "2026-10-26", ["2026-10-24T22:30:00+00:00"]),
        ("UTC", "2026-03-01T05:00", ["2026-03-01T04:59:59+00:00"]),
    ],
)
def test_recorded_case_r10(db, now, tz, before, goes):
    """A day is a local one, also where it has 25 hours."""
    now(ms("2026-11-30T00:00:00+00:00"))
    times = {
        "Bogota": ("2026-03-01T04:59:59+00:00", "2026-03-01T05:00:00+00:00"),
        "Berlin": ("2026-10-24T22:30:00+00:00", "2026-10-25T23:30:00+00:00"),
    }
    for at in times["Berlin" if tz.startswith("Europe") else "Bogota"]:
        store(db, at, ms(at))
    with zone(tz):
        bound = parse_time(before, now=datetime.now().astimezone())
        found = retention.preview(db, RetentionRule(), before_ms=bound)
        if goes:
            apply(db, found.token, confirmed=True)
    assert found.sessions == len(goes)
    assert names(db) == goes


def test_months_are_local(db, now):
    store(db, "a", ms("2026-03-01T04:59:59+00:00"), messages=2)
    store(db, "b", ms("2026-03-01T05:00:00+00:00"))
    with zone("America/Bogota"):
        months = retention.preview(db, RetentionRule(1)).months
    assert [(m.year, m.month, m.going_sessions) for m in months] == [(2026, 2, 1), (2026, 3, 1)]
    with zone("UTC"):
        months = retention.preview(db, RetentionRule(1)).months
    assert [(m.year, m.month, m.going_sessions) for m in months] == [(2026, 3, 2)]


def test_it_is_off_until_it_is_switched_on_and_0_is_off(db, now):
    store(db, "old", 1)
    assert retention.rule(db) == RetentionRule(0, ())
    found = retention.preview(db, retention.rule(db))
    assert (found.sessions, found.token, found.refused) == (0, "", retention.OFF)
    with pytest.raises(RefusedError, match="off"):
        apply(db, found.token, confirmed=True)
    *_, report = retention.run_scheduled(db, "schedule")
    assert report.facts["skipped"] == retention.OFF
    assert names(db) == []


@pytest.mark.parametrize("days", [-1, 1.5, "90", 36_501, True])
def test_days_that_are_none_are_refused_in_words(db, days):
    with pytest.raises(SettingError, match="days must be a whole number"), transaction(db):
        retention.set_rule(db, RetentionRule(days))
    assert retention.rule(db).days == 0


def test_a_rule_can_be_for_some_sources_alone(db, now):
    with transaction(db):
        other = add_source(db, "codex")
    store(db, "a", 1)
    store(db, "b", 1, source=other)
    with pytest.raises(SettingError, match="aider"), transaction(db):
        retention.set_rule(db, RetentionRule(30, ("aider",)))
    with transaction(db):
        retention.set_rule(db, RetentionRule(30, ("codex",)))
    assert retention.rule(db) == RetentionRule(30, ("codex",))
    apply(db, retention.preview(db, retention.rule(db)).token, confirmed=True)
    assert names(db) == ["b"]


def test_more_than_a_fifth_is_confirmed_or_does_not_go(db, now):
    store(db, "old", 1, messages=21)
    store(db, "new", NOW, messages=79)
    found = retention.preview(db, RetentionRule(30))
    assert found.needs_confirmation
    with pytest.raises(RefusedError, match="21 of 100 messages"):
        apply(db, found.token)
    with transaction(db):
        retention.set_rule(db, RetentionRule(30))
    *_, report = retention.run_scheduled(db, "schedule")
    assert "more than a fifth" in report.outcome
    assert names(db) == []
    assert apply(db, found.token, confirmed=True).facts["sessions"] == 1


def test_a_fifth_goes_unasked(db, now):
    store(db, "old", 1, messages=20)
    store(db, "new", NOW, messages=80)
    with transaction(db):
        retention.set_rule(db, RetentionRule(30))
    *_, report = retention.run_scheduled(db, "schedule")
    assert report.facts["sessions"] == 1
    assert names(db) == ["old"]


def test_what_changed_since_the_preview_is_previewed_again(db, now):
    store(db, "old", 1)
    store(db, "older", 1)
    token = retention.preview(db, RetentionRule(30)).token
    with transaction(db):
        set_pinned(db, 1, True)
    with pytest.raises(RefusedError, match="preview it again"):
        apply(db, token, confirmed=True)
    assert names(db) == []
    with transaction(db):
        set_pinned(db, 1, False)
    store(db, "young", NOW)  # what has nothing to do with it does no harm
    assert apply(db, token, confirmed=True).facts["sessions"] == 2


@pytest.mark.parametrize("token", ["x", "e30", "eyJkYXlzIjoxfQ", "é"])
def test_what_is_no_token_is_refused(db, token):
    with pytest.raises(SettingError):
        apply(db, token)


def test_what_comes_to_life_between_two_batches_stays_with_its_lineage(db, now):
    for n in range(600):
        store(db, f"s{n}", 1)
    store(db, "parent", 2)
    store(db, "child", 3, parent="parent")
    run = retention.apply(db, retention.preview(db, RetentionRule(30)).token, "you", True)
    next(run)
    store(db, "new child", NOW, parent="child")
    with transaction(db):
        set_pinned(db, 550, True)
    *_, report = run
    assert report.facts["stayed"] == 3
    assert names(db, "trashed_at_ms IS NULL") == ["s549", "parent", "child", "new child"]


def test_one_undo_brings_all_of_it_back_also_of_one_that_was_stopped(db, now):
    for n in range(1200):
        store(db, f"s{n}", 1)
    found = retention.preview(db, RetentionRule(30))
    run = retention.apply(db, found.token, "you", True)
    next(run)
    moved = len(names(db))
    assert 0 < moved < 1200
    with pytest.raises(RefusedError, match="preview it again"):
        next(retention.apply(db, found.token, "you", True))
    run.close()
    stopped = db.execute("SELECT max(id) FROM operations").get
    assert operations.get(db, stopped).state == "failed"
    assert operations.get(db, stopped).receipt["sessions"] == moved
    with transaction(db):
        trash.undo(db, stopped, "you")
    assert names(db) == []


def test_a_session_in_use_stays(db, now):
    store(db, "running", NOW - DAY + 1, ended=False)
    store(db, "its parent", NOW - 2 * DAY)
    store(db, "child", NOW - 3 * DAY, parent="running")
    store(db, "ended", NOW - DAY + 1)
    store(db, "left open", NOW - DAY - 1, ended=False)
    found = retention.preview(db, RetentionRule(), before_ms=NOW + DAY)
    assert found.kept_running == 2
    apply(db, found.token, confirmed=True)
    assert names(db) == ["its parent", "ended", "left open"]


def test_a_clock_that_leapt_holds_it_up(db, now):
    store_messages(db, message("m", created_at_ms=NOW - DAY))
    with transaction(db):
        clock.observe(db)
    now(NOW + 400 * DAY)
    found = retention.preview(db, RetentionRule(90))
    assert found.sessions == 1
    assert "400.0 days ahead" in found.refused
    with pytest.raises(RefusedError, match="clock"):
        apply(db, found.token, confirmed=True)
    assert names(db) == []
    with transaction(db):
        retention.trust_clock(db)
    assert apply(db, retention.preview(db, RetentionRule(90)).token, confirmed=True)
    assert len(names(db)) == 1


def test_a_leap_is_believed_after_a_day(db):
    def doubt(days):
        with transaction(db):
            clock.observe(db, NOW + round(days * DAY))
        return bool(clock.doubt(db, NOW + round(days * DAY)))

    assert [doubt(days) for days in (0, 0.5, 1.4, 10, 10.9, 11)] == [
        False, False, False, True, True, False,
    ]  # fmt: skip
    assert [doubt(days) for days in (9.5, 10.2, 8.1, 3, 2.5, 4.2)] == [
        True, False, True, True, True, False,
    ]  # fmt: skip


def test_a_leap_that_the_schedule_alone_sees_is_believed_after_a_day(db, now, monkeypatch):
    monkeypatch.setattr(clock, "_uptime", lambda: ("", 0))
    with transaction(db):
        retention.set_rule(db, RetentionRule(90))
    told = []
    for days in (20, 20.5, 21):
        now(NOW + round(days * DAY))
        *_, report = retention.run_scheduled(db, "schedule")
        told.append("skipped" in report.facts)
    assert told == [True, True, False]


def test_time_that_the_machine_was_up_is_no_leap(db, monkeypatch):
    monkeypatch.setattr(clock, "_uptime", lambda: ("a boot", 0))
    with transaction(db):
        clock.observe(db, NOW)
    monkeypatch.setattr(clock, "_uptime", lambda: ("a boot", 30 * DAY))
    assert not clock.doubt(db, NOW + 30 * DAY)
    assert clock.doubt(db, NOW + 32 * DAY)
    monkeypatch.setattr(clock, "_uptime", lambda: ("another", 30 * DAY))
    assert clock.doubt(db, NOW + 30 * DAY)


def test_bytes_are_those_of_the_texts_and_close_where_they_are_many(db, now):
    store_messages(
        db,
        *[
            message(f"m{n}", "é" * (n % 50), session=f"s{n % 40}", created_at_ms=1)
            for n in range(4000)
        ],
    )
    exact = sum(2 * (n % 50) for n in range(4000))
    assert retention.preview(db, RetentionRule(30)).bytes == exact
    sessions = [(row, 100) for (row,) in db.execute("SELECT id FROM sessions").fetchall()]
    assert retention.text_bytes(db, sessions, 4000) == exact
    for counted in (1000, 200):
        assert retention.text_bytes(db, sessions, counted) == pytest.approx(exact, rel=0.2)


# The whole rule against an oracle, which knows sessions one by one and nothing of SQL.


def related(sessions, name):
    """All that hang together with a session by the names of their parents."""
    found, waiting = set(), {name}
    while waiting:
        each = waiting.pop()
        found.add(each)
        near = {sessions[each]["parent"]} if each in sessions else set()
        near |= {other for other, its in sessions.items() if its["parent"] == each}
        waiting |= near - found - {None}
    return found & set(sessions)


def should_go(sessions, name, cutoff, now_ms):
    own = sessions[name]
    if own["last"] is None or own["trashed"] or own["last"] >= cutoff:
        return False
    for other in related(sessions, name):
        its = sessions[other]
        if its["trashed"]:
            continue
        if its["pinned"] or its["last"] is None or its["last"] >= cutoff:
            return False
        if not its["ended"] and now_ms - its["last"] <= DAY:
            return False
    return True


FOREST = st.lists(
    st.fixed_dictionaries(
        {
            "parent": st.none() | st.integers(0, 11).map(lambda n: f"s{n}"),
            "last": st.none() | st.integers(-6, 2).map(lambda n: NOW + n * DAY // 2),
            "pinned": st.sampled_from([False, False, False, True]),
            "ended": st.booleans(),
            "trashed": st.sampled_from([False, False, False, True]),
        }
    ),
    max_size=12,
)


@pytest.fixture(scope="module")
def emptied(tmp_path_factory):
    made = store_at(tmp_path_factory.mktemp("forests"))
    made.pragma("synchronous", "OFF")  # hundreds of small forests, none of them to last
    yield made
    made.close()


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(forest=FOREST, cutoff=st.integers(-5, 4), leap=st.sampled_from([0, 0, 0, -3, 3]))
def test_what_goes_is_what_was_previewed_and_what_the_oracle_says(emptied, forest, cutoff, leap):
    db = emptied
    with transaction(db):
        for table in ("sessions", "operations", "meta"):
            db.execute(f"DELETE FROM {table}")
        clock.observe(db, NOW)
    sessions = {f"s{n}": each for n, each in enumerate(forest)}
    for name, each in sessions.items():
        kept = {key: value for key, value in each.items() if key != "trashed"}
        store(db, name, **kept)
        if each["trashed"]:
            with transaction(db):
                db.execute("UPDATE sessions SET trashed_at_ms = 1 WHERE native_id = ?", (name,))
    before = set(names(db))
    now_ms, cutoff_ms = NOW + leap * DAY, NOW + cutoff * DAY // 2
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clock, "now_ms", lambda: now_ms)
        found = retention.preview(db, RetentionRule(), before_ms=cutoff_ms)
        expected = {name for name in sessions if should_go(sessions, name, cutoff_ms, now_ms)}
        listed = retention.going(db, RetentionRule(), before_ms=cutoff_ms)
        assert (found.sessions, {each.native_id for each in listed}) == (len(expected), expected)
        assert found.messages == len(expected)
        assert sum(month.going_sessions for month in found.months) == len(expected)
        kept = sum(
            not each["trashed"] and (each["last"] is None or each["last"] < cutoff_ms)
            for each in sessions.values()
        )
        told = (found.kept_pinned, found.kept_running, found.kept_by_lineage)
        assert kept == len(expected) + sum(told) + found.kept_without_time
        assert bool(found.refused) == bool(leap)
        if leap:
            with pytest.raises(RefusedError):
                apply(db, found.token, confirmed=True)
            expected = set()
        else:
            report = apply(db, found.token, confirmed=True)
            assert report.facts["stayed"] == 0
        assert set(names(db)) - before == expected
        if expected:
            with transaction(db):
                trash.undo(db, report.facts["operation"], "you")
        assert set(names(db)) == before


def test_the_case_is_the_recorded_one():
    """The dates above were copied by hand."""
    lines = CASES.read_text(encoding="utf-8").splitlines()
    case = next(each for each in map(json.loads, lines) if each["id"] == "R03")
    assert case["input"]["keep_days"] == 90
    assert any("B started 2026-01-01 last 2026-03-01" in each for each in case["input"]["sessions"])


def test_the_ledger_tells_what_was_moved(db, now):
    store(db, "old", 1, messages=3)
    found = retention.preview(db, RetentionRule(30))
    report = apply(db, found.token, confirmed=True)
    entry = operations.get(db, report.facts["operation"])
    assert (entry.kind, entry.state, entry.actor) == ("retention.apply", "succeeded", "you")
    assert entry.receipt == {"sessions": 1, "messages": 3, "stayed": 0}
    assert replace(found, months=()).rule.days == 30
