"""What SQLite says becomes words that name the file; faults of ours stay faults."""

import resource
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from core.errors import (
    NotAStoreError,
    StoreBusyError,
    StoreCorruptError,
    StoreError,
    StoreFullError,
    StoreReadOnlyError,
    TokenizerError,
)
from core.store.connection import open_reader, open_writer, transaction
from core.store.errors import translated
from tests.unit.store.making import message, path_at, store_at, store_messages


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (apsw.BusyError("locked"), StoreBusyError),
        (apsw.LockedError("locked"), StoreBusyError),
        (apsw.FullError("full"), StoreFullError),
        (apsw.ReadOnlyError("readonly"), StoreReadOnlyError),
        (apsw.PermissionsError("denied"), StoreReadOnlyError),
        (apsw.CantOpenError("cannot"), StoreError),
        (apsw.NotADBError("not"), NotAStoreError),
        (apsw.CorruptError("malformed"), StoreCorruptError),
        (apsw.IOError("disk I/O error"), StoreError),
        (apsw.NoMemError("memory"), StoreError),
        (apsw.TooBigError("too big"), StoreError),
        (apsw.SQLError("no such tokenizer: cjk_unicode61"), TokenizerError),
        (apsw.SQLError("vtable constructor failed: messages_fts"), StoreCorruptError),
    ],
)
def test_each_kind_of_error_names_the_store(tmp_path, error, expected):
    with pytest.raises(expected, match=r"state\.db") as caught, translated(tmp_path / "state.db"):
        raise error
    assert type(caught.value) is expected
    assert caught.value.__cause__ is error


@pytest.mark.parametrize(
    "error",
    [apsw.SQLError("no such column: x"), apsw.InterruptError("interrupted"), KeyError("x")],
)
def test_faults_and_interruptions_pass_through(error):
    with pytest.raises(type(error)) as caught, translated():
        raise error
    assert caught.value is error


def test_a_full_disk_tells_the_free_bytes(tmp_path):
    with pytest.raises(StoreFullError, match=r"[\d,]+ bytes are free"), translated(tmp_path / "x"):
        raise apsw.FullError("full")


def test_a_lock_that_is_held_too_long_is_told_as_busy(tmp_path):
    db = store_at(tmp_path)
    other = open_writer(path_at(tmp_path), tokenizer=None)
    other.set_busy_timeout(1)
    with transaction(db), pytest.raises(StoreBusyError), translated(), transaction(other):
        raise AssertionError
    other.close()
    db.close()


def test_a_missing_store_is_told_as_such(tmp_path):
    with pytest.raises(StoreError, match="cannot be opened"), translated(tmp_path / "state.db"):
        open_reader(tmp_path / "state.db", tokenizer=None)


FILL_UP = """
import resource, signal, sys
from pathlib import Path
from core.errors import StoreError
from core.store.connection import open_store, transaction
from core.store.errors import translated

path = Path(sys.argv[1])
db = open_store(path, None)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
stored = 0
try:
    with translated(path):
        for number in range(1000):
            with transaction(db):
                db.execute("INSERT INTO meta VALUES (?, ?)", (number, "x" * 50_000))
            stored += 1
except StoreError as error:
    print(error.code, stored, db.execute("SELECT count(*) FROM meta").get, str(path) in str(error))
"""


def test_a_write_that_does_not_fit_loses_nothing_that_was_stored(tmp_path):
    store_at(tmp_path).close()
    limit = 3 * 1024 * 1024
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[1] in (resource.RLIM_INFINITY, limit)
    done = subprocess.run(
        [sys.executable, "-c", FILL_UP, str(path_at(tmp_path)), str(limit)],
        capture_output=True,
        text=True,
        check=True,
    )
    code, stored, found, is_named = done.stdout.split()
    assert code in ("store", "store-full")
    assert 0 < int(stored) <= int(found) <= int(stored) + 1
    assert is_named == "True"


def damage(path: Path, table: str, db: apsw.Connection) -> None:
    """Overwrite the pages of a table with noise, as a failing disk would."""
    pages = [
        page
        for (page,) in db.execute(
            "SELECT pageno FROM dbstat WHERE name = ? AND pageno > 1", (table,)
        )
    ]
    size = db.pragma("page_size")
    db.pragma("wal_checkpoint", "TRUNCATE")
    db.close()
    with path.open("r+b") as file:
        for page in pages:
            file.seek((page - 1) * size)
            file.write(b"\x5a" * size)


@pytest.mark.parametrize(
    ("table", "query"),
    [
        ("messages_fts_data", "SELECT rowid FROM messages_fts WHERE messages_fts MATCH 'word7'"),
        ("messages", "SELECT sum(length(content)) FROM messages"),
    ],
)
def test_damage_is_told_in_words_and_the_file_is_kept(tmp_path, table, query):
    db = store_at(tmp_path)
    store_messages(db, *(message(f"u{n}", f"word{n} " * 50) for n in range(200)))
    damage(path_at(tmp_path), table, db)
    before = path_at(tmp_path).stat().st_size
    db = open_reader(path_at(tmp_path), tokenizer=None)
    with pytest.raises(StoreCorruptError, match="damaged"), translated(path_at(tmp_path)):
        db.execute(query).fetchall()
    db.close()
    assert path_at(tmp_path).stat().st_size == before
