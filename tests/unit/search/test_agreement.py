"""Whatever the indexes hold, a search finds what the slow evaluator finds."""

from random import Random

import pytest

from core.search.run import search
from core.types import SearchRequest, SearchResult
from tests.unit.search import questions, stores
from tests.unit.search.oracle import Row


def found(result: SearchResult) -> list[str]:
    return [hit.message for hit in result.hits]


def agree(db, rows: dict[str, Row], random: Random, count: int) -> int:
    hits = 0
    for _ in range(count):
        question = questions.question(random, list(rows.values()))
        expected = {uid for uid, row in rows.items() if question.holds(row)}
        result = search(db, SearchRequest(question.typed, limit=10_000))
        assert result.complete
        if not expected:
            assert result.steps[0].hits == 0, question.typed
            continue
        got = found(result)
        assert len(got) == len(set(got)), question.typed
        assert set(got) == expected, (question.typed, result.search_path, result.why)
        assert (result.total_hits, result.total_is_exact) == (len(expected), True)
        hits += len(got)
    return hits


@pytest.mark.parametrize("state", stores.STATES)
def test_every_route_finds_what_is_meant(tmp_path, state):
    random = Random(f"{state} 1")
    db, rows = stores.store_in_state(tmp_path, state, random, 160)
    assert agree(db, rows, random, 130) > 500


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("state", stores.STATES)
def test_every_route_finds_what_is_meant_at_length(tmp_path, state, seed):
    random = Random(f"{state} {seed} long")
    db, rows = stores.store_in_state(tmp_path, state, random, 300)
    agree(db, rows, random, 600)
