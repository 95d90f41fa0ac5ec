"""How far a snapshot is that is moved in once, and what every answer says of it."""

import pytest

from core.history import legacy_imports
from core.recall.recall import recall
from core.search.run import search
from core.store.connection import transaction
from core.types import RecallRequest, SearchRequest
from tests.unit.store.making import store_at


@pytest.fixture
def db(tmp_path):
    db = store_at(tmp_path)
    yield db
    db.close()


def advance(db, cursor, *, complete=False, path="/m/user.db"):
    with transaction(db):
        legacy_imports.advance(db, 1, path, cursor, complete=complete)


def test_nothing_is_pending_where_nothing_was_begun(db):
    assert legacy_imports.is_complete(db) is True
    assert legacy_imports.states(db) == {}


def test_a_snapshot_is_pending_from_its_first_page_to_its_last(db):
    advance(db, 20)
    assert legacy_imports.is_complete(db) is False
    assert legacy_imports.states(db) == {
        "/m/user.db": legacy_imports.LegacyState("/m/user.db", 20, False)
    }
    advance(db, 31, complete=True)
    assert legacy_imports.is_complete(db) is True
    assert legacy_imports.states(db)["/m/user.db"].cursor == 31


def test_reading_once_more_takes_back_nothing(db):
    advance(db, 31, complete=True)
    advance(db, 20)
    assert legacy_imports.states(db)["/m/user.db"] == legacy_imports.LegacyState(
        "/m/user.db", 31, True
    )
    assert legacy_imports.is_complete(db) is True


def test_every_answer_says_whether_old_history_is_pending(db):
    advance(db, 20)
    asked = [RecallRequest(query="words"), RecallRequest()]
    assert [recall(db, each).legacy_complete for each in asked] == [False, False]
    assert search(db, SearchRequest("words")).legacy_complete is False
    assert search(db, SearchRequest("")).legacy_complete is False
    advance(db, 31, complete=True)
    assert [recall(db, each).legacy_complete for each in asked] == [True, True]
    assert search(db, SearchRequest("words")).legacy_complete is True


def test_a_store_of_an_older_schema_has_none(db):
    db.pragma("user_version", 4)
    db.execute("DROP TABLE legacy_imports")
    assert legacy_imports.is_complete(db) is True
