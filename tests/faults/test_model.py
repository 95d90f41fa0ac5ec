"""Whatever happens to messages and indexes, each index answers as a model of it in Python does."""

import shutil
from collections import Counter

import pytest

from core.store import attachment
from tests.faults import figures, truth
from tests.faults.model import Pair
from tests.faults.sizes import scratch, size

pytestmark = pytest.mark.faults
STEPS = size(400, 15_000, 1_000_000)
CHECKED_EVERY = size(200, 1_000, 10_000)


@pytest.fixture
def folder():
    made = scratch("model-")
    yield made
    shutil.rmtree(made)


def test_the_indexes_answer_as_the_model_does(folder, monkeypatch):
    monkeypatch.setattr(attachment, "DRAIN_AT_ONCE", 5)
    pair, done, questions = Pair(folder, seed=size(1, 2, 3)), Counter(), 0
    for number in range(1, STEPS + 1):
        done[name := pair.step()] += 1
        is_checked = number % CHECKED_EVERY == 0
        assert list(pair.differences(60 if is_checked else 1)) == [], (number, name)
        questions += 180 if is_checked else 3
        if is_checked:
            assert pair.check_rows() == [], number
    assert truth.finish(pair.db) == []
    assert list(pair.differences(1_000)) == []
    pair.db.close()
    figures.note(
        "13",
        f"{STEPS:,} random steps of {len(done)} kinds against a model of three indexes",
        f"0 differences in {questions:,} questions, all postings right every {CHECKED_EVERY:,}",
    )
    assert min(done.values()) > 0
    assert len(done) >= size(11, 13, 13)
