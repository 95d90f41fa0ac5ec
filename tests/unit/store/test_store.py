"""The door between asyncio and SQLite: one call at a time, cancelled for good or not at all."""

import asyncio
import os
import threading
import time

import apsw
import pytest

from core.errors import (
    NotAStoreError,
    SchemaTooNewError,
    StoreBusyError,
    StoreError,
    StoreMovedError,
    StoreReadOnlyError,
)
from core.store import migrations, recipe
from core.store.connection import open_writer, transaction
from core.store.store import READERS, Store
from tests.unit.store.making import library, path_at, store_at

ENDLESS = (
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000000000)"
    " SELECT count(*) FROM n"
)


def endless(db):
    return db.execute(ENDLESS).get


def count(db):
    return db.execute("SELECT count(*) FROM meta").get


def put(db, key):
    db.execute("INSERT INTO meta VALUES (?, 'x')", (key,))


def on_store(tmp_path, work, **more):
    """Run ``work(store)`` on a loop of its own, and close the store whatever happens."""

    async def run():
        store = await Store.open(tmp_path / "profile", tokenizer=more.get("tokenizer"))
        try:
            return await work(store)
        finally:
            await asyncio.wait_for(store.close(), 10)

    return asyncio.run(asyncio.wait_for(run(), 60))


async def cancelled(task):
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_what_is_written_is_read_by_every_reader(tmp_path):
    async def work(store):
        await store.write(put, "a")
        return await asyncio.gather(*(store.read(count) for _ in range(8)))

    assert on_store(tmp_path, work, tokenizer=library()) == [1] * 8


def test_reading_cannot_write_and_sees_one_state(tmp_path):
    async def work(store):
        with pytest.raises(StoreReadOnlyError):
            await store.read(put, "a")
        started, go_on = threading.Event(), threading.Event()

        def twice(db):
            before = count(db)
            started.set()
            assert go_on.wait(10)
            return before, count(db)

        reading = asyncio.create_task(store.read(twice))
        while not started.is_set():
            await asyncio.sleep(0.001)
        await store.write(put, "b")
        go_on.set()
        return await reading, await store.read(count)

    assert on_store(tmp_path, work) == ((0, 0), 1)


def test_two_readings_run_at_the_same_time(tmp_path):
    async def work(store):
        both = threading.Barrier(READERS)
        await asyncio.gather(*(store.read(lambda db: both.wait(10)) for _ in range(READERS)))

    on_store(tmp_path, work)


def test_a_write_that_raises_leaves_nothing(tmp_path):
    def put_and_fail(db):
        put(db, "a")
        raise MemoryError

    async def work(store):
        with pytest.raises(MemoryError):
            await store.write(put_and_fail)
        return await store.read(count)

    assert on_store(tmp_path, work) == 0


def test_sixty_cancelled_queries_kill_no_other(tmp_path):
    async def work(store):
        latencies = []
        for _ in range(60):
            task = asyncio.create_task(store.read(endless))
            await asyncio.sleep(0.005)
            started = time.perf_counter()
            await cancelled(task)
            assert await asyncio.gather(*(store.read(count) for _ in range(4))) == [0] * 4
            latencies.append(time.perf_counter() - started)
        return sorted(latencies)

    latencies = on_store(tmp_path, work)
    assert latencies[30] < 0.05
    assert latencies[-1] < 1.0


def test_a_reader_is_lent_again_only_when_its_thread_has_stopped(tmp_path):
    """A cancelled call that takes no notice is interrupted repeatedly, and keeps its reader."""

    async def work(store):
        release, entered, interrupted = threading.Event(), [], []

        def stubborn(db):
            entered.append(db)
            for _ in range(20_000):  # some 20 s, should nobody release it
                if release.is_set():
                    break
                time.sleep(0.001)
                if db.is_interrupted:
                    interrupted.append(db)
                    db.execute("SELECT 1").get  # noqa: B018  clears the mark

        stuck = [asyncio.create_task(store.read(stubborn)) for _ in range(READERS)]
        while len(entered) < READERS:
            await asyncio.sleep(0.001)
        assert interrupted == []
        for task in stuck:
            await cancelled(task)
        innocent = asyncio.create_task(store.read(count))
        try:
            async with asyncio.timeout(10):
                while any(interrupted.count(db) < 3 for db in entered):
                    await asyncio.sleep(0.001)
        except TimeoutError:
            release.set()
            raise
        assert not innocent.done()
        assert store._readers.empty()
        release.set()
        return await innocent

    assert on_store(tmp_path, work) == 0


def test_cancelling_before_the_turn_comes_runs_nothing(tmp_path):
    async def work(store):
        release = threading.Event()
        first = asyncio.create_task(store.write(lambda db: release.wait(20)))
        await asyncio.sleep(0.02)
        second = asyncio.create_task(store.write(put, "never"))
        await asyncio.sleep(0.02)
        await cancelled(second)
        release.set()
        await first
        return await store.read(count)

    assert on_store(tmp_path, work) == 0


def test_a_cancelled_write_is_rolled_back_and_the_next_goes_through(tmp_path):
    def put_then_endless(db):
        put(db, "never")
        endless(db)

    async def work(store):
        task = asyncio.create_task(store.write(put_then_endless))
        await asyncio.sleep(0.05)
        await cancelled(task)
        await store.write(put, "after")
        return await store.read(lambda db: db.execute("SELECT key FROM meta").fetchall())

    assert on_store(tmp_path, work) == [("after",)]


def test_a_timeout_is_the_builtin_one(tmp_path):
    async def work(store):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await store.read(endless)
        return await store.read(count)

    assert on_store(tmp_path, work) == 0


def test_closing_waits_for_what_runs_and_refuses_what_comes(tmp_path):
    async def run():
        store = await Store.open(tmp_path / "profile", tokenizer=None)
        release = threading.Event()

        def slowly(db):
            assert release.wait(20)
            put(db, "kept")

        writing = asyncio.create_task(store.write(slowly))
        given_up = asyncio.create_task(store.read(endless))
        await asyncio.sleep(0.05)
        given_up.cancel()
        closing = asyncio.create_task(store.close())
        await asyncio.sleep(0.05)
        assert not closing.done()
        with pytest.raises(StoreError, match="being closed"):
            await store.read(count)
        release.set()
        await writing
        await asyncio.wait_for(closing, 10)
        await asyncio.wait([given_up])
        assert given_up.cancelled()

    asyncio.run(run())
    db = open_writer(path_at(tmp_path), tokenizer=None)
    assert count(db) == 1
    db.close()


def test_no_thread_is_left_behind(tmp_path):
    async def work(store):
        await cancelled(asyncio.create_task(store.read(endless)))

    before = set(threading.enumerate())
    on_store(tmp_path, work)
    for thread in set(threading.enumerate()) - before:
        thread.join(5)
    assert set(threading.enumerate()) <= before


def test_errors_of_sqlite_arrive_in_words(tmp_path):
    def busy(db):
        raise apsw.BusyError("database is locked")

    async def work(store):
        with pytest.raises(StoreBusyError, match=r"state\.db"):
            await store.read(busy)
        with pytest.raises(apsw.SQLError):  # a fault of ours stays one
            await store.read(lambda db: db.execute("SELECT nonsense"))

    on_store(tmp_path, work)


def test_a_newer_store_is_read_and_says_why_it_is_not_written(tmp_path):
    db = store_at(tmp_path)
    db.pragma("user_version", migrations.NEWEST + 1)
    db.close()

    async def work(store):
        assert store.read_only_reason is not None
        assert "can be read but not written" in store.read_only_reason
        with pytest.raises(SchemaTooNewError):
            await store.write(put, "a")
        return await store.read(count)

    assert on_store(tmp_path, work) == 0


def test_a_file_that_is_not_ours_is_refused_and_nothing_stays_open(tmp_path):
    path = path_at(tmp_path)
    path.parent.mkdir(mode=0o700)
    path.write_bytes(b"something else " * 300)
    path.chmod(0o600)
    with pytest.raises(NotAStoreError, match="is not a store"):
        on_store(tmp_path, count)
    assert path.read_bytes() == b"something else " * 300


def test_a_store_in_a_read_only_place_is_read_and_says_so(tmp_path, monkeypatch):
    store_at(tmp_path).close()
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)

    async def work(store):
        assert "read-only" in str(store.read_only_reason)
        with pytest.raises(StoreReadOnlyError):
            await store.write(put, "a")
        return await store.read(count)

    assert on_store(tmp_path, work) == 0


async def taken(steps):
    return [each async for each in steps]


def test_writes_go_on_beside_a_long_step_of_upkeep(tmp_path):
    started, go_on = threading.Event(), threading.Event()

    def upkeep(db):
        with transaction(db):
            put(db, "first")
        yield 1
        started.set()
        assert go_on.wait(10)
        yield count(db)

    async def work(store):
        running = asyncio.create_task(taken(store.steps(upkeep)))
        await asyncio.to_thread(started.wait, 10)
        await asyncio.wait_for(store.write(put, "second"), 5)
        go_on.set()
        return await running

    assert on_store(tmp_path, work) == [1, 2]


def test_a_write_waits_as_long_as_our_own_upkeep_holds_the_lock(tmp_path, monkeypatch):
    monkeypatch.setattr(recipe, "BUSY_TIMEOUT_MS", 50)
    started = threading.Event()

    def upkeep(db):
        with transaction(db):
            started.set()
            time.sleep(0.5)
        yield 1

    async def work(store):
        running = asyncio.create_task(taken(store.steps(upkeep)))
        await asyncio.to_thread(started.wait, 10)
        await store.write(put, "a")
        await running
        return await store.read(count)

    assert on_store(tmp_path, work) == 1


def test_cancelled_upkeep_closes_its_generator_and_frees_the_lock(tmp_path):
    closed = []

    def upkeep(db):
        try:
            yield 1
            with transaction(db):
                put(db, "never")
                endless(db)
            yield 2
        finally:
            closed.append(db.in_transaction)

    async def work(store):
        running = asyncio.create_task(taken(store.steps(upkeep)))
        await asyncio.sleep(0.2)
        await cancelled(running)
        await store.write(put, "a")
        return await store.read(count), [each async for each in store.steps(lambda db: iter([3]))]

    assert on_store(tmp_path, work) == (1, [3])
    assert closed == [False]


def test_a_cancelled_load_of_the_tokenizer_leaves_every_connection_to_lend(tmp_path):
    async def work(store):
        loop, started = asyncio.get_running_loop(), asyncio.Event()

        def slowly(_db):
            loop.call_soon_threadsafe(started.set)
            time.sleep(0.3)

        reading = asyncio.create_task(store.read(slowly))
        await started.wait()
        loading = asyncio.create_task(store.load_tokenizer(library()))
        await asyncio.sleep(0.05)  # it has one reader, and waits for the other
        await cancelled(loading)
        await reading
        both = asyncio.gather(*(store.read(lambda _db: time.sleep(0.1)) for _ in range(READERS)))
        await asyncio.wait_for(both, 5)
        return await store.write(lambda db: put(db, "a"))

    on_store(tmp_path, work)


def test_closing_beside_a_load_of_the_tokenizer_ends(tmp_path):
    """Each would hold one reader, and wait for the one that the other has."""

    async def work(store):
        loop, started = asyncio.get_running_loop(), asyncio.Event()

        def slowly(_db):
            loop.call_soon_threadsafe(started.set)
            time.sleep(0.2)

        reading = [asyncio.create_task(store.read(slowly)) for _ in range(READERS)]
        await started.wait()
        loading = asyncio.create_task(store.load_tokenizer(library()))
        await asyncio.sleep(0)
        await asyncio.wait_for(store.close(), 10)
        await asyncio.gather(*reading)
        await asyncio.wait([loading])

    async def run():
        await work(await Store.open(tmp_path / "profile", tokenizer=None))

    asyncio.run(asyncio.wait_for(run(), 60))


def test_upkeep_ends_in_words_when_another_file_takes_the_stores_place(tmp_path):
    store_at(tmp_path / "other").close()
    closed = []

    def upkeep(db):
        try:
            while True:
                yield count(db)
        finally:
            closed.append(True)
            count(db)

    async def work(store):
        steps = store.steps(upkeep)
        assert await anext(steps) == 0
        path_at(tmp_path / "other").replace(store.path)
        await store.read(count)
        with pytest.raises(StoreMovedError, match="replaced"):
            await anext(steps)
        return [each async for each in store.steps(lambda db: iter([count(db)]))]

    assert on_store(tmp_path, work) == [0]
    assert closed == [True]
