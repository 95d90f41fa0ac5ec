"""Watched places, and the lease of the one program that reads them."""

import json
import time

import pytest

from core.history import watched
from core.store import liveness
from core.store.connection import open_store


@pytest.fixture
def db(tmp_path):
    made = open_store(tmp_path / "state.db", None)
    yield made
    made.close()


def test_places_are_kept_by_path_and_their_kind_is_not_lost(db):
    watched.watch(db, "/b", "codex")
    watched.watch(db, "/a")
    watched.watch(db, "/b")
    assert [(each.path, each.kind) for each in watched.places(db)] == [("/a", ""), ("/b", "codex")]
    watched.watch(db, "/b", "jsonl")
    assert watched.places(db)[1].kind == "jsonl"


def test_a_paused_place_goes_on_when_it_is_to_be_watched_again(db):
    watched.watch(db, "/a")
    assert watched.set_paused(db, "/a", paused=True) == 1
    assert watched.set_paused(db, "/none", paused=True) == 0
    assert watched.places(db)[0].paused
    watched.watch(db, "/a")
    assert not watched.places(db)[0].paused
    assert watched.set_paused(db, None, paused=True) == 1


def test_unwatch_tells_whether_there_was_anything(db):
    watched.watch(db, "/a")
    assert watched.unwatch(db, "/a")
    assert not watched.unwatch(db, "/a")


def test_the_lease_is_of_one_and_free_when_it_ends(db):
    first, second = watched.new_holder(), watched.new_holder()
    assert watched.claim(db, first, "window") is None
    assert watched.claim(db, first, "window") is None
    held = watched.claim(db, second, "command")
    assert (held.holder, held.program) == (first, "window")
    watched.release(db, second)
    assert watched.watcher(db) is None or watched.watcher(db).holder == first
    watched.release(db, first)
    assert watched.watcher(db) is None
    assert watched.claim(db, second, "command") is None


@pytest.mark.parametrize(("age_s", "lives"), [(0, True), (50, True), (70, False), (-3600, False)])
def test_where_no_process_can_be_looked_for_it_is_heard_of(db, monkeypatch, age_s, lives):
    monkeypatch.setattr(liveness, "is_alive", lambda _name: None)
    heard_ms = int((time.time() - age_s) * 1000)
    lease = {"holder": "7.-.-/x", "program": "window", "since_ms": 1, "heard_ms": heard_ms}
    db.execute("INSERT INTO meta(key, value) VALUES ('sources.watcher', ?)", (json.dumps(lease),))
    assert (watched.watcher(db) is not None) == lives
    assert watched.needs_beats()
