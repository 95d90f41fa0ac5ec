"""What models pass to the tools: put right where it is plain, refused where it is not."""

from datetime import UTC, datetime

import pytest

from app.cli.mcp_arguments import (
    MOVE_PARAMETERS,
    PROJECT_PARAMETERS,
    READ_PARAMETERS,
    SEARCH_PARAMETERS,
    read_request,
    recall_request,
)
from core.errors import QueryError
from core.types import RecallRequest, Role

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
NOW_MS = int(NOW.timestamp() * 1000)
HOUR_MS = 3_600_000


def asked(**given):
    return recall_request(given, NOW_MS)


def test_nothing_given_is_the_default_request():
    assert asked() == RecallRequest()
    assert asked(query=None, session="  ", roles=[], exclude_sessions=None) == RecallRequest()


def test_everything_given_arrives():
    assert asked(
        query="订阅 OR 購読", window=7, limit=4, sort="newest", detail="full", roles=["tool"],
        sources=["codex"], projects=["a", "b"], since="2h", until="2026-11-29T11:00+00:00",
        exclude_sessions=["x", "y"], current_session="z",
    ) == RecallRequest(
        "订阅 OR 購読", window=7, limit=4, sort="newest", detail="full", roles=(Role.TOOL,),
        sources=("codex",), projects=("a", "b"), since_ms=NOW_MS - 2 * HOUR_MS,
        until_ms=NOW_MS - HOUR_MS, exclude_sessions=("x", "y"), current_session="z",
    )  # fmt: skip
    place = asked(session="codex/s", around="m")
    assert (place.session, place.around) == ("codex/s", "m")


@pytest.mark.parametrize(
    ("given", "limit"),
    [(0, 1), (-9, 1), (11, 10), (10**30, 10), ("7", 7), (" -7 ", 1), (2.0, 2), (2.5, 3),
     ("many", 3), (True, 3), (None, 3), ([], 3), ({}, 3), ("9" * 5_000, 3), (float("nan"), 3),
     (float("inf"), 3), ("²", 3), ("+-3", 3)],
)  # fmt: skip
def test_a_limit_is_from_1_to_10_and_3_when_it_is_no_number(given, limit):
    assert asked(limit=given).limit == limit


@pytest.mark.parametrize(("given", "window"), [(-1, 1), (0, 1), (21, 20), (20, 20), ("x", 5)])
def test_a_window_is_from_1_to_20_and_5_when_it_is_no_number(given, window):
    assert asked(window=given).window == window


@pytest.mark.parametrize("given", ["rank", "", None, 7, [], {"a": 1}])
def test_an_unknown_order_is_that_of_relevance(given):
    assert asked(sort=given).sort == "relevance"
    assert asked(detail=given).detail == "adaptive"


def test_choices_may_be_written_in_any_case_and_lists_with_commas():
    assert asked(sort=" Newest ").sort == "newest"
    assert asked(roles="user, tool").roles == (Role.USER, Role.TOOL)
    assert asked(exclude_sessions="a,,b").exclude_sessions == ("a", "b")


@pytest.mark.parametrize(
    "given",
    [
        {"query": 1},
        {"query": ["a"]},
        {"session": {"id": 1}},
        {"around": "m"},
        {"roles": ["wizard"]},
        {"roles": ["user", 1]},
        {"sources": 5},
        {"since": "someday"},
        {"since": "x" * 100_000},
        {"until": "2026-02-30"},
        {"until": 7},
        {"session_id": "s"},
        {"cursor_": "x"},
        {"x" * 10_000: 1},
    ],
)
def test_what_has_no_meaning_is_refused_in_words(given):
    with pytest.raises(QueryError) as refused:
        asked(**given)
    assert 10 < len(str(refused.value)) < 500


def test_a_part_is_asked_for_within_its_bounds():
    place = {"session": "s", "message": "m"}

    least = read_request({**place, "offset": -1, "chars": -1, "part": "none"})
    most = read_request({**place, "offset": 10**30, "chars": 10**30, "part": "reasoning"})

    assert (least.offset, least.chars, least.part) == (0, 1, "content")
    assert (most.offset, most.chars, most.part) == (2**31 - 1, 12_000, "reasoning")
    for missing in ({"session": "s"}, {"message": "m"}, {"session": "", "message": "m"}):
        with pytest.raises(QueryError, match="needed"):
            read_request(missing)


def test_every_parameter_says_what_it_is():
    for parameters in (SEARCH_PARAMETERS, READ_PARAMETERS, PROJECT_PARAMETERS, MOVE_PARAMETERS):
        for name, schema in parameters.items():
            assert schema["type"] in ("string", "integer", "array", "boolean"), name
            assert schema.get("description") or schema.get("enum"), name
            if schema["type"] == "integer":
                assert schema["minimum"] <= schema["default"] <= schema.get("maximum", 10**9)
