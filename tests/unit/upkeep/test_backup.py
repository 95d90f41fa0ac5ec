"""Snapshots are proved by restoring them; those that cannot be are told and never relied on."""

import os
import shutil
import stat
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import apsw
import pytest

from core import paths, settings
from core.errors import RefusedError, StoreError, StoreFullError
from core.history.tombstones import make_key
from core.store import copying, snapshots
from core.store.connection import open_writer, transaction
from core.types import Progress
from core.upkeep import backup, operations
from core.upkeep_types import Snapshot
from tests.unit.store.making import message, path_at, store_at, store_messages


@pytest.fixture
def db(tmp_path):
    made = store_at(tmp_path)
    store_messages(made, *(message(f"m{n}", f"text {n} 订阅") for n in range(300)))
    yield made
    made.close()


@pytest.fixture
def profile(tmp_path) -> Path:
    return path_at(tmp_path).parent


def made_of(db: apsw.Connection, reason: str = "manual", **more) -> Snapshot:
    *steps, last = backup.make(db, reason, "command", **more)
    assert all(isinstance(step, Progress) for step in steps)
    assert isinstance(last, Snapshot)
    return last


def last_operation(db: apsw.Connection):
    return operations.get(db, db.execute("SELECT max(id) FROM operations").get)


def test_a_snapshot_is_proved_at_once_and_recorded(db, profile):
    made = made_of(db)
    assert made.problem == ""
    assert made.proved_at_ms is not None
    assert (made.sessions, made.messages) == (1, 300)
    assert backup.snapshots_of(profile) == (made,)
    recorded = last_operation(db)
    assert (recorded.kind, recorded.state, recorded.actor) == ("backup", "succeeded", "command")
    assert recorded.receipt["name"] == Path(made.path).name
    assert recorded.receipt["messages"] == 300
    names = {entry.name for entry in snapshots.folder_of(profile).iterdir()}
    assert names == {Path(made.path).name, Path(made.path).with_suffix(".json").name}


def test_what_is_written_while_it_is_made_is_in_the_next_one(db, profile, monkeypatch):
    monkeypatch.setattr(copying, "STEP_PAGES", 20)
    written = 0
    for item in backup.make(db, "manual", "command"):
        if isinstance(item, Progress):
            written += 1
            store_messages(db, message(f"later{written}"))
    assert written > 5
    assert (item.messages, item.problem) == (300, "")
    assert made_of(db).messages == 300 + written


def spoil(path: Path, how: str) -> None:
    """Change a snapshot behind its description's back."""
    if how == "cut":
        os.truncate(path, path.stat().st_size // 2)
    elif how == "torn":
        with path.open("r+b") as stream:
            stream.seek(path.stat().st_size // 3 & ~4095)
            stream.write(b"\xa5" * 8192)
    elif how == "no store":
        path.write_bytes(b"nothing of ours" * 1000)
    else:
        with closing(apsw.Connection(str(path))) as changed:
            changed.pragma("journal_mode", "delete")
            changed.execute("DROP TRIGGER messages_fts_au; DROP TRIGGER messages_fts_trigram_au")
            changed.execute("DROP TRIGGER IF EXISTS messages_fts_cjk_au")
            changed.execute("UPDATE messages SET content = 'Text 7 订阅' WHERE uid = 'm7'")


@pytest.mark.parametrize(
    ("how", "problem"),
    [
        ("cut", "malformed|damaged|is wrong|pages"),
        ("torn", "malformed|damaged|Tree|page"),
        ("no store", "not a store"),
        ("one letter", "not what the store held"),
    ],
)
def test_a_snapshot_that_is_not_what_it_was_fails_its_proof_and_stays(db, profile, how, problem):
    made = made_of(db)
    spoil(Path(made.path), how)
    *_, found = backup.prove(Path(made.path))
    assert found.proved_at_ms is None
    assert len(backup.snapshots_of(profile)) == 1
    assert problem_fits(found.problem, problem), found.problem
    assert Path(made.path).exists()
    assert [entry.name for entry in Path(made.path).parent.glob("proof-*")] == []


def problem_fits(told: str, pattern: str) -> bool:
    return any(part in told for part in pattern.split("|"))


def test_a_snapshot_that_could_not_be_proved_for_want_of_room_is_kept(db, profile, monkeypatch):
    real = copying.require_room

    def no_room_for_the_proof(folder, needed):
        if folder.name.startswith("proof-"):
            raise StoreFullError("no room")
        real(folder, needed)

    with monkeypatch.context() as full:
        full.setattr(copying, "require_room", no_room_for_the_proof)
        made = made_of(db)
    assert (made.problem, made.proved_at_ms) == ("no room", None)
    assert last_operation(db).state == "failed"
    *_, found = backup.prove(Path(made.path))
    assert found.problem == ""
    assert found.proved_at_ms is not None


def test_no_snapshot_without_room(db, profile, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=10))
    with pytest.raises(StoreFullError, match="10 are free"):
        made_of(db)
    assert backup.snapshots_of(profile) == ()
    assert last_operation(db).state == "failed"


def test_given_up_at_any_step_it_leaves_nothing_or_a_snapshot_without_proof(db, profile):
    steps = 0
    while True:
        making = backup.make(db, "manual", "command")
        for _ in range(steps):
            last = next(making, None)  # one run waits for the disk more often than another
        making.close()
        if steps and not isinstance(last, Progress):
            break
        left = backup.snapshots_of(profile)
        assert all(each.proved_at_ms is None and not each.problem for each in left)
        for each in left:
            snapshots.remove(Path(each.path))
        folder = snapshots.folder_of(profile)
        assert not folder.exists() or list(folder.iterdir()) == []
        assert steps == 0 or last_operation(db).state == "failed"
        steps += 1
    assert steps >= 2


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_every_file_on_the_way_is_for_its_owner_alone(db, profile, umask):
    make_key(profile)
    before = os.umask(umask)
    try:
        for _ in backup.make(db, "manual", "command"):
            for path in profile.rglob("*"):
                wanted = 0o700 if path.is_dir() else 0o600
                assert stat.S_IMODE(path.lstat().st_mode) == wanted, path
    finally:
        os.umask(before)


def test_a_folder_of_ones_own_gets_the_snapshot_and_the_key(db, profile, tmp_path):
    key = make_key(profile)
    folder = tmp_path / "stick"
    folder.mkdir(mode=0o755)
    made = Path(made_of(db, folder=folder).path)
    assert made.parent == folder
    assert made.with_suffix(".key").read_bytes() == key
    assert stat.S_IMODE(folder.stat().st_mode) == 0o755
    assert {entry.suffix for entry in folder.iterdir()} == {".db", ".json", ".key"}
    assert backup.snapshots_of(profile) == ()


def test_a_link_or_a_file_is_no_folder_for_a_backup(db, tmp_path):
    (tmp_path / "link").symlink_to(tmp_path)
    (tmp_path / "file").write_text("")
    for name in ("link", "file"):
        with pytest.raises(RefusedError, match="no folder"):
            made_of(db, folder=tmp_path / name)


def test_a_scheduled_backup_is_skipped_while_nothing_changed(db, profile):
    assert backup.idle(db) == ""
    *_, report = backup.scheduled(db, "schedule")
    assert report.facts["messages"] == 300
    assert backup.idle(db) == "nothing changed since the last snapshot"
    with transaction(db):
        db.execute("UPDATE sessions SET title = 'other', renamed_at_ms = 7")
    assert backup.idle(db) == ""
    with transaction(db):
        settings.write(db, settings.BACKUP_ON, False)
    assert backup.idle(db) == "scheduled backups are off"


def test_a_scheduled_backup_proves_what_a_migration_left(db, profile):
    folder = snapshots.folder_of(profile)
    paths.ensure_private_dir(folder)
    with copying.opened_at_one_moment(path_at(profile.parent)) as source:
        *_, unproved = snapshots.take(profile, source, "before-migration", folder)
    assert unproved.proved_at_ms is None
    list(backup.scheduled(db, "schedule"))
    found = {each.reason: each.proved_at_ms for each in backup.snapshots_of(profile)}
    assert all(found.values())


def test_a_scheduled_backup_that_fails_its_proof_is_an_error(db, monkeypatch):
    def differs(_db, _described):
        yield Progress(1, None, "rows")
        return "it differs"

    monkeypatch.setattr(backup, "_difference", differs)
    with pytest.raises(StoreError, match="it differs"):
        list(backup.scheduled(db, "schedule"))


def test_a_copy_of_the_store_as_a_file_alone_is_no_snapshot(db, profile, tmp_path):
    """Its last changes are in the log: read without it, they would silently be missing."""
    store = path_at(profile.parent)
    assert store.with_name("state.db-wal").stat().st_size
    with pytest.raises(RefusedError, match="still in"):
        snapshots.opened_still(store)


def test_a_proved_snapshot_can_be_opened_as_a_store(db, tmp_path):
    made = made_of(db)
    with closing(open_writer(Path(made.path), tokenizer=None)) as found:
        assert found.execute("SELECT count(*) FROM messages").get == 300
