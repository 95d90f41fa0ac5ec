"""Who waits for the write lock gets it, also beside one who writes batch after batch."""

import threading
import time
from contextlib import closing, suppress

import apsw
import pytest

from core.store import recipe
from core.store.connection import open_writer, transaction
from core.store.waiting import GAP_S, wait_for_locks
from tests.unit.store.making import path_at, store_at


@pytest.fixture
def path(tmp_path):
    store_at(tmp_path).close()
    return path_at(tmp_path)


def test_a_writer_that_only_leaves_gaps_lets_others_in(path):
    holds, ended = threading.Event(), threading.Event()

    def batches():
        with closing(apsw.Connection(str(path))) as db:
            while not ended.is_set():
                with suppress(apsw.BusyError):  # it never lets the other have a long turn
                    db.execute("BEGIN IMMEDIATE")
                    holds.set()
                    time.sleep(0.1)
                    db.execute("COMMIT")
                    time.sleep(GAP_S)

    busy = threading.Thread(target=batches)
    busy.start()
    holds.wait()
    waits = []
    try:
        with closing(open_writer(path, tokenizer=None)) as db:
            for _ in range(10):
                began = time.monotonic()
                with transaction(db):
                    waits.append(time.monotonic() - began)
                time.sleep(0.02)
    finally:
        ended.set()
        busy.join()
    assert max(waits) < 3.0
    assert sorted(waits)[5] < 0.5


def test_nobody_waits_longer_than_agreed(path):
    with closing(open_writer(path, tokenizer=None)) as db, closing(apsw.Connection(str(path))) as o:
        wait_for_locks(db, 60)
        o.execute("BEGIN IMMEDIATE")
        for _ in range(2):  # the time counts anew each time
            began = time.monotonic()
            with pytest.raises(apsw.BusyError):
                db.execute("BEGIN IMMEDIATE")
            assert 0.05 <= time.monotonic() - began < 0.5
        o.execute("ROLLBACK")


def test_every_connection_waits_ten_seconds(path, monkeypatch):
    asked = []
    monkeypatch.setattr(recipe, "wait_for_locks", lambda db, ms: asked.append(ms))
    open_writer(path, tokenizer=None).close()
    assert set(asked) == {10_000}
