"""Scheduled upkeep in the window: what is due runs behind everything else, and ends with it."""

import asyncio
import time

import pytest
from PySide6.QtCore import QCoreApplication, QEvent

from app.controllers import scheduler as module
from app.controllers.scheduler import SchedulerController
from app.tasks import TaskScope
from app.views.conversation_pane import ConversationPane
from app.views.main_window import MainWindow, Models
from core.errors import StoreError
from core.store.connection import open_reader
from core.store.store import Store
from core.types import Progress
from core.upkeep import firing, operations, runs, schedule
from core.upkeep_types import Report
from tests.gui.conftest import until
from tests.unit.store.making import library, path_at

DAY_S = 86_400


class Clock:
    """A clock that a test sets."""

    def __init__(self):
        self.now_s = time.time()

    def __call__(self):
        return self.now_s


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def bench(run, themed, tmp_path, clock, monkeypatch):
    """A window with a scheduler over a store, without the rest of the program."""
    monkeypatch.setattr(module, "_SHORTEST_S", 0.01)
    monkeypatch.setattr(module, "_REST_S", 0.01)
    monkeypatch.setattr(module, "_BUSY_S", 0.01)
    monkeypatch.setattr(module, "_SEARCH_S", 0.01)

    async def build():
        store = await Store.open(tmp_path / "profile", tokenizer=library())
        window = MainWindow(Models.empty(), ConversationPane())
        tasks = TaskScope()
        return (
            store,
            window,
            tasks,
            SchedulerController(store, window, tasks, clock=clock, settle_s=0.0),
        )

    store, window, tasks, scheduler = run(build())
    yield store, window, tasks, scheduler
    run(tasks.close())
    run(store.close())
    window.close_now()
    window.deleteLater()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


@pytest.fixture
def other(bench, tmp_path):
    """Another connection, as another program has it."""
    db = open_reader(path_at(tmp_path), tokenizer=None)
    yield db
    db.close()


def slow(steps, seen=None):
    """Upkeep of so many steps in the ledger."""

    def work(db, actor):
        with operations.recorded(db, "optimize", {}, actor) as claim:
            for n in range(steps):
                if seen is not None:
                    seen.append(time.monotonic())
                time.sleep(0.01)
                yield Progress(n, steps, "steps")
            claim.outcome = "whole"
        yield Report("whole")

    return firing.Upkeep(work)


def use(monkeypatch, kind, upkeep):
    monkeypatch.setattr(firing, "UPKEEP", {kind: upkeep})


def test_a_job_runs_when_its_time_has_come_and_once(run, bench, clock, other, monkeypatch):
    _, window, _, scheduler = bench
    use(monkeypatch, "check", firing.UPKEEP["check"])

    async def work():
        scheduler.start()
        await until(lambda: len(schedule.jobs(other)) == len(schedule.DEFAULTS))
        assert schedule.get(other, "check").run_count == 0
        clock.now_s += 7.5 * DAY_S
        scheduler.wake()
        await until(lambda: schedule.get(other, "check").run_count)
        await asyncio.sleep(0.2)

    run(work())

    done = schedule.get(other, "check")
    assert (done.run_count, done.last_status, done.state) == (1, "ok", "scheduled")
    assert done.next_fire_at_ms == pytest.approx((clock.now_s + 7 * DAY_S) * 1000, abs=1)
    assert not window.message_bar.isVisibleTo(window)


def test_what_waits_for_an_import_or_a_search_runs_after_it(run, bench, clock, other, monkeypatch):
    _, _, tasks, scheduler = bench
    use(monkeypatch, "check", firing.UPKEEP["check"])

    async def work():
        scheduler.start()
        await until(lambda: schedule.jobs(other))
        for count, busy in enumerate(("import", "search", "upkeep")):
            going = asyncio.Event()
            tasks.start(busy, going.wait())
            clock.now_s += 8 * DAY_S
            scheduler._fired.clear()
            scheduler.wake()
            await asyncio.sleep(0.2)
            assert runs_of(other, "check") == count
            going.set()
            await until(lambda n=count: runs_of(other, "check") == n + 1)

    run(work())


def runs_of(db, name):
    return next((job.run_count for job in schedule.jobs(db) if job.id == name), 0)


def test_a_running_job_shows_in_the_status_bar_unless_something_else_does(
    run, bench, clock, other, monkeypatch
):
    _, window, tasks, scheduler = bench
    use(monkeypatch, "optimize", slow(20))
    bar = window.status_bar

    async def work():
        scheduler.start()
        await until(lambda: schedule.jobs(other))
        clock.now_s += 8 * DAY_S
        scheduler.wake()
        await until(lambda: bar._job.isVisibleTo(bar))
        name = bar.job_name.text()
        await until(lambda: runs_of(other, "optimize"))
        await until(lambda: not bar._job.isVisibleTo(bar))
        going = asyncio.Event()
        tasks.start("backfill", going.wait())
        bar.show_job("CJK index", 0.5, "50 %", "")
        scheduler._fired.clear()
        clock.now_s += 8 * DAY_S
        scheduler.wake()
        await until(lambda: runs_of(other, "optimize") == 2)
        going.set()
        return name

    assert run(work()) == "Merging indexes"
    assert bar.job_name.text() == "CJK index"
    assert bar._job.isVisibleTo(bar)


def test_closing_during_a_job_ends_it_and_the_ledger_and_the_job_say_so(
    run, bench, clock, other, monkeypatch
):
    _, _, tasks, scheduler = bench
    use(monkeypatch, "optimize", slow(10_000))

    async def work():
        scheduler.start()
        await until(lambda: schedule.jobs(other))
        clock.now_s += 8 * DAY_S
        scheduler.wake()
        await until(lambda: operations.listing(other))
        began = time.monotonic()
        await tasks.close()
        return time.monotonic() - began

    assert run(work()) < 2

    (told,) = operations.listing(other)
    assert (told.state, told.outcome) == ("failed", "stopped before its end")
    job = schedule.get(other, "optimize")
    assert (job.state, job.last_status, job.run_count) == ("scheduled", "skipped", 0)
    assert job.last_error == "stopped before its end"
    assert job.next_fire_at_ms <= round(clock.now_s * 1000) + runs.RETRY_MS


def test_what_goes_wrong_is_said_once_and_does_not_end_the_schedule(
    run, bench, clock, other, monkeypatch
):
    _, window, _, scheduler = bench

    def work_badly(_db, _actor):
        raise StoreError("the disk of the store does not write")
        yield

    use(monkeypatch, "backup", firing.Upkeep(work_badly))
    notices = []
    monkeypatch.setattr(window.message_bar, "show_notice", lambda words: notices.append(words))

    async def work():
        scheduler.start()
        await until(lambda: schedule.jobs(other))
        for count in (1, 2):
            scheduler._fired.clear()
            clock.now_s += 3_600
            scheduler.wake()
            await until(lambda n=count: runs_of(other, "backup") == n)

    run(work())

    job = schedule.get(other, "backup")
    assert (job.last_status, job.state) == ("error", "scheduled")
    (notice,) = notices
    assert "Backup" in notice.cause
    assert "does not write" in notice.details


def test_a_clock_that_is_set_never_makes_a_job_storm(run, bench, clock, other, monkeypatch):
    _, _, _, scheduler = bench
    seen = []
    use(monkeypatch, "backup", slow(1, seen))

    async def work():
        scheduler.start()
        await until(lambda: schedule.jobs(other))
        for hours in (+24, -48, +72, -24, +96):
            clock.now_s += hours * 3_600
            scheduler.wake()
            await asyncio.sleep(0.1)

    run(work())

    assert len(seen) == 1
    left_ms = schedule.get(other, "backup").next_fire_at_ms - clock.now_s * 1000
    assert left_ms <= 30 * 60_000


def test_a_job_of_a_clock_set_back_comes_again_after_its_interval(
    run, bench, clock, other, monkeypatch
):
    _, _, _, scheduler = bench
    use(monkeypatch, "backup", slow(1))

    async def work():
        scheduler.start()
        await until(lambda: schedule.jobs(other))
        clock.now_s -= 365 * DAY_S
        scheduler.wake()
        await until(
            lambda: (
                schedule.get(other, "backup").next_fire_at_ms
                <= round(clock.now_s * 1000) + 30 * 60_000
            )
        )

    run(work())


def test_what_died_before_is_unknown_when_the_window_is_there(run, bench, other, monkeypatch):
    store, _, _, scheduler = bench
    use(monkeypatch, "none", slow(1))

    def died(db):
        dead = operations.begin(db, "backup", {}, "you")
        db.execute("UPDATE operations SET holder = '1.1.x', heartbeat_at_ms = 0")
        return dead

    async def work():
        dead = await store.write(died)
        scheduler.start()
        await until(lambda: operations.get(other, dead.id).state == "unknown")
        return dead

    dead = run(work())
    assert operations.get(other, dead.id).token != dead.token


def test_a_store_that_is_only_read_is_left_alone(run, bench, other, monkeypatch):
    store, _, tasks, scheduler = bench
    monkeypatch.setattr(store, "_read_only_reason", "a later version wrote it")

    async def work():
        scheduler.start()
        await asyncio.sleep(0.05)
        return tasks.running("scheduler")

    assert run(work()) is False
    assert schedule.jobs(other) == ()


def test_the_program_runs_what_is_due_and_says_so_when_it_is_closed_meanwhile(
    run, program, profile, monkeypatch
):
    """A store whose every job is due, a window that is closed while the first one runs."""
    monkeypatch.setattr(module, "SETTLE_S", 0.0)
    monkeypatch.setattr(module, "_SHORTEST_S", 0.01)
    use(monkeypatch, "optimize", slow(10_000))

    def make_due(db):
        schedule.ensure_defaults(db)
        db.execute("UPDATE jobs SET next_fire_at_ms = 1 WHERE id = 'optimize'")

    async def work():
        store = await Store.open(profile, tokenizer=library())
        await store.write(make_due)
        await store.close()
        assert await program.start()
        await until(lambda: program.scheduler.closing_words())
        program.window.close()
        await until(lambda: program.window.message_bar.isVisibleTo(program.window))
        said = program.window.message_bar._consequence.text()
        await program.closed.wait()
        return said

    assert "Merging indexes" in run(work())
    db = open_reader(profile / "state.db", tokenizer=None)
    (told,) = operations.listing(db)
    assert (told.state, told.outcome) == ("failed", "stopped before its end")
    assert schedule.get(db, "optimize").state == "scheduled"
    db.close()
