"""Other programs' databases: everything committed is read, nothing of theirs is touched."""

import contextlib
import os
import shutil
import socket
import stat
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import apsw
import pytest

from core.errors import SourceError
from core.sources import foreign_sqlite
from core.sources.foreign_rows import Row, Table
from core.sources.foreign_sqlite import is_sqlite, snapshot
from core.sources.records import BadSourceRecord

ENDS = ("", "-wal", "-shm", "-journal")


def create(path, *statements, wal=True):
    with contextlib.closing(apsw.Connection(str(path))) as db:
        if wal:
            db.execute("PRAGMA journal_mode=WAL").fetchall()
        db.execute("CREATE TABLE notes(id INTEGER PRIMARY KEY, text)")
        for statement in statements:
            db.execute(statement)
    return path


def fill(path, count, size=100):
    with contextlib.closing(apsw.Connection(str(path))) as db:
        db.execute(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)"
            " INSERT INTO notes(text) SELECT printf('%d ', i) || hex(zeroblob(?)) FROM n",
            (count, size // 2),
        )
    return path


def trace(path):
    """Every byte and time of the folder: what must be the same after reading."""
    found = {}
    for member in sorted(path.parent.iterdir()):
        seen = member.stat()
        found[member.name] = (member.read_bytes(), seen.st_mtime_ns, seen.st_ino, seen.st_mode)
    return found


def texts(path):
    with snapshot(path) as db:
        return [row.values[0] for row in Table(db, "notes").rows(["text"])]


WRITER = """
import select, sys, time
import apsw

path, how, journal = sys.argv[1:]
db = apsw.Connection(path)
# The waiting time of the program whose files we read; in WAL mode no writer ever waits for us.
db.set_busy_timeout(0 if journal == "wal" else 1000)
db.execute(f"PRAGMA journal_mode={journal}").fetchall()
db.execute("CREATE TABLE IF NOT EXISTS notes(id INTEGER PRIMARY KEY, text)")
if how == "idle":
    db.execute("PRAGMA wal_autocheckpoint=0").fetchall()
    for i in range(500):
        db.execute("INSERT INTO notes(text) VALUES(?)", (f"{i} " + "x" * 300,))
    print("ready", flush=True)
    sys.stdin.read()
elif how == "killed":
    for i in range(500):
        db.execute("INSERT INTO notes(text) VALUES(?)", (f"{i} " + "x" * 300,))
    import os
    os._exit(9)
elif how == "mid-change":
    db.execute("PRAGMA cache_size=5").fetchall()
    db.execute("INSERT INTO notes(text) VALUES('kept')")
    db.execute("BEGIN IMMEDIATE")
    db.execute("UPDATE notes SET text = 'lost'")
    for i in range(500):
        db.execute("INSERT INTO notes(text) VALUES(?)", ("lost " + "x" * 300,))
    import os
    os._exit(9)
else:
    print("ready", flush=True)
    refused, slowest, written = 0, 0.0, 0
    while not select.select([sys.stdin], [], [], 0.002)[0]:
        began = time.monotonic()
        try:
            db.execute("INSERT INTO notes(text) VALUES(?)", ("x" * 900,))
            written += 1
        except apsw.BusyError:
            refused += 1
        slowest = max(slowest, time.monotonic() - began)
    print(refused, slowest, written, flush=True)
"""


@contextlib.contextmanager
def writer(path, how, journal="wal"):
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(WRITER), str(path), how, journal],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        if how not in ("killed", "mid-change"):
            assert process.stdout.readline() == "ready\n"
        else:
            assert process.wait() == 9
        yield process
        process.stdin.close()


def test_a_live_log_is_read_and_no_byte_or_time_of_the_three_files_changes(tmp_path):
    path = tmp_path / "state.db"
    with writer(path, "idle"):
        before = trace(path)
        assert len(before["state.db-wal"][0]) > 500 * 300  # it is all in the log
        found = texts(path)
        assert trace(path) == before
    assert [text.split()[0] for text in found] == [str(i) for i in range(500)]


# C01 of the public faults.
def test_what_a_killed_writer_left_is_read_and_left(tmp_path):
    path = tmp_path / "state.db"
    with writer(path, "killed"):
        before = trace(path)
        assert set(before) == {"state.db", "state.db-wal", "state.db-shm"}
        assert len(texts(path)) == 500
        assert trace(path) == before


def test_a_log_without_shared_memory_is_read_and_none_is_created(tmp_path):
    path = tmp_path / "state.db"
    with writer(path, "killed"):
        (tmp_path / "state.db-shm").unlink()
    time.sleep(0.15)
    before = trace(path)
    assert len(texts(path)) == 500
    assert trace(path) == before


@pytest.mark.parametrize("wal", [True, False])
def test_a_file_at_rest_is_read_and_nothing_appears_beside_it(tmp_path, wal):
    path = fill(create(tmp_path / "a b%20?#.db", wal=wal), 3)
    time.sleep(0.15)
    before = trace(path)
    assert [text.split()[0] for text in texts(path)] == ["1", "2", "3"]
    assert trace(path) == before
    assert set(before) == {"a b%20?#.db"}


def test_a_long_copy_of_a_busy_log_is_one_moment_and_is_finished(tmp_path, monkeypatch):
    monkeypatch.setattr(foreign_sqlite, "STEP_PAGES", 1)
    path = fill(create(tmp_path / "state.db"), 1000, size=4000)
    with writer(path, "busy"):
        began = time.monotonic()
        with snapshot(path) as db:
            assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            count, highest = db.execute("SELECT count(*), max(id) FROM main.notes").fetchone()
        assert time.monotonic() - began < 2
    assert count == highest >= 1000


# C01 of the public faults.
@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_a_writer_that_never_stops_is_never_refused_and_every_copy_is_whole(tmp_path, journal):
    path = tmp_path / "state.db"
    taken = []
    with writer(path, "busy", journal) as process:
        while len(taken) < 10:
            with snapshot(path) as db:
                assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
                taken.append(db.execute("SELECT count(*), max(id) FROM main.notes").fetchone())
            time.sleep(0.03)
        process.stdin.close()
        refused, slowest, written = process.stdout.readline().split()
    assert refused == "0"
    assert float(slowest) < 1
    assert all(count == (highest or 0) for count, highest in taken)  # no row is missing inside
    assert taken == sorted(taken)
    assert taken[0][0] < taken[-1][0] <= int(written)  # newer commits are seen


def test_a_change_that_a_crash_left_half_done_is_rolled_back_in_the_copy_only(tmp_path):
    path = tmp_path / "state.db"
    with writer(path, "mid-change", "delete"):
        assert b"lost" in path.read_bytes()
    time.sleep(0.15)
    before = trace(path)
    assert set(before) == {"state.db", "state.db-journal"}
    assert texts(path) == ["kept"]
    assert trace(path) == before


def test_a_journal_that_would_delete_another_file_is_refused(tmp_path):
    path = tmp_path / "state.db"
    with writer(path, "mid-change", "delete"):
        pass
    victim = tmp_path / "victim"
    victim.write_text("no such journal")
    name = str(victim).encode()
    with (tmp_path / "state.db-journal").open("ab") as journal:
        journal.write(b"\0\0\1\1" + name + len(name).to_bytes(4, "big"))
        journal.write(sum(name).to_bytes(4, "big") + bytes.fromhex("d9d505f920a163d7"))
    time.sleep(0.15)
    with pytest.raises(SourceError, match="several databases"):
        texts(path)
    assert victim.exists()


def test_a_lock_that_is_not_given_up_ends_in_words(tmp_path, monkeypatch):
    monkeypatch.setattr(foreign_sqlite, "BUSY_S", 0.2)
    path = create(tmp_path / "state.db", wal=False)
    with contextlib.closing(apsw.Connection(str(path))) as holder:
        holder.execute("BEGIN EXCLUSIVE")
        began = time.monotonic()
        with pytest.raises(SourceError, match="locked by another program"), snapshot(path):
            pass
        assert time.monotonic() - began < 2
        holder.execute("ROLLBACK")
    assert texts(path) == []


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "empty"),
        (b"SQL", "not an SQLite database"),
        (os.urandom(8192), "not an SQLite database"),
        (foreign_sqlite.MAGIC + os.urandom(8192), "damaged"),
        (foreign_sqlite.MAGIC, "damaged"),
    ],
    ids=["empty", "three bytes", "random", "random with the magic", "magic alone"],
)
def test_what_is_no_database_is_refused_in_words_and_left(tmp_path, content, words):
    path = tmp_path / "state.db"
    path.write_bytes(content)
    time.sleep(0.15)
    before = trace(path)
    with pytest.raises(SourceError, match=words) as raised, snapshot(path) as db:
        Table(db, "notes")
    assert raised.value.path == str(path)
    assert trace(path) == before
    assert is_sqlite(path) == content.startswith(foreign_sqlite.MAGIC)


def test_a_folder_a_pipe_and_a_socket_are_refused(tmp_path):
    pipe, sock = tmp_path / "pipe", tmp_path / "socket"
    os.mkfifo(pipe)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(sock))
        for path in (tmp_path, pipe, sock, tmp_path / "none"):
            assert not is_sqlite(path)
            with pytest.raises(SourceError), snapshot(path):
                pass


def test_no_room_for_the_copy_is_said_before_copying(tmp_path, monkeypatch):
    path = create(tmp_path / "state.db")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(9, 9, 0))
    with pytest.raises(SourceError, match="0 are free"), snapshot(path):
        pass


@pytest.fixture
def private(tmp_path, monkeypatch):
    folder = tmp_path / "private"
    folder.mkdir()
    monkeypatch.setenv("SQLITE_TMPDIR", str(folder))
    return folder


def test_the_copy_is_private_while_it_is_made_and_gone_when_it_is_read(
    tmp_path, private, monkeypatch
):
    path = fill(create(tmp_path / "state.db"), 10)
    path.chmod(0o644)
    time.sleep(0.15)
    modes = []
    leave = foreign_sqlite._leave_wal_mode

    def watched(copy):
        modes.extend(stat.S_IMODE(p.stat().st_mode) for p in (copy.parent, copy))
        leave(copy)

    monkeypatch.setattr(foreign_sqlite, "_leave_wal_mode", watched)
    before = os.umask(0)
    try:
        with snapshot(path) as db:
            assert list(private.iterdir()) == []
            assert len(list(Table(db, "notes").rows(["text"]))) == 10
            db.execute("CREATE TEMP TABLE mine AS SELECT * FROM main.notes")
            with pytest.raises(apsw.ReadOnlyError):
                db.execute("INSERT INTO main.notes(text) VALUES('x')")
    finally:
        os.umask(before)
    assert modes == [0o700, 0o600]
    assert list(private.iterdir()) == []


def test_what_a_killed_reader_left_is_swept_and_a_fresh_copy_is_not(tmp_path, private):
    path = create(tmp_path / "state.db")
    time.sleep(0.15)
    stale, fresh, other = (
        private / f"{foreign_sqlite.PREFIX}stale",
        private / f"{foreign_sqlite.PREFIX}fresh",
        private / "other",
    )
    for folder in (stale, fresh, other):
        folder.mkdir()
        (folder / "copy.db").write_bytes(b"history")
    for folder in (stale, other):
        os.utime(folder, (1_700_000_000, 1_700_000_000))
    assert texts(path) == []
    assert set(private.iterdir()) == {fresh, other}


def test_an_error_while_reading_leaves_no_copy(tmp_path, private):
    path = create(tmp_path / "state.db")
    time.sleep(0.15)
    with pytest.raises(ZeroDivisionError), snapshot(path):
        raise ZeroDivisionError
    assert list(private.iterdir()) == []


def test_views_virtual_tables_and_missing_tables_are_named_and_refused(tmp_path):
    path = create(
        tmp_path / "state.db",
        "CREATE VIEW view AS SELECT 1 AS text",
        "CREATE VIRTUAL TABLE virtual USING fts5(text)",
        "INSERT INTO virtual VALUES('x')",
    )
    with snapshot(path) as db:
        for name, words in (
            ("view", "no table view"),
            ("virtual", "not a plain table"),
            ("none", "no table none"),
        ):
            with pytest.raises(SourceError, match=words):
                Table(db, name)
        with pytest.raises(apsw.SQLError):
            db.execute("SELECT * FROM main.view").fetchall()


def test_a_hidden_column_that_calls_a_function_is_not_read(tmp_path):
    path = tmp_path / "state.db"
    with contextlib.closing(apsw.Connection(str(path))) as db:
        db.execute(
            "CREATE TABLE notes(id INTEGER PRIMARY KEY, body, text AS (zeroblob(1000000000)))"
        )
        db.execute("INSERT INTO notes(body) VALUES('x')")
    with snapshot(path) as db:
        assert list(Table(db, "notes").rows(["body", "text"])) == [Row(1, ("x", None))]


def test_a_column_whose_name_is_no_text_is_no_obstacle(tmp_path):
    path = tmp_path / "state.db"
    with contextlib.closing(apsw.Connection(str(path))) as db:
        db.execute("CREATE TABLE notes(id INTEGER PRIMARY KEY, text, col_x)")
        db.execute("INSERT INTO notes(text) VALUES('kept')")
    path.write_bytes(path.read_bytes().replace(b"col_x", b"col_\xff"))
    assert texts(path) == ["kept"]
    assert foreign_sqlite.glimpsed_columns(path, "notes") == {"id", "text", "col_\ufffd"}


def test_a_glimpse_sees_what_is_only_in_the_log(tmp_path):
    path = tmp_path / "state.db"
    with writer(path, "idle"):
        before = trace(path)
        assert foreign_sqlite.glimpsed_columns(path, "notes") >= {"id", "text"}
        assert foreign_sqlite.glimpsed_columns(path, "other") == frozenset()
        assert trace(path) == before


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16le", "UTF-16be"])
def test_text_of_any_encoding_is_read_and_bytes_that_are_none_cost_themselves(tmp_path, encoding):
    path = tmp_path / "state.db"
    with contextlib.closing(apsw.Connection(str(path))) as db:
        db.execute(f"PRAGMA encoding='{encoding}'").fetchall()
        db.execute("CREATE TABLE notes(id INTEGER PRIMARY KEY, text)")
        db.execute(
            "INSERT INTO notes(text) VALUES(?), (?), (2), (2.5), (NULL)", ("订阅 😀", "a\0b")
        )
        if encoding == "UTF-8":
            db.execute("INSERT INTO notes(text) VALUES(CAST(x'6361f1e9' AS TEXT))")
    found = texts(path)
    assert found[:5] == ["订阅 😀", "a\0b", 2, 2.5, None]
    assert found[5:] == (["ca\ufffd\ufffd"] if encoding == "UTF-8" else [])


def test_a_missing_column_reads_as_nothing(tmp_path):
    path = create(tmp_path / "state.db", "INSERT INTO notes(text) VALUES('x')")
    with snapshot(path) as db:
        table = Table(db, "Notes")
        assert table.columns == {"id", "text"}
        assert list(table.rows(["later", "text"])) == [Row(1, (None, "x"))]
        assert table.row(1, ["text"]) == Row(1, ("x",))
        assert table.row(2, ["text"]) is None


def leaves(path):
    """The leaf pages of `notes` in order: where they start, and the row ids on each."""
    raw = path.read_bytes()
    size = int.from_bytes(raw[16:18], "big")
    return [at for at in range(size, len(raw), size) if raw[at] == 0x0D]


def test_a_damaged_page_costs_its_rows_and_no_others(tmp_path):
    path = fill(create(tmp_path / "state.db", wal=False), 2000)
    raw = bytearray(path.read_bytes())
    damaged = leaves(path)[10:12]
    for at in damaged:
        raw[at : at + 4096] = os.urandom(4096)
    path.write_bytes(raw)
    with snapshot(path) as db:
        found = list(Table(db, "notes").rows(["text"]))
    rows = [row for row in found if isinstance(row, Row)]
    gaps = [gap for gap in found if isinstance(gap, BadSourceRecord)]
    assert all(int(row.values[0].split()[0]) == row.rowid for row in rows)
    missing = sorted(set(range(1, 2001)) - {row.rowid for row in rows})
    assert 0 < len(missing) < 150  # two pages of about 35 rows
    assert missing == list(range(missing[0], missing[-1] + 1))
    assert [gap.line for gap in gaps] == [missing[0]]
    assert f"rows {missing[0]} to {missing[-1]} cannot be read" in gaps[0].reason


def test_a_damaged_tail_ends_the_reading_with_what_came_out(tmp_path):
    path = fill(create(tmp_path / "state.db", wal=False), 2000)
    raw = bytearray(path.read_bytes())
    at = leaves(path)[-1]
    raw[at : at + 4096] = bytes(4096)
    path.write_bytes(raw)
    with snapshot(path) as db:
        *rows, gap = Table(db, "notes").rows(["text"])
    assert isinstance(gap, BadSourceRecord)
    assert "nothing can be read from row" in gap.reason
    assert [row.rowid for row in rows] == list(range(1, gap.line))
    assert gap.line > 1900


def test_pages_in_a_ring_do_not_keep_the_reading_busy(tmp_path):
    path = fill(create(tmp_path / "state.db", wal=False), 2000)
    raw = bytearray(path.read_bytes())
    roots = [at for at in range(4096, len(raw), 4096) if raw[at] == 0x05]
    (root,) = roots
    count = int.from_bytes(raw[root + 3 : root + 5], "big")
    first = int.from_bytes(raw[root + 12 : root + 14], "big")
    child = raw[root + first : root + first + 4]
    for cell in range(count):  # every child is the first one
        at = root + int.from_bytes(raw[root + 12 + 2 * cell : root + 14 + 2 * cell], "big")
        raw[at : at + 4] = child
    path.write_bytes(raw)
    with snapshot(path) as db:
        found = list(Table(db, "notes").rows(["text"]))
    ids = [row.rowid for row in found if isinstance(row, Row)]
    assert ids == sorted(set(ids))
    assert ids[:20] == list(range(1, 21))
    assert any(isinstance(gap, BadSourceRecord) for gap in found)


def test_a_value_too_large_to_hold_costs_its_row(tmp_path, monkeypatch):
    monkeypatch.setattr(foreign_sqlite, "VALUE_BYTES", 100_000)
    path = create(
        tmp_path / "state.db",
        "INSERT INTO notes(text) VALUES('before'), (hex(zeroblob(200000))), ('after')",
    )
    with snapshot(path) as db:
        found = list(Table(db, "notes").rows(["text"]))
    assert [row.values[0] for row in found if isinstance(row, Row)] == ["before", "after"]
    (gap,) = [gap for gap in found if isinstance(gap, BadSourceRecord)]
    assert (gap.line, "too large" in gap.reason) == (2, True)


def test_a_schema_that_names_a_table_twice_is_read_as_far_as_it_goes(tmp_path):
    path = create(tmp_path / "state.db", "INSERT INTO notes(text) VALUES('kept')", wal=False)
    with contextlib.closing(apsw.Connection(str(path))) as db:
        db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
        db.execute("PRAGMA writable_schema=ON").fetchall()
        db.execute("INSERT INTO sqlite_schema SELECT * FROM sqlite_schema")
    time.sleep(0.15)
    assert texts(path) == ["kept"]


def test_a_schema_with_an_unknown_tokenizer_is_no_obstacle(tmp_path):
    path = create(
        tmp_path / "state.db",
        "CREATE VIRTUAL TABLE f USING fts5(text)",
        "INSERT INTO notes(text) VALUES('kept')",
        wal=False,
    )
    raw = path.read_bytes()
    path.write_bytes(raw.replace(b"USING fts5(text)", b"USING ftsX(text)"))
    time.sleep(0.15)
    assert texts(path) == ["kept"]


def test_a_file_that_changes_while_it_is_copied_is_copied_again(tmp_path, monkeypatch):
    path = fill(create(tmp_path / "state.db"), 1)
    time.sleep(0.15)
    copy, changes = shutil.copyfileobj, [1]

    def disturbed(source, target, length):
        copy(source, target, length)
        if changes:
            fill(path, changes.pop())

    monkeypatch.setattr(shutil, "copyfileobj", disturbed)
    assert len(texts(path)) == 2


def test_a_file_that_never_rests_is_given_up_in_words(tmp_path, monkeypatch):
    monkeypatch.setattr(foreign_sqlite, "BUSY_S", 0.2)
    path = create(tmp_path / "state.db")
    taken = foreign_sqlite._stamps

    def restless(of):
        Path(of).touch()
        return taken(of)

    monkeypatch.setattr(foreign_sqlite, "_stamps", restless)
    with pytest.raises(SourceError, match="without a pause"), snapshot(path):
        pass
