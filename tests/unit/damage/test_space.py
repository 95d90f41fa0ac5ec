"""Compacting, optimizing, sizes, and who has the store open."""

import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from core.errors import StoreFullError
from core.store import aside, attachment, copying, damage, holders, leftovers
from core.store.connection import tokenizer_fingerprint, transaction
from core.store.indexes import CJK, INDEXES
from core.upkeep import compact, health, optimize, repair, sizes
from tests.unit.damage.damaging import filled, leaves_of, noise, opened, overwrite
from tests.unit.store.making import library, verify_indexes


@pytest.fixture
def path(tmp_path):
    return filled(tmp_path, 400)


@pytest.fixture(autouse=True)
def no_notes():
    yield
    damage._notes.clear()
    damage._broken.clear()


def last(steps):
    *_, found = steps
    return found


def delete_most(db):
    with transaction(db):
        db.execute("DELETE FROM message_placements WHERE message_id > 40")
        db.execute("DELETE FROM messages WHERE id > 40")


# R08 of the public faults.
def test_compact_gives_back_what_was_deleted(path):
    with opened(path) as db:
        delete_most(db)
        last(optimize.run(db, "command"))
        before = path.stat().st_size
        report = last(compact.run(db, "command"))
        assert path.stat().st_size < before / 2
        assert report.facts["freed_bytes"] == before - path.stat().st_size
        assert path.with_name("state.db-wal").stat().st_size < 64 * 1024  # the ledger's line
        assert db.pragma("freelist_count") == 0
        verify_indexes(db)
        assert ("compact", "succeeded") in db.execute(
            "SELECT kind, state FROM operations"
        ).fetchall()


# C11 of the public faults.
def test_compact_refuses_with_numbers_where_there_is_less_room_than_the_store(path, monkeypatch):
    free = path.stat().st_size - 1
    monkeypatch.setattr(copying.shutil, "disk_usage", lambda _at: SimpleNamespace(free=free))
    with opened(path) as db:
        needed = sizes.compact_needs_bytes(db)
        assert needed > free
        with pytest.raises(StoreFullError) as caught:
            last(compact.run(db, "command"))
        assert f"{needed:,}" in str(caught.value)
        assert f"{free:,}" in str(caught.value)


def test_a_reader_keeps_the_log_long_and_that_is_said(path):
    with opened(path) as db, opened(path) as reader:
        delete_most(db)
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM messages").fetchall()
        db.set_busy_timeout(50)
        report = last(compact.run(db, "command"))
        assert report.state == "pending"
        assert "lets go" in report.outcome


@pytest.mark.parametrize("delay_s", [0.0, 0.02, 0.08])
def test_compact_that_is_killed_leaves_the_store_as_it_was(path, delay_s):
    script = (
        "import pathlib, sys\n"
        "from core.store.connection import open_writer\n"
        "from core.upkeep import compact\n"
        f"db = open_writer(pathlib.Path({str(path)!r}), tokenizer=None)\n"
        "steps = compact.run(db, 'command'); next(steps)\n"
        "print('now', flush=True)\n"
        "list(steps)"
    )
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"now\n"
    time.sleep(delay_s)
    process.kill()
    process.communicate()
    with opened(path) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert db.execute("SELECT count(*) FROM messages").get == 400
        verify_indexes(db)
    left = {each.name for each in path.parent.iterdir()}
    assert left <= {"state.db", "state.db-wal", "state.db-shm"}


def test_compact_gets_rid_of_tables_that_cannot_be_dropped(path):
    for page in leaves_of(path, "messages_fts_data"):
        overwrite(path, page, noise(page))
    with opened(path) as db:
        with transaction(db):
            aside.set_aside(db, ["messages_fts"], None)
        assert sizes.sizes(db).damaged_bytes >= 0
        stopped = compact.run(db, "command")
        next(stopped)
        stopped.close()
        assert aside.set_aside_names(db) == ("messages_fts_damaged_1",)
        report = last(compact.run(db, "command"))
        assert report.facts["dropped"] == ["messages_fts_damaged_1"]
        assert aside.set_aside_names(db) == ()
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_optimize_leaves_one_segment_of_each_index(path):
    with opened(path) as db:
        report = last(optimize.run(db, "command"))
        assert report.facts["left"] == []
        for name in (*report.facts["merged"],):
            segments = db.execute(f"SELECT count(DISTINCT segid) FROM {name}_idx").get
            assert segments == (name != damage.TITLES), name  # no session has a title
        verify_indexes(db)


def test_the_parts_add_up_to_the_file(path):
    with opened(path) as db:
        found = sizes.sizes(db)
        pages = db.pragma("page_count") * 4096
    assert sum(found.parts.values()) + found.free_pages_bytes == pages
    assert list(found.parts.values()) == sorted(found.parts.values(), reverse=True)
    assert found.parts["messages_fts"] > 4096 * 3  # its shadow tables are counted to it
    assert not any(name.endswith("_docsize") for name in found.parts)


def test_the_full_check_finds_a_torn_page_and_leaves_no_copy(path):
    with opened(path) as db:
        report = last(health.full(db, "command", tokenizer=library()))
        assert report.facts["ok"]
    overwrite(path, leaves_of(path, "messages")[3], noise(1))
    with opened(path) as db:
        report = last(health.full(db, "command", tokenizer=library()))
        assert not report.facts["ok"]
        assert not report.facts["checks"][0]["ok"]
        assert report.facts["checks"][0]["name"] == "pages"
    assert {each.name for each in path.parent.iterdir()} <= {"state.db", "state.db-wal"}


def test_the_full_check_blocks_no_writer_and_can_be_stopped(path):
    with opened(path) as db, opened(path) as other:
        running = health.full(db, "command", tokenizer=library())
        next(running)
        other.set_busy_timeout(1)
        with transaction(other):
            other.execute("UPDATE messages SET model = 'x' WHERE id = 1")
        running.close()
        assert [each.name for each in path.parent.iterdir() if "check" in each.name] == []
        state = "SELECT state FROM operations WHERE kind = 'check.full'"
        assert db.execute(state).get == "failed"


def test_the_full_check_refuses_where_there_is_no_room(path, monkeypatch):
    monkeypatch.setattr(copying.shutil, "disk_usage", lambda _at: SimpleNamespace(free=1000))
    with opened(path) as db, pytest.raises(StoreFullError, match=r"bytes are needed .* 1,000"):
        last(health.full(db, "command"))
    assert [each.name for each in path.parent.iterdir() if "check" in each.name] == []


def test_another_program_that_has_it_open_is_named(path):
    script = (
        "import pathlib\n"
        "from core.store.connection import open_reader\n"
        f"db = open_reader(pathlib.Path({str(path)!r}), tokenizer=None)\n"
        "db.execute('SELECT 1 FROM meta').fetchall(); print('open', flush=True); input()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stdin=subprocess.PIPE
    )
    assert process.stdout.readline() == b"open\n"
    found = holders.open_elsewhere(path)
    process.communicate(b"\n")
    assert [each.pid for each in found] == [process.pid]
    assert holders.is_known()
    assert f"(process {process.pid})" in holders.in_words(found)
    assert holders.open_elsewhere(path) == ()
    with opened(path):
        assert holders.open_elsewhere(path) == ()
        assert [each.is_us for each in holders.open_elsewhere(path, with_us=True)] == [True]


@pytest.mark.parametrize(
    "work",
    [lambda db: health.full(db, "you", tokenizer=library()), lambda db: repair.run(db, "you")],
    ids=["check", "repair"],
)
def test_an_index_that_is_being_dropped_is_not_taken_for_damaged(path, monkeypatch, work):
    monkeypatch.setattr(attachment, "EMPTY_AT_ONCE_BLOCKS", 2)
    with opened(path) as db:
        with transaction(db):
            attachment.rebuild(db, INDEXES[CJK], tokenizer_fingerprint(db))
        with transaction(db):
            assert not leftovers.drop_piece(db, f"{CJK}_stale_1", 1)
        assert damage.contradictions(db, f"{CJK}_stale_1")  # what SQLite itself makes of it
        report = last(work(db))
        assert aside.set_aside_names(db) == ()
        assert report.outcome in ("all 8 checks passed", "nothing is damaged")


def test_pages_that_a_killed_compact_left_to_nobody_are_no_damage(path):
    """It had taken the damaged tables out of the schema, and died before VACUUM did the rest."""
    with opened(path) as db:
        with transaction(db):
            aside.set_aside(db, ["messages_fts"], None)
        with transaction(db):
            aside.drop_set_aside(db)
        (told,) = db.execute("PRAGMA integrity_check").fetchone()
        assert told.endswith("never used")
        report = last(health.full(db, "command", tokenizer=library()))
        assert report.facts["ok"], report.outcome
        last(compact.run(db, "command"))
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_sizes_are_read_anew_when_the_store_changed_and_only_then(path):
    with opened(path) as db:
        first, walked = sizes.sizes(db), []

        def note(_cursor, sql, _bindings):
            walked.extend(["walk"] if "dbstat" in sql else [])
            return True

        db.exec_trace = note
        assert sizes.sizes(db).parts == first.parts
        at_once = sizes.sizes_at_once(db)
        assert walked == []
        assert at_once.parts == {}
        assert at_once.compact_needs_bytes == first.compact_needs_bytes
        with transaction(db):
            db.execute("CREATE TABLE more(text)")
            db.execute("INSERT INTO more VALUES (randomblob(1000000))")
        assert sizes.sizes(db).parts["more"] > 1_000_000
        assert walked == ["walk"]
