"""The backfill through the store: behind everything else, waiting for others, given back."""

import asyncio
import time

import pytest

from core.errors import StoreBusyError, TokenizerError
from core.history.append import Batch, append
from core.index import backfill
from core.index.backfill import is_paused, run, run_sync, set_paused
from core.index.state import claim, new_holder, release
from core.search.run import search
from core.store import attachment, recipe
from core.store.connection import open_writer, tokenizer_fingerprint, transaction
from core.store.indexes import CJK, INDEXES
from core.store.store import READERS, Store
from core.types import INDEX_NAMES, SearchRequest
from tests.unit.index.test_backfill import assert_complete, empty, some
from tests.unit.store.making import library, message, path_at, state, store_at, store_messages


@pytest.fixture
def db(tmp_path):
    db = store_at(tmp_path)
    yield db
    db.close()


def fill(db):
    return list(run_sync(db, new_holder()))


def on_store(tmp_path, work):
    async def opened():
        store = await Store.open(tmp_path / "profile", tokenizer=library())
        try:
            return await asyncio.wait_for(work(store), 60)
        finally:
            await store.close()

    return asyncio.run(opened())


def test_through_the_store_it_yields_to_others(tmp_path, db):
    store_messages(db, *some(400))
    empty(db)

    async def work(store):
        async for _ in run(store, new_holder(), is_busy=lambda: False):
            await store.write(lambda db: db.execute("UPDATE meta SET value = value"))

    on_store(tmp_path, work)
    assert_complete(db)


def test_paused_it_stays_so_until_it_is_resumed(tmp_path, db):
    store_messages(db, *some(400))
    empty(db)
    with transaction(db):
        set_paused(db, True)
    assert is_paused(db)

    async def work(store):
        return [progress async for progress in run(store, new_holder(), is_busy=lambda: False)]

    assert on_store(tmp_path, work) == []
    with transaction(db):
        set_paused(db, False)
    assert on_store(tmp_path, work)
    assert_complete(db)


def test_cancelled_it_gives_the_work_back(tmp_path, db):
    store_messages(db, *some(400))
    empty(db)

    async def work(store):
        async def all_of_it():
            async for _ in run(store, new_holder(), is_busy=lambda: True):
                pass

        task = asyncio.create_task(all_of_it())
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    on_store(tmp_path, work)
    fill(db)
    assert_complete(db)


def pauses(monkeypatch):
    """Collect how long the backfill waits, instead of waiting."""
    waited, sleep = [], asyncio.sleep

    async def note(seconds):
        waited.append(seconds)
        await sleep(0)

    monkeypatch.setattr(backfill.asyncio, "sleep", note)
    return waited


@pytest.mark.parametrize("who", ["nobody", "a write here", "a read here", "another program"])
def test_it_makes_way_for_whoever_else_is_active(tmp_path, db, monkeypatch, who):
    store_messages(db, *some(100))
    empty(db)
    waited = pauses(monkeypatch)

    async def work(store):
        async with asyncio.TaskGroup() as tasks:
            async for _ in run(store, new_holder()):
                if who == "a write here":
                    await store.write(lambda db: db.execute("UPDATE meta SET value = value"))
                elif who == "a read here":
                    tasks.create_task(store.read(lambda _: time.sleep(0.05)))
                    await store.read(lambda _: None)
                elif who == "another program":
                    with transaction(db):
                        set_paused(db, False)

    on_store(tmp_path, work)
    assert len(waited) > 3
    later = waited[1:]  # what another program does shows at the next batch
    assert all(each >= 0.2 for each in later) if who != "nobody" else not any(waited)
    assert_complete(db)


def test_now_makes_way_for_nobody_and_passes_over_the_pause(tmp_path, db, monkeypatch):
    store_messages(db, *some(100))
    empty(db)
    with transaction(db):
        set_paused(db, True)
    waited = pauses(monkeypatch)

    async def work(store):
        async for _ in run(store, new_holder(), now=True, is_busy=lambda: True):
            pass

    on_store(tmp_path, work)
    assert max(waited) < 0.2
    assert_complete(db)


def test_it_takes_over_when_the_other_worker_has_left(tmp_path, db, monkeypatch):
    monkeypatch.setattr(backfill, "RETRY_S", 0.02)
    store_messages(db, *some(50))
    empty(db)
    other = new_holder()
    with transaction(db):
        assert claim(db, other)

    async def work(store):
        async def all_of_it():
            return [each async for each in run(store, new_holder(), waits=True)]

        assert [each async for each in run(store, new_holder())] == []  # it does not wait
        task = asyncio.create_task(all_of_it())
        await asyncio.sleep(0.2)
        assert state(db, "messages_fts") == "building"
        assert not task.done()
        with transaction(db):
            release(db, other)
        assert await task

    on_store(tmp_path, work)
    assert_complete(db)


def test_an_index_just_detached_is_attached_when_nobody_did_so_for_half_a_minute(
    tmp_path, db, monkeypatch
):
    monkeypatch.setattr(backfill, "RETRY_S", 0.02)
    plain = open_writer(path_at(tmp_path), tokenizer=None)

    async def work(store):
        async def all_of_it():
            async for _ in run(store, new_holder(), waits=True):
                pass

        store_messages(plain, message("a", "电影"))
        task = asyncio.create_task(all_of_it())
        await asyncio.sleep(0.2)
        assert (state(db, CJK), task.done()) == ("detached", False)
        with transaction(plain):
            ago = attachment.IDLE_MS - 100
            plain.execute("UPDATE index_state SET last_moved_at_ms = last_moved_at_ms - ?", (ago,))
        await task

    on_store(tmp_path, work)
    assert_complete(db)
    plain.close()


def test_a_long_queue_is_drained_to_its_end_without_waiting_again(tmp_path, db, monkeypatch):
    monkeypatch.setattr(attachment, "DRAIN_AT_ONCE", 1)
    monkeypatch.setattr("core.index.filling._MOST_ROWS", 2)

    async def work(store):
        await store.write(attachment.detach, "test")
        store_messages(db, *(message(f"u{n}", "电影") for n in range(9)))
        with transaction(db):
            db.execute("UPDATE index_state SET last_moved_at_ms = 0")
        return [each async for each in run(store, new_holder(), (CJK,), lambda: False)]

    assert len(on_store(tmp_path, work)) >= 5
    assert attachment.queued(db, INDEXES[CJK]) == 0
    assert_complete(db)


def test_a_lock_that_another_program_holds_for_long_is_waited_for(tmp_path, db, monkeypatch):
    monkeypatch.setattr(recipe, "BUSY_TIMEOUT_MS", 10)
    monkeypatch.setattr(backfill, "RETRY_S", 0.02)
    store_messages(db, *some(20))
    empty(db)

    async def work(store):
        async def all_of_it(**how):
            return [each async for each in run(store, new_holder(), **how)]

        with transaction(db):
            with pytest.raises(StoreBusyError):
                await all_of_it()
            task = asyncio.create_task(all_of_it(waits=True))
            await asyncio.sleep(0.2)
            assert not task.done()
        assert await task

    on_store(tmp_path, work)
    assert_complete(db)
    assert {state(db, name) for name in INDEX_NAMES} == {"ready"}


def test_a_tokenizer_that_was_built_meanwhile_is_used_without_a_new_start(tmp_path):
    db = store_at(tmp_path, cjk=False)
    store_messages(db, message("a", "电影订阅"))

    async def work():
        store = await Store.open(tmp_path / "profile", tokenizer=None)
        reading = asyncio.create_task(store.read(lambda _: time.sleep(0.05)))
        await store.load_tokenizer(library())
        await reading
        assert await store.read(tokenizer_fingerprint) is not None
        assert state(db, CJK) == "building"
        assert [each async for each in run(store, new_holder())]
        found = await asyncio.gather(
            *(store.read(search, SearchRequest("订阅")) for _ in range(READERS))
        )
        assert [each.search_path for each in found] == ["cjk"] * READERS
        await store.write(append, Batch(1, [], [message("b", "订阅成功")]))
        await store.close()

    asyncio.run(work())
    assert state(db, CJK) == "ready"
    db.close()
    db = open_writer(path_at(tmp_path), tokenizer=library())
    assert_complete(db)
    db.close()


def test_a_library_that_does_not_load_changes_nothing(tmp_path, db):
    async def work():
        store = await Store.open(tmp_path / "profile", tokenizer=None)
        wrong = tmp_path / "wrong.so"
        wrong.write_bytes(b"no library")
        with pytest.raises(TokenizerError, match="cannot be loaded"):
            await store.load_tokenizer(wrong)
        assert await store.read(tokenizer_fingerprint) is None
        await store.write(append, Batch(1, [], [message("a", "电影")]))
        await store.close()

    asyncio.run(work())
    assert state(db, CJK) == "detached"
