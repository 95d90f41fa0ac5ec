"""The language: every text has a reading, and what was mended is said."""

import re
import time
from datetime import UTC, datetime

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from core.search.language import MAX_CHARS, MAX_DEPTH, MAX_TERMS, Query, parse
from core.search.tree import (
    And,
    Node,
    Not,
    Or,
    Term,
    assume_false,
    describe,
    fields,
    holds,
    terms,
)
from core.text import project


@pytest.mark.parametrize(
    ("typed", "understood"),
    [
        ("plain words", "plain AND words"),
        ('"exact words"', '"exact words"'),
        ('"red fox" OR "blue jay"', '"red fox" OR "blue jay"'),
        ("“红 狐狸” setup", '"红 狐狸" AND setup'),
        ("a b OR c", "(a AND b) OR c"),
        ("a (b OR c) -d", "a AND (b OR c) NOT d"),
        ("x AND NOT (a OR b)", "x NOT (a OR b)"),
        ("云南 NOT 大理", "云南 NOT 大理"),
        ('AMF -"wide band"', 'AMF NOT "wide band"'),
        ("releas*", "releas*"),
        ("log-rotate*", "log-rotate*"),
        ('"red fo"*', '"red fo"*'),
        ("部署*", "部署"),
        ("NOT a", "NOT a"),
        ("a OR (NOT b)", "a OR NOT b"),
        ("NOT NOT a", "a"),
        ("cats and dogs", "cats AND and AND dogs"),
        ("a a b a", "a AND b"),
        ("refresh()", "refresh"),
        ("(refresh() OR renew)", "refresh OR renew"),
        ('foo"bar', 'foo"bar'),
    ],
)
def test_a_well_formed_query_is_understood_as_written(typed, understood):
    query = parse(typed)
    assert query.understood == understood
    assert query.repairs == ()


@pytest.mark.parametrize(
    ("typed", "understood"),
    [
        ("-v", "-v"),
        ("-38.101", "-38.101"),
        ("git --force", "git AND --force"),
        ("a OR -b", "a OR -b"),
        ("->", "->"),
        ("a -> b", "a AND -> AND b"),
        ("a - b", "a AND - AND b"),
        ("TODO: fix", "TODO AND fix"),
        ("content:deploy", "content:deploy"),
        ("{x}:y", "x}:y"),
        ("container not start", "container AND not AND start"),
        ("dogs NEAR(", "dogs AND NEAR"),
        ("ａnd ＯＲ b", 'and AND "OR" AND b'),
    ],
)
def test_what_cannot_be_an_operator_is_text(typed, understood):
    assert parse(typed).understood == understood


@pytest.mark.parametrize(
    ("typed", "understood", "mended"),
    [
        ('"open quote', "open AND quote", "a quote without its pair"),
        ("(paren", "paren", "a group left open"),
        ("paren)", "paren", None),
        ("a ) b", "a AND b", "a bracket without its pair"),
        ("alpha AND", "alpha", "AND with nothing"),
        ("alpha AND AND beta", "alpha AND beta", "AND with nothing"),
        ("OR beta", "beta", "an OR with nothing"),
        ("a AND OR b", "a OR b", "AND with nothing"),
        ("a NOT", "a", "NOT with nothing"),
        ("x ()", "x", "an empty group"),
        ('x ""', "x", "empty quotes"),
        ("-(a b)", "a AND b", "a minus with nothing"),
    ],
)
def test_what_is_broken_is_mended_and_said(typed, understood, mended):
    query = parse(typed)
    assert query.understood == understood
    if mended is None:
        assert query.repairs == ()
    else:
        assert any(repair.startswith(mended) for repair in query.repairs)


@pytest.mark.parametrize("typed", ["AND", "OR", "NOT", "(", ")", "((", '"', '""', "()", "AND OR"])
def test_nothing_but_operators_is_looked_for_as_it_stands(typed):
    query = parse(typed)
    assert isinstance(query.tree, Term)
    assert query.tree.literal == typed.lower()
    assert query.repairs == ("nothing but operators in it: looked for as it stands",)


@pytest.mark.parametrize("typed", ["", " ", "\0", "\u3000\n", "\u200b"])
def test_a_blank_query_asks_nothing(typed):
    query = parse(typed)
    assert query.tree is None
    assert query.understood == ""
    assert query.sought == ()


def test_limits_are_kept_and_said():
    many = parse(" ".join(f"w{n}" for n in range(100)))
    assert many.tree is not None
    assert len(terms(many.tree)) == MAX_TERMS
    assert f"only the first {MAX_TERMS} different terms are looked for" in many.repairs
    deep = parse("(" * 40 + "a OR b" + ")" * 40)
    assert deep.understood == "a OR b"
    assert f"groups are read {MAX_DEPTH} deep" in deep.repairs
    long = parse("x" * 60_000)
    assert isinstance(long.tree, Term)
    assert len(long.tree.pieces[0].text) == MAX_CHARS
    assert f"only the first {MAX_CHARS:,} characters are read" in long.repairs


def test_repeated_terms_count_once():
    query = parse("a " * 993)
    assert query.understood == "a"
    assert query.repairs == ()


@pytest.mark.parametrize(
    "typed",
    ['"' * 200_000, '"' * 100_000 + '"a."' * 100_000 + "*" * 100_000, "部署" * 3_000, "„" * 4_000],
)
def test_a_monstrous_query_is_read_at_once(typed):
    began = time.perf_counter()
    parse(typed)
    assert time.perf_counter() - began < 0.5


NOW = datetime(2026, 3, 31, 12, 0, tzinfo=UTC)
_ALPHABET = ["a", "b", " ", '"', "(", ")", "-", "*", "AND", "OR", "NOT", "订", "+", "“", "”", "\0"]
_ALPHABET += [
    "role:",
    "user",
    "title:",
    "after:",
    "7d",
    "project：",
    ",",
    "，",
    ":",
    "„",
    "＂",
    "#",
]
_ALPHABET += [
    "ＯＲ",
    "\ud800",
    "😀",
    "🤖",
    "->",
    "__",
    ".",
    "e\u0301",
    "\u200b",
    "%",
    "\\",
    "'",
    "/",
]
_TYPED = st.lists(st.sampled_from(_ALPHABET), max_size=24).map("".join) | st.text(max_size=60)


@settings(max_examples=600, deadline=None)
@given(_TYPED)
def test_every_text_has_a_reading(typed):
    query = parse(typed, NOW)
    assert isinstance(query, Query)
    if query.tree is None:
        assert _is_blank(typed)
    else:
        _check_shape(query.tree)
        assert terms(query.tree) or fields(query.tree)


def _is_blank(typed):
    return not project(typed.replace("\0", " ")).strip()


@settings(max_examples=1_500, deadline=None)
@given(_TYPED)
def test_what_was_understood_is_understood_the_same_again(typed):
    tree = parse(typed, NOW).tree
    assume(not re.search(r'["＂]\S*[“”„‟]|[“”„‟]\S*["＂]', typed))  # then no quotes are left
    if tree is None:
        return
    again = parse(describe(tree), NOW)
    assert _meaning(again.tree) == _meaning(tree), (describe(tree), again.understood)
    assert "left out" not in str(again.repairs)


def _meaning(node):
    """The tree without the order of what is ANDed or ORed."""
    if isinstance(node, And | Or):
        return type(node), frozenset(map(_meaning, node.children))
    return (Not, _meaning(node.child)) if isinstance(node, Not) else node


@settings(max_examples=1_000, deadline=None)
@given(
    st.lists(
        st.sampled_from(["a", "b", "role:user", "(", ")", "AND", "OR", "NOT"]),
        min_size=1,
        max_size=12,
    )
)
def test_a_repair_is_said_if_and_only_if_something_was_mended(parts):
    assert bool(parse(" ".join(parts), NOW).repairs) == (not _is_well_formed(parts))


def _is_well_formed(parts):
    """Whether the parts follow the grammar to the letter."""
    left = [*parts, ""]

    def any_of():
        while all_of():
            if left[0] != "OR":
                return True
            left.pop(0)
        return False

    def all_of():
        while factor():
            if left[0] == "AND":
                left.pop(0)
            elif left[0] in ("OR", ")", ""):
                return True
        return False

    def factor():
        part = left.pop(0)
        if part == "NOT":
            return factor()
        if part == "(":
            return any_of() and left.pop(0) == ")"
        return part not in ("AND", "OR", ")", "")

    return any_of() and left == [""]


def _check_shape(node: Node) -> None:
    """An And holds no And, an Or no Or, a Not no Not; none repeats a child or has only one."""
    if isinstance(node, And | Or):
        assert len(set(node.children)) == len(node.children) > 1
        assert not any(isinstance(child, type(node)) for child in node.children)
        for child in node.children:
            _check_shape(child)
    elif isinstance(node, Not):
        assert not isinstance(node.child, Not)
        _check_shape(node.child)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.sampled_from(["a", "b", "c", "(", ")", "AND", "OR", "NOT"]), max_size=16),
    st.sets(st.sampled_from("abc")),
    st.sets(st.sampled_from("abc")),
)
def test_terms_assumed_false_leave_the_same_truth(parts, false, true):
    tree = parse(" ".join(["a", *parts])).tree
    assert tree is not None
    is_true = {term: term.shown in true - false for term in terms(tree)}
    left = assume_false(tree, lambda term: term.shown in false)
    found = left if isinstance(left, bool) else holds(left, is_true.__getitem__)
    assert found == holds(tree, is_true.__getitem__)
