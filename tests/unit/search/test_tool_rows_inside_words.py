"""Words inside words of tool rows: read where tool rows are asked for, else said to be left out."""

import pytest

from core.search.run import search
from core.types import Role, SearchRequest
from tests.unit.store.making import add_source, message, store_at, store_messages


@pytest.fixture
def db(tmp_path):
    store = store_at(tmp_path)
    add_source(store, "x")
    store_messages(
        store,
        message("t", "the Crunchbase company", role=Role.TOOL, tool_name="browser"),
        message("long", "word " * 4_000 + "xCrunchbase", role=Role.TOOL, tool_name="browser"),
        message("u", "about Crunchbases"),
    )
    yield store
    store.close()


@pytest.mark.parametrize(
    "more", [{"include": frozenset({"tool"})}, {"roles": (Role.TOOL, Role.USER)}]
)
def test_asked_for_they_are_read_to_their_end(db, more):
    found = search(db, SearchRequest("crunchbase", inside_words=True, **more))
    assert {hit.message for hit in found.hits} == {"t", "long", "u"}
    assert (found.total_hits, found.complete) == (3, True)
    assert "tool_rows_inside_words" not in found.not_searched


@pytest.mark.parametrize("query", ["crunchbase", "runchbas"])
def test_otherwise_they_are_counted_as_not_searched(db, query):
    found = search(db, SearchRequest(query, inside_words=True))
    assert [hit.message for hit in found.hits] == ["u"]
    assert found.not_searched["tool_rows_inside_words"] == 2


def test_whole_words_leave_none_of_them_out(db):
    found = search(db, SearchRequest("crunchbase"))
    assert [hit.message for hit in found.hits] == ["t"]
    assert "tool_rows_inside_words" not in found.not_searched
