"""Another file in the store's place is noticed: nothing is written into the lost one (C14)."""

import asyncio
from contextlib import closing

import pytest

from core.errors import StoreMovedError
from core.store import damage
from core.store.connection import transaction
from core.store.store import Store
from core.store.watcher import Watcher
from tests.unit.damage.damaging import filled, opened
from tests.unit.store.making import library, path_at, store_at


@pytest.fixture(autouse=True)
def no_notes():
    yield
    damage._notes.clear()
    damage._broken.clear()


def mark(db, text):
    db.execute(
        "INSERT INTO meta(key, value) VALUES ('mark', ?)"
        " ON CONFLICT(key) DO UPDATE SET value = excluded.value",
        (text,),
    )


def marked(db):
    return db.execute("SELECT value FROM meta WHERE key = 'mark'").get


@pytest.fixture
def other(tmp_path):
    """Another whole store in one file, as a sync program would bring it."""
    with closing(store_at(tmp_path / "other")) as db, transaction(db):
        mark(db, "the other")
    return path_at(tmp_path / "other")


def test_a_command_refuses_to_write_into_a_lost_file(tmp_path, other):
    path = filled(tmp_path, 20)
    with opened(path) as db:
        other.replace(path)
        with pytest.raises(StoreMovedError, match="nothing was written"), transaction(db):
            mark(db, "lost")


def test_a_vanished_file_is_told(tmp_path):
    path = filled(tmp_path, 20)

    async def main():
        store = await Store.open(path.parent, tokenizer=library())
        path.rename(tmp_path / "elsewhere.db")
        with pytest.raises(StoreMovedError, match="gone"):
            await store.write(mark, "lost")
        await store.close()

    asyncio.run(main())
    assert not path.exists()


def test_the_window_goes_on_with_the_file_that_is_there_now(tmp_path, other):
    path = filled(tmp_path, 20)

    async def main():
        store = await Store.open(path.parent, tokenizer=library())
        await store.write(mark, "the old one")
        other.replace(path)  # its log stays: it is the old one's
        seen = await store.read(marked)
        await store.write(mark, "written after")
        await asyncio.gather(*(store.read(marked) for _ in range(5)))
        integrity = await store.read(lambda db: db.execute("PRAGMA integrity_check").fetchall())
        await store.close()
        return seen, integrity

    seen, integrity = asyncio.run(main())
    assert (seen, integrity) == ("the other", [("ok",)])
    with opened(path) as db:
        assert marked(db) == "written after"
    kept = [each.name for folder in path.parent.glob("damaged-*") for each in folder.iterdir()]
    assert sorted(kept) == ["state.db-shm", "state.db-wal"]


def test_what_is_no_store_in_its_place_is_told_each_time(tmp_path):
    path = filled(tmp_path, 20)

    async def main():
        store = await Store.open(path.parent, tokenizer=library())
        junk = tmp_path / "junk"
        junk.write_bytes(b"x" * 9000)
        junk.chmod(0o600)
        junk.replace(path)
        for _ in range(2):
            with pytest.raises(Exception, match="not a store"):
                await store.read(marked)
        await store.close()

    asyncio.run(main())
    assert path.read_bytes() == b"x" * 9000


def test_the_watcher_tells_of_it_and_watches_the_new_file(tmp_path, other):
    path = filled(tmp_path, 20)

    async def main():
        store = await Store.open(path.parent, tokenizer=library())
        watcher = Watcher(path)
        other.replace(path)
        told = watcher.poll(), watcher.poll()  # the lost one's log still lies beside it
        await store.read(marked)
        follows, still = watcher.poll(), watcher.poll()
        await store.write(mark, "new")
        sees = watcher.poll()
        watcher.close()
        await store.close()
        return told, follows, still, sees

    assert asyncio.run(main()) == ((True, True), True, False, True)
