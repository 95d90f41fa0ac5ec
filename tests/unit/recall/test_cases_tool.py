"""The peer's own tests of its recall tool, and of finding a session by title or id."""

from typing import Any

import pytest

from core.errors import CoreError
from core.recall.recall import recall
from core.recall.window import BOOKEND_CHARS, READ_CHARS, WINDOW_CHARS
from core.types import RecallAnswer, RecallRequest, Role
from tests.unit.search import cases
from tests.unit.store.making import message, store_messages

HERMES = cases.read("hermes_cases.jsonl")
TOOL = [case for case in HERMES.values() if case["kind"] == "tool"]
NAMED = [case for case in HERMES.values() if case["kind"] in ("id", "title")]

_NAMES = {"current_session_id": "current_session", "session_id": "session"}


def request_of(case: dict[str, Any]) -> RecallRequest:
    given: dict[str, Any] = {}
    for name, value in case["args"].items():
        match name:
            case "around":
                given["around"] = f"m{value}"
            case "around_message_id":
                given["around"] = str(value)
            case "role_filter":
                given["roles"] = (Role(value),)
            case "after":
                given["since_ms"] = value * 1000
            case "before":
                given["until_ms"] = value * 1000
            case _:
                given[_NAMES.get(name, name)] = value
    return RecallRequest(**given)


def refs(answer: RecallAnswer) -> list[str]:
    return [result.session.ref for result in answer.results]


@pytest.mark.parametrize("case", TOOL, ids=lambda case: case["id"])
def test_the_peers_tool(case_db, case):
    cases.store_case(case_db, case)
    expect, request = case["expect"], request_of(case)
    if expect.get("error"):
        with pytest.raises(CoreError) as raised:
            recall(case_db, request)
        assert str(raised.value)
        return
    answer = recall(case_db, request)
    assert answer.complete
    unknown = set(expect) - set(CHECKS) - {"no_error"}
    assert not unknown
    for name, value in expect.items():
        if name in CHECKS:
            assert CHECKS[name](answer, value, case), (name, value, refs(answer))


def _mode(answer, value, case):
    return answer.mode == value


def _sessions(answer, value, case):
    if not value:
        assert answer.hint
        asks = case["args"].get("current_session_id")
        is_stored = asks in {told["session"] for told in case["messages"]}
        assert ("current_lineage" in answer.left_out) is is_stored
    return sorted(refs(answer)) == sorted(value)


def _matched_role(answer, value, case):
    role = answer.results[0].match.role
    return role is None if value == "session_title" else role == value


def _window(answer, value, case):
    (result,) = answer.results
    around, there = int(case["args"]["around"]), len(case["messages"])
    shown = range(max(0, around - value), min(there, around + value + 1))
    assert (result.before, result.after) == (shown.start, there - shown.stop)
    return [each.uid for each in result.messages] == [f"m{n}" for n in shown]


def _read(answer):
    (result,) = answer.results
    return [*result.opening, *result.resolution]


def _whole_length(answer, value, case):
    longest = max(_read(answer), key=lambda each: each.content_length)
    return longest.truncated and longest.content_length == value


def _ends(answer):
    (result,) = answer.results
    assert result.is_whole
    return [*result.opening, *result.resolution]


def _longest(messages):
    return max(len(each.content) for each in messages)


# The peer puts an ellipsis behind what it cuts, ours says so beside it: one character less.
CHECKS = {
    "mode": _mode,
    "count_min": lambda answer, value, case: len(answer.results) >= value,
    "count_max": lambda answer, value, case: len(answer.results) <= value,
    "sessions": _sessions,
    "sessions_any": lambda answer, value, case: set(refs(answer)) & set(value),
    "excludes_sessions": lambda answer, value, case: not set(refs(answer)) & set(value),
    "first_session": lambda answer, value, case: refs(answer)[0] == value,
    "order": lambda answer, value, case: refs(answer) == value,
    "matched_role": _matched_role,
    "matched_roles_subset": lambda answer, value, case: (
        {each.match.role for each in answer.results} <= set(value)
    ),
    "window": _window,
    "message_count": lambda answer, value, case: (
        len(_read(answer)) + answer.results[0].after == value
    ),
    "truncated": lambda answer, value, case: (answer.results[0].after > 0) is value,
    "returned": lambda answer, value, case: len(_read(answer)) == value,
    "content_max": lambda answer, value, case: _longest(_read(answer)) == READ_CHARS == value - 1,
    "original_content_chars": _whole_length,
    "bookends_exclude": lambda answer, value, case: all(
        value not in each.content for each in _ends(answer)
    ),
    "bookends_include": lambda answer, value, case: any(
        value in each.content for each in _ends(answer)
    ),
    "bookend_content_max": lambda answer, value, case: (
        _longest(_ends(answer)) == BOOKEND_CHARS == value - 1
    ),
    "window_content_max": lambda answer, value, case: (
        _longest(answer.results[0].messages) == WINDOW_CHARS == value - 1
    ),
}


@pytest.mark.parametrize("case", NAMED, ids=lambda case: case["id"])
def test_recall_finds_a_session_by_its_name_too(case_db, case):
    cases.store_case(case_db, case)
    answer = recall(case_db, RecallRequest(case["query"], limit=10))
    expect = case["expect"]
    expected = expect.get("sessions") or expect.get("order") or [expect["session"]]
    assert refs(answer)[: len(expected)] == expected
    if "sessions" in expect:
        assert refs(answer) == expected
    assert answer.results[0].match.role is None
    assert answer.results[0].match.message == answer.results[0].messages[0].uid


def test_h184_time_that_is_over_is_not_taken_for_nothing_found(case_db):
    assert HERMES["H184"]["kind"] == "deadline"
    store_messages(
        case_db,
        *(message(f"m{n}", "寻" * 20_000, session=f"s{n}") for n in range(100)),
    )
    request = RecallRequest("找", roles=(Role.TOOL, Role.USER), deadline_s=1e-6)
    answer = recall(case_db, request)
    assert answer.complete is HERMES["H184"]["expect"]["complete"]
    assert answer.reason == HERMES["H184"]["expect"]["error"]
    assert not answer.hint
    assert recall(case_db, RecallRequest("找")).complete
