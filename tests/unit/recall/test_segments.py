"""What was said since the last reset, and all of it: both are read, by number and around one."""

import pytest

from core.errors import QueryError
from core.history.messages import messages_page
from core.history.segments import active_behind, active_from
from core.recall.recall import recall
from core.sources.records import SessionRecord
from core.store.connection import transaction
from core.types import RecallRequest, Role
from core.upkeep import lifecycle
from tests.unit.store.making import message, store_at, store_messages


@pytest.fixture
def db(tmp_path):
    made = store_at(tmp_path)
    yield made
    made.close()


def talk(db, first, last):
    roles = (Role.ASSISTANT, Role.USER)
    store_messages(
        db, *(message(f"m{n}", f"text {n}", role=roles[n % 2]) for n in range(first, last + 1))
    )
    return int(db.execute("SELECT id FROM sessions").get)


def reset(db, session_id):
    with transaction(db):
        lifecycle.reset(db, [session_id], "you")


def asked(db, **given):
    (result,) = recall(db, RecallRequest(session="s", **given)).results
    return result


def uids(messages):
    return [each.uid for each in messages]


def test_a_session_never_reset_is_active_from_its_start(db):
    s = talk(db, 1, 5)
    assert (active_behind(db, s), active_from(db, s)) == (None, 1)
    whole, active = asked(db), asked(db, active=True)
    assert uids(active.opening) == uids(whole.opening) == ["m1", "m2", "m3", "m4", "m5"]
    assert (active.before, active.after) == (0, 0)


def test_reading_the_active_segment_begins_behind_the_reset(db):
    s = talk(db, 1, 40)
    reset(db, s)
    talk(db, 41, 80)
    assert active_from(db, s) == 41
    active = asked(db, active=True)
    assert uids(active.opening) == [f"m{n}" for n in range(41, 61)]
    assert uids(active.resolution) == [f"m{n}" for n in range(71, 81)]
    assert [each.number for each in active.opening[:2]] == [41, 42]
    assert active.resolution[-1].number == 80
    assert (active.before, active.after) == (40, 10)
    whole = asked(db)
    assert uids(whole.opening) == [f"m{n}" for n in range(1, 21)]
    assert (whole.before, whole.after) == (0, 50)


def test_a_short_active_segment_is_read_whole_and_no_message_twice(db):
    s = talk(db, 1, 40)
    reset(db, s)
    talk(db, 41, 43)
    active = asked(db, active=True)
    assert (uids(active.opening), active.resolution) == (["m41", "m42", "m43"], ())
    assert (active.before, active.after) == (40, 0)


def test_nothing_said_since_a_reset_is_an_empty_segment(db):
    s = talk(db, 1, 4)
    reset(db, s)
    assert active_from(db, s) == 5
    active = asked(db, active=True)
    assert (active.opening, active.resolution, active.before) == ((), (), 4)
    assert messages_page(db, s, first=active_from(db, s), count=50) == ()


def test_scrolling_in_the_active_segment_stops_at_the_reset(db):
    s = talk(db, 1, 10)
    reset(db, s)
    talk(db, 11, 30)
    active = asked(db, around="m12", window=5, active=True)
    assert uids(active.messages) == [f"m{n}" for n in range(11, 18)]
    assert (active.before, active.after) == (0, 13)
    deep = asked(db, around="m20", window=2, active=True)
    assert (deep.before, deep.after) == (7, 8)
    whole = asked(db, around="m12", window=5)
    assert uids(whole.messages) == [f"m{n}" for n in range(7, 18)]
    assert (whole.before, whole.after) == (6, 13)


def test_what_lies_before_the_reset_is_named_but_not_shown_in_the_active_segment(db):
    s = talk(db, 1, 10)
    reset(db, s)
    talk(db, 11, 12)
    with pytest.raises(QueryError, match="before the last reset"):
        asked(db, around="m3", active=True)
    assert asked(db, around="m3").match.message == "m3"


def test_a_reset_that_the_source_tells_of_and_that_lies_beyond_its_messages_leaves_nothing(db):
    store_messages(db, message("m1"), sessions=(SessionRecord("s", reset_cutoff_seq=99),))
    s = int(db.execute("SELECT id FROM sessions").get)
    assert (active_behind(db, s), active_from(db, s)) == (99, 2)
    active = asked(db, active=True)
    assert (active.opening, active.before) == ((), 1)


def test_the_active_segment_is_asked_of_one_session(db):
    talk(db, 1, 2)
    for given in ({}, {"query": "text"}):
        with pytest.raises(QueryError, match="of one session"):
            recall(db, RecallRequest(active=True, **given))
