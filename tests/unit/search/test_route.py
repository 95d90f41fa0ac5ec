"""Plans: which index is asked what, and that their rows never overlap."""

from random import Random

import pytest

from core.search import compile as compiling
from core.search import coverage
from core.search.language import parse
from core.search.route import Tools, plan
from core.store import keys
from tests.unit.search import questions, stores

ANY_STATE = "k.flags & 28 <> 20"  # superseded texts are in no scope


@pytest.mark.parametrize("state", stores.STATES)
def test_the_parts_of_a_plan_share_no_row_and_leave_none_that_matches(tmp_path, state):
    """A row that no part has can hold no term of the query: there is no CJK in it."""
    random = Random(f"{state} parts")
    db, rows = stores.store_in_state(tmp_path, state, random, 90)
    indexes = coverage.read(db, keys.counts(db))
    for _ in range(40):
        question = questions.question(random, list(rows.values()))
        tree = parse(question.typed).tree
        assert tree is not None
        for tools in (Tools.CUT, Tools.WHOLE):
            parts = plan(tree, indexes, tools)
            assert len({part.rows for part in parts}) == len(parts)
            seen: dict[str, int] = {}
            for part in parts:
                held = db.execute(
                    "SELECT m.uid FROM message_keys AS k JOIN messages AS m ON m.id = k.id"
                    f" WHERE {part.rows} AND {ANY_STATE}"
                )
                for (uid,) in held:
                    seen[uid] = seen.get(uid, 0) + 1
            assert set(seen.values()) <= {1}, question.typed
            left = set(rows) - set(seen)
            assert not any(question.holds(rows[uid]) for uid in left), question.typed
    db.close()


@pytest.mark.parametrize("state", stores.STATES)
def test_tool_rows_are_no_part_of_a_plan_without_them(tmp_path, state):
    db, _ = stores.store_in_state(tmp_path, state, Random(f"{state} tools"), 60)
    indexes = coverage.read(db, keys.counts(db))
    for query in ("nginx", "订阅", "nginx OR 订阅", "NOT 订阅", "->"):
        tree = parse(query).tree
        assert tree is not None
        for part in plan(tree, indexes, Tools.NONE):
            sql = f"SELECT count(*) FROM message_keys AS k WHERE ({part.rows}) AND k.flags & 3 = 2"
            assert db.execute(sql).get == 0
    db.close()


def match(query, phrase):
    tree = parse(query).tree
    assert tree is not None
    return compiling.to_match(tree, phrase)


@pytest.mark.parametrize(
    ("query", "expression", "exact"),
    [
        ("nginx", '"nginx"', True),
        ("nginx服务", '"nginx 服务"', True),
        ("漓", '"漓" *', True),
        ("nginx服", '"nginx 服" *', True),
        ("ngin*", '"ngin" *', True),
        ("a b", '("a" AND "b")', True),
        ("a OR b", '("a" OR "b")', True),
        ("a NOT b", '("a" NOT "b")', True),
        ("a -b -c", '("a" NOT ("b" OR "c"))', True),
        ("a (b OR c)", '("a" AND ("b" OR "c"))', True),
        ("C++", '"c"', False),
        ("a C++", '("a" AND "c")', False),
        ("a NOT C++", '"a"', False),
        ("a ->", '"a"', False),
        ("->", None, False),
        ("NOT a", None, False),
        ("a OR NOT b", None, False),
        ('x"y', '"x y"', True),
        ("a* b", '("a" * AND "b")', True),
    ],
)
def test_the_cjk_index_is_asked_in_quoted_strings(query, expression, exact):
    found = match(query, compiling.cjk_phrase)
    assert (found.expression, found.exact) == (expression, exact)


@pytest.mark.parametrize(
    ("query", "expression"),
    [
        ("订阅", None),
        ("电影订阅", '("电影订" AND "影订阅")'),
        ("ab", None),
        ("abc 订阅", '"abc"'),
        ("abc OR ab", None),
        ("src/main", '("src" AND "mai" AND "ain")'),
        ("C++", '"c++"'),
        ("NOT abc", None),
    ],
)
def test_trigrams_are_asked_one_by_one_and_only_as_candidates(query, expression):
    found = match(query, compiling.trigrams)
    assert (found.expression, found.exact) == (expression, False)


@pytest.mark.parametrize(
    ("query", "patterns"),
    [
        ("100%", ["%100\\%%"]),
        ("a_b.c", ["%a%", "%b%", "%c%"]),
        ("\\", ["%\\\\%"]),
        ("订阅 NOT abc", ["%订阅%"]),
        ("订阅 OR abc", ["%订阅%", "%abc%"]),
        ("NOT abc", []),
        ("订阅 OR NOT abc", []),
        ("x" * 300, ["%" + "x" * 80 + "%"]),
    ],
)
def test_like_patterns_are_literal(query, patterns):
    tree = parse(query).tree
    assert tree is not None
    like = compiling.to_like(tree, ("t",))
    assert list(like.bindings) == patterns
    assert like.text.count("ESCAPE") == len(patterns)
