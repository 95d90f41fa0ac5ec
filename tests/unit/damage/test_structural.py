"""A file whose pages are damaged is read as far as it goes, and never written."""

import asyncio

import pytest

from core.errors import CoreError, NotAStoreError, StoreCorruptError, StoreReadOnlyError
from core.store import aside, damage
from core.store.connection import open_store, transaction, written
from core.store.errors import translated
from core.store.store import Store
from core.upkeep import repair
from tests.unit.damage.damaging import filled, leaves_of, noise, opened, overwrite
from tests.unit.store.making import library

COUNT = "SELECT count(*) FROM messages_fts WHERE messages_fts MATCH 'kestrel'"


@pytest.fixture
def path(tmp_path):
    path = filled(tmp_path, 200)
    overwrite(path, leaves_of(path, "messages")[5], noise(1))
    return path


@pytest.fixture(autouse=True)
def no_notes():
    yield
    damage._notes.clear()
    damage._broken.clear()


def touch_all(db):
    db.execute("UPDATE messages SET model = 'x'")


def test_a_write_that_meets_it_is_the_last_one(path):
    with opened(path) as db:
        with pytest.raises(StoreCorruptError, match="repair --salvage"), translated(path):
            written(db, touch_all)
        assert aside.set_aside_names(db) == ()  # no index is to blame
        with pytest.raises(StoreReadOnlyError, match="damaged"), transaction(db):
            raise AssertionError
        assert db.execute("SELECT count(*) FROM sessions").get == 6


def test_the_store_says_why_it_is_read_only(path):
    async def main():
        store = await Store.open(path.parent, tokenizer=library())
        with pytest.raises(StoreCorruptError):
            await store.write(touch_all)
        reason = store.read_only_reason
        count = await store.read(lambda db: db.execute("SELECT count(*) FROM sessions").get)
        with pytest.raises(StoreReadOnlyError):
            await store.write(lambda _db: None)
        await store.close()
        return reason, count

    reason, count = asyncio.run(main())
    assert "damaged" in reason
    assert count == 6


def test_repair_says_what_it_would_take_and_changes_nothing(path):
    with opened(path) as db:
        with pytest.raises(StoreCorruptError, match="salvage"):
            list(repair.run(db, "command"))
        assert aside.set_aside_names(db) == ()


# C12 of the public faults.
@pytest.mark.parametrize("content", [b"", b"x" * 5000, noise(4, 8192)])
def test_what_is_no_store_is_told_and_kept(tmp_path, content):
    path = tmp_path / "profile" / "state.db"
    path.parent.mkdir(mode=0o700)
    path.write_bytes(content)
    with pytest.raises(NotAStoreError), translated(path):
        open_store(path, None)
    assert path.read_bytes() == content


def test_a_schema_that_cannot_be_read_is_told_in_words(tmp_path):
    path = filled(tmp_path, 20)
    content = path.read_bytes()
    overwrite(path, 1, content[:100] + noise(2, 3900))
    with pytest.raises(CoreError, match="repair --salvage"), translated(path):
        open_store(path, library())


def test_a_merely_damaged_index_does_not_make_it_read_only(tmp_path):
    path = filled(tmp_path, 200)
    for page in leaves_of(path, "messages_fts_data"):
        overwrite(path, page, noise(page))
    with opened(path) as db:
        written(db, lambda db: db.execute("UPDATE messages SET content = 'x' WHERE id < 9"))
        assert aside.set_aside_names(db) == ("messages_fts_damaged_1",)
        assert damage.broken(db.filename) is None
        written(db, touch_all)


def test_repair_finds_what_a_search_would_miss_and_mends_it(tmp_path):
    path = filled(tmp_path, 200)
    with opened(path) as db:
        total = db.execute(COUNT).get
    overwrite(path, leaves_of(path, "messages_fts_trigram_data")[-1], noise(9))
    with opened(path) as db:
        db.execute("DELETE FROM message_keys WHERE id = 3")
        db.execute("UPDATE message_counts SET n = n + 1")
        *_, report = repair.run(db, "command")
        assert list(report.facts["damaged"]) == ["messages_fts_trigram"]
        assert "message_keys" in report.facts["derived"]
        assert report.facts["snapshot"].endswith("before-repair.db")
        diagnosed = None
        running = repair.diagnose(db)
        while diagnosed is None:
            try:
                next(running)
            except StopIteration as end:
                diagnosed = end.value
        assert diagnosed.is_sound
        found = db.execute("SELECT kind, state FROM operations ORDER BY id").fetchall()
        assert ("repair", "succeeded") in found
        assert db.execute(COUNT).get == total
