"""Queries that are odd, broken or hostile: text or a repair, never an error or silence."""

import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.search.language import MAX_CHARS, parse
from core.search.run import search
from core.search.term import FIELD_NAMES
from core.search.tree import fields
from core.types import Role, SearchRequest
from tests.unit.store.making import message, store_at, store_messages

ODD = [
    '"', '""', '"half', 'half"', '"a" "b', "“half", "(", ")", "((", "())", "(a", "a)", "( )",
    "NEAR(", "NEAR(a b)", "a NEAR/3 b", "-x", "--x", "-", "- x", "-(x)", '-"x y"', "*", "**",
    "a*b", "*x", "%", "%x%", "_", "_x_", "\\", "\\%", "'", "' OR 1=1 --", ";", "^x", "x^2",
    "{x}:y", "...", "?!", "—", "。", "、！", "AND", "OR", "NOT", "AND OR NOT", "a AND", "OR a",
    "NOT", "a NOT", "NOT NOT", "( AND )", "foo:bar", "content:x", "rowid:1", "role:", ":x",
    "role:wizard", "role::user", "Role:user", "source:", "title:", "title:*", "tool:*", "before:",
    "before:2026-02-30", "before:0000-00-00", "after:99999w", "after:never", "before:-3d",
    'before:"', "role:,", "role:user,", "-role:", "http://x", "https://a.b/c?d=e&f", "C:\\Users",
    "TODO: fix", "std::vector", "12:30", "a:b:c", "x\0y", "\x1b[31mred", "\ufeffx", "\ud800",
    "a\ud800b", "e\u0301", "\u200bx", "\u202ex", "🤖", "👍🏽", "ﬁ", "①", "x" * 3_000, "订" * 3_000,
    "SELECT * FROM messages", "messages_fts MATCH 'x'", "a\nb", "\t\t", "\0",
]  # fmt: skip


@pytest.fixture(scope="module", params=["cjk", "no cjk"])
def db(request, tmp_path_factory):
    made = store_at(tmp_path_factory.mktemp("odd"), cjk=request.param == "cjk")
    told = [
        message(f"m{at}", f"here: {text} :there".replace("\ud800", "\ufffd"), created_at_ms=at,
                role=[Role.USER, Role.TOOL][at % 2])
        for at, text in enumerate(ODD)
    ]  # fmt: skip
    store_messages(made, *told)
    yield made
    made.close()


@pytest.mark.parametrize("at", range(len(ODD)), ids=lambda at: repr(ODD[at][:20]))
def test_what_is_typed_is_found_as_text_or_the_answer_says_why_not(db, at):
    typed = ODD[at]
    result = search(db, SearchRequest(typed, limit=1_000))
    assert result.complete
    assert result.why
    assert "SQL" not in result.why + str(result.repairs)
    if not typed.strip("\t \0"):
        assert result.search_path == "empty"
        return
    assert result.understood
    tree = parse(typed).tree
    assert tree is not None
    is_found = f"m{at}" in {hit.message for hit in result.hits} or bool(fields(tree))
    assert is_found or result.repairs, (typed, result.understood, result.search_path)
    assert result.hits, typed


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("before:2026-02-30", "before:2026-02-30 is looked for as text: '2026-02-30' is not"),
        ("after:99999w", "after:99999w is looked for as text: '99999w' is not a time"),
        ("role:wizard", "role:wizard is looked for as text: roles are user, assistant, tool,"),
        ("title:*", "title:* is looked for as text: there is nothing behind the colon"),
        ('-"x y"', "a minus with nothing to take from is left out"),
        ('"half', "a quote without its pair is left out"),
        ("x" * 3_000, f"only the first {MAX_CHARS:,} characters are read"),
        ("AND OR", "nothing but operators in it: looked for as it stands"),
    ],
    ids=str,
)  # fmt: skip
def test_a_repair_says_what_became_of_it(db, typed, said):
    repairs = search(db, SearchRequest(typed)).repairs
    assert any(repair.startswith(said) for repair in repairs), repairs


@pytest.mark.parametrize(
    "typed",
    ["x" * 1_000_000, "a " * 500_000, '"' * 1_000_000, "(" * 1_000_000, "role:" * 200_000,
     "title:x OR " * 100_000, "-" * 1_000_000, "\0" * 1_000_000, "订" * 1_000_000,
     "before:1h," * 100_000, "\ud800" * 1_000_000],
    ids=range(11),
)  # fmt: skip
def test_a_megabyte_is_answered_at_once_and_said_to_be_cut(db, typed):
    began = time.perf_counter()
    result = search(db, SearchRequest(typed))
    assert time.perf_counter() - began < 5
    assert result.complete
    if typed.strip("\0"):
        assert f"only the first {MAX_CHARS:,} characters are read" in result.repairs


@pytest.mark.parametrize("rest", ["", " here", " OR here", " NOT here"])
@pytest.mark.parametrize("name", FIELD_NAMES)
def test_the_largest_fields_are_within_sqlites_limits(db, name, rest):
    value = {"role": "user", "before": "1h", "after": "1h"}.get(name, "a{}")
    single = value if name in ("role", "before", "after") else ""
    values = ",".join(single or chr(0x4E00 + n) for n in range(1_200))
    result = search(db, SearchRequest(f"{name}:{values}"[:2_035] + rest))
    assert result.complete
    assert "only the first 64 alternatives of a field are read" in result.repairs
    many = " OR ".join(f"{name}:{value.format(n)}" for n in range(80))
    assert search(db, SearchRequest(f"({many}){rest}")).complete
    nested = "(" * 16 + "".join(f"{name}:{value.format(n)} OR x{n}) AND y{n} " for n in range(16))
    assert search(db, SearchRequest(nested + rest)).complete


_PARTS = ["a", "x", " ", '"', "(", ")", "-", "*", "AND", "OR", "NOT", "订", "role:", "user", ","]
_PARTS += ["title:", "session:", "m", "after:", "7d", "tool:", "model:", "%", "_", "\0", "\ud800"]
_PARTS += ["source:", "project:", "claude-code", "->", "\\", "'", "：", "“"]


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from(_PARTS), max_size=14).map("".join) | st.text(max_size=30))
def test_no_text_makes_a_search_fail(db, typed):
    result = search(db, SearchRequest(typed, limit=5))
    assert result.complete
    assert result.search_path == "empty" or parse(typed).tree is not None
    assert result.hits or result.steps or result.search_path == "empty"
