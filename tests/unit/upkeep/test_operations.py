"""The ledger: claimed before it begins, once at a time, unknown after a crash, looked at after."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import apsw
import pytest

from core import settings
from core.errors import NotFoundError, RefusedError, RunningError, StoreFullError
from core.store import liveness
from core.store.connection import open_writer, transaction
from core.upkeep import backup, erasure, ledger, looking, operations, retention, trash
from core.upkeep_types import RetentionRule
from tests.unit.store.making import message, path_at, store_at, store_messages

ROOT = Path(__file__).parents[3]
DAY_MS = 86_400_000

WORKER = """
import sys, time
from pathlib import Path
from core.store.connection import open_writer, transaction
from core.upkeep import operations
db = open_writer(Path(sys.argv[1]), tokenizer=None)
{work}
"""
HOLD = """
with operations.recorded(db, "optimize", {"n": 1}, "command") as claim:
    claim.receipt["steps"] = 7
    claim.beat(db, at_once=True)
    print(claim.operation.id, flush=True)
    sys.stdin.read()
"""
RACE = """
print("ready", flush=True)
sys.stdin.readline()
try:
    with operations.recorded(db, "optimize", {"n": 2}, "command"):
        print("mine", flush=True)
        sys.stdin.readline()
except operations.RunningError:
    print("taken", flush=True)
"""


@pytest.fixture
def db(tmp_path):
    made = store_at(tmp_path, cjk=False)
    yield made
    made.close()


@pytest.fixture
def worker(tmp_path):
    """Start processes that work on the store; none outlives the test."""
    started = []

    def start(work):
        process = subprocess.Popen(
            [sys.executable, "-c", WORKER.format(work=work), str(path_at(tmp_path))],
            cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def said(process):
    return process.stdout.readline().strip()


def begun(db, kind, arguments=None, actor="you"):
    with transaction(db):
        return operations.begin(db, kind, arguments or {}, actor)


def died(db, operation):
    """Let an operation be of a process that is gone, and recover."""
    with transaction(db):
        db.execute(
            "UPDATE operations SET holder = ? WHERE id = ?",
            (liveness.holder().replace(".", ".9", 1), operation.id),
        )
        (found,) = operations.recover(db)
    return found


def verified(db, operation):
    with transaction(db):
        return operations.verify(db, operation.id, "you")


# Claims


def test_an_action_is_claimed_and_its_end_is_kept(db):
    before_ms = time.time_ns() // 1_000_000
    with operations.recorded(db, "backup", {"b": 1, "a": "x"}, "schedule") as claim:
        (running,) = operations.listing(db)
        assert (running.state, running.ended_at_ms) == ("running", None)
        claim.receipt["bytes"] = 5
        claim.outcome = "kept"

    (told,) = operations.listing(db)
    assert (told.kind, told.actor, told.state, told.outcome) == (
        "backup", "schedule", "succeeded", "kept",
    )  # fmt: skip
    assert (told.arguments, told.receipt) == ({"a": "x", "b": 1}, {"bytes": 5})
    assert before_ms <= told.started_at_ms <= told.ended_at_ms
    assert db.execute("SELECT holder, heartbeat_at_ms FROM operations").get == (None, None)


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (StoreFullError("the disk is full"), "the disk is full"),
        (apsw.FullError("database or disk is full"), "is full"),
        (apsw.InterruptError("interrupted"), "stopped before its end"),
        (KeyboardInterrupt(), "stopped before its end"),
        (GeneratorExit(), "stopped before its end"),
    ],
)
def test_what_ends_it_early_stands_in_the_ledger(db, error, outcome):
    def work():
        with operations.recorded(db, "backup", {}, "you") as claim:
            claim.receipt["bytes"] = 3
            raise error

    with pytest.raises(type(error)):
        work()
    (told,) = operations.listing(db)
    assert told.state == "failed"
    assert outcome in told.outcome
    assert told.receipt == {"bytes": 3}


class Cancelled(BaseException):
    """As APSW raises it (`apsw.aio`)."""


@pytest.mark.parametrize("kind", [apsw.InterruptError, Cancelled])
def test_the_end_of_what_is_cancelled_is_kept_though_it_is_interrupted_too(db, monkeypatch, kind):
    """Whoever cancels interrupts the connection until nothing runs on it any more."""
    finish, interrupted = operations.finish, iter([True, True])

    def interrupt(*args):
        if next(interrupted, False):
            raise kind("again")
        return finish(*args)

    monkeypatch.setattr(operations, "finish", interrupt)
    recorded = operations.recorded(db, "backup", {}, "you")
    with pytest.raises(kind), recorded:
        raise kind("first")
    (told,) = operations.listing(db)
    assert (told.state, told.outcome) == ("failed", "stopped before its end")


def test_the_same_action_is_not_started_twice_but_another_is(db):
    with operations.recorded(db, "purge", {"a": 1, "b": 2}, "you"):
        with (
            pytest.raises(RunningError),
            operations.recorded(db, "purge", {"b": 2, "a": 1}, "command"),
        ):
            raise AssertionError("was entered")
        with operations.recorded(db, "purge", {"a": 1}, "you"):
            pass
        with operations.recorded(db, "backup", {"a": 1, "b": 2}, "you"):
            pass
    with operations.recorded(db, "purge", {"a": 1, "b": 2}, "you"):
        pass
    assert [each.state for each in operations.listing(db)] == ["succeeded"] * 4


def test_of_two_processes_one_begins_the_same_action(db, worker):
    both = [worker(RACE), worker(RACE)]
    assert [said(each) for each in both] == ["ready", "ready"]
    for each in both:
        each.stdin.write("\n")
        each.stdin.flush()
    assert sorted(said(each) for each in both) == ["mine", "taken"]


# A crash


def test_what_a_killed_process_left_is_unknown_and_then_looked_at(db, worker):
    process = worker(HOLD)
    number = int(said(process))
    with transaction(db):
        assert operations.recover(db, now_ms=time.time_ns() // 1_000_000 + DAY_MS) == ()
    claimed = operations.get(db, number)
    assert (claimed.state, claimed.receipt) == ("running", {"steps": 7})

    process.send_signal(signal.SIGKILL)
    process.wait()
    with transaction(db):
        (unknown,) = operations.recover(db)

    assert (unknown.id, unknown.state) == (number, "unknown")
    assert unknown.token != claimed.token
    assert unknown.receipt == {"steps": 7}
    assert "not been looked at" in unknown.outcome
    seen = verified(db, unknown)
    assert (seen.state, seen.receipt["steps"], seen.receipt["seen_by"]) == ("failed", 7, "you")
    assert seen.verified_at_ms is not None
    with transaction(db):
        assert operations.recover(db) == ()


def test_a_zombie_is_dead(db, worker):
    process = worker(HOLD)
    said(process)
    os.kill(process.pid, signal.SIGKILL)
    deadline = time.monotonic() + 10
    while "Z" not in Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2][:3]:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    with transaction(db):
        assert len(operations.recover(db)) == 1


def test_who_was_taken_for_dead_cannot_end_or_beat_any_more(db):
    with operations.recorded(db, "optimize", {}, "you") as claim:
        unknown = died(db, claim.operation)
        claim.beat(db)  # too soon after the last to look
        with pytest.raises(RefusedError, match="taken for dead"):
            claim.beat(db, at_once=True)
    told = operations.get(db, unknown.id)
    assert (told.state, told.token) == ("unknown", unknown.token)
    with transaction(db):
        assert operations.finish(db, claim.operation, "succeeded", "done", {}) is False
        assert operations.finish(db, told, "succeeded", "done", {}) is True


def test_a_process_of_another_machine_is_dead_when_it_was_not_heard_of(db):
    here = begun(db, "optimize")
    now = time.time_ns() // 1_000_000
    with transaction(db):
        for holder in ("77.88.elsewhere", "77-old", None):
            db.execute(
                "UPDATE operations SET holder = ?, heartbeat_at_ms = ?", (holder, now - 20_000)
            )
            assert operations.recover(db, now_ms=now) == ()
        for beaten in (now - 31_000, now + DAY_MS):
            db.execute(
                "UPDATE operations SET state = 'running', holder = '77.88.elsewhere',"
                " heartbeat_at_ms = ?",
                (beaten,),
            )
            assert [each.id for each in operations.recover(db, now_ms=now)] == [here.id]


def test_a_number_that_another_process_has_now_is_not_the_one_that_died():
    own = liveness.holder()
    pid, start, place = own.split(".")
    assert liveness.is_alive(own) is True
    assert liveness.is_alive(f"{pid}.{int(start) + 1}.{place}") is False
    assert liveness.is_alive(f"{2**22 + 1}.{start}.{place}") is False
    for other in (f"{pid}.{start}.elsewhere", "", "x", f"{pid}-{start}", f"-1.{start}.{place}"):
        assert liveness.is_alive(other) is None


def test_the_same_action_looks_at_what_died_before_it_begins(db, worker):
    process = worker(HOLD)
    number = int(said(process))
    process.kill()
    process.wait()
    again = begun(db, "optimize", {"n": 1}, "schedule")
    before = operations.get(db, number)
    assert again.id != number
    assert (before.state, before.receipt["seen_by"]) == ("failed", "schedule")


@pytest.mark.parametrize(("actor", "may"), [("you", True), ("command", True), ("schedule", False),
                                            ("agent", False), ("self-check", False)])  # fmt: skip
def test_what_nobody_can_tell_is_only_repeated_by_a_person(db, actor, may):
    unknown = died(db, begun(db, "salvage"))
    if may:
        begun(db, "salvage", actor=actor)
    else:
        with pytest.raises(RefusedError, match="not known"):
            begun(db, "salvage", actor=actor)
    assert operations.get(db, unknown.id).state == "unknown"


# Looking


def test_only_what_is_unknown_or_waits_is_looked_at(db):
    running = begun(db, "optimize")
    with pytest.raises(RefusedError, match="is running"):
        verified(db, running)
    with transaction(db):
        operations.finish(db, running, "succeeded", "", {})
    with pytest.raises(RefusedError, match="known to have succeeded"):
        verified(db, running)
    with pytest.raises(NotFoundError):
        operations.get(db, 99)


def test_a_purge_is_seen_by_what_waits(db):
    with transaction(db):
        erasure.add(db, 3, 300)
    unknown = died(db, begun(db, "purge"))
    seen = verified(db, unknown)
    assert (seen.state, seen.receipt["seen"]) == ("failed", {"messages": 3, "bytes": 300})
    with transaction(db):
        waits = operations.begin(db, "purge", {}, "you")
        operations.finish(db, waits, "pending", "erase pending", {})
        erasure.block(db, "a reader is open")
    still = verified(db, waits)
    assert still.state == "pending"
    assert "a reader is open" in still.outcome
    with transaction(db):
        erasure.clear(db)
    assert verified(db, waits).state == "succeeded"


def test_retention_is_seen_by_what_is_in_the_trash_and_what_would_still_go(db):
    old = time.time_ns() // 1_000_000 - 100 * DAY_MS
    store_messages(
        db, *(message(f"m{n}", session=f"s{n}", created_at_ms=old + n) for n in range(40))
    )
    with transaction(db):
        settings.write(db, settings.RETENTION_DAYS, 30)
    token = retention.preview(db, RetentionRule(30)).token
    steps = retention.apply(db, token, "you", confirmed=True)
    next(steps)
    (running,) = operations.listing(db)
    unknown = died(db, running)
    moved = db.execute("SELECT count(*) FROM sessions WHERE trashed_by = ?", (unknown.id,)).get
    with transaction(db):  # as if it had been killed between two batches
        db.execute("UPDATE sessions SET trashed_at_ms = NULL, trashed_by = NULL WHERE id > 20")
    part = verified(db, unknown)
    assert (moved, part.state, part.receipt["seen"]["sessions"]) == (40, "failed", 20)
    assert "the rest is where it was" in part.outcome
    with transaction(db):
        db.execute(
            "UPDATE sessions SET trashed_at_ms = 1, trashed_by = ?; UPDATE operations"
            " SET state = 'unknown'",
            (unknown.id,),
        ).fetchall()
    assert verified(db, unknown).state == "succeeded"
    steps.close()


def test_emptying_is_seen_by_what_is_left_of_it(db):
    store_messages(db, *(message(f"m{n}", session=f"s{n}") for n in range(3)))
    rows = [row for (row,) in db.execute("SELECT id FROM sessions")]
    with transaction(db):
        for row in rows:
            trash.trash_sessions(db, [row], "you")
    named = died(db, begun(db, "trash.empty", {"sessions": rows[:2], "messages": []}))
    everything = died(db, begun(db, "trash.empty", {"before_ms": None}))
    with transaction(db):
        db.execute("UPDATE operations SET started_at_ms = started_at_ms + 10")
    for _ in trash.empty(db, "you", sessions=rows[:2]):
        pass
    assert verified(db, named).state == "succeeded"
    assert verified(db, everything).state == "failed"


def test_a_backup_is_seen_by_its_snapshot(db):
    nothing = died(db, begun(db, "backup", {"reason": "by-hand"}))
    assert "left no snapshot" in verified(db, nothing).outcome
    unknown = begun(db, "backup", {"reason": "by-hand", "x": 1})
    for _ in backup.make(db, "by-hand", "you"):
        pass
    seen = verified(db, died(db, unknown))
    assert (seen.state, "proved" in seen.outcome) == ("succeeded", True)
    later = died(db, begun(db, "backup", {"reason": "other"}))
    assert verified(db, later).state == "failed"


@pytest.mark.parametrize("kind", sorted(looking.LOOKS))
def test_every_kind_is_looked_at_without_an_error_and_nothing_else_is_changed(db, kind):
    store_messages(db, message("m"))
    unknown = died(db, begun(db, kind, {"sessions": [1], "message": 1, "operation": 1}))
    before = db.execute("SELECT count(*), total(trashed_at_ms) FROM sessions").get
    seen = verified(db, unknown)
    assert seen.state in ("succeeded", "failed", "unknown")
    assert seen.outcome
    assert seen.verified_at_ms is not None
    assert db.execute("SELECT count(*), total(trashed_at_ms) FROM sessions").get == before
    assert len(operations.listing(db)) == 1


# Lists, and what is kept


def test_the_latest_come_first_page_by_page_narrowed_by_state_and_kind(db):
    for n in range(6):
        with operations.recorded(db, ("backup", "purge")[n % 2], {"n": n}, "you") as claim:
            claim.state = "pending" if n == 3 else "succeeded"
    first = operations.listing(db, limit=2)
    assert [each.id for each in first] == [6, 5]
    assert [each.id for each in operations.listing(db, limit=9, before=5)] == [4, 3, 2, 1]
    assert [each.id for each in operations.listing(db, kinds=("backup",))] == [5, 3, 1]
    assert [each.id for each in operations.listing(db, states=("pending", "failed"))] == [4]
    assert operations.listing(db, kinds=("nothing",)) == ()


def test_old_lines_are_dropped_but_not_what_is_open_or_can_be_undone(db, monkeypatch):
    monkeypatch.setattr(operations, "KEPT_ROWS", 3)
    store_messages(db, message("m"))
    with transaction(db):
        undoable = trash.trash_sessions(db, [1], "you")
    unknown = died(db, begun(db, "salvage"))
    for n in range(6):
        with operations.recorded(db, "backup", {"n": n}, "you"):
            pass
    with transaction(db):
        operations.recover(db)
    assert [each.id for each in operations.listing(db)] == [8, 7, 6, unknown.id, undoable.id]


def test_a_year_is_kept_counted_from_the_newest_line(db):
    now = time.time_ns() // 1_000_000
    for n in range(3):
        with operations.recorded(db, "backup", {"n": n}, "you"):
            pass
    with transaction(db):
        db.execute("UPDATE operations SET started_at_ms = ? WHERE id = 1", (now - 400 * DAY_MS,))
        operations.recover(db, now_ms=now + 5_000 * DAY_MS)  # a clock that runs ahead
    assert [each.id for each in operations.listing(db)] == [3, 2]


def test_equal_arguments_are_equal_in_any_order():
    one, other = ({"a": [1, 2], "b": "漓"}, {"b": "漓", "a": [1, 2]})
    assert ledger.normalised(one) == ledger.normalised(other)
    marks = {
        ledger.fingerprint(kind, ledger.normalised(arguments))
        for kind in ("backup", "purge")
        for arguments in ({}, {"a": 1}, {"a": "1"}, {"a": [1]})
    }
    assert len(marks) == 8


def test_a_reader_of_the_store_sees_the_claim_while_it_runs(db, tmp_path):
    other = open_writer(path_at(tmp_path), tokenizer=None)
    try:
        with operations.recorded(db, "backup", {}, "you"):
            assert [each.state for each in operations.listing(other)] == ["running"]
            with transaction(other):
                assert operations.recover(other) == ()
    finally:
        other.close()
