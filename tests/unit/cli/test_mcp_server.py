"""Calls in threads: stopped when the client gives up, and bugs never told in SQLite's words."""

import threading
import time

import anyio
import apsw
import pytest
from mcp import Client

from app.cli import mcp_answers, mcp_server
from app.cli.mcp_answers import Call
from core.errors import CoreError, StoreError
from core.store import recipe
from tests.unit.store.making import path_at, store_at

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"


def endless(db, given):
    return str(db.execute(ENDLESS).get)


def many_short(db, given):
    """An interrupt between two statements is lost: one is hardly ever enough here."""
    while True:
        assert db.execute("SELECT 1").get == 1


@pytest.fixture
def path(tmp_path):
    store_at(tmp_path).close()
    return path_at(tmp_path)


@pytest.fixture
def call_s(monkeypatch):
    monkeypatch.setattr(mcp_answers, "CALL_S", 60.0)


@pytest.mark.parametrize("work", [endless, many_short])
def test_a_call_is_stopped_from_another_thread(path, call_s, work):
    call = Call(path)
    timer = threading.Timer(0.2, call.stop)
    timer.start()
    began = time.monotonic()

    with pytest.raises(TimeoutError):
        call.run(lambda db: work(db, {}))

    assert time.monotonic() - began < 5
    timer.join()


def test_a_call_stopped_before_it_began_does_not_run(path, call_s):
    call = Call(path)
    call.stop()
    began = time.monotonic()

    with pytest.raises(TimeoutError):
        call.run(lambda db: endless(db, {}))

    assert time.monotonic() - began < 5


def test_a_call_that_takes_too_long_ends_in_words(path, monkeypatch):
    monkeypatch.setattr(mcp_answers, "CALL_S", 0.2)

    with pytest.raises(TimeoutError, match="took longer"):
        Call(path).run(lambda db: endless(db, {}))


def test_stopping_a_call_that_is_over_does_nothing(path):
    call = Call(path)

    assert call.run(lambda db: db.execute("SELECT 7").get) == 7
    call.stop()
    assert Call(path).run(lambda db: db.execute("SELECT 8").get) == 8


def test_the_connection_cannot_write(path):
    with pytest.raises(CoreError):
        Call(path).run(lambda db: db.execute("DELETE FROM sessions"))


def test_a_store_that_is_missing_is_not_made(tmp_path):
    with pytest.raises(StoreError, match="import"):
        Call(path_at(tmp_path)).run(lambda db: None)
    assert not path_at(tmp_path).exists()


def test_a_call_given_up_by_the_client_is_over_at_once(path, call_s, monkeypatch):
    """The thread has stopped when the next call is answered, though the query had no end."""
    running = threading.Event()
    ended = threading.Event()

    def work(db, given):
        running.set()
        try:
            return endless(db, given)
        finally:
            ended.set()

    monkeypatch.setitem(mcp_server._WORK, "session_search", work)

    async def run():
        async with Client(mcp_server.server_for(path)) as client:
            with anyio.move_on_after(0.5):
                await client.call_tool("session_search", {})
            with anyio.fail_after(5):
                await anyio.to_thread.run_sync(ended.wait)

    began = time.monotonic()
    anyio.run(run)

    assert running.is_set()
    assert time.monotonic() - began < 10


def test_an_error_that_is_our_fault_is_told_without_its_words(path, monkeypatch, caplog):
    def work(db, given):
        return db.execute("SELECT secret_word FROM nowhere").get

    monkeypatch.setitem(mcp_server._WORK, "session_search", work)

    async def run():
        async with Client(mcp_server.server_for(path)) as client:
            return await client.call_tool("session_search", {})

    result = anyio.run(run)

    assert result.is_error
    assert result.content[0].text.startswith("error: ")
    assert "nowhere" not in result.content[0].text
    assert "nowhere" in caplog.text


def test_only_readers_are_opened(path, monkeypatch):
    flags = []
    connected = recipe.connected

    def noted(path, flag):
        flags.append(flag)
        return connected(path, flag)

    monkeypatch.setattr(recipe, "connected", noted)
    Call(path).run(lambda db: mcp_answers.session_search(db, {"query": "x"}))

    assert flags == [apsw.SQLITE_OPEN_READONLY]
