"""The disk fails: each call that an action makes fails in turn, once or from then on.

Whatever fails, the caller is told in words, what was stored before is there, the action is
wholly done or not at all, and doing it again, on the same connection or after a new start,
brings the store to where an undisturbed run brings it.
"""

import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

import apsw

from core.errors import CoreError, StoreFullError
from core.index import backfill
from core.index.backfill import Pace
from core.index.state import release
from core.store import attachment, damage
from core.store.connection import open_writer, transaction
from core.store.errors import translated
from core.store.indexes import INDEXES
from core.types import Role
from tests.faults import truth
from tests.faults.disks import Disk, Failure, Fault, through
from tests.unit.store.making import library, message, path_at, store_at, store_messages


class Action(NamedTuple):
    """Something done to a store: what goes before it, and what may fail."""

    name: str
    prepare: Callable[[apsw.Connection], object]
    run: Callable[[apsw.Connection], object]


class Case(NamedTuple):
    """One call that fails: the action, how, which one, and whether the store is opened anew."""

    action: Action
    failure: Failure
    at: int
    sticky: bool
    is_reopened: bool


@dataclass
class Outcome:
    """What was seen over many cases."""

    cases: int = 0
    fired: int = 0
    told: int = 0
    kept_although_told: int = 0
    false_alarms: int = 0
    wrong: list[str] = field(default_factory=list)


def _nothing(db: apsw.Connection) -> None:
    del db


def _append(db: apsw.Connection) -> None:
    said = [
        message(f"new{n}", f"第{n}次订阅 kestrel {n} " * 40, session="new", role=role)
        for n, role in enumerate((Role.USER, Role.ASSISTANT, Role.TOOL))
    ]
    store_messages(db, *said, message("old1", "rewritten 电影"), rewrites=True)


def _delete(db: apsw.Connection) -> None:
    with transaction(db):
        gone = "SELECT id FROM messages WHERE uid IN ('old2', 'old3', 'old4')"
        for (row,) in db.execute(gone).fetchall():
            db.execute("DELETE FROM message_placements WHERE message_id = ?", (row,))
            db.execute("DELETE FROM messages WHERE id = ?", (row,))
        db.execute(
            "UPDATE sessions SET message_count = (SELECT count(*) FROM message_placements"
            " WHERE session_id = sessions.id), user_turn_count = (SELECT count(*) FROM"
            " message_placements WHERE session_id = sessions.id)"
        )


def _empty(db: apsw.Connection) -> None:
    with transaction(db):
        attachment.rebuild(db, INDEXES["messages_fts"], None)


def _fill(db: apsw.Connection) -> None:
    with transaction(db):
        backfill.step(db, "messages_fts", Pace(text_bytes=3_000), "holder")
    with transaction(db):
        release(db, "holder")


def _checkpoint(db: apsw.Connection) -> None:
    db.pragma("wal_checkpoint", "TRUNCATE")


def _each_commit_checkpoints(db: apsw.Connection) -> None:
    """Have COMMIT copy the log into the file at once, where it may fail after it stored."""
    db.pragma("wal_autocheckpoint", 1)


ACTIONS = (
    Action("append", _nothing, _append),
    Action("append with a checkpoint", _each_commit_checkpoints, _append),
    Action("delete", _nothing, _delete),
    Action("backfill", _empty, _fill),
    Action("checkpoint", _append, _checkpoint),
)


class Bench:
    """A store to copy for each case, and what an undisturbed run makes of it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._base = folder / "base"
        db = store_at(self._base)
        store_messages(db, *(message(f"old{n}", f"word{n} 服务 " * 30) for n in range(40)))
        assert truth.finish(db) == []
        db.close()

    def calls(self, action: Action, failure: Failure) -> int:
        """Return how many calls of an action this failure can meet."""
        counting = Fault(failure)
        with self._opened(counting) as (db, arm):
            action.prepare(db)
            arm()
            action.run(db)
        return counting.seen

    def reached(self, action: Action) -> tuple[str, str]:
        """Return the digests before and after an undisturbed run."""
        with self._opened(None) as (db, _):
            action.prepare(db)
            before = truth.digest(db)
            action.run(db)
            return before, truth.digest(db)

    def run(self, case: Case, reached: tuple[str, str], outcome: Outcome) -> None:
        """Do one case and write down what it showed."""
        fault = Fault(case.failure, case.at, case.sticky)
        about = f"{case.action.name}, {case.failure} at {case.at}, sticky={case.sticky}: "
        outcome.cases += 1
        with self._opened(fault) as (db, arm):
            case.action.prepare(db)
            arm()
            told = _try(case.action, db, fault)
            outcome.fired += bool(fault.fired)
            if case.is_reopened:
                with suppress(apsw.Error):  # it tells of a failed checkpoint, and is closed
                    db.close()
                db = open_writer(self.path, tokenizer=library())
            fault.heal()
            wrong = list(_wrong(case, told, truth.digest(db), reached, self.path))
            outcome.told += isinstance(told, CoreError)
            is_kept = reached[0] != reached[1] == truth.digest(db)
            outcome.kept_although_told += bool(told) and is_kept
            wrong += _problems(db, case, outcome)
            case.action.run(db)
            if truth.digest(db) != reached[1]:
                wrong.append("doing it again does not reach what an undisturbed run does")
            wrong += truth.finish(db)
            db.close()
        outcome.wrong += [about + each for each in wrong]

    @property
    def path(self) -> Path:
        """Where the copy lies."""
        return path_at(self._folder / "copy")

    def _opened(self, fault: Fault | None) -> "_Opened":
        copy = self._folder / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self._base, copy)
        return _Opened(self.path, fault)


class _Opened:
    """A store on a disk of its own that fails from when it is armed."""

    def __init__(self, path: Path, fault: Fault | None) -> None:
        self._disk = Disk()
        self._fault = fault
        with through(self._disk):
            self._db = open_writer(path, tokenizer=library())

    def __enter__(self) -> tuple[apsw.Connection, Callable[[], None]]:
        return self._db, partial(setattr, self._disk, "fault", self._fault)

    def __exit__(self, *error: object) -> None:
        self._disk.fault = None
        self._db.close()


def _try(action: Action, db: apsw.Connection, fault: Fault) -> Exception | None:
    """Do the action as every caller does; return what the caller is told."""
    try:
        with translated(db.filename):
            action.run(db)
    except (CoreError, apsw.Error, apsw.ExecutionCompleteError) as error:
        return error
    return None


def _wrong(
    case: Case, told: Exception | None, found: str, reached: tuple[str, str], path: Path
) -> Iterator[str]:
    after = reached[1]
    if found not in reached:
        yield "is neither before nor after the action"
    if told is None:
        if found != after:
            yield "said to be stored, and is not"
        return
    if not isinstance(told, CoreError):
        yield f"told as a fault of ours: {told!r}"
    elif str(path) not in str(told):
        yield f"does not name the file: {told}"
    elif case.failure in ("full", "short") and not _tells_of_space(told):
        yield f"does not tell that the disk is full: {told!r}"


def _problems(db: apsw.Connection, case: Case, outcome: Outcome) -> list[str]:
    """Ask the connection that met the fault; after a failed read it first acts once more.

    FTS5 keeps sums that such a read left unread and calls the index malformed once; with the
    next statement it reads them again (`fts5StorageLoadTotals` in ext/fts5/fts5_storage.c).
    That must not be taken for damage, or a sound index were set aside.
    """
    if case.failure == "read" and not case.is_reopened:
        try:
            case.action.run(db)
        except apsw.CorruptError:
            outcome.false_alarms += 1
        if damage.noted(db) or damage.broken(db.filename):
            return ["a failed read is taken for damage"]
    return truth.problems(db)


def _tells_of_space(told: CoreError) -> bool:
    return isinstance(told, StoreFullError) and "bytes are free" in str(told)


def cases(bench: Bench, action: Action, failure: Failure, every: int) -> Iterator[Case]:
    """Yield a case for every `every`-th call, once and from then on, continued and reopened.

    Where calls are left out, two of the four stand for all of them.
    """
    all_four = [(sticky, anew) for sticky in (False, True) for anew in (False, True)]
    for at in range(1, bench.calls(action, failure) + 1):
        if at % every == 1 % every:
            for sticky, is_reopened in all_four if every == 1 else all_four[at % 2 :: 3]:
                yield Case(action, failure, at, sticky, is_reopened)
