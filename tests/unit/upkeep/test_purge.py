"""After a purge no byte of what was deleted is in any file of the profile; before, some are."""

import os
import shutil
import time
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import apsw
import pytest

from core import paths
from core.errors import RefusedError, StoreFullError
from core.index import backfill, health
from core.store import aside, copying, holders, recipe, snapshots
from core.store.connection import open_reader, open_store, transaction
from core.store.indexes import CJK, INDEXES, table_exists
from core.store.waiting import wait_for_locks
from core.types import Progress
from core.upkeep import backup, erasure, operations, purge, trash
from tests.unit.store.making import library, message, path_at, store_at, store_messages
from tests.unit.upkeep import secrets

ROWS, SECRETS = 4_000, 400
FEW = 60


def filled(folder: Path, rows: int, count: int) -> Path:
    """A closed store with secrets and a snapshot of it; nothing is deleted yet."""
    db = store_at(folder)
    db.pragma("synchronous", "OFF")
    secrets.fill(db, rows, count, seed=1)
    secrets.churn(db, seed=2)
    list(backup.make(db, "schedule", "schedule"))
    db.close()
    return folder / "profile"


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> Path:
    return filled(tmp_path_factory.mktemp("small"), 600, FEW)


@pytest.fixture
def profile(small, tmp_path) -> Path:
    shutil.copytree(small, tmp_path / "profile")
    return tmp_path / "profile"


def opened(profile: Path, *, cjk: bool = True) -> apsw.Connection:
    return open_store(profile / "state.db", library() if cjk else None)


def delete_secrets(db: apsw.Connection) -> None:
    """Delete them as people do: a session whole, others one by one, and empty the trash."""
    session = db.execute("SELECT id FROM sessions WHERE native_id = ?", ("secret",)).get
    with transaction(db):
        trash.trash_sessions(db, [session], "you")
        for row in secrets.mixed_ids(db):
            trash.trash_message(db, row, "you")
    list(trash.empty(db, "you"))


def purged(db: apsw.Connection, **more):
    *steps, last = purge.run(db, "command", **more)
    assert all(isinstance(step, Progress) for step in steps)
    return last


def test_the_search_for_bytes_finds_each_form(tmp_path):
    """Else nothing below would mean anything."""
    import base64

    text = f"a {secrets.MARKER} b"
    written = {
        "raw": text.encode(),
        "lower": text.lower().encode(),
        "utf-16-le": text.encode("utf-16-le"),
        "utf-16-be": text.encode("utf-16-be"),
    }
    written |= {f"base64 {n}": base64.b64encode(b"x" * n + text.encode()) for n in range(3)}
    for name, content in written.items():
        (tmp_path / name).write_bytes(content)
    found = secrets.found(tmp_path)
    assert {name.split()[0] for name in found} == {"raw", "lower", *secrets.forms()}
    assert all(found[name][name.split()[0]] == 1 for name in written)


# R02 of the public faults.
def test_nothing_of_400_deleted_messages_is_left_in_any_file(tmp_path):
    profile = filled(tmp_path, ROWS, SECRETS)
    db = opened(profile)
    (profile / "replaced-20260101T000000Z").mkdir(mode=0o700)
    (profile / "replaced-20260101T000000Z" / "state.db").write_text(secrets.MARKER)
    (profile / "damaged-20260101T000000Z").mkdir(mode=0o700)
    (profile / "damaged-20260101T000000Z" / "state.db").write_text(secrets.MARKER)
    before = backup.snapshots_of(profile)
    delete_secrets(db)
    secrets.churn(db, seed=3)
    expected = purge.preview(db)
    report = purged(db)
    kept = db.execute("SELECT count(*) FROM messages").get
    assert all(finding.ok for finding in health.check(db)), health.check(db)
    waiting = erasure.waiting(db)
    recorded = db.execute("SELECT id FROM operations WHERE kind = 'purge'").get
    recorded = operations.get(db, recorded)
    db.close()

    assert secrets.found(profile) == {}
    assert (waiting.messages, waiting.since_at_ms) == (0, None)
    assert report.state == recorded.state == "succeeded"
    assert expected.waiting.messages == report.facts["messages"] == SECRETS
    assert expected.snapshots == before
    assert report.facts["snapshots"] == len(before) == 1
    assert expected.folders == ("damaged-20260101T000000Z", "replaced-20260101T000000Z")
    assert report.facts["folders"] == 2
    (made,) = backup.snapshots_of(profile)
    assert (made.reason, made.messages, made.problem) == ("after-purge", kept, "")
    assert made.proved_at_ms is not None


LEFT_OUT = {
    "merging": ("_steps_before", lambda _db: iter(())),
    "the log": ("_log_cut", None),
    "snapshots": ("_without_copies", lambda _db, _actor, _claim: iter(())),
}


@pytest.mark.parametrize("part", LEFT_OUT)
def test_each_part_of_a_purge_is_needed(profile, monkeypatch, part):
    """The control: with one part left out, bytes are found."""
    name, replacement = LEFT_OUT[part]

    def nothing_cut(_db):
        yield Progress(1, None, "steps")
        return ""

    monkeypatch.setattr(purge, name, replacement or nothing_cut)
    db = opened(profile)
    db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)  # as other programs keep the log there
    delete_secrets(db)
    assert purged(db).state == "succeeded"
    db.close()
    assert secrets.found(profile)


def test_writing_the_file_anew_is_needed_too(tmp_path, monkeypatch):
    """In one of some stores a gap between the cells of a page keeps what was moved out of it."""
    monkeypatch.setattr(purge, "_write_anew", lambda _db: None)
    for seed in (2, 0, 1, 3, 4, 5, 6, 7):
        db = store_at(tmp_path / str(seed))
        db.pragma("synchronous", "OFF")
        secrets.fill(db, ROWS, SECRETS, seed=seed)
        secrets.churn(db, seed=seed + 50, rounds=2)
        delete_secrets(db)
        secrets.churn(db, seed=seed + 90, rounds=2)
        assert purged(db, now=True).state == "succeeded"
        db.close()
        if secrets.found(tmp_path / str(seed)):
            return
    pytest.fail("no store kept anything: the search would not see what VACUUM is for")


@pytest.mark.parametrize("cjk", [True, False])
def test_texts_in_the_queue_of_a_detached_index_are_erased(profile, cjk):
    db = opened(profile, cjk=False)
    delete_secrets(db)
    queued = "SELECT count(*) FROM index_queue WHERE text LIKE ?"
    assert db.execute(queued, (f"%{secrets.MARKER}%",)).get > 0
    db.close()
    db = opened(profile, cjk=cjk)
    assert purged(db).state == "succeeded"
    state, reason = db.execute("SELECT state, reason FROM index_state WHERE name = ?", (CJK,)).get
    if cjk:
        assert state == "ready"
    else:
        assert (state, reason) == ("detached", purge.DROPPED)
        assert not table_exists(db, INDEXES[CJK])
    db.close()
    assert secrets.found(profile) == {}
    db = opened(profile)
    list(backfill.run_sync(db, "test"))
    assert all(finding.ok for finding in health.check(db)), health.check(db)
    db.close()


def test_the_index_of_another_build_is_dropped_with_what_it_holds(profile):
    db = opened(profile)
    with transaction(db):
        db.execute("UPDATE index_state SET fingerprint = 'other' WHERE name = ?", (CJK,))
    db.close()
    db = opened(profile)
    delete_secrets(db)
    assert purged(db).state == "succeeded"
    db.close()
    assert secrets.found(profile) == {}


def test_a_reader_keeps_it_pending_and_a_later_purge_does_the_rest(profile, monkeypatch):
    monkeypatch.setattr(purge, "_TRIES", 2)
    monkeypatch.setattr(purge, "_TRY_MS", 5)
    monkeypatch.setattr(purge, "_BETWEEN_S", 0.0)
    reader = open_reader(profile / "state.db", tokenizer=None)
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM messages").get
    db = opened(profile)
    delete_secrets(db)
    report = purged(db)
    waiting = erasure.waiting(db)
    assert report.state == "pending"
    assert "being read by" in report.outcome
    assert waiting.messages == FEW
    assert waiting.blocked == report.outcome.removeprefix("erase pending: ")
    assert len(backup.snapshots_of(profile)) == 1
    assert operations.get(db, db.execute("SELECT max(id) FROM operations").get).state == "pending"
    reader.execute("ROLLBACK")
    reader.close()
    assert purge.idle(db) == ""
    assert purged(db).state == "succeeded"
    assert erasure.waiting(db).since_at_ms is None
    db.close()
    assert secrets.found(profile) == {}


def test_between_its_steps_the_connection_waits_as_long_as_always(profile, monkeypatch):
    """Another one's steps may run on it there."""
    monkeypatch.setattr(purge, "_TRY_MS", 5)
    waits = []
    with (
        closing(opened(profile)) as db,
        closing(open_reader(profile / "state.db", tokenizer=None)) as reader,
    ):
        delete_secrets(db)
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM messages").get
        monkeypatch.setattr(
            purge, "wait_for_locks", lambda db, ms: (waits.append(ms), wait_for_locks(db, ms))
        )
        between = [waits[-1] for _ in purge.run(db, "command") if waits]
    assert 5 in waits
    assert set(between) == {recipe.BUSY_TIMEOUT_MS}


def test_a_reader_that_comes_while_the_file_is_written_anew_keeps_it_pending(profile, monkeypatch):
    monkeypatch.setattr(purge, "_TRIES", 1)
    monkeypatch.setattr(purge, "_TRY_MS", 5)
    db = opened(profile)
    delete_secrets(db)
    reader = open_reader(profile / "state.db", tokenizer=None)
    for step in purge.run(db, "command"):
        if isinstance(step, Progress) and step.what == "writing the store anew":
            reader.execute("BEGIN")
            assert reader.execute("SELECT count(*) FROM messages").get
    assert step.state == "pending"
    reader.close()
    assert purged(db).state == "succeeded"
    db.close()
    assert secrets.found(profile) == {}


def test_a_purge_is_made_once_a_day_and_only_when_something_waits(profile):
    db = opened(profile)
    with pytest.raises(RefusedError, match="nothing waits"):
        purged(db)
    assert purged(db, now=True).state == "succeeded"
    delete_secrets(db)
    with pytest.raises(RefusedError, match="one a day"):
        purged(db)
    assert "one a day" in purge.preview(db).not_now
    assert purged(db, now=True).facts["messages"] == FEW
    db.close()


def test_no_purge_without_room_and_nothing_is_done(profile, monkeypatch):
    db = opened(profile)
    delete_secrets(db)
    pages = db.pragma("page_count")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1_000))
    with pytest.raises(StoreFullError, match="1,000 are free"):
        purged(db)
    assert db.pragma("page_count") == pages
    assert len(backup.snapshots_of(profile)) == 1
    assert erasure.waiting(db).messages == FEW
    db.close()


def test_where_there_is_no_room_for_both_the_old_snapshots_go_first(profile, monkeypatch):
    real, tries = backup.make, []

    def full_once(db, reason, actor):
        tries.append(len(backup.snapshots_of(profile)))
        if len(tries) == 1:
            raise StoreFullError("no room")
        yield from real(db, reason, actor)

    monkeypatch.setattr(backup, "make", full_once)
    db = opened(profile)
    delete_secrets(db)
    assert purged(db).facts["snapshots"] == 1
    db.close()
    assert tries == [1, 0]
    assert [each.reason for each in backup.snapshots_of(profile)] == ["after-purge"]


def test_stopped_at_any_step_it_can_be_done_again(profile):
    """Also the steps that cannot be taken back have nothing half done in the store."""
    db = opened(profile)
    delete_secrets(db)
    for steps in (1, 2, 3, 4):
        running = purge.run(db, "command", now=True)
        for _ in range(steps):
            next(running)
        running.close()
        assert erasure.waiting(db).messages == FEW
    assert purged(db).state == "succeeded"
    db.close()
    assert secrets.found(profile) == {}


def test_what_is_deleted_while_it_runs_waits_for_the_next(profile):
    db = opened(profile)
    delete_secrets(db)
    store_messages(db, message("late", "something"))
    other = open_store(profile / "state.db", library())
    deleted = False
    for step in purge.run(db, "command"):
        if isinstance(step, Progress) and not deleted:
            deleted = True
            row = other.execute("SELECT id FROM messages WHERE uid = 'late'").get
            with transaction(other):
                trash.trash_message(other, row, "you")
            list(trash.empty(other, "you"))
    assert erasure.waiting(db).messages == 1
    other.close()
    db.close()


def test_a_table_set_aside_as_damaged_goes_with_the_purge(profile):
    from core.store.connection import tokenizer_fingerprint

    db = opened(profile)
    with transaction(db):
        aside.set_aside(db, ["messages_fts", "sessions_fts"], tokenizer_fingerprint(db))
    delete_secrets(db)
    assert purged(db).state == "succeeded"
    assert aside.set_aside_names(db) == ()
    list(backfill.run_sync(db, "test"))
    assert all(finding.ok for finding in health.check(db)), health.check(db)
    db.close()
    assert secrets.found(profile) == {}


def test_copies_that_are_links_are_not_followed(profile, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "mine").write_text("mine")
    (profile / "damaged-20260101").symlink_to(outside)
    folder = snapshots.folder_of(profile)
    paths.ensure_private_dir(folder)
    (folder / "state-20260101T000000000Z-linked.db").symlink_to(outside / "mine")
    with closing(opened(profile)) as db:
        assert purge.preview(db).folders == ()
        purged(db, now=True)
    assert (outside / "mine").read_text() == "mine"


@pytest.mark.parametrize("left", [".check-1", "restoring-20260101T000000000Z"])
def test_copies_that_killed_programs_left_go_as_soon_as_nobody_can_use_them(profile, left):
    """Of a full check, of a restore or a salvage, each with all that was deleted since."""
    folder = profile / left
    paths.ensure_private_dir(folder)
    with closing(opened(profile)) as db:
        list(copying.copy_store(db, folder / "copy.db"))
        delete_secrets(db)
        told = purged(db)
        assert told.state == "pending"
        assert left in told.outcome
        an_hour_ago = time.time() - 3601
        os.utime(folder, (an_hour_ago, an_hour_ago))
        assert purged(db).state == "succeeded"
    assert not folder.exists()
    assert secrets.found(profile) == {}


@pytest.mark.parametrize("left", [".check-1", "restoring-20260101T000000000Z"])
def test_a_copy_that_nobody_has_open_for_a_minute_is_in_nobodys_way(profile, left):
    assert holders.is_known(), "elsewhere only an hour tells"
    folder = profile / left
    paths.ensure_private_dir(folder)
    with closing(opened(profile)) as db:
        list(copying.copy_store(db, folder / "copy.db"))
        delete_secrets(db)
        a_minute_ago = time.time() - 61
        with closing(apsw.Connection(str(folder / "copy.db"))) as user:
            user.execute("SELECT 1 FROM sessions").fetchall()
            for each in (*folder.iterdir(), folder):
                os.utime(each, (a_minute_ago, a_minute_ago))
            assert purged(db).state == "pending"
        for each in (*folder.iterdir(), folder):
            os.utime(each, (a_minute_ago, a_minute_ago))
        assert purged(db).state == "succeeded"
    assert not folder.exists()


@pytest.mark.long
def test_nothing_of_10_000_deleted_messages_is_left_though_it_crashed(tmp_path):
    """Killed again and again in the middle; then let run to its end."""
    import os
    import random
    import signal
    import subprocess
    import sys
    import time

    db = store_at(tmp_path)
    db.pragma("synchronous", "OFF")
    secrets.fill(db, 40_000, 10_000, seed=11)
    secrets.churn(db, seed=12, rounds=2)
    list(backup.make(db, "schedule", "schedule"))
    delete_secrets(db)
    secrets.churn(db, seed=13, rounds=2)
    db.close()
    child = (
        "import sys; from pathlib import Path; from core.store.connection import open_store;"
        "from core.upkeep import purge;"
        "db = open_store(Path(sys.argv[1]), Path(sys.argv[2])); print('open', flush=True);"
        "list(purge.run(db, 'command', now=True)); db.close()"
    )
    chance = random.Random(14)
    for _ in range(10):
        running = subprocess.Popen(
            [sys.executable, "-c", child, str(path_at(tmp_path)), str(library())],
            stdout=subprocess.PIPE,
        )
        assert running.stdout is not None
        running.stdout.readline()
        time.sleep(chance.uniform(0.05, 4.0))
        os.kill(running.pid, signal.SIGKILL)
        running.wait()
        running.stdout.close()
    with closing(opened(tmp_path / "profile")) as db:
        assert purged(db, now=True).state == "succeeded"
        assert db.pragma("integrity_check") == "ok"
        assert all(finding.ok for finding in health.check(db))
    assert secrets.found(tmp_path / "profile") == {}
