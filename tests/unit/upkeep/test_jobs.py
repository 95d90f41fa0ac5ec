"""Jobs: made once, fired by one program, counted, paused, completed, recovered after a crash."""

import subprocess
import sys
import threading
from pathlib import Path

import apsw
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from core import settings
from core.errors import NotFoundError, RefusedError, RunningError, SettingError, StoreFullError
from core.store import liveness
from core.store.connection import open_writer, transaction
from core.types import Progress
from core.upkeep import erasure, firing, operations, runs, schedule, trash
from core.upkeep_types import Report
from tests.unit.store.making import message, path_at, store_at, store_messages

ROOT = Path(__file__).parents[3]
NOW = 1_796_000_000_000
MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000


@pytest.fixture
def db(tmp_path):
    made = store_at(tmp_path, cjk=False)
    yield made
    made.close()


@pytest.fixture
def kinds(monkeypatch):
    """Let a kind of job do what a test says."""
    made = {}
    monkeypatch.setattr(firing, "UPKEEP", made)

    def use(kind, work, **more):
        made[kind] = firing.Upkeep(work, **more)

    return use


def added(db, kind="check", plan="every:1h", now=NOW, **more):
    with transaction(db):
        return schedule.add(db, kind, plan, now_ms=now, **more)


def fired(db, job, now=NOW, **more):
    """Run a job to its end; return how, or None where it was not for us."""
    steps = list(firing.fire(db, job, now_ms=lambda: now, **more))
    return steps[-1].facts["status"] if steps else None


def saying(words="done", steps=1):
    def work(_db, _actor):
        for n in range(steps):
            yield Progress(n, steps, "steps")
        yield Report(words)

    return work


def failing(error):
    def work(_db, _actor):
        yield Progress(0, 1, "steps")
        raise error

    return work


def recover(db, now=NOW):
    with transaction(db):
        return runs.recover(db, now_ms=now)


def kill(db, job):
    """Let the job that runs be of a process that is gone."""
    with transaction(db):
        dead = liveness.holder().replace(".", ".9", 1)
        db.execute("UPDATE jobs SET holder = ? WHERE id = ?", (dead, job.id))


# Making, changing, removing


def test_every_store_begins_with_the_same_jobs_and_what_is_removed_stays_removed(db):
    with transaction(db):
        schedule.ensure_defaults(db, now_ms=NOW)
    made = {
        job.id: (job.kind, job.schedule, job.next_fire_at_ms - NOW) for job in schedule.jobs(db)
    }
    assert made == {
        "trash": ("trash.expire", "every:1d", DAY),
        "retention": ("retention.apply", "every:1d", DAY),
        "purge": ("purge", "every:1d", DAY),
        "backup": ("backup", "every:30m", 30 * MINUTE),
        "optimize": ("optimize", "every:7d", 7 * DAY),
        "check": ("check", "every:7d", 7 * DAY),
    }
    assert {kind for kind, *_ in made.values()} == set(firing.UPKEEP) == set(schedule.KINDS)
    with transaction(db):
        schedule.remove(db, "backup")
        schedule.set_schedule(db, "check", "cron:0 3 * * *", now_ms=NOW)
        schedule.ensure_defaults(db, now_ms=NOW + DAY)
    left = {job.id: job.schedule for job in schedule.jobs(db)}
    assert "backup" not in left
    assert left["check"] == "cron:0 3 * * *"


def test_a_job_gets_the_first_free_number_of_its_kind(db):
    assert [added(db).id, added(db).id] == ["check-1", "check-2"]
    with transaction(db):
        schedule.remove(db, "check-1")
    assert added(db).id == "check-1"


@pytest.mark.parametrize(
    ("kind", "plan"),
    [("compact", "every:1h"), ("", "every:1h"), ("check", "every:1s"), ("check", "at:2020-01-01"),
     ("check", ""), ("x" * 10_000, "every:1h")],
)  # fmt: skip
def test_what_is_no_job_is_refused_and_nothing_is_made(db, kind, plan):
    with pytest.raises(SettingError):
        added(db, kind, plan)
    assert schedule.jobs(db) == ()


def test_there_is_an_end_to_jobs(db):
    for _ in range(schedule.MOST_JOBS):
        added(db)
    with pytest.raises(SettingError, match="100 jobs"):
        added(db)


def test_a_name_that_nobody_has_is_said(db):
    for change in (
        lambda: schedule.get(db, "x"),
        lambda: schedule.remove(db, "x"),
        lambda: schedule.set_paused(db, "x", True),
        lambda: schedule.set_schedule(db, "x", "every:1h"),
    ):
        with pytest.raises(NotFoundError):
            change()


# Firing


def test_a_job_is_due_from_its_moment_on(db):
    job = added(db)
    assert runs.next_due_at_ms(db) == NOW + HOUR
    assert runs.due(db, NOW + HOUR - 1) == ()
    assert [each.id for each in runs.due(db, NOW + HOUR)] == [job.id]


def test_a_repeating_job_counts_and_comes_again_after_its_interval(db, kinds):
    kinds("check", saying())
    job = added(db)
    assert fired(db, job, NOW + HOUR) == "ok"
    done = schedule.get(db, job.id)
    assert (done.state, done.last_status, done.last_error) == ("scheduled", "ok", None)
    assert (done.run_count, done.last_fired_at_ms) == (1, NOW + HOUR)
    assert done.next_fire_at_ms == NOW + 2 * HOUR


def test_what_was_missed_happens_once(db, kinds):
    kinds("check", saying())
    job = added(db)
    later = NOW + 1_000 * HOUR
    assert fired(db, job, later) == "ok"
    assert runs.due(db, later) == ()
    assert fired(db, schedule.get(db, job.id), later) is None
    assert schedule.get(db, job.id).next_fire_at_ms == later + HOUR


@pytest.mark.parametrize(
    ("plan", "moment"),
    [("delay:10m", NOW + 10 * MINUTE), ("at:2027-01-01T00:00Z", 1_798_761_600_000)],
)
def test_what_fires_once_is_completed(db, kinds, plan, moment):
    kinds("check", saying())
    job = added(db, plan=plan)
    assert job.next_fire_at_ms == moment
    assert fired(db, job, moment - 1) is None
    assert fired(db, job, moment + DAY) == "ok"
    done = schedule.get(db, job.id)
    assert (done.state, done.next_fire_at_ms, done.run_count) == ("completed", None, 1)
    assert runs.next_due_at_ms(db) is None


def test_a_job_with_a_number_of_runs_is_completed_after_them_and_skips_do_not_count(db, kinds):
    reasons = iter(["", "nothing to do", ""])
    kinds("check", saying(), idle=lambda _db: next(reasons))
    job, now = added(db, max_runs=2), NOW
    told = []
    for _ in range(3):
        now += HOUR
        told.append(fired(db, schedule.get(db, job.id), now))
    assert told == ["ok", "skipped", "ok"]
    done = schedule.get(db, job.id)
    assert (done.state, done.run_count, done.next_fire_at_ms) == ("completed", 2, None)


@pytest.mark.parametrize(
    ("error", "status", "soon"),
    [
        (RunningError("purge is running already"), "skipped", True),
        (RefusedError("more than a fifth would go"), "skipped", False),
        (StoreFullError("the disk is full"), "error", False),
        (apsw.FullError("database or disk is full"), "error", False),
    ],
)
def test_how_it_ended_is_kept_in_words_and_the_job_goes_on(db, kinds, error, status, soon):
    kinds("check", failing(error))
    job = added(db)
    assert fired(db, job, NOW + HOUR) == status
    done = schedule.get(db, job.id)
    assert (done.state, done.last_status) == ("scheduled", status)
    assert str(error) in done.last_error or "is full" in done.last_error
    assert done.next_fire_at_ms == NOW + HOUR + (MINUTE if soon else HOUR)
    assert done.run_count == (status == "error")


def test_a_skip_because_another_runs_does_not_complete_what_fires_once(db, kinds):
    kinds("check", failing(RunningError("running already")))
    job = added(db, plan="delay:1m")
    assert fired(db, job, NOW + MINUTE) == "skipped"
    assert schedule.get(db, job.id).next_fire_at_ms == NOW + 2 * MINUTE


def test_what_waits_for_an_open_reader_is_tried_again_soon(db, kinds):
    def pending(_db, _actor):
        yield Report("erase pending: a reader is open", {}, "pending")

    kinds("purge", pending)
    job = added(db, "purge", "every:1d")
    assert fired(db, job, NOW + DAY) == "skipped"
    done = schedule.get(db, job.id)
    assert done.last_error == "erase pending: a reader is open"
    assert done.next_fire_at_ms == NOW + DAY + 10 * MINUTE


@pytest.mark.parametrize("error", [KeyboardInterrupt(), apsw.InterruptError("interrupted")])
def test_what_is_stopped_is_due_again_and_not_counted(db, kinds, error):
    kinds("check", failing(error))
    job = added(db, plan="delay:1m")
    with pytest.raises(type(error)):
        fired(db, job, NOW + HOUR)
    done = schedule.get(db, job.id)
    assert (done.state, done.last_status, done.run_count) == ("scheduled", "skipped", 0)
    assert (done.last_error, done.next_fire_at_ms) == (
        "stopped before its end",
        NOW + HOUR + MINUTE,
    )


def test_closing_a_run_ends_its_line_in_the_ledger_before_the_job(db, kinds):
    def work(db, actor):
        with operations.recorded(db, "check.full", {}, actor):
            while True:
                yield Progress(0, None, "steps")

    kinds("check", work)
    job = added(db)
    steps = firing.fire(db, job, now_ms=lambda: NOW + HOUR)
    next(steps)
    assert schedule.get(db, job.id).state == "running"
    steps.close()
    (told,) = operations.listing(db)
    assert (told.state, told.actor) == ("failed", "schedule")
    assert schedule.get(db, job.id).state == "scheduled"


def test_a_kind_that_this_version_does_not_know_is_skipped_in_words(db, kinds):
    job = added(db)
    assert fired(db, job, NOW + HOUR) == "skipped"
    assert "does not know" in schedule.get(db, job.id).last_error


def test_by_hand_it_runs_before_its_time_and_also_paused(db, kinds):
    kinds("check", saying())
    job = added(db)
    assert fired(db, job, NOW, by_hand=True, actor="command") == "ok"
    with transaction(db):
        schedule.set_paused(db, job.id, True)
    assert fired(db, job, NOW + 2 * HOUR) is None
    assert fired(db, job, NOW + 2 * HOUR, by_hand=True) == "ok"
    done = schedule.get(db, job.id)
    assert (done.state, done.run_count) == ("paused", 2)


# Pausing


def test_a_paused_job_is_not_due_and_what_it_missed_is_not_made_up_for(db):
    job = added(db)
    with transaction(db):
        schedule.set_paused(db, job.id, True)
    assert runs.due(db, NOW + DAY) == ()
    with transaction(db):
        resumed = schedule.set_paused(db, job.id, False, now_ms=NOW + DAY)
    assert (resumed.state, resumed.next_fire_at_ms) == ("scheduled", NOW + DAY + HOUR)
    with transaction(db):
        schedule.set_paused(db, job.id, True)
        again = schedule.set_paused(db, job.id, False, now_ms=NOW + DAY)
    assert again.next_fire_at_ms == NOW + DAY + HOUR


def test_pausing_resuming_and_removing_a_running_job_let_it_come_to_its_end(db, kinds):
    kinds("check", saying(steps=4))
    job = added(db)
    steps = firing.fire(db, job, now_ms=lambda: NOW + HOUR)
    next(steps)
    with transaction(db):
        assert schedule.set_paused(db, job.id, True).state == "paused"
        assert schedule.set_paused(db, job.id, False, now_ms=NOW).state == "running"
    with pytest.raises(RunningError):
        fired(db, job, NOW + HOUR, by_hand=True)
    with transaction(db):
        schedule.set_paused(db, job.id, True)
    list(steps)
    assert schedule.get(db, job.id).state == "paused"
    steps = firing.fire(db, job, now_ms=lambda: NOW + HOUR, by_hand=True)
    next(steps)
    with transaction(db):
        schedule.remove(db, job.id)
    assert list(steps)[-1].facts["status"] == "ok"
    assert schedule.jobs(db) == ()


def test_a_completed_job_cannot_be_paused_but_gets_another_schedule(db, kinds):
    kinds("check", saying())
    job = added(db, plan="delay:1m")
    fired(db, job, NOW + HOUR)
    with pytest.raises(SettingError):
        schedule.set_paused(db, job.id, True)
    with transaction(db):
        again = schedule.set_schedule(db, job.id, "every:2h", now_ms=NOW + DAY)
    assert (again.state, again.next_fire_at_ms) == ("scheduled", NOW + DAY + 2 * HOUR)


# Several programs, crashes, clocks


def test_of_several_connections_one_fires_a_due_job(db, kinds, tmp_path):
    kinds("check", saying())
    job = added(db)
    other = open_writer(path_at(tmp_path), tokenizer=None)
    steps = firing.fire(db, job, now_ms=lambda: NOW + HOUR)
    next(steps)
    assert fired(other, schedule.jobs(other)[0], NOW + HOUR) is None
    list(steps)
    assert fired(other, job, NOW + HOUR) is None
    other.close()
    assert schedule.get(db, job.id).run_count == 1


FIRE = """
import sys
from pathlib import Path
from core.store.connection import open_writer
from core.types import Progress
from core.upkeep import firing, schedule
from core.upkeep_types import Report
def work(db, actor):
    yield Progress(0, 1, "steps")
    print("running", flush=True)
    sys.stdin.readline()
    yield Report("done")
firing.UPKEEP = {"check": firing.Upkeep(work)}
db = open_writer(Path(sys.argv[1]), tokenizer=None)
job = schedule.get(db, "check-1")
print("ready", flush=True)
sys.stdin.readline()
found = list(firing.fire(db, job, now_ms=lambda: int(sys.argv[2])))
print(found[-1].facts["status"] if found else "not mine", flush=True)
"""


@pytest.fixture
def program(tmp_path):
    started = []

    def start():
        command = [sys.executable, "-c", FIRE, str(path_at(tmp_path)), str(NOW + HOUR)]
        process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        started.append(process)
        assert process.stdout.readline() == "ready\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def go(process):
    process.stdin.write("\n")
    process.stdin.flush()


def test_two_programs_at_once_fire_a_due_job_once(db, program):
    added(db)
    both = [program(), program()]
    for process in both:
        go(process)
    first = sorted(process.stdout.readline().strip() for process in both)
    assert first == ["not mine", "running"]
    for process in both:
        if process.poll() is None:
            process.communicate("\n")
    assert schedule.get(db, "check-1").run_count == 1


def test_a_job_whose_program_was_killed_is_an_error_and_not_run_again_for_it(db, program):
    job = added(db)
    process = program()
    go(process)
    assert process.stdout.readline() == "running\n"
    assert recover(db, NOW + 3 * DAY) == ()
    process.kill()
    process.wait()
    assert recover(db, NOW + 2 * HOUR) == (job.id,)
    done = schedule.get(db, job.id)
    assert (done.state, done.last_status, done.run_count) == ("scheduled", "error", 1)
    assert "interrupted" in done.last_error
    assert done.next_fire_at_ms == NOW + 3 * HOUR
    assert recover(db, NOW + 2 * HOUR) == ()


def test_a_job_that_fires_once_and_was_killed_is_completed_and_a_paused_one_stays_paused(db, kinds):
    kinds("check", saying(steps=3))
    once, paused = added(db, plan="delay:1m"), added(db)
    for job in (once, paused):
        next(firing.fire(db, job, now_ms=lambda: NOW + HOUR, by_hand=True), None)
    with transaction(db):
        for job in (once, paused):
            assert runs.claim(db, job, now_ms=NOW + HOUR, by_hand=True)
        schedule.set_paused(db, paused.id, True)
    for job in (once, paused):
        kill(db, job)
    assert set(recover(db, NOW + HOUR)) == {once.id, paused.id}
    assert schedule.get(db, once.id).state == "completed"
    assert schedule.get(db, paused.id).state == "paused"


def test_one_start_puts_right_all_that_a_crash_left(db):
    job = added(db)
    with transaction(db):
        operations.begin(db, "purge", {}, "schedule")
        db.execute("UPDATE operations SET holder = '1.1.x', heartbeat_at_ms = 0")
        runs.claim(db, job, now_ms=NOW, by_hand=True)
    kill(db, job)
    with transaction(db):
        (unknown,) = firing.prepare(db, now_ms=NOW)
    assert unknown.state == "unknown"
    assert schedule.get(db, job.id).last_status == "error"
    assert len(schedule.jobs(db)) == 1 + len(schedule.DEFAULTS)


@given(jumps=st.lists(st.integers(-400 * DAY, 400 * DAY), min_size=1, max_size=12))
@examples(max_examples=25, deadline=None)
def test_however_the_clock_is_set_a_job_fires_once_a_look_and_is_never_lost(
    jumps, tmp_path_factory
):
    """After each jump and a recovery it is due within its interval, and fires once when it is."""
    db = store_at(tmp_path_factory.mktemp("clock"), cjk=False)
    db.pragma("synchronous", "OFF")
    job, now = added(db), NOW
    for jump in jumps:
        now = max(DAY, now + jump)
        recover(db, now)
        due = runs.due(db, now)
        assert len(due) <= 1
        for each in due:
            with transaction(db):
                assert runs.claim(db, each, now_ms=now)
            with transaction(db):
                runs.end(db, each.id, "ok", "", now_ms=now)
            assert runs.due(db, now) == ()
        left = schedule.get(db, job.id).next_fire_at_ms - now
        assert 0 < left <= HOUR
    db.close()


def test_the_end_of_a_run_waits_for_one_who_holds_the_store_for_long(db, kinds, tmp_path):
    kinds("check", saying())
    job = added(db)
    db.set_busy_timeout(50)
    other = apsw.Connection(str(path_at(tmp_path)))
    steps = firing.fire(db, job, now_ms=lambda: NOW + HOUR)
    next(steps)
    other.execute("BEGIN IMMEDIATE")
    release = threading.Timer(0.2, other.execute, ("COMMIT",))
    release.start()
    assert list(steps)[-1].facts["status"] == "ok"
    release.join()
    other.close()
    assert schedule.get(db, job.id).run_count == 1


def test_a_job_whose_end_could_not_be_kept_is_taken_back_by_the_same_program(db, kinds, tmp_path):
    kinds("check", saying())
    job = added(db)
    db.set_busy_timeout(1)
    other = apsw.Connection(str(path_at(tmp_path)))
    steps = firing.fire(db, job, now_ms=lambda: NOW + HOUR)
    next(steps)
    assert recover(db, NOW + HOUR) == ()
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(apsw.BusyError):
        list(steps)
    other.execute("COMMIT")
    other.close()
    assert schedule.get(db, job.id).state == "running"
    assert recover(db, NOW + HOUR) == (job.id,)
    assert schedule.get(db, job.id).state == "scheduled"


# What the kinds do


def outcome(db, kind, now=NOW):
    job = added(db, kind, "every:1d", now)
    status = fired(db, job, now, by_hand=True)
    return status, schedule.get(db, job.id).last_error or ""


def test_without_anything_to_do_every_kind_says_so_or_does_it(db):
    assert outcome(db, "trash.expire") == ("skipped", "nothing in the trash is old enough to go")
    assert outcome(db, "retention.apply") == ("skipped", "retention is off")
    assert outcome(db, "purge") == ("skipped", "nothing waits to be erased")
    assert outcome(db, "check") == ("ok", "")
    assert outcome(db, "optimize") == ("ok", "")
    assert outcome(db, "backup") == ("ok", "")
    assert outcome(db, "backup") == ("skipped", "nothing changed since the last snapshot")
    kinds = {each.kind: each.actor for each in operations.listing(db)}
    assert kinds == {"optimize": "schedule", "backup": "schedule"}


def test_retention_that_would_take_more_than_a_fifth_waits_for_the_user(db):
    store_messages(db, *(message(f"m{n}", session=f"s{n}", created_at_ms=1_000) for n in range(9)))
    with transaction(db):
        settings.write(db, settings.RETENTION_DAYS, 30)
    status, words = outcome(db, "retention.apply")
    assert status == "skipped"
    assert "more than a fifth" in words
    assert db.execute("SELECT count(*) FROM sessions WHERE trashed_at_ms IS NOT NULL").get == 0


def test_the_trash_is_emptied_when_its_days_are_over_and_the_purge_follows(db):
    store_messages(db, *(message(f"m{n}", session=f"s{n}") for n in range(3)))
    with transaction(db):
        for row in (1, 2):
            trash.trash_sessions(db, [row], "you")
        db.execute("UPDATE sessions SET trashed_at_ms = trashed_at_ms - ? WHERE id = 1", (8 * DAY,))
    assert outcome(db, "trash.expire") == ("ok", "")
    assert db.execute("SELECT count(*) FROM sessions").get == 2
    assert erasure.waiting(db).messages == 1
    assert outcome(db, "purge") == ("ok", "")
    assert erasure.waiting(db).messages == 0
    assert outcome(db, "purge")[0] == "skipped"
