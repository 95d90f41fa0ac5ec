"""Who works on the indexes, and what their states mean."""

import pytest

from core.index.state import HEARTBEAT_MS, claim, new_holder, release, statuses
from core.store.connection import transaction
from core.store.index_state import counted_rows
from core.store.indexes import INDEXES
from core.types import INDEX_NAMES, IndexStatus
from tests.unit.store.making import held, message, store_at, store_messages


@pytest.fixture
def db(tmp_path):
    db = store_at(tmp_path)
    yield db
    db.close()


def take(db, holder):
    with transaction(db):
        return claim(db, holder)


def test_one_holder_works_at_a_time(db):
    first, second = new_holder(), new_holder()
    assert first != second
    assert take(db, first)
    assert take(db, first)
    assert not take(db, second)
    with transaction(db):
        release(db, second)
    assert not take(db, second)
    with transaction(db):
        release(db, first)
    assert take(db, second)


def test_a_holder_that_is_not_heard_of_has_lost_its_work(db):
    first, second = new_holder(), new_holder()
    assert take(db, first)
    with transaction(db):
        long_ago = HEARTBEAT_MS + 1
        db.execute("UPDATE index_state SET heartbeat_at_ms = heartbeat_at_ms - ?", (long_ago,))
    assert take(db, second)
    assert not take(db, first)


def test_a_heartbeat_from_the_far_future_holds_nothing(db):
    assert take(db, new_holder())
    with transaction(db):
        db.execute("UPDATE index_state SET heartbeat_at_ms = heartbeat_at_ms + 86400000")
    assert take(db, new_holder())


def test_statuses_are_those_of_the_three_indexes(db):
    assert tuple(found.name for found in statuses(db)) == INDEX_NAMES == tuple(INDEXES)


def test_the_number_of_rows_is_read_from_the_index_itself(db):
    for many in (1, 127, 128, 300):
        store_messages(db, *(message(f"{many}-{n}") for n in range(many)))
        for index in INDEXES.values():
            assert counted_rows(db, index) == len(held(db, index.name))


def test_coverage_and_time_left_follow_from_the_numbers():
    found = IndexStatus("messages_fts", "building", 0.25, 1, 3, 0, None, "", rate_rows_s=1.5)
    assert (found.ready, found.eta_s) == (False, 2.0)
    found = IndexStatus("messages_fts", "settling", 1.0, 4, 0, 0, None, "")
    assert (found.ready, found.eta_s) == (True, None)
