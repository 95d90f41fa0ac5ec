"""Marks and snippets: the right stretch, whole characters, nothing else."""

import unicodedata
from random import Random

import pytest

from core.graphemes import end_of, may_cut, start_of
from core.search.language import parse
from core.search.snippet import SNIPPET_COLUMNS, find_marks, make_snippet
from core.text import project
from tests.unit.search import questions, texts


def marked(query, text):
    return [text[start:end] for start, end in find_marks(parse(query), text)]


def snippet_of(query, *contents):
    made = make_snippet(parse(query).sought, contents)
    return made.text, [made.text[start:end] for start, end in made.marks]


@pytest.mark.parametrize(
    ("query", "text", "marks"),
    [
        ("订阅", "电影订阅与订阅者", ["订阅", "订阅"]),
        ("deploy", "Deploy deployed DEPLOY", ["Deploy", "DEPLOY"]),
        ("naive", "a naïve, NAÏVE one", ["naïve", "NAÏVE"]),
        ("café", "cafe\u0301s cafe\u0301.", ["cafe\u0301"]),
        ("ユーザー", "開始ﾕｰｻﾞｰ認証", ["ﾕｰｻﾞｰ"]),
        ("foo", "x foo\x1b[0m bar", ["foo"]),
        ("foo", "x \x1b[1mfoo\u200b bar", ["foo"]),
        ("foo bar", "foo, bar", ["foo", "bar"]),
        ('"foo bar"', "foo,  bar", ["foo,  bar"]),
        ("a.b", "a.b", ["a.b"]),
        ("foo NOT bar", "foo bar", ["foo"]),
        ("foo OR bar", "foo bar", ["foo", "bar"]),
        ("订阅 阅与", "订阅与", ["订阅与"]),
        ("👨", "a 👨‍👩‍👧 b", ["👨‍👩‍👧"]),
        ("👍", "👍🏽 ok", ["👍🏽"]),
        ("ข้าว", "กินข้าวเช้า", ["ข้าว"]),
        ("한국", "한국어", ["한국"]),
        ("한국", unicodedata.normalize("NFD", "한국어"), [unicodedata.normalize("NFD", "한국")]),
        ("nothing", "here", []),
        ("", "here", []),
    ],
)
def test_a_mark_is_what_the_reader_sees_of_the_match(query, text, marks):
    assert marked(query, text) == marks


def test_a_long_run_of_base64_is_marked_as_a_whole_or_not_at_all():
    image = "iVBORw0KGgo" * 1_000
    assert marked("media", f"see {image} here") == [image]
    assert marked("here", f"see {image} here") == ["here"]


def test_a_snippet_is_cut_around_the_match_and_says_so():
    text, marks = snippet_of("needle", "hay " * 500 + "needle" + " straw" * 500)
    assert marks == ["needle"]
    assert text.startswith("… hay ")
    assert text.endswith("…")
    assert len(text) < SNIPPET_COLUMNS + 10
    assert text.index("needle") < 60


def test_a_cjk_snippet_is_as_wide_as_a_latin_one():
    text, marks = snippet_of("断层", "索引" * 500 + "断层" + "重建" * 500)
    assert marks == ["断层"]
    assert len(text) < SNIPPET_COLUMNS / 2 + 10
    assert text.index("断层") < 30


def test_a_snippet_shows_the_stretch_with_most_terms():
    content = "alpha " + "x " * 300 + "alpha and beta and gamma" + " y" * 300
    assert snippet_of("alpha beta gamma", content)[1] == ["alpha", "beta", "gamma"]


def test_the_text_that_shows_most_terms_is_taken():
    assert snippet_of("a b", "only a", "both a and b")[0] == "both a and b"
    assert snippet_of("a", "only a", "both a and b")[0] == "only a"
    assert snippet_of("z", "the first text", "another")[0] == "the first text"


def test_a_snippet_is_one_line_without_escapes():
    content = "\n\n  one\x1b[31m two\r\n\tthree\x1b]8;;http://x\x07 four\x07 \x00 five  "
    assert snippet_of("three", content) == ("one two three four five ", ["three"])


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("e\u0301x", [0, 2, 3]),
        ("👨‍👩‍👧x", [0, 5, 6]),
        ("🇯🇵🇰🇷", [0, 2, 4]),
        ("👍🏽x", [0, 2, 3]),
        ("\r\nx", [0, 2, 3]),
        ("กำ", [0, 2]),
        (unicodedata.normalize("NFD", "한국"), [0, 3, 6]),
        ("❤\ufe0fx", [0, 2, 3]),
        ("订阅", [0, 1, 2]),
    ],
)
def test_a_text_is_cut_between_whole_characters_alone(text, whole):
    assert [at for at in range(len(text) + 1) if may_cut(text, at)] == whole
    for at in range(len(text) + 1):
        assert start_of(text, at) == max(w for w in whole if w <= at)
        assert end_of(text, at) == min(w for w in whole if w >= at)


def test_marks_are_in_order_disjoint_and_match():
    """Every mark holds the term it was made for; a snippet's marks hold the same texts."""
    random = Random(7)
    rows = [texts.row(random) for _ in range(150)]
    seen = 0
    for _ in range(400):
        row = random.choice(rows)
        query, content = parse(questions.question(random, [row]).typed), row.content
        marks = find_marks(query, content)
        flat = [edge for mark in marks for edge in mark]
        assert flat == sorted(flat)
        assert all(start < end for start, end in marks)
        assert all(may_cut(content, edge) for edge in flat)
        made = make_snippet(query.sought, [content])
        shown = [made.text[start:end] for start, end in made.marks]
        assert len(shown) == len(marks)
        for (start, end), text in zip(marks, shown, strict=True):
            assert project(text).split() == project(content[start:end]).split()
        seen += len(marks)
    assert seen > 60
