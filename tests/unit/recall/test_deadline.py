"""Recall that runs out of time keeps what it found; what else interrupts it is raised."""

import time

import apsw
import pytest

from core.recall import browse, discover, recall, window
from core.search.lineup import Lineup
from core.types import RecallRequest
from tests.unit.store.making import message, store_at, store_messages

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"


@pytest.fixture
def db(tmp_path):
    made = store_at(tmp_path)
    store_messages(made, *(message(f"t{n}", "kestrel", session="talk") for n in range(150)))
    store_messages(made, message("other", "kestrel beside a great many other words", session="o"))
    yield made
    made.close()


def run_endlessly(db):
    def run(*args, **more):
        db.execute(ENDLESS).fetchall()

    return run


def in_time(db, request):
    began = time.perf_counter()
    answer = recall.recall(db, request)
    assert time.perf_counter() - began < 2.5
    assert (answer.complete, answer.reason, answer.hint) == (False, "query_timeout", "")
    return [result.session.ref for result in answer.results]


def test_what_was_found_before_the_deadline_is_shown(db, monkeypatch):
    monkeypatch.setattr(Lineup, "further", run_endlessly(db))
    request = RecallRequest("kestrel", deadline_s=0.4)
    assert in_time(db, request) == ["talk"]
    (result,) = recall.recall(db, request).results
    assert len(result.messages) > 5
    assert result.match.marks


def test_a_title_that_takes_too_long_leaves_time_for_the_hits(db, monkeypatch):
    monkeypatch.setattr(discover, "titled", run_endlessly(db))
    assert set(in_time(db, RecallRequest("kestrel", deadline_s=1.2))) == {"talk", "o"}


def test_showing_what_was_found_has_its_time_too(db, monkeypatch):
    monkeypatch.setattr(discover, "anchor_alone", run_endlessly(db))
    assert in_time(db, RecallRequest("kestrel", deadline_s=0.4)) == ["talk"]


def test_browsing_keeps_what_it_has(db, monkeypatch):
    shown = browse.preview

    def endless_for_one(db, session):
        return run_endlessly(db)() if session.ref == "talk" else shown(db, session)

    monkeypatch.setattr(browse, "preview", endless_for_one)
    assert in_time(db, RecallRequest(deadline_s=0.4)) == ["o"]


@pytest.mark.parametrize("around", [None, "t7"])
def test_a_place_that_takes_too_long_is_no_place(db, monkeypatch, around):
    monkeypatch.setattr(window, "neighbours", run_endlessly(db))
    assert in_time(db, RecallRequest(session="talk", around=around, deadline_s=0.3)) == []


@pytest.mark.parametrize("request_", [RecallRequest("kestrel"), RecallRequest(),
                                      RecallRequest(session="talk")])  # fmt: skip
def test_an_interruption_that_is_no_deadline_is_raised(db, monkeypatch, request_):
    def interrupt(*args, **more):
        raise apsw.InterruptError("interrupted")

    monkeypatch.setattr(Lineup, "first", interrupt)
    monkeypatch.setattr(browse, "preview", interrupt)
    monkeypatch.setattr(window, "neighbours", interrupt)
    with pytest.raises(apsw.InterruptError):
        recall.recall(db, request_)
