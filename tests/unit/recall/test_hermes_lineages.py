"""Recall over a Hermes database as its reader imports it: each kind of child of the table."""

import pytest

from core.errors import QueryError
from core.recall.recall import recall
from core.sources import ingest
from core.store.connection import open_store
from core.types import RecallRequest
from tests.unit.sources.hermes_home import TIME, Home


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path / "home")


@pytest.fixture
def db(tmp_path):
    opened = open_store(tmp_path / "store" / "state.db", None)
    yield opened
    opened.close()


def imported(db, home):
    for _ in ingest.run_sync(db, ingest.Import([home.path])):
        pass


def child(home, native_id, parent, **columns):
    home.session(native_id, parent_session_id=parent, started_at=TIME + 100, **columns)


def found(db, asks, query="kestrel"):
    answer = recall(db, RecallRequest(query, limit=10, current_session=asks))
    return sorted(result.session.ref for result in answer.results), dict(answer.left_out)


def test_a_compacted_chain_is_searchable_from_its_tip(db, home):
    home.session("a", end_reason="compression", ended_at=TIME + 50)
    home.message("kestrel one", session="a")
    carried = home.message("kestrel carried", session="a")
    child(home, "b", "a")
    home.message("[CONTEXT COMPACTION] so far", session="b")
    home.message("kestrel carried", session="b", at=TIME + carried - 1)
    home.message("kestrel now", session="b")
    imported(db, home)
    assert found(db, "b") == (["a"], {})
    assert found(db, "b", "carried") == ([], {"current_lineage": 1})  # it is before b still
    assert found(db, "b", "now") == ([], {"current_lineage": 1})
    assert found(db, None)[0] in (["a"], ["b"])


def test_what_a_session_compacted_in_place_is_searchable_from_itself(db, home):
    home.session("a")
    home.message("kestrel old", session="a", active=0, compacted=1)
    home.message("[CONTEXT COMPACTION] so far", session="a")
    home.message("egret now", session="a")
    home.message("kestrel undone", session="a", active=0)
    imported(db, home)
    assert found(db, "a") == (["a"], {})
    assert found(db, "a", "egret") == ([], {"current_lineage": 1})
    assert found(db, "a", "undone") == ([], {})


def test_a_branch_has_its_parent_before_it(db, home):
    home.session("a", end_reason="branched", ended_at=TIME + 50)
    first = home.message("kestrel one", session="a")
    child(home, "b", "a", model_config='{"_branched_from": "a"}')
    home.message("kestrel one", session="b", at=TIME + first - 1)
    home.message("egret two", session="b")
    imported(db, home)
    assert found(db, "b") == ([], {"current_lineage": 1})
    assert found(db, "a", "egret") == ([], {"current_lineage": 1})
    listed = recall(db, RecallRequest(limit=10)).results
    assert sorted(result.session.ref for result in listed) == ["a", "b"]


@pytest.mark.parametrize(
    ("parent", "own"),
    [
        ({"end_reason": "idle", "session_key": "k"}, {"session_key": "k"}),
        ({"end_reason": "ws_disconnect"}, {"model_config": '{"_reset_from": "a"}'}),
        ({"end_reason": "session_reset"}, {}),
    ],
)
def test_what_was_before_a_reset_is_searchable(db, home, parent, own):
    home.session("a", ended_at=TIME + 50, **parent)
    home.message("kestrel one", session="a")
    child(home, "b", "a", **own)
    home.message("kestrel two", session="b")
    imported(db, home)
    names, left_out = found(db, "b")
    assert names == ["a"]
    assert set(left_out) <= {"current_lineage", "hidden_kind"}


@pytest.mark.parametrize(
    "own", [{"model_config": '{"_delegate_from": "a"}'}, {"source": "subagent"}, {}]
)
def test_who_delegated_is_still_there(db, home, own):
    home.session("a")
    home.message("kestrel one", session="a")
    child(home, "b", "a", **own)
    task = home.message("kestrel two", session="b")
    imported(db, home)
    assert found(db, "b")[0] == []
    assert found(db, "a")[0] == []
    assert found(db, None)[0] == ["a"]
    listed = recall(db, RecallRequest(limit=10)).results
    assert [result.session.ref for result in listed] == ["a"]
    uid = db.execute("SELECT uid FROM messages WHERE content = 'kestrel two'").get
    assert task
    with pytest.raises(QueryError, match="still before you"):
        recall(db, RecallRequest(session="b", around=uid, current_session="a"))


def test_parents_in_a_circle_are_cut_by_the_reader(db, home):
    home.session("a", parent_session_id="b", end_reason="compression")
    home.session("b", parent_session_id="a", end_reason="compression")
    home.session("c", parent_session_id="c")
    for name in "abc":
        home.message(f"kestrel {name}", session=name)
    imported(db, home)
    assert len(found(db, None)[0]) == 3
    assert recall(db, RecallRequest(limit=10, current_session="a")).complete
