"""A term's meaning: by hand, and against the slow evaluator."""

from random import Random

import pytest

from core.search.language import parse
from core.search.term import Term, ascii_lower, is_in, phrase_term, word_term
from core.text import project
from tests.unit.search import texts


def found(term: Term | None, text: str) -> bool:
    assert term is not None
    return is_in(term, ascii_lower(project(text)))


@pytest.mark.parametrize(
    ("typed", "matching", "other"),
    [
        ("订阅", "电影订阅成功", "订 阅"),
        ("漓", "桂林漓江", "桂林"),
        ("nginx", "重启nginx服务", "nginxes"),
        ("nginx", "重启 NGINX, now", "xnginx"),
        ("nginx服务", "nginx 服务器", "nginx的服务"),
        ("漢字漢", "漢字漢字", "漢字 字漢"),
        ("电影片", "看电影片段", "电影。影片"),
        ("src/main.py", "see src main py", "src/main.pyc"),
        ("don't", "we don’t know", "dont"),
        ("a..b", "range a..b", "ab"),
        ("x@y.z", "mail x@y.z now", "x@yz"),
        ("#123", "fixes 123", "1234"),
        ("depl*", "deployed", "redeploy"),
        ("log-rot*", "log_rotate", "log the rotation"),
        ("C++", "the C++ parser", "vitamin c, c + +"),
        ("C++", "用C++写", "VC++"),
        ("C#", "in C# now", "C minor"),
        (".NET", "use ASP.NET here", "net income"),
        (".NET", "use .net 8", ".network"),
        ("#urgent", "label #urgent", "urgent call"),
        ("->", "a->b", "- >"),
        ("😀", "smile😀here", "smile"),
        ("👍", "👍🏽 ok", "ok"),
        ("-v", "ship -v flag", "v"),
        ("--force", "push --force", "push -force"),
        ("90%达标", "做到90%达标", "做到90达标"),
        ("__init__", "def __init__(self)", "init"),
        ("部署🚀", "部署🚀了", "部署了"),
        ("🤖", "done🤖", "done"),
        ("HTTPSConnection", "class HTTPSConnection", "HTTPS handshake, Connection"),
    ],
)
def test_a_word_matches_what_it_means_and_nothing_else(typed, matching, other):
    term = word_term(typed)
    assert found(term, matching)
    assert not found(term, other)


@pytest.mark.parametrize(
    ("typed", "matching", "other"),
    [
        ("podman networking", "podman  networking", "networking podman"),
        ("red fox", "a red, fox", "red the fox"),
        ("订阅 成功", "订阅，成功了", "订阅成功"),
        ("服务 nginx", "服务nginx", "服务器nginx"),
        ("the C++ parser", "the C++\nparser", "the C parser"),
        ("漓 江", "漓。江", "漓江"),
    ],
)
def test_a_phrase_is_its_parts_with_only_separators_between(typed, matching, other):
    term = phrase_term(typed)
    assert found(term, matching)
    assert not found(term, other)


def test_an_open_phrase_is_open_at_its_last_word_alone():
    term = phrase_term("red fo", is_prefix=True)
    assert found(term, "a red foxglove")
    assert not found(term, "a reddish fox")


def test_what_is_left_of_nothing_is_no_term():
    assert word_term("\u200b") is None
    assert phrase_term("  \u200b ") is None


@pytest.mark.parametrize("size", [20_000, 200_000])
def test_no_text_makes_a_term_slow(size):
    """Gaps between pieces cannot be crossed twice: the doubled text takes about twice as long."""
    term = phrase_term("foo bar baz")
    assert term is not None
    assert not is_in(term, "foo " * size + " - " * size)
    arrows = phrase_term("-> => x")
    assert arrows is not None
    assert not is_in(arrows, "-> " * size)


def test_the_meaning_agrees_with_the_slow_evaluator():
    random = Random(20261129)
    rows = [texts.row(random) for _ in range(300)]
    columns = [row.columns()[0] for row in rows]
    hits = 0
    for _ in range(1_000):
        spec = texts.term(random, rows)
        query = parse(spec.typed + "*" * spec.is_prefix)
        assert isinstance(query.tree, Term), spec
        for text in random.sample(columns, 25):
            meant = spec.matches(text)
            assert is_in(query.tree, text) == meant, (spec, text)
            hits += meant
    assert hits > 300
