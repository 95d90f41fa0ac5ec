"""The peer's tests of the view around a message."""

import pytest

from core.errors import NotFoundError
from core.history.sessions import session_by_id
from core.recall.anchored import anchored
from core.recall.window import window
from tests.unit.search import cases

HERMES = cases.read("hermes_cases.jsonl")
VIEW = [case for case in HERMES.values() if case["kind"] == "view" and case["id"] != "H191"]


def uids(messages):
    return [each.uid for each in messages]


@pytest.mark.parametrize("case", VIEW, ids=lambda case: case["id"])
def test_the_peers_views(case_db, case):
    cases.store_case(case_db, case)
    args, expect = case["args"], case["expect"]
    anchor, session_id = case_db.execute(
        "SELECT id, session_id FROM messages WHERE uid = ?", (f"m{args['anchor']}",)
    ).get
    session = session_by_id(case_db, session_id)
    view = anchored(case_db, session, anchor, window=args["window"], bookend=args["bookend"])
    parts = {
        "window": view.messages,
        "bookend_start": view.opening,
        "bookend_end": view.resolution,
    }
    for name, numbers in expect.items():
        assert uids(parts[name]) == [f"m{n}" for n in numbers], name
    first, last = view.messages[0].number, view.messages[-1].number
    assert (view.before, view.after) == (first - 1, session.message_count - last)


@pytest.mark.parametrize("name", ["H191"])
def test_a_missing_anchor_is_an_error_and_not_an_empty_view(case_db, name):
    """The peer answers with nothing, which looks like a message without neighbours."""
    case = HERMES[name]
    cases.store_case(case_db, case)
    session_id = case_db.execute("SELECT id FROM sessions").get
    with pytest.raises(NotFoundError):
        anchored(
            case_db,
            session_by_id(case_db, session_id),
            case["args"]["anchor_id"],
            window=case["args"]["window"],
        )


@pytest.mark.parametrize("name", ["H034"])
def test_a_hits_context_is_what_stands_beside_it_in_its_session(case_db, name):
    case = HERMES[name]
    cases.store_case(case_db, case)
    for at, texts in case["expect"]["context_of"].items():
        anchor = case_db.execute("SELECT id FROM messages WHERE uid = ?", (f"m{at}",)).get
        around = window(case_db, anchor, before=1, after=1)
        assert [each.content for each in around.messages] == texts
