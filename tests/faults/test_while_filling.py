"""While an index is filled, messages are stored and searches answered as if nothing were."""

import random
import shutil
import time

import pytest

from core.search import run
from core.store.connection import open_store, snapshot
from core.types import SearchRequest
from tests.faults import figures, truth, workers
from tests.faults.killing import start
from tests.faults.sizes import scratch, size
from tests.unit.store.making import library, message, path_at, store_at, store_messages

pytestmark = pytest.mark.faults
ROWS, WORDS = size(1_500, 30_000, 100_000), 50
SECONDS = size(2, 25, 60)
DEADLINE_S, ASKED = 0.1, size(20, 500, 1_000)
LIVE_MAX_S = size(5_000, 500, 500) / 1000
LATE_MAX_S = size(2_000, 250, 250) / 1000
ADVERSARIAL = ("a*", "w*", "e", "的", "word", '"o r d"', "common OR word OR 订阅", "NOT xyz")


@pytest.fixture
def path():
    folder = scratch("filling-")
    db = store_at(folder)
    for first in range(0, ROWS, 1_000):
        numbers = range(first, min(first + 1_000, ROWS))
        store_messages(db, *(message(str(n), text(n), session=f"s{n // 300}") for n in numbers))
    db.close()
    yield path_at(folder)
    shutil.rmtree(folder)


def text(number):
    return f"word{number % WORDS} 第{number}次电影订阅 common text of some length " * 4


def ask(db, query, deadline_s=60.0):
    with snapshot(db):
        return run.search(db, SearchRequest(query, deadline_s=deadline_s))


def test_writing_and_searching_beside_the_backfill(path):
    filling = start(workers.fill_again, path)
    filling.wait_ready()
    db, rng = open_store(path, library()), random.Random(1)
    writes, searches, wrong, covered = [], [], 0, []
    began = time.monotonic()
    while time.monotonic() - began < SECONDS:
        at = time.perf_counter()
        store_messages(db, message(f"live{len(writes)}", f"live{len(writes)} now"))
        writes.append(time.perf_counter() - at)
        word = rng.randrange(WORDS)
        at = time.perf_counter()
        found = ask(db, f"word{word}")
        searches.append(time.perf_counter() - at)
        wrong += found.total_hits != len(range(word, ROWS, WORDS))
        covered.append(min(each.coverage for each in found.index_status.values()))
        time.sleep(0.02)
    filling.kill()
    assert wrong == 0
    assert min(covered) < 1, "no index was being filled"
    assert truth.finish(db) == []
    assert ask(db, f"live{len(writes) - 1}").total_hits == 1
    db.close()
    figures.note(
        "10-11",
        f"{len(writes):,} live messages and {len(searches):,} searches in {ROWS:,} messages"
        " while two indexes are filled",
        f"a write {figures.percentiles(writes)}; a search {figures.percentiles(searches)};"
        f" 0 answers without a message that was stored ({min(covered):.0%} indexed at the least)",
    )
    assert max(writes) < LIVE_MAX_S


def test_an_answer_comes_by_its_deadline(path):
    db, late, partial = open_store(path, library()), [], 0
    for number in range(ASKED):
        query = ADVERSARIAL[number % len(ADVERSARIAL)]
        at = time.perf_counter()
        found = ask(db, query, DEADLINE_S)
        late.append(max(0.0, time.perf_counter() - at - DEADLINE_S))
        partial += not found.complete
        assert found.complete or found.reason
    db.close()
    figures.note(
        "12",
        f"{ASKED:,} adversarial queries with {DEADLINE_S * 1000:.0f} ms each",
        f"behind the deadline by {figures.percentiles(late)}; {partial} partial and said so",
    )
    assert max(late) < LATE_MAX_S
