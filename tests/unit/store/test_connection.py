"""Opening a store: the whole recipe or nothing, our file or none."""

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import apsw
import pytest

from core.errors import (
    NotAStoreError,
    SchemaTooNewError,
    StoreError,
    StoreReadOnlyError,
    TokenizerError,
)
from core.store import migrations, recipe, tokenizer_probe
from core.store.connection import (
    open_reader,
    open_store,
    open_writer,
    snapshot,
    transaction,
)
from tests.unit.store.making import library, path_at, store_at

EXPECTED = {
    "journal_mode": "wal",
    "synchronous": 2,
    "secure_delete": 1,
    "recursive_triggers": 1,
    "foreign_keys": 1,
    "cell_size_check": 1,
    "mmap_size": 0,
    "journal_size_limit": 64 * 1024 * 1024,
    "wal_autocheckpoint": 4000,
}


@pytest.fixture
def path(tmp_path) -> Path:
    store_at(tmp_path).close()
    return path_at(tmp_path)


@pytest.mark.parametrize("way", [open_writer, open_reader, open_store])
def test_every_way_in_makes_every_setting(path, way):
    db = way(path, tokenizer=library())
    assert {name: db.pragma(name) for name in EXPECTED} == EXPECTED
    assert db.pragma("cache_size") == (-32 * 1024 if way is open_reader else -16 * 1024)
    assert db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, -1) == 1
    assert db.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, -1) == 0
    assert db.config(apsw.SQLITE_DBCONFIG_DQS_DML, -1) == 0
    assert db.config(apsw.SQLITE_DBCONFIG_DQS_DDL, -1) == 0
    assert db.config(apsw.SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, -1) == 0
    assert tokenizer_probe.is_available(db)
    db.close()


def test_a_setting_that_does_not_hold_closes_the_way_in(path, monkeypatch):
    monkeypatch.setattr(recipe, "RECIPE", (recipe.Pragma("secure_delete", "ON", 7),))
    with pytest.raises(StoreError, match="secure_delete"):
        open_writer(path, tokenizer=None)


@pytest.mark.parametrize("way", [open_reader, open_writer])
def test_opening_waits_for_who_holds_the_whole_file(path, way):
    """As the first to come does while it reads the log, and the last to go while it clears up."""
    holder = apsw.Connection(str(path))
    holder.pragma("locking_mode", "exclusive")
    holder.execute("BEGIN IMMEDIATE; COMMIT")
    with pytest.raises(apsw.BusyError):
        apsw.Connection(str(path)).pragma("application_id")
    leaving = threading.Timer(0.3, holder.close)
    leaving.start()

    db = way(path, tokenizer=None)

    assert db.pragma("application_id") == recipe.APPLICATION_ID
    db.close()
    leaving.join()


def test_sql_cannot_load_a_library(path):
    db = open_writer(path, tokenizer=library())
    with pytest.raises(apsw.SQLError, match="not authorized"):
        db.execute("SELECT load_extension(?)", (str(library()),))
    with pytest.raises(apsw.ExtensionLoadingError):
        db.load_extension(str(library()))
    db.close()


def test_a_relative_library_is_refused_and_one_that_does_not_load_is_left_out(path, tmp_path):
    db = open_writer(path, tokenizer=None)
    with pytest.raises(TokenizerError, match="absolute"):
        recipe.load_tokenizer(db, Path("libfts5_cjk.so"))
    db.close()
    broken = tmp_path / "libfts5_cjk.so"
    broken.write_bytes(b"not a library")
    db = open_writer(path, tokenizer=broken)
    assert not tokenizer_probe.is_available(db)
    db.close()


def test_shadow_tables_cannot_be_written_by_hand(path):
    db = open_writer(path, tokenizer=library())
    with pytest.raises(apsw.SQLError, match="may not be modified"):
        db.execute("DELETE FROM messages_fts_docsize")
    db.close()


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_every_file_of_the_store_is_for_its_owner_alone(tmp_path, umask):
    before = os.umask(umask)
    try:
        db = store_at(tmp_path)
    finally:
        os.umask(before)
    folder = path_at(tmp_path).parent
    modes = {entry.name: stat.S_IMODE(entry.stat().st_mode) for entry in folder.iterdir()}
    assert modes == {"state.db": 0o600, "state.db-wal": 0o600, "state.db-shm": 0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    db.close()


SPILL = """
import os, sys
from pathlib import Path
from core.store.connection import open_store
db = open_store(Path(sys.argv[1]), None)
db.execute("CREATE TEMP TABLE t(x)")
db.execute("PRAGMA temp.cache_size = 10")
db.execute("INSERT INTO t SELECT randomblob(2000) FROM messages_fts_rows"
           " RIGHT JOIN (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
           " WHERE i < 2000) SELECT i FROM n)")
for name in os.listdir("/proc/self/fd"):
    try:
        target = os.readlink(f"/proc/self/fd/{name}")
    except OSError:
        continue
    if target.endswith("(deleted)"):
        print(os.path.dirname(target))
"""


def test_what_sqlite_spills_to_disk_stays_in_the_private_folder(path):
    done = subprocess.run(
        [sys.executable, "-c", SPILL, str(path)], capture_output=True, text=True, check=True
    )
    assert set(done.stdout.split()) == {str(path.parent)}


def test_a_foreign_database_is_named_and_left_as_it_is(tmp_path):
    path = path_at(tmp_path)
    path.parent.mkdir(mode=0o700)
    foreign = apsw.Connection(str(path))
    foreign.execute("CREATE TABLE t(x); INSERT INTO t VALUES (1)")
    foreign.close()
    path.chmod(0o600)
    before = path.read_bytes()
    with pytest.raises(NotAStoreError, match=r"state\.db is not a store: it belongs to another"):
        open_store(path, None)
    assert path.read_bytes() == before
    assert [entry.name for entry in path.parent.iterdir()] == ["state.db"]


@pytest.mark.parametrize("content", [b"", b"\0", b"not a database " * 500])
def test_a_file_that_is_no_database_is_named_and_left_as_it_is(tmp_path, content):
    path = path_at(tmp_path)
    path.parent.mkdir(mode=0o700)
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(NotAStoreError, match=r"state\.db is not a store"):
        open_store(path, None)
    assert path.read_bytes() == content


def test_a_store_others_can_write_to_is_refused(path):
    path.chmod(0o606)
    with pytest.raises(StoreError, match="written to by other users"):
        open_store(path, None)


def test_only_opening_the_store_creates_it(tmp_path):
    (tmp_path / "profile").mkdir(mode=0o700)
    for way in (open_writer, open_reader):
        with pytest.raises(apsw.CantOpenError):
            way(path_at(tmp_path), tokenizer=None)
    assert not path_at(tmp_path).exists()


def test_half_a_store_is_never_seen(tmp_path, monkeypatch):
    def fail(db: apsw.Connection) -> None:
        db.execute("CREATE TABLE half(x)")
        raise MemoryError

    monkeypatch.setattr(migrations, "STEPS", (fail,))
    with pytest.raises(MemoryError):
        open_store(path_at(tmp_path), None)
    assert list(path_at(tmp_path).parent.iterdir()) == []


CREATE = """
import sys
from pathlib import Path
from core.store.connection import open_store, transaction
print(flush=True)
sys.stdin.readline()
db = open_store(Path(sys.argv[1]), None)
with transaction(db):
    db.execute("INSERT INTO meta VALUES (?, 'x')", (sys.argv[2],))
db.close()
"""


def test_several_processes_may_create_it_at_once(tmp_path):
    (tmp_path / "profile").mkdir(mode=0o700)
    command = [sys.executable, "-c", CREATE, str(path_at(tmp_path))]
    running = [
        subprocess.Popen([*command, str(n)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for n in range(4)
    ]
    for process in running:
        assert process.stdout is not None
        process.stdout.readline()
    for process in running:
        process.communicate(b"\n", timeout=60)
    assert [process.returncode for process in running] == [0] * 4
    db = open_reader(path_at(tmp_path), tokenizer=None)
    assert db.execute("SELECT count(*) FROM meta").get == 4
    db.close()
    assert [p.name for p in path_at(tmp_path).parent.iterdir() if "new" in p.name] == []


def test_a_newer_schema_is_read_but_not_written(path):
    db = open_writer(path, tokenizer=None)
    db.pragma("user_version", migrations.NEWEST + 3)
    db.close()
    with pytest.raises(SchemaTooNewError) as caught:
        open_writer(path, tokenizer=None)
    assert (caught.value.found, caught.value.newest) == (migrations.NEWEST + 3, migrations.NEWEST)
    db = open_store(path, library())
    assert db.execute("SELECT count(*) FROM sources").get == 1
    with pytest.raises(SchemaTooNewError, match="can be read but not written"), transaction(db):
        raise AssertionError
    assert db.execute("SELECT count(*) FROM sources").get == 1
    db.close()


def test_a_reader_does_not_write(path):
    db = open_reader(path, tokenizer=None)
    with pytest.raises(StoreReadOnlyError), transaction(db):
        raise AssertionError
    with pytest.raises(apsw.ReadOnlyError):
        db.execute("DELETE FROM sources")
    db.close()


@pytest.fixture
def read_only(path, monkeypatch):
    """As if the file system were mounted read-only; the tests may run as root."""
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    return path


def test_a_store_in_a_read_only_place_is_read_without_writing_beside_it(read_only):
    db = open_store(read_only, library())
    assert db.execute("SELECT count(*) FROM sources").get == 1
    with pytest.raises(StoreReadOnlyError, match="read-only on this machine"), transaction(db):
        raise AssertionError
    assert [entry.name for entry in read_only.parent.iterdir()] == ["state.db"]
    db.close()


def test_changes_that_only_the_log_has_are_not_passed_over(path, monkeypatch):
    db = open_writer(path, tokenizer=library())
    with transaction(db):
        db.execute("INSERT INTO meta VALUES ('k', 'v')")
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    with pytest.raises(StoreReadOnlyError, match="last changes are still in"):
        open_store(path, None)
    db.close()


def test_a_place_where_nothing_can_be_made_is_told_in_words(tmp_path, monkeypatch):
    def refuse(path):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("core.paths.create_private_file", refuse)
    with pytest.raises(StoreError, match="cannot be created: Read-only file system"):
        open_store(path_at(tmp_path), None)


def test_a_file_system_without_links_will_do(tmp_path, monkeypatch):
    def refuse(*names):
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    db = open_store(path_at(tmp_path), None)
    assert db.execute("SELECT count(*) FROM sources").get == 0
    db.close()


def test_a_transaction_takes_the_write_lock_before_it_reads(path):
    # Both have the tokenizer, so that neither writes at the transaction's start.
    first, second = (open_writer(path, tokenizer=library()) for _ in range(2))
    second.set_busy_timeout(0)
    with transaction(first), pytest.raises(apsw.BusyError), transaction(second):
        raise AssertionError
    assert not second.in_transaction
    first.close()
    second.close()


def test_a_transaction_that_raises_leaves_nothing(path):
    db = open_writer(path, tokenizer=None)

    def write_and_fail() -> None:
        with transaction(db):
            db.execute("INSERT INTO meta VALUES ('k', 'v')")
            raise MemoryError

    with pytest.raises(MemoryError):
        write_and_fail()
    assert not db.in_transaction
    assert db.execute("SELECT count(*) FROM meta").get == 0
    db.close()


def test_a_snapshot_sees_one_state(path):
    reader, writer = open_reader(path, tokenizer=None), open_writer(path, tokenizer=None)
    with snapshot(reader):
        before = reader.execute("SELECT count(*) FROM meta").get
        with transaction(writer):
            writer.execute("INSERT INTO meta VALUES ('k', 'v')")
        assert reader.execute("SELECT count(*) FROM meta").get == before == 0
    assert reader.execute("SELECT count(*) FROM meta").get == 1
    reader.close()
    writer.close()


@pytest.mark.parametrize(
    ("version", "is_safe"),
    [
        ("3.40.1", False),
        ("3.44.5", False),
        ("3.44.6", True),
        ("3.45.0", False),
        ("3.50.6", False),
        ("3.50.7", True),
        ("3.51.2", False),
        ("3.51.3", True),
        ("3.54.1", True),
        ("4.0.0", True),
    ],
)
def test_versions_of_sqlite_that_can_lose_commits_are_refused(version, is_safe):
    if is_safe:
        recipe.require_safe_sqlite(version)
    else:
        with pytest.raises(StoreError, match="can lose commits"):
            recipe.require_safe_sqlite(version)


def test_opening_asks_for_the_version(path, monkeypatch):
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: "3.46.0")
    for way in (open_writer, open_reader, open_store):
        with pytest.raises(StoreError, match=r"3\.46\.0"):
            way(path, tokenizer=None)
