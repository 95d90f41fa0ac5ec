"""Searches saved under a name: kept as asked, refused in words, put back where they were."""

from datetime import UTC, datetime

import apsw
import pytest

from core.errors import NotFoundError, QueryError, SettingError
from core.history import saved_searches as searches
from core.history.saved_searches import SavedFilters, SavedSearch
from core.search.saved import as_request, period
from core.types import Role, SearchRequest
from tests.unit.store.making import store_at

FILTERS = SavedFilters((Role.TOOL, Role.USER), ("codex",), ("my app", "电影"), since="7d")
NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)


@pytest.fixture
def db(tmp_path):
    made = store_at(tmp_path, cjk=False)
    yield made
    made.close()


def names(db) -> list[str]:
    return [each.name for each in searches.saved(db)]


def test_what_is_saved_comes_back_as_it_was(db):
    made = searches.save(db, "失败的导入", '"rate limit" -x', FILTERS, "newest", at_ms=7)

    assert searches.saved(db) == (made,)
    assert made == SavedSearch(made.id, "失败的导入", '"rate limit" -x', FILTERS, "newest", 7)
    assert searches.by_name(db, " 失败的导入\n") == made


def test_a_name_used_again_replaces_the_search_in_its_place(db):
    for name in ("a", "b"):
        searches.save(db, name, "osaka", at_ms=1)
    searches.save(db, "a", "train", FILTERS, "oldest", at_ms=2)

    assert names(db) == ["a", "b"]
    first = searches.saved(db)[0]
    assert (first.query, first.filters, first.sort) == ("train", FILTERS, "oldest")


def test_renaming_keeps_the_place_and_takes_no_name_of_another(db):
    for name in ("a", "b"):
        searches.save(db, name, "osaka", at_ms=1)

    assert searches.rename(db, "a", "  the\tbig one ").name == "the big one"
    with pytest.raises(SettingError, match="another search is saved as 'b'"):
        searches.rename(db, "the big one", "b")
    with pytest.raises(NotFoundError):
        searches.rename(db, "a", "c")
    assert names(db) == ["the big one", "b"]


def test_what_is_removed_can_be_put_back_where_it_was(db):
    for name in ("a", "b"):
        searches.save(db, name, "osaka", FILTERS, at_ms=1)
    gone = searches.remove(db, "a")
    without = names(db)
    searches.put_back(db, gone)
    searches.put_back(db, gone)

    assert without == ["b"]
    assert searches.saved(db)[0] == gone
    assert names(db) == ["a", "b"]


def test_one_whose_place_or_name_was_taken_is_put_back_without_harm(db):
    gone = (searches.save(db, "a", "osaka", at_ms=1), searches.remove(db, "a"))[1]
    searches.save(db, "b", "train", at_ms=2)
    searches.put_back(db, gone)
    searches.remove(db, "a")
    searches.save(db, "a", "other", at_ms=3)
    searches.put_back(db, gone)

    assert {each.name: each.query for each in searches.saved(db)} == {"b": "train", "a": "other"}


@pytest.mark.parametrize(
    ("name", "query"),
    [("", "x"), (" \n", "x"), ("n" * 201, "x"), ("n", ""), ("n", " \t"), ("n", "x" * 2049)],
)
def test_what_is_blank_or_too_long_is_refused(db, name, query):
    with pytest.raises(SettingError):
        searches.save(db, name, query, at_ms=1)
    assert names(db) == []


def test_there_are_500_at_most_and_one_of_them_can_still_be_replaced(db):
    for n in range(500):
        searches.save(db, str(n), "osaka", at_ms=n)

    searches.save(db, "7", "train", at_ms=1)
    with pytest.raises(SettingError, match="500 searches"):
        searches.save(db, "one more", "osaka", at_ms=1)
    assert len(names(db)) == 500


def test_half_a_character_and_a_nul_do_not_stop_it(db):
    searches.save(db, "a\udcff\0b", "x\ud800\0y", SavedFilters(sources=("\udcfe",)), at_ms=1)

    assert (names(db), searches.saved(db)[0].query) == (["a?\0b"], "x?\0y")
    assert searches.by_name(db, "a\udcff\0b").name == "a?\0b"
    assert searches.saved(db)[0].filters.sources == ("?",)


@pytest.mark.parametrize(
    "filters",
    [
        "",
        "[",
        "[" * 100_000,
        "[]",
        "7",
        '{"roles":["wizard",3],"days":-1,"since":[],"sources":"codex","new":1}',
    ],
)
def test_filters_that_cannot_be_read_narrow_nothing(db, filters):
    searches.save(db, "a", "osaka", FILTERS, at_ms=1)
    db.execute("UPDATE saved_searches SET filters = ?", (filters,))

    assert searches.saved(db)[0].filters == SavedFilters()


def test_an_order_there_is_not_is_refused_by_the_table(db):
    with pytest.raises(apsw.ConstraintError):
        searches.save(db, "a", "osaka", sort="best", at_ms=1)


def test_a_saved_search_asks_what_it_asked_with_its_age_counted_from_now():
    search = SavedSearch(1, "n", "osaka", FILTERS, "oldest", 7)

    assert as_request(search, NOON) == SearchRequest(
        "osaka",
        sort="oldest",
        roles=(Role.TOOL, Role.USER),
        sources=("codex",),
        projects=("my app", "电影"),
        since_ms=round(datetime(2026, 11, 22, 12, tzinfo=UTC).timestamp() * 1000),
    )


def test_days_are_of_the_calendar_and_today_is_one_of_them():
    local = NOON.astimezone()
    first = datetime(2026, 11, 23).astimezone()
    assert local.day == 29

    assert period(SavedFilters(days=7), local) == (round(first.timestamp() * 1000), None)
    assert period(SavedFilters(until="2026-11-23"), local) == (
        None,
        round(first.timestamp() * 1000),
    )
    with pytest.raises(QueryError):
        period(SavedFilters(since="soon"), local)
