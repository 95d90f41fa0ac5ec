"""How the command line words an answer."""

from dataclasses import replace

import pytest

from app.cli.words import answer
from core.search.run import search
from core.types import SearchRequest
from tests.unit.store.making import message, store_at, store_messages


@pytest.mark.parametrize(
    ("total", "is_exact", "complete", "said"),
    [
        (0, True, True, "0 hits in 2 messages"),
        (1, True, True, "1 hit in 2 messages"),
        (1_000, False, True, "up to 1,000 hits in"),
        (1_000, False, False, "at least 1,000 hits in"),
        (0, False, False, "nothing found in time in"),
        (0, True, False, "0 hits in"),  # of this query; what is nearest to it was not tried
    ],
)
def test_how_much_was_found_is_said_as_far_as_it_is_known(
    tmp_path, total, is_exact, complete, said
):
    db = store_at(tmp_path, cjk=False)
    store_messages(db, message("a"), message("b"))
    found = search(db, SearchRequest("hello"))
    db.close()
    result = replace(found, total_hits=total, total_is_exact=is_exact, complete=complete)
    assert f" · {said}" in answer(result)


@pytest.mark.parametrize(("count", "said"), [(1, "1 cut tail"), (2, "2 cut tails")])
def test_what_was_not_searched_is_counted(tmp_path, count, said):
    db = store_at(tmp_path, cjk=False)
    store_messages(db, message("a"))
    found = search(db, SearchRequest("hello"))
    db.close()
    told = answer(replace(found, not_searched={"cut_tails": count, "hidden": 1}))
    assert f"not searched: {said}, 1 hidden\n" in told
