"""Settling an index in small steps."""

from random import Random

import pytest

from core.index.settle import settle, start, step
from core.index.state import state_of
from core.store.connection import transaction
from core.types import INDEX_NAMES
from tests.unit.store.making import ids, message, store_at, store_messages, verify_indexes

SOME_LETTERS = "abcdefghijklmnop  电影订阅成功服务"


@pytest.fixture
def db(tmp_path):
    db = store_at(tmp_path)
    yield db
    db.close()


def segments(db, name):
    """How many segments the index has: the tree of pages above each counts once."""
    return db.execute(f"SELECT count(DISTINCT segid) FROM {name}_idx").get


@pytest.mark.parametrize("name", INDEX_NAMES)
def test_many_segments_become_one_and_the_index_ready(db, name, monkeypatch):
    monkeypatch.setattr("core.index.settle.STEP_PAGES", 4)
    random = Random(1)
    for batch in range(4):
        store_messages(
            db,
            *(
                message(f"{batch}-{n}", "".join(random.choices(SOME_LETTERS, k=500)))
                for n in range(150)
            ),
        )
    assert state_of(db, name) == "settling"
    assert segments(db, name) > 1
    steps = list(settle(db, name))
    assert len(steps) > 2
    assert segments(db, name) == 1
    assert state_of(db, name) == "ready"
    assert db.execute("SELECT unsettled_rows FROM index_state WHERE name = ?", (name,)).get == 0
    assert steps[-1].done == steps[-1].total == len(steps)
    verify_indexes(db)


def test_a_settled_or_empty_index_takes_one_step(db):
    for name in INDEX_NAMES:
        assert len(list(settle(db, name))) == 1
        assert state_of(db, name) == "ready"


def test_appending_goes_on_between_the_steps(db):
    store_messages(db, *(message(f"u{n}", f"word{n} text " * 60) for n in range(400)))
    with transaction(db):
        start(db, "messages_fts")
    number = 0
    while True:
        store_messages(db, message(f"live{number}", f"live{number}"))
        number += 1
        with transaction(db):
            if step(db, "messages_fts"):
                break
        assert number < 500
    assert ids(db, "messages_fts", f"live{number - 1}") == [400 + number]
    verify_indexes(db)


def test_an_index_that_still_builds_is_not_ready_when_settled(db):
    with transaction(db):
        db.execute("UPDATE index_state SET state = 'building' WHERE name = 'messages_fts'")
    list(settle(db, "messages_fts"))
    assert state_of(db, "messages_fts") == "building"
