"""Going back to a snapshot: the right file, whole, without what was deleted, or nothing changes."""

import errno
import os
import random
import shutil
import signal
import stat
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import apsw
import pytest

from core import paths
from core.errors import (
    CoreError,
    NotAStoreError,
    RefusedError,
    SchemaTooNewError,
    StoreError,
    StoreFullError,
    StoreReadOnlyError,
)
from core.index import backfill, health
from core.search.run import search
from core.store import migrations, replacing
from core.store.connection import open_reader, open_store, snapshot, transaction
from core.types import Progress, SearchRequest
from core.upkeep import backup, erasure, operations, restore, trash
from tests.unit.store.making import (
    library,
    message,
    path_at,
    store_at,
    store_in_older_schema,
    store_messages,
)


@pytest.fixture(autouse=True)
def our_tokenizer(monkeypatch):
    monkeypatch.setenv("BACKSCROLL_FTS5_CJK", str(library()))


@pytest.fixture
def profile(tmp_path) -> Path:
    """A closed store of 300 messages in three sessions."""
    db = store_at(tmp_path)
    store_messages(
        db, *(message(f"m{n}", f"osaka {n} 订阅", session=f"s{n % 3}") for n in range(300))
    )
    db.close()
    return path_at(tmp_path).parent


def opened(profile: Path) -> apsw.Connection:
    return open_store(profile / "state.db", library())


def backed_up(profile: Path) -> Path:
    with closing(opened(profile)) as db:
        *_, made = backup.make(db, "manual", "command")
    assert made.problem == ""
    return Path(made.path)


def add(profile: Path, *uids: str) -> None:
    with closing(opened(profile)) as db:
        store_messages(db, *(message(uid, f"osaka {uid}") for uid in uids))


def restored(profile: Path, taken: Path):
    *steps, last = restore.restore(profile, taken, "command")
    assert all(isinstance(step, Progress) for step in steps)
    return last


def uids(profile: Path) -> list[str]:
    with closing(opened(profile)) as db:
        assert db.pragma("integrity_check") == "ok"
        return [uid for (uid,) in db.execute("SELECT uid FROM messages ORDER BY id").fetchall()]


def state_of_files(profile: Path) -> dict[str, bytes]:
    """What lies in the profile; nobody has it open."""
    return {
        str(path.relative_to(profile)): path.read_bytes()
        for path in profile.rglob("*")
        if path.is_file() and path.name != replacing.LOCK
    }


def test_the_store_is_as_it_was_and_the_one_before_lies_aside(profile):
    before = uids(profile)
    taken = backed_up(profile)
    add(profile, "later")
    report = restored(profile, taken)
    assert uids(profile) == before
    (aside,) = profile.glob("replaced-*")
    assert report.facts["replaced"] == aside.name
    assert report.facts["messages"] == 300
    assert stat.S_IMODE(aside.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in aside.iterdir()} == {0o600}
    shutil.copytree(aside, profile.parent / "other")
    assert uids(profile.parent / "other") == [*before, "later"]
    with closing(opened(profile)) as db:
        recorded = operations.get(db, db.execute("SELECT max(id) FROM operations").get)
        assert (recorded.kind, recorded.state) == ("restore", "succeeded")
        assert recorded.receipt["snapshot"] == taken.name
        states = db.execute("SELECT DISTINCT state FROM operations").fetchall()
        assert ("running",) not in states
        assert all(finding.ok for finding in health.check(db)), health.check(db)
        with snapshot(db):
            assert search(db, SearchRequest("osaka")).total_hits == 300
    assert not list(profile.glob("restoring-*"))
    assert not (profile / replacing.MARKER).exists()


def test_what_was_deleted_since_stays_deleted_by_session_and_by_message(profile):
    taken = backed_up(profile)
    with closing(opened(profile)) as db:
        session = db.execute("SELECT id FROM sessions WHERE native_id = 's1'").get
        row = db.execute("SELECT id FROM messages WHERE uid = 'm0'").get
        with transaction(db):
            trash.trash_sessions(db, [session], "you")
            trash.trash_message(db, row, "you")
        list(trash.empty(db, "you"))
        waiting = erasure.waiting(db)
    expected = [f"m{n}" for n in range(1, 300) if n % 3 != 1]
    assert uids(profile) == expected
    report = restored(profile, taken)
    assert uids(profile) == expected
    assert report.facts["deleted_again"] == 101
    with closing(opened(profile)) as db:
        assert db.execute("SELECT count(*) FROM sessions WHERE native_id = 's1'").get == 0
        store_messages(db, message("m0", "osaka 0 订阅", session="s0"))
        store_messages(db, message("m1", "osaka 1 订阅", session="s1"))
        assert erasure.waiting(db).messages >= waiting.messages == 101
        assert all(finding.ok for finding in health.check(db)), health.check(db)
    assert uids(profile) == expected


def leave_a_log(profile: Path) -> None:
    """Write to the store in a process that is killed."""
    child = (
        "import os, sys; from tests.unit.upkeep.test_restore import *;"
        "db = opened(Path(sys.argv[1])); store_messages(db, message('in the log'));"
        "os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", child, str(profile)], check=False)
    assert (profile / "state.db-wal").stat().st_size


def test_the_log_of_a_store_that_cannot_be_opened_goes_aside_with_it(profile):
    before = uids(profile)
    taken = backed_up(profile)
    leave_a_log(profile)
    (profile / "state.db").write_bytes(b"no store" * 10_000)
    restored(profile, taken)
    (aside,) = profile.glob("replaced-*")
    assert (aside / "state.db-wal").stat().st_size
    assert not (profile / "state.db-wal").exists()
    assert uids(profile) == before


def test_a_stale_log_beside_the_store_goes_aside_with_it(profile):
    """Left in its place it would be read as the log of the restored file."""
    before = uids(profile)
    taken = backed_up(profile)
    leave_a_log(profile)
    restored(profile, taken)
    assert uids(profile) == before
    (aside,) = profile.glob("replaced-*")
    shutil.copytree(aside, profile.parent / "other")
    assert uids(profile.parent / "other") == [*before, "in the log"]


@pytest.mark.parametrize("damage", ["no store", "empty", "torn", "missing"])
def test_a_store_that_cannot_be_opened_is_replaced(profile, damage):
    before = uids(profile)
    taken = backed_up(profile)
    store = profile / "state.db"
    if damage == "missing":
        store.unlink()
    elif damage == "torn":
        with store.open("r+b") as stream:
            stream.seek(100)
            stream.write(b"\xa5" * 60_000)
    else:
        store.write_bytes(b"no store" * 10_000 if damage == "no store" else b"")
    report = restored(profile, taken)
    assert uids(profile) == before
    if damage == "missing":
        assert report.facts["replaced"] is None
    else:
        assert (profile / str(report.facts["replaced"]) / "state.db").exists()
        assert "may be back" in report.outcome


def spoiled(profile: Path, taken: Path, how: str) -> Path:
    if how == "cut":
        os.truncate(taken, taken.stat().st_size // 2 & ~4095)
    elif how == "no store":
        taken.write_bytes(b"no store" * 5_000)
    elif how == "empty":
        taken.write_bytes(b"")
    elif how == "foreign":
        with closing(apsw.Connection(str(profile / "foreign.db"))) as db:
            db.execute("CREATE TABLE t(x)")
        return profile / "foreign.db"
    elif how == "newer":
        with closing(apsw.Connection(str(taken))) as db:
            db.pragma("user_version", migrations.NEWEST + 1)
    elif how == "link":
        (profile / "linked.db").symlink_to(taken)
        return profile / "linked.db"
    elif how == "folder":
        return profile
    elif how == "nothing":
        return profile / "nothing.db"
    elif how == "log":
        taken.with_name(f"{taken.name}-wal").write_bytes(b"frames")
    return taken


@pytest.mark.parametrize(
    ("how", "error", "words"),
    [
        ("cut", StoreError, "damaged|malformed"),
        ("no store", NotAStoreError, "not a database"),
        ("empty", NotAStoreError, "another program"),
        ("foreign", NotAStoreError, "another program"),
        ("newer", SchemaTooNewError, "cannot be restored by this version"),
        ("link", RefusedError, "not a regular file"),
        ("folder", RefusedError, "not a regular file"),
        ("nothing", StoreError, "cannot be read"),
        ("log", RefusedError, "still in"),
    ],
)
def test_what_is_no_snapshot_is_refused_and_nothing_changes(profile, how, error, words):
    taken = spoiled(profile, backed_up(profile), how)
    before = state_of_files(profile)
    with pytest.raises(error, match=words):
        restored(profile, taken)
    assert state_of_files(profile) == before
    assert not list(profile.glob("re*-*"))


def test_no_restore_while_somebody_has_it_open(profile):
    taken = backed_up(profile)
    with closing(opened(profile)), pytest.raises(RefusedError, match="this program itself"):
        restored(profile, taken)
    child = (
        "import sys; from pathlib import Path; from core.store.connection import open_store;"
        "db = open_store(Path(sys.argv[1]), None); print('open', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", child, str(profile / "state.db")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with pytest.raises(RefusedError, match=f"process {other.pid}"):
            restored(profile, taken)
        other.communicate()
    assert restored(profile, taken).facts["messages"] == 300


def test_where_nobody_can_be_seen_the_lock_still_tells(profile, monkeypatch):
    taken = backed_up(profile)
    monkeypatch.setattr(restore.holders, "open_elsewhere", lambda _path, with_us=False: ())
    monkeypatch.setattr(restore, "_BUSY_MS", 50)
    with closing(open_reader(profile / "state.db", tokenizer=None)) as reader:
        assert reader.execute("SELECT count(*) FROM messages").get == 300
        with pytest.raises(RefusedError, match="open in another program"):
            restored(profile, taken)


def test_no_restore_without_room(profile, monkeypatch):
    taken = backed_up(profile)
    before = state_of_files(profile)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=7))
    with pytest.raises(StoreFullError, match="7 are free"):
        restored(profile, taken)
    assert state_of_files(profile) == before


def test_the_key_comes_back_from_the_snapshot(profile):
    with closing(opened(profile)) as db:
        row = db.execute("SELECT id FROM messages WHERE uid = 'm5'").get
        with transaction(db):
            trash.trash_message(db, row, "you")
        list(trash.empty(db, "you"))
    taken = backed_up(profile)
    key = (profile / paths.TOMBSTONE_KEY_NAME).read_bytes()
    for name in ("state.db", paths.TOMBSTONE_KEY_NAME):
        (profile / name).unlink()
    restored(profile, taken)
    assert (profile / paths.TOMBSTONE_KEY_NAME).read_bytes() == key
    with closing(opened(profile)) as db:
        store_messages(db, message("m5", "osaka 5 订阅", session="s2"))
    assert "m5" not in uids(profile)


def test_deletions_under_two_keys_are_not_mixed(profile, tmp_path):
    def delete(uid: str) -> None:
        with closing(opened(profile)) as db:
            row = db.execute("SELECT id FROM messages WHERE uid = ?", (uid,)).get
            with transaction(db):
                trash.trash_message(db, row, "you")
            list(trash.empty(db, "you"))

    delete("m5")
    taken = backed_up(profile)
    (profile / paths.TOMBSTONE_KEY_NAME).unlink()
    with closing(opened(profile)) as db, transaction(db):
        db.execute("DELETE FROM tombstones")
    delete("m6")
    before = state_of_files(profile)
    with pytest.raises(RefusedError, match="different keys"):
        restored(profile, taken)
    assert state_of_files(profile) == before


def test_an_older_snapshot_is_brought_up_to_date(tmp_path, monkeypatch):
    with monkeypatch.context() as older:
        older.setattr(migrations, "STEPS", migrations.STEPS[:3])
        older.setattr(migrations, "NEWEST", 3)
        db = store_at(tmp_path, cjk=False)
        store_in_older_schema(db, "old", "osaka")
        db.close()
    profile = path_at(tmp_path).parent
    opened(profile).close()
    (taken,) = backup.snapshots_of(profile)
    assert taken.schema == 3
    add(profile, "new")
    restored(profile, Path(taken.path))
    assert uids(profile) == ["old"]
    assert len(backup.snapshots_of(profile)) == 1


def test_a_damaged_index_of_a_snapshot_is_set_aside_and_filled_again(profile):
    with closing(opened(profile)) as db:
        db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
        db.execute("DELETE FROM messages_fts_data WHERE id > 100")
        list(backup.make(db, "manual", "command"))
    (taken,) = backup.snapshots_of(profile)
    report = restored(profile, Path(taken.path))
    assert report.facts["indexes"] == ["messages_fts"]
    with closing(opened(profile)) as db:
        list(backfill.run_sync(db, "test"))
        with snapshot(db):
            assert search(db, SearchRequest("osaka")).total_hits == 300


def test_given_up_before_the_exchange_it_leaves_the_old_store(profile):
    taken = backed_up(profile)
    add(profile, "later")
    expected, before = uids(profile), state_of_files(profile)
    steps = 0
    while True:
        running = restore.restore(profile, taken, "command")
        found = None
        for _ in range(steps + 1):
            found = next(running)
        running.close()
        if not isinstance(found, Progress):
            break
        assert set(state_of_files(profile)) == set(before)
        assert uids(profile) == expected
        steps += 1
    assert steps >= 2
    assert "later" not in uids(profile)


@pytest.mark.parametrize("step", range(12))
def test_killed_at_any_call_of_the_exchange_it_is_finished_by_the_next_start(
    profile, monkeypatch, step
):
    """Never is there no store: every change of a name is a place to die."""
    taken = backed_up(profile)
    before = uids(profile)
    add(profile, "later")

    class Died(BaseException):
        pass

    calls = 0

    def dying(real):
        def call(*args, **more):
            nonlocal calls
            calls += 1
            if calls > step:
                raise Died
            return real(*args, **more)

        return call

    def give_up():
        with monkeypatch.context() as deadly:
            for owner, name in (
                (Path, "rename"),
                (Path, "replace"),
                (Path, "unlink"),
                (paths, "sync_folder"),
                (shutil, "rmtree"),
                (os, "link"),
            ):
                deadly.setattr(owner, name, dying(getattr(owner, name)))
            real = replacing.replace
            running = restore.restore(profile, taken, "command")
            deadly.setattr(replacing, "replace", lambda *args: begin(real, *args))
            list(running)

    def begin(real, *args):
        nonlocal calls
        calls = 0
        real(*args)

    calls = -1_000_000
    try:
        give_up()
    except Died:
        pass
    found = uids(profile)
    assert found in (before, [*before, "later"])
    assert not (profile / replacing.MARKER).exists()
    if found == before:
        (aside,) = profile.glob("replaced-*")
        shutil.copytree(aside, profile.parent / "other")
        assert uids(profile.parent / "other") == [*before, "later"]


def test_there_is_a_store_at_every_moment_of_the_exchange(profile, monkeypatch):
    """Else one who opens it just then makes an empty one, and its log falls on the new store."""
    taken = backed_up(profile)
    add(profile, "later")
    store, seen = paths.store_path(profile), []

    def looking(real):
        def call(*args, **more):
            found = real(*args, **more)
            seen.append(store.exists())
            return found

        return call

    with monkeypatch.context() as watched:
        for owner, name in ((Path, "rename"), (Path, "replace"), (paths, "sync_folder")):
            watched.setattr(owner, name, looking(getattr(owner, name)))
        list(restore.restore(profile, taken, "command"))
    assert len(seen) >= 5
    assert all(seen)
    assert "later" not in uids(profile)


@pytest.mark.parametrize(
    "planted",
    [
        b"",
        b"{}",
        b'{"staged":"../x","aside":"replaced-1"}',
        b'{"staged":"restoring-1","aside":"/tmp"}',
        b"\xff" * 10_000,
    ],
)
def test_a_marker_that_is_not_ours_is_refused_in_words(profile, planted):
    paths.write_private_file(profile / replacing.MARKER, planted)
    with pytest.raises(StoreError, match=r"restore\.json"):
        opened(profile)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_every_file_on_the_way_is_for_its_owner_alone(profile, umask):
    taken = backed_up(profile)
    before = os.umask(umask)
    try:
        for _ in restore.restore(profile, taken, "command"):
            for path in profile.rglob("*"):
                wanted = 0o700 if path.is_dir() else 0o600
                assert stat.S_IMODE(path.lstat().st_mode) == wanted, path
    finally:
        os.umask(before)


CHILD = (
    "import sys; from pathlib import Path; from core.upkeep import restore;"
    "print('ready', flush=True);"
    "list(restore.restore(Path(sys.argv[1]), Path(sys.argv[2]), 'command'))"
)


def kill_sometimes(profile: Path, times: int, seed: int) -> None:
    taken = backed_up(profile)
    before = uids(profile)
    chance = random.Random(seed)
    for turn in range(times):
        add(profile, f"later{turn}")
        held = uids(profile)
        with subprocess.Popen(
            [sys.executable, "-c", CHILD, str(profile), str(taken)], stdout=subprocess.PIPE
        ) as running:
            assert running.stdout is not None
            running.stdout.readline()
            time.sleep(chance.uniform(0.0, 0.25))
            running.send_signal(signal.SIGKILL)
        assert uids(profile) in (before, held)
    restored(profile, taken)
    assert uids(profile) == before


def test_killed_at_random_it_leaves_the_old_store_or_the_new_one(profile):
    kill_sometimes(profile, 4, seed=1)


@pytest.mark.long
def test_killed_a_hundred_times_it_leaves_the_old_store_or_the_new_one(profile):
    kill_sometimes(profile, 100, seed=2)


def test_an_error_in_the_middle_leaves_the_old_store(profile, monkeypatch):
    taken = backed_up(profile)
    add(profile, "later")

    def fails(_db, _key):
        raise StoreError("no")
        yield

    monkeypatch.setattr(restore, "delete_again", fails)
    with closing(opened(profile)) as db:
        row = db.execute("SELECT id FROM messages WHERE uid = 'm6'").get
        with transaction(db):
            trash.trash_message(db, row, "you")
        list(trash.empty(db, "you"))
    before = state_of_files(profile)
    with pytest.raises(CoreError, match="no"):
        restored(profile, taken)
    assert set(state_of_files(profile)) == set(before)
    assert "later" in uids(profile)


def test_the_backup_that_made_the_snapshot_is_not_said_to_have_failed(profile):
    taken = backed_up(profile)
    with closing(opened(profile)) as db:
        (told,) = db.execute("SELECT outcome FROM operations WHERE kind = 'backup'").fetchone()
    assert "kept" in told
    restored(profile, taken)
    with closing(opened(profile)) as db:
        found = db.execute("SELECT kind, state FROM operations ORDER BY id").fetchall()
    assert found == [("backup", "succeeded"), ("restore", "succeeded")]


def test_the_store_is_no_snapshot_of_itself(profile):
    before = state_of_files(profile)
    with pytest.raises(RefusedError, match="the store itself"):
        restored(profile, profile / "state.db")
    assert state_of_files(profile) == before


def test_a_folder_that_cannot_be_written_to_is_told_in_words(profile, monkeypatch):
    taken = backed_up(profile)

    def refused(path: Path) -> None:
        raise OSError(errno.EROFS, "Read-only file system", str(path))

    monkeypatch.setattr(replacing.paths, "create_private_file", refused)
    with pytest.raises(StoreReadOnlyError, match="Read-only file system"):
        restored(profile, taken)
