"""Many processes write one store at once, while another reads and a third fills an index."""

import random
import shutil
import threading
import time

import pytest

from core.search import run
from core.store.connection import open_reader, open_store, snapshot
from core.types import SearchRequest
from tests.faults import figures, truth, workers
from tests.faults.killing import start
from tests.faults.sizes import scratch, size
from tests.unit.store.making import library, message, path_at, store_at, store_messages

pytestmark = pytest.mark.faults
WRITERS = size(4, 8, 8)
COMMITS = size(25, 1_000, 1_000)


@pytest.fixture
def path():
    folder = scratch("writers-")
    db = store_at(folder)
    texts = {n: f"第{n}次电影订阅 word{n} common " * 9 for n in range(size(300, 5_000, 5_000))}
    store_messages(db, *(message(str(n), text) for n, text in texts.items()))
    db.close()
    yield path_at(folder)
    shutil.rmtree(folder)


class Reader:
    """Searches again and again on a connection of its own, and notes how long each took."""

    def __init__(self, path):
        self._path = path
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._read)
        self.seconds = []
        self.wrong = []

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *error):
        self._is_over.set()
        self._thread.join()

    def _read(self):
        db, rng = open_reader(self._path, tokenizer=library()), random.Random(1)
        while not self._is_over.is_set():
            began = time.perf_counter()
            word = f"word{rng.randrange(300)}"
            with snapshot(db):
                found = run.search(db, SearchRequest(word))
            self.seconds.append(time.perf_counter() - began)
            if not found.hits:
                self.wrong.append(word)
        db.close()


def test_every_commit_of_every_writer_is_stored_in_its_order(path):
    writers = [start(workers.write_some, path, name, COMMITS) for name in range(WRITERS)]
    for each in writers:
        each.wait_ready()
    filling = start(workers.fill_again, path)
    with Reader(path) as reader:
        latencies = [float(s) for each in writers for s in each.end().acked.split()]
    assert filling.end().is_through
    db = open_store(path, library())
    for name in range(WRITERS):
        sql = "SELECT uid FROM messages WHERE uid GLOB ? ORDER BY id"
        order = [uid for (uid,) in db.execute(sql, (f"{name}:*",))]
        assert order == [f"{name}:{number}" for number in range(COMMITS)]
    assert truth.finish(db) == []
    db.close()
    assert len(latencies) == WRITERS * COMMITS
    figures.note(
        "9",
        f"{WRITERS} processes × {COMMITS:,} commits, a reader, a backfill",
        f"{len(latencies):,} of {WRITERS * COMMITS:,} stored, 0 refused, each in its order;"
        f" a commit {figures.percentiles(latencies)};"
        f" {len(reader.seconds):,} searches {figures.percentiles(reader.seconds)}",
    )
    assert reader.seconds
    assert reader.wrong == []
