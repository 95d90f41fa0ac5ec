"""What is told of the work on an index: how fast, since when not, and who does it."""

import os
import subprocess
import sys
import time

import pytest

from core import settings
from core.errors import SettingError
from core.index import backfill
from core.index.backfill import Pace, is_paused, run_sync, set_paused, step, unfinished
from core.index.pace import LONGEST_PAUSE_S, QUIET_S, OtherWriters, Quiet
from core.index.progress import Movement
from core.index.state import claim, is_held_by_another, new_holder, release, statuses
from core.store import attachment, liveness
from core.store.connection import open_writer, transaction
from core.store.index_state import STUCK_ALONE_MS, STUCK_MS, status_of
from core.store.indexes import CJK, INDEXES
from core.types import INDEX_NAMES
from tests.unit.store.making import message, path_at, store_at, store_messages

WORDS, TRIGRAM = INDEX_NAMES[:2]


@pytest.fixture
def db(tmp_path):
    db = store_at(tmp_path)
    yield db
    db.close()


@pytest.fixture
def unfilled(db):
    """A store of 40 messages whose word index has to be filled."""
    store_messages(db, *(message(f"u{n}", f"word{n}") for n in range(40)))
    with transaction(db):
        attachment.rebuild(db, INDEXES[WORDS], None)
    return db


def set_clock_back(db, ms):
    """Let all that the indexes' states tell have been so much earlier."""
    with transaction(db):
        db.execute(
            "UPDATE index_state SET last_moved_at_ms = last_moved_at_ms - ?,"
            " heartbeat_at_ms = heartbeat_at_ms - ?",
            (ms, ms),
        )


def test_the_rate_is_that_of_the_last_half_minute():
    moved = Movement(100.0)
    for second in range(1, 41):
        moved.note(100.0 + second, 10 if second <= 20 else 40)
    # Seconds 111 to 140: of the first kind 10, of the second 20.
    assert moved.rate(140.0) == pytest.approx((10 * 10 + 20 * 40) / 30, abs=0.5)
    for second in range(41, 71):
        moved.note(100.0 + second, 40)
    assert moved.rate(170.0) == pytest.approx(40, abs=1.4)


def test_there_is_no_rate_in_the_first_five_seconds():
    moved = Movement(0.0)
    moved.note(4.9, 49)
    assert moved.rate(4.9) is None
    moved.note(5.0, 1)
    assert moved.rate(5.0) == 10.0


def test_the_status_has_a_rate_and_time_left_only_while_somebody_works(unfilled):
    holder, pace = new_holder(), Pace(text_bytes=1)
    with transaction(unfilled):
        step(unfilled, WORDS, pace, holder)
    found = status_of(unfilled, WORDS)
    assert (found.done, found.todo, found.rate_rows_s, found.eta_s) == (1, 39, None, None)
    pace.moved[WORDS] = Movement(time.monotonic() - 10)
    pace.text_bytes = 1
    with transaction(unfilled):
        step(unfilled, WORDS, pace, holder)
    found = status_of(unfilled, WORDS)
    assert found.rate_rows_s == pytest.approx(0.1, rel=0.05)  # one row in ten seconds
    assert found.eta_s == pytest.approx(380, rel=0.05)
    assert found.worker == os.getpid()
    with transaction(unfilled):
        release(unfilled, holder)
    found = status_of(unfilled, WORDS)
    assert (found.rate_rows_s, found.eta_s, found.worker) == (None, None, None)


def test_a_worker_whose_process_is_gone_is_none_and_its_work_is_free(unfilled):
    program = "from core.store import liveness; print(liveness.holder())"
    gone = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.strip()
    with transaction(unfilled):
        assert claim(unfilled, f"{gone}/1")
    assert status_of(unfilled, WORDS).worker is None
    assert not is_held_by_another(unfilled, new_holder())
    with transaction(unfilled):
        assert claim(unfilled, f"{liveness.holder()}/1")
    assert status_of(unfilled, WORDS).worker == os.getpid()
    assert is_held_by_another(unfilled, new_holder())


def test_an_index_is_stuck_when_its_worker_does_not_move_it(unfilled):
    assert not any(found.stuck for found in statuses(unfilled))
    with transaction(unfilled):
        claim(unfilled, new_holder())
    set_clock_back(unfilled, STUCK_MS + 1000)
    assert [found.stuck for found in statuses(unfilled)] == [True, False, False]
    with transaction(unfilled):
        set_paused(unfilled, True)
    assert not any(found.stuck for found in statuses(unfilled))
    with transaction(unfilled):
        set_paused(unfilled, False)
    next(run_sync(unfilled, new_holder()))  # the holder from before is not heard of any more
    assert not any(found.stuck for found in statuses(unfilled))


def test_an_index_that_nobody_works_on_is_stuck_later(unfilled):
    set_clock_back(unfilled, STUCK_MS + 1000)
    assert not status_of(unfilled, WORDS).stuck
    set_clock_back(unfilled, STUCK_ALONE_MS)
    assert status_of(unfilled, WORDS).stuck


def test_an_index_that_waits_for_another_is_not_stuck(unfilled):
    with transaction(unfilled):
        attachment.rebuild(unfilled, INDEXES[TRIGRAM], None)
        claim(unfilled, new_holder())
    set_clock_back(unfilled, STUCK_MS + 1000)
    with transaction(unfilled):
        now = time.time_ns() // 1_000_000
        unfilled.execute("UPDATE index_state SET last_moved_at_ms = ? WHERE name = ?", (now, WORDS))
    assert [found.stuck for found in statuses(unfilled)] == [False, False, False]


def test_what_this_program_cannot_do_is_not_stuck(tmp_path, db):
    store_messages(db, message("a", "电影"))
    plain = open_writer(path_at(tmp_path), tokenizer=None)
    store_messages(plain, message("b", "订阅"), message("c", "订阅"))
    set_clock_back(plain, 2 * STUCK_ALONE_MS)
    found = status_of(plain, CJK)
    assert (found.state, found.queued, found.stuck) == ("detached", 2, False)
    assert status_of(db, CJK).stuck
    plain.close()


def test_all_indexes_are_paused_or_one_alone(unfilled):
    def paused():
        return [found.paused for found in statuses(unfilled)]

    def change(*arguments):
        with transaction(unfilled):
            set_paused(unfilled, *arguments)

    assert paused() == [False, False, False]
    change(True, CJK)
    assert paused() == [False, False, True]
    assert (is_paused(unfilled), is_paused(unfilled, CJK)) == (False, True)
    change(True)
    assert paused() == [True, True, True]
    assert is_paused(unfilled)
    change(False, TRIGRAM)  # this one goes on, the others stay
    assert paused() == [True, False, True]
    assert not is_paused(unfilled)
    assert unfinished(unfilled) == ()
    assert unfinished(unfilled, now=True) == (WORDS,)
    change(False)
    assert paused() == [False, False, False]
    assert unfinished(unfilled) == (WORDS,)


@pytest.mark.parametrize(("stored", "expected"), [("true", True), ("false", False)])
def test_what_an_earlier_version_stored_is_understood(db, stored, expected):
    with transaction(db):
        db.execute("INSERT INTO settings(key, value) VALUES ('backfill.paused', ?)", (stored,))
    assert is_paused(db) is expected
    with transaction(db):
        set_paused(db, not expected)
    found = db.execute("SELECT value FROM settings WHERE key = 'backfill.paused'").get
    assert found == str(not expected).lower()


def test_a_pause_that_cannot_be_read_stops_no_search(unfilled):
    with transaction(unfilled):
        unfilled.execute("INSERT INTO settings(key, value) VALUES ('backfill.paused', 'maybe')")
    assert [found.paused for found in statuses(unfilled)] == [False, False, False]
    with pytest.raises(SettingError, match=r"backfill\.paused cannot be read"):
        next(run_sync(unfilled, new_holder()))
    with transaction(unfilled):
        set_paused(unfilled, False)
    assert list(run_sync(unfilled, new_holder()))


def test_a_paused_index_is_left_alone_and_now_does_it_all_the_same(unfilled):
    with transaction(unfilled):
        set_paused(unfilled, True, WORDS)
    assert list(run_sync(unfilled, new_holder())) == []
    assert status_of(unfilled, WORDS).done == 0
    assert list(run_sync(unfilled, new_holder(), now=True))
    assert status_of(unfilled, WORDS).ready
    assert settings.read(unfilled, settings.BACKFILL_PAUSED_INDEXES) == (WORDS,)


def test_a_pause_in_the_middle_ends_the_run(unfilled, monkeypatch):
    monkeypatch.setattr("core.index.filling._MOST_ROWS", 5)
    steps = run_sync(unfilled, new_holder(), (WORDS,))
    assert next(steps).done == 5
    with transaction(unfilled):
        set_paused(unfilled, True)
    assert list(steps) == []
    assert status_of(unfilled, WORDS).done == 5


def test_the_heartbeat_is_as_new_as_the_end_of_the_batch(unfilled, monkeypatch):
    """However long a batch lasts, who waited for its lock finds the work still held."""
    fill = backfill.step.__globals__["_fill"]

    def slow(*arguments):
        done = fill(*arguments)
        now = time.time_ns
        monkeypatch.setattr(time, "time_ns", lambda: now() + 40_000_000_000)
        return done

    monkeypatch.setattr("core.index.filling._fill", slow)
    holder = new_holder()
    with transaction(unfilled):
        step(unfilled, WORDS, Pace(), holder)
    assert is_held_by_another(unfilled, new_holder())
    with transaction(unfilled):
        assert not claim(unfilled, new_holder())


def test_others_are_active_while_they_write_and_shortly_after(tmp_path, db, monkeypatch):
    clock = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    other = open_writer(path_at(tmp_path), tokenizer=None)
    others = OtherWriters(db)
    assert not others.are_active()
    store_messages(db, message("own"))
    assert not others.are_active()  # what this connection commits is its own
    with transaction(other):
        set_paused(other, False)
    assert others.are_active()
    clock[0] += QUIET_S - 0.1
    assert others.are_active()
    clock[0] += 0.2
    assert not others.are_active()
    other.close()


def test_quiet_is_broken_by_every_change_anew(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    quiet = Quiet(7)
    assert not quiet.is_broken(7)
    assert quiet.is_broken(8)
    clock[0] = 1.9
    assert quiet.is_broken(9)
    clock[0] = 3.8
    assert quiet.is_broken(9)
    clock[0] = 4.0
    assert not quiet.is_broken(9)


def test_no_pause_is_so_long_that_the_worker_seems_dead():
    pace = Pace(last_s=9.0)
    assert pace.pause_s(is_busy=True) == LONGEST_PAUSE_S < 30
