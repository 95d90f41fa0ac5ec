"""On a full disk what is there can be read and searched; writing goes on when there is room."""

import pytest

from core.errors import StoreFullError
from core.index import backfill
from core.index.state import new_holder
from core.search import run
from core.sources import ingest
from core.store import attachment
from core.store.connection import open_reader, snapshot, transaction
from core.store.errors import translated
from core.store.indexes import INDEXES
from core.types import SearchRequest
from core.upkeep import backup, ledger, purge, trash
from tests.faults import figures, truth
from tests.faults.disks import Disk, Fault, through
from tests.faults.full_disks import small_disk
from tests.faults.sizes import size
from tests.faults.test_kills import grow, take_in
from tests.unit.store.making import library, message, path_at, store_at, store_messages

pytestmark = pytest.mark.faults
CYCLES = size(3, 100, 400)


@pytest.fixture
def space(tmp_path):
    folder = tmp_path / "disk"
    folder.mkdir()
    with small_disk(folder) as found:
        yield folder, found


def hits(db, word):
    with snapshot(db):
        return run.search(db, SearchRequest(word)).total_hits


def fill_up(db, number):
    """Write until it is refused; return how many commits were stored."""
    stored = 0
    try:
        with translated(db.filename):
            while True:
                text = f"第{number}次订阅 word{stored} " * 400
                store_messages(db, message(f"{number}:{stored}", text))
                stored += 1
    except StoreFullError as error:
        told = str(error)
    assert db.filename in told
    assert "bytes are free" in told
    return stored


def test_reading_goes_on_and_writing_resumes_without_a_restart(space):
    folder, disk = space
    db = store_at(folder)
    store_messages(db, *(message(f"m{n}", f"kestrel 电影订阅 {n}") for n in range(30)))
    reader, stored = open_reader(path_at(folder), tokenizer=library()), 0
    for number in range(CYCLES):
        before = truth.digest(db)
        disk.fill()
        written = fill_up(db, number)
        stored += written
        assert (truth.digest(reader) == before) == (written == 0)
        assert hits(reader, "kestrel") == hits(reader, "订阅 kestrel") == 30
        disk.free()
        text = "room again"
        store_messages(db, message(f"after{number}", text))
        with_room = {
            uid for (uid,) in db.execute("SELECT uid FROM messages WHERE content = ?", (text,))
        }
        assert len(with_room) == number + 1
        if number % 10 == 0:
            db.pragma("wal_checkpoint", "TRUNCATE")
    assert db.execute("SELECT count(*) FROM messages").get == 30 + stored + CYCLES
    assert truth.finish(db) == []
    reader.close()
    db.close()
    figures.note(
        "5",
        f"{disk.kind} filled to the last byte, {CYCLES} times",
        "reading and searching went on, writing resumed without a restart,"
        " every refusal named the file and the free bytes; 0 lost",
    )


# C11 of the public faults.
def test_an_import_goes_on_when_there_is_room(space, tmp_path):
    folder, disk = space
    talks = tmp_path / "talks"
    grow(talks, 1)
    whole = store_at(tmp_path / "whole")
    take_in(whole, talks)
    wanted = truth.digests(whole)
    whole.close()
    db = store_at(folder)
    running = ingest.run_sync(db, ingest.Import([talks]))
    seen = next(running).messages or 0
    disk.fill()
    with pytest.raises(StoreFullError, match="bytes are free"):
        list(running)
    assert db.execute("SELECT count(*) FROM messages").get >= seen > 0
    assert hits(db, "kestrel")
    disk.free()
    take_in(db, talks)
    assert truth.digests(db) == wanted
    assert truth.finish(db) == []
    db.close()


def emptied(db):
    return trash.empty(db, "you")


def purged(db):
    return purge.run(db, "you", now=True)


def backed_up(db):
    return backup.make(db, "faults", "you")


@pytest.mark.parametrize("work", [emptied, purged, backed_up])
def test_upkeep_that_a_full_disk_stopped_can_be_done_again_at_once(tmp_path, work):
    """The ledger could not be told of its end: it must not say for ever that it is running."""
    disk = Disk()
    with through(disk):
        db = store_at(tmp_path)
        store_messages(db, *(message(f"m{n}", f"kestrel 电影订阅 {n}") for n in range(30)))
        with transaction(db):
            trash.trash_sessions(db, [1], "you")
        disk.fault = Fault("full", at=10, sticky=True)
        with pytest.raises(StoreFullError), translated(db.filename):
            list(work(db))
        disk.fault.heal()
        list(work(db))
        assert truth.finish(db) == []
        states = {each.state for each in ledger.listing(db)}
        assert "running" not in states
        db.close()


@pytest.mark.parametrize("at", [3, 8, 13, 18])
def test_a_backfill_that_a_full_disk_stopped_goes_on_when_there_is_room(tmp_path, at):
    """It could not write down that it left the work: nobody holds it all the same."""
    disk = Disk()
    with through(disk):
        db = store_at(tmp_path)
        store_messages(db, *(message(f"m{n}", f"kestrel 电影订阅 {n}") for n in range(30)))
        with transaction(db):
            attachment.rebuild(db, INDEXES["messages_fts"], None)
        disk.fault = Fault("full", at, sticky=True)
        with pytest.raises(StoreFullError), translated(db.filename):
            list(backfill.run_sync(db, new_holder(), now=True))
        disk.fault.heal()
        list(backfill.run_sync(db, new_holder(), now=True))
        assert db.execute("SELECT DISTINCT state FROM index_state").fetchall() == [("ready",)]
        assert truth.problems(db) == []
        db.close()
