"""A query ends when its time is over, and nothing else does."""

import threading
import time

import apsw
import pytest

from core.store.deadline import deadline
from tests.unit.store.making import store_at
from tests.unit.store.test_store import ENDLESS


@pytest.fixture
def db(tmp_path):
    db = store_at(tmp_path)
    yield db
    db.close()


def test_a_query_is_interrupted_at_its_deadline(db):
    started = time.monotonic()
    with deadline(db, 0.1) as limit, pytest.raises(apsw.InterruptError):
        db.execute(ENDLESS).get  # noqa: B018
    assert limit.expired
    assert 0.1 <= time.monotonic() - started < 0.6


def test_a_query_that_is_done_in_time_is_left_alone(db):
    with deadline(db, 5) as limit:
        assert db.execute("SELECT 1").get == 1
        assert 4 < limit.remaining_s <= 5
    assert not limit.expired


def test_after_its_block_it_interrupts_nothing(db):
    for _ in range(20):
        with deadline(db, 0) as limit:
            while not limit.expired:
                time.sleep(0.001)
        assert db.execute("SELECT sum(i) FROM (SELECT 1 AS i UNION ALL SELECT 2)").get == 3


def test_statement_after_statement_is_interrupted(db):
    with deadline(db, 0.05):
        for _ in range(3):
            with pytest.raises(apsw.InterruptError):
                db.execute(ENDLESS).get  # noqa: B018


def test_each_connection_has_its_own_time(db, tmp_path):
    other = store_at(tmp_path / "other")
    with deadline(other, 60) as long, deadline(db, 0.05) as short:
        with pytest.raises(apsw.InterruptError):
            db.execute(ENDLESS).get  # noqa: B018
        assert other.execute("SELECT 1").get == 1
        assert (short.expired, long.expired) == (True, False)
    other.close()


def test_a_nearer_deadline_does_not_wait_for_a_farther_one(db):
    with deadline(db, 60), deadline(db, 0.05), pytest.raises(apsw.InterruptError):
        db.execute(ENDLESS).get  # noqa: B018


def test_one_thread_watches_all(db):
    for _ in range(50):
        with deadline(db, 60):
            pass
    watching = [thread for thread in threading.enumerate() if thread.name == "deadline"]
    assert len(watching) == 1
