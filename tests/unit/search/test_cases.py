"""Faults that others reported, and the peer's own tests, as far as they are plain queries."""

import time

import pytest

from core.recall.recall import recall
from core.search.language import parse
from core.search.run import search
from core.search.snippet import find_marks
from core.types import INDEX_NAMES, RecallRequest, Role, SearchRequest, ToolCall
from tests.unit.search import cases
from tests.unit.store.making import message, state, store_messages, verify_indexes

PUBLIC = cases.read("public_cases.jsonl")
HERMES = cases.read("hermes_cases.jsonl")

WITH_A_MAP = [
    case
    for case in PUBLIC.values()
    if case["kind"] == "search" and "hits" in case["expect"] and case["id"] != "S24"
    if "messages" in case["input"]
]

OTHERWISE = {
    # Inside words is a path of its own, taken when there is no whole word.
    ("S26", "Verbindung"): ["M4"],
}

HERMES_OTHERWISE = {
    # A search looks at all roles; the peer leaves out the tool row where its CJK index answers.
    "H102": {"hits": [1, 3]},
}

PLAIN = [case for case in HERMES.values() if case["kind"] == "search"]

OPERATORS = """ * ** " "" ' ( ) (( AND OR NOT NEAR( ^ {x}:y "half \\ """
ALSO_RUN = {
    "S04": ["-38.101", "AMF -band", "错题 OR wrong-book", "dogs NEAR("],
    "S06": [*OPERATORS.split(), "a AND", "\0", " ", ""],
}


@pytest.fixture
def db(case_db):
    return case_db


def ids(result):
    return sorted(hit.message for hit in result.hits)


@pytest.mark.parametrize("case", WITH_A_MAP, ids=lambda case: case["id"])
def test_a_reported_fault_is_none_of_ours(db, case):
    cases.store_texts(db, case["input"]["messages"])
    for query, hits in case["expect"]["hits"].items():
        result = search(db, SearchRequest(query))
        expected = OTHERWISE.get((case["id"], query), hits)
        assert ids(result) == expected, (query, result.search_path, result.why)
        for hit in result.hits:
            assert hit.marks or not hit.snippet, (query, hit.snippet)


@pytest.mark.parametrize(
    ("case", "query"), [(name, query) for name, queries in ALSO_RUN.items() for query in queries]
)
def test_no_query_raises_or_hides_an_error(db, case, query):
    cases.store_texts(db, PUBLIC[case]["input"]["messages"])
    result = search(db, SearchRequest(query))
    assert result.complete
    assert result.why
    if not query.strip(" \0"):
        assert result.search_path == "empty"
    if query == "错题 OR wrong-book":
        assert ids(result) == ["M1"]
    if query == "dogs NEAR(":
        assert ids(result) == ["M5"]
    if query == '"':
        assert ids(result) == ["M1"]


@pytest.mark.parametrize("column", ["content", "tool_name", "tool_calls", "body", "role", "Title"])
def test_a_columns_name_is_text(db, column):
    """But `title` is a field of ours, and so is `role`: there only roles are no text."""
    store_messages(
        db, message("M1", f"the field {column}:deploy is odd"), message("M2", "deploy it")
    )
    assert ids(search(db, SearchRequest(f"{column}:deploy"))) == ["M1"]


def test_s11_a_mark_is_exact_where_the_text_changes_length(db):
    text = PUBLIC["S11"]["input"]["messages"]["M3"]
    (mark,) = find_marks(parse("です"), text)
    assert text[slice(*mark)] == "です"


@pytest.mark.parametrize(
    ("query", "message_id", "marked"), [("كتب", "M1", "كَتَبَ"), ("שלום", "M2", "שָׁלוֹם")]
)
def test_s14_a_mark_holds_the_points_and_nothing_else(query, message_id, marked):
    text = PUBLIC["S14"]["input"]["messages"][message_id]
    (mark,) = find_marks(parse(query), text)
    assert text[slice(*mark)] == marked


def test_s17_an_emoji_never_lists_everything(db):
    cases.store_texts(db, PUBLIC["S17"]["input"]["messages"])
    assert ids(search(db, SearchRequest("👍"))) == ["M3"]
    assert ids(search(db, SearchRequest("🦊"))) == []


@pytest.mark.parametrize(
    "query",
    ["a " * 993, "x " * 10_000, "部署" * 3_000, " ".join(f"word{n}" for n in range(5_000)),
     "ERROR 2026-01-01 at line 5: " * 2_200],
    ids=["a", "x", "部署", "words", "log"],
)  # fmt: skip
def test_s19_a_pasted_text_is_answered_or_said_to_be_long(db, query):
    store_messages(db, message("M1", "alpha beta gamma"))
    began = time.perf_counter()
    result = search(db, SearchRequest(query))
    assert time.perf_counter() - began < 2
    assert result.complete
    if len(query) > 2_048:
        assert any("characters" in repair or "terms" in repair for repair in result.repairs)


def test_s20_a_giant_token_hides_nothing(db):
    store_messages(
        db,
        message("M1", "b" * 91_548 + " zebrafinch"),
        message("M2", "after the giant kingfisher"),
        message("M3", "z" * 2_000_000),
    )
    assert ids(search(db, SearchRequest("zebrafinch"))) == ["M1"]
    assert ids(search(db, SearchRequest("kingfisher"))) == ["M2"]
    verify_indexes(db, tuple(name for name in INDEX_NAMES if state(db, name) == "ready"))


def test_s21_text_behind_a_nul_is_found(db):
    store_messages(db, message("M1", "alpha\0omega 部署"))
    for query in ("omega", "部署", "alpha"):
        (hit,) = search(db, SearchRequest(query)).hits
        assert [hit.snippet[slice(*mark)] for mark in hit.marks] == [query]
    (result,) = recall(db, RecallRequest(session="s")).results
    assert result.opening[0].content == "alpha\0omega 部署"


def test_s22_filters_come_before_the_limit(db):
    august, june = 1_785_000_000_000, 1_780_000_000_000
    store_messages(
        db,
        *(
            message(f"a{n}", "kestrel", role=Role.ASSISTANT, created_at_ms=august + n)
            for n in range(300)
        ),
        message("june", "kestrel", session="other", created_at_ms=june),
    )
    for request in (
        SearchRequest("kestrel", limit=5, until_ms=august),
        SearchRequest("kestrel", limit=5, sessions=("other",)),
        SearchRequest("kestrel", limit=5, roles=(Role.USER,)),
    ):
        result = search(db, request)
        assert ids(result) == ["june"]
        assert (result.total_hits, result.total_is_exact) == (1, True)
    seen, page = [], search(db, SearchRequest("kestrel", limit=70))
    while True:
        seen += ids(page)
        if page.next is None:
            break
        page = search(db, SearchRequest("kestrel", limit=70, after=page.next))
    assert len(seen) == len(set(seen)) == 301


def test_s24_tool_calls_are_found_by_their_values(db):
    arguments = PUBLIC["S24"]["input"]["messages"]["M1 (tool_call args)"]
    result = PUBLIC["S24"]["input"]["messages"]["M2 (tool_result)"]
    call = ToolCall("c", "write_file", arguments)
    store_messages(
        db,
        message("M1", "", role=Role.ASSISTANT, tool_calls=(call,)),
        message("M2", result, role=Role.TOOL),
    )
    for query, hits in PUBLIC["S24"]["expect"]["hits"].items():
        assert ids(search(db, SearchRequest(query))) == hits
    assert ids(search(db, SearchRequest("path"))) == []


def test_s25_an_exclusion_holds_for_cjk_terms(db):
    cases.store_texts(db, PUBLIC["S25"]["input"]["messages"])
    assert ids(search(db, SearchRequest("東京 -secret"))) == ["M2"]
    assert ids(search(db, SearchRequest("(東京 -secret) OR 大阪"))) == ["M2", "M3"]


@pytest.mark.parametrize("case", PLAIN, ids=lambda case: case["id"])
def test_the_peers_queries(db, case):
    cases.store_case(db, case)
    began = time.perf_counter()
    result = search(db, cases.request_of(case))
    assert time.perf_counter() - began < case["expect"].get("seconds_max", 3)
    assert result.complete
    found = [int(hit.message[1:]) for hit in result.hits]
    assert len(found) == len(set(found))
    expect = HERMES_OTHERWISE.get(case["id"], case.get("desired", case["expect"]))
    if "hits" in expect:
        assert sorted(found) == expect["hits"], (result.search_path, result.why)
    if "includes" in expect:
        assert set(expect["includes"]) <= set(found)
        assert result.search_path == "fts5_or"
    if "snippet_contains" in expect:
        assert expect["snippet_contains"] in result.hits[0].snippet


@pytest.mark.parametrize("name", ["H192", "H193", "H195"])
def test_a_session_is_found_by_its_id(db, name):
    case = HERMES[name]
    cases.store_case(db, case)
    matches = [each.ref for each in search(db, SearchRequest(case["query"])).title_matches]
    expected = case["expect"].get("sessions") or case["expect"]["order"]
    assert matches[: len(expected)] == expected
    if "sessions" in case["expect"]:
        assert len(matches) == len(expected)


@pytest.mark.parametrize("name", ["H196", "H197", "H198", "H199"])
def test_a_session_is_found_by_its_title(db, name):
    case = HERMES[name]
    cases.store_case(db, case)
    result = search(db, SearchRequest(case["query"]))
    assert result.search_path == "title"
    assert result.title_matches[0].ref == case["expect"]["session"]
