"""Retention, trash, purge, backup and compact, killed at any moment and begun again."""

import random
import shutil
from pathlib import Path

import pytest

from core.store.connection import open_store, transaction
from core.upkeep import backup, ledger, operations
from tests.faults import figures, truth, upkeep_workers
from tests.faults.killing import killed
from tests.faults.sizes import scratch, size
from tests.unit.store.making import library, message, path_at, store_at, store_messages
from tests.unit.upkeep import secrets

pytestmark = pytest.mark.faults
KILLS = size(1, 40, 1_000)
SESSIONS, EACH = 30, 20
OLD_MS, NOW_MS = 1_500_000_000_000, 1_790_000_000_000
KEPT = (
    "SELECT s.native_id, p.seq, m.uid, m.state, m.content FROM message_placements AS p"
    " JOIN messages AS m ON m.id = p.message_id JOIN sessions AS s ON s.id = p.session_id"
    " WHERE s.native_id GLOB 'new*' ORDER BY 1, 2"
)


@pytest.fixture(scope="module")
def base():
    folder = scratch("upkeep-")
    db = store_at(folder / "base")
    store_messages(db, *talks())
    assert truth.finish(db) == []
    db.close()
    yield folder
    shutil.rmtree(folder)


def talks():
    rng = random.Random(4)
    for number in range(SESSIONS):
        for each in range(EACH):
            age, at_ms = ("old", OLD_MS) if number % 2 else ("new", NOW_MS)
            text = f"第{each}次订阅 {secrets.secret(rng) if number % 2 else 'kestrel'} word{each}"
            uid, session = f"{age}{number}-{each}", f"{age}{number}"
            yield message(uid, text, session=session, created_at_ms=at_ms + 1_000 * each)


@pytest.fixture
def life(base):
    """Copies of the store, one for each life, and what a life does until it is through."""
    return Life(base)


class Life:
    """A store that is worked on by processes that die."""

    def __init__(self, folder):
        self.folder, self.rng = folder, random.Random(5)
        self.kills = self.deaths = 0
        self.path = path_at(folder / "copy")

    def begin(self):
        shutil.rmtree(self.folder / "copy", ignore_errors=True)
        shutil.copytree(self.folder / "base", self.folder / "copy")
        db = self.opened()
        self.kept = db.execute(KEPT).fetchall()
        db.close()
        assert len(self.kept) == SESSIONS // 2 * EACH

    def opened(self):
        db = open_store(self.path, library())
        truth.forget_holders(db)
        return db

    def until_through(self, work, within_s):
        """Kill `work` until it comes to its end, and look at the store each time."""
        for _ in range(12):
            end = killed(self.rng, within_s, work, self.path)
            db = self.opened()
            assert truth.problems(db) == []
            assert db.execute(KEPT).fetchall() == self.kept
            with transaction(db):
                died = operations.recover(db)
            assert {each.state for each in died} <= {"unknown"}
            db.close()
            if end.is_through:
                return
            self.kills += 1
            self.deaths += len(died)
        child_end = killed(self.rng, 30.0, work, self.path)
        assert child_end.is_through


def test_retention_trash_and_purge(life):
    lives = 0
    while life.kills < KILLS:
        life.begin()
        life.until_through(upkeep_workers.move_to_trash, 0.06)
        db = life.opened()
        trashed = "SELECT native_id FROM sessions WHERE trashed_at_ms IS NOT NULL"
        assert {name[:3] for (name,) in db.execute(trashed)} == {"old"}
        assert len(db.execute(trashed).fetchall()) == SESSIONS // 2
        db.close()
        life.until_through(upkeep_workers.empty_trash, 0.12)
        life.until_through(upkeep_workers.erase, 0.25)
        assert secrets.found(life.path.parent) == {}
        db = life.opened()
        assert store_messages(db, *talks()).new == 0, "what was deleted came back"
        for each in ledger.listing(db):
            was_looked_at = each.state == "failed" and each.verified_at_ms is not None
            assert each.state in ("succeeded", "unknown") or was_looked_at, each
        assert truth.finish(db) == []
        db.close()
        lives += 1
    figures.note(
        "1-16",
        f"kill -9 of retention, emptying and purge, {life.kills:,} times",
        f"{lives} times to the end: what had to go is gone with every byte and stays away,"
        f" all else untouched; {life.deaths} dead operations known as such",
    )


def test_restore(life):
    """The store is the old one or the restored one, and in the end the restored one."""
    restored, old_found = 0, 0
    while life.kills < KILLS:
        life.begin()
        db = life.opened()
        list(backup.make(db, "faults", "command"))
        then = truth.digest(db)
        store_messages(db, message("later", "said after the snapshot", session="new0"))
        now = truth.digest(db)
        db.close()
        while True:
            end = killed(life.rng, 0.3, upkeep_workers.go_back, life.path)
            db = life.opened()
            assert truth.digest(db) == then if end.is_through else truth.digest(db) in (then, now)
            assert truth.problems(db) == []
            old_found += truth.digest(db) == now
            db.close()
            if end.is_through:
                break
            life.kills += 1
        restored += 1
    figures.note(
        "1-15",
        f"kill -9 of a restore, {life.kills:,} times",
        f"{old_found} times the old store was found, else the restored one; never less",
    )
    assert restored


def test_backup_and_compact(life):
    made = 0
    while life.kills < KILLS:
        life.begin()
        life.until_through(upkeep_workers.back_up, 0.25)
        life.until_through(upkeep_workers.shrink, 0.2)
        whole = backup.snapshots_of(life.path.parent)
        assert whole
        for each in whole:
            *_, proved = backup.prove(Path(each.path))
            assert (proved.problem, proved.messages) == ("", SESSIONS * EACH)
            made += 1
    figures.note(
        "1-15",
        f"kill -9 of backup and compact, {life.kills:,} times",
        f"{made} snapshots, each proved by a restore; the store untouched",
    )
