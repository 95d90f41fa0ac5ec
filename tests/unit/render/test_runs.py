from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.render import runs, safe_text
from app.render.runs import Run
from app.render.style import Style
from app.tokens import LIGHT
from tests.unit.render.reading import read

ODD = st.sampled_from(
    ["<", ">", "&", '"', "'", "\x00", "\x1b", "\n", "\r", "\u202e", "\u2066", "\u200d", "\ufdd0",
     "\ufffc", "\u2028", "\ue000", "😀", "订阅", "e\u0301", "</td>", "<img src=file:///etc/passwd>",
     "&lt;", "&#60;", "\ud800", "\u00a0", "\t", "  "]
)  # fmt: skip
TEXTS = st.lists(st.one_of(ODD, st.text(max_size=8)), max_size=12).map("".join)


@given(text=TEXTS, code=st.booleans())
def test_any_text_stays_text_and_comes_back_whole(text, code):
    seen = read(runs.html([Run(text)], (), LIGHT, code=code))

    assert seen.wrong == []
    assert seen.text == text


@given(parts=st.lists(TEXTS, max_size=5), start=st.integers(0, 30), length=st.integers(0, 30))
def test_a_mark_covers_exactly_its_characters_over_any_runs(parts, start, length):
    made = [Run(part, "color:#123456" if n % 2 else "") for n, part in enumerate(parts)]
    whole = "".join(parts)
    ranges = runs.tidy([(start, start + length)], len(whole))

    seen = read(runs.html(made, ranges, LIGHT))

    assert seen.wrong == []
    assert seen.text == whole
    assert "".join(seen.marked) == whole[start : start + length]


@given(text=st.text(alphabet="ab订阅 \n", max_size=60))
def test_the_marked_parts_are_what_the_marker_finds(text):
    marker = runs.literal_marker("ab")
    seen = read(runs.html([Run(text)], runs.tidy(marker(text), len(text)), LIGHT))

    assert "".join(seen.marked) == "ab" * text.count("ab")


def test_ranges_that_touch_are_one_and_ranges_outside_are_none():
    assert runs.tidy([(4, 6), (0, 2), (2, 3), (9, 9), (8, 99)], 10) == [(0, 3), (4, 6), (8, 10)]
    assert runs.tidy([(12, 20), (-5, -1)], 10) == []


def test_a_mark_takes_the_place_of_the_code_colour_but_keeps_the_font():
    html = runs.html([Run("refresh", "font-family:'Mono';color:#111111")], [(0, 7)], LIGHT)

    assert "font-family:'Mono'" in html
    assert html.rindex(f"color:{LIGHT.marktext}") > html.index("color:#111111")


@pytest.mark.parametrize("length", [5_000, 5_001, 300_000])
def test_only_endless_runs_get_break_opportunities_and_copying_leaves_them_out(length):
    html = runs.html([Run("x" * length)], (), LIGHT)

    assert ("\u200b" in html) is (length > 5_000)
    assert read(html).text == "x" * length


def test_the_breaks_of_an_endless_run_are_at_most_500_characters_apart():
    points = safe_text.break_points("a " + "x" * 5_600 + " b")

    assert points[0] == 502
    assert {later - earlier for earlier, later in pairwise(points)} == {500}


def test_direction_marks_are_named_in_code_and_stay_in_prose():
    prose = runs.html([Run("a\u2066b\u2069")], (), LIGHT)
    code = runs.html([Run("if (x) { \u202e } // end \u2066 begin")], (), LIGHT, code=True)

    assert prose == "a\u2066b\u2069"
    assert "⟨RLO⟩" in code
    assert "⟨LRI⟩" in code


def test_an_override_is_named_in_prose_too():
    assert "⟨RLO⟩" in runs.html([Run("gpj\u202eexe")], (), LIGHT)


@given(parts=st.lists(TEXTS, max_size=4))
def test_letter_forms_of_another_language_change_no_character(parts):
    made = [Run(part, "font-weight:bold" if n % 2 else "") for n, part in enumerate(parts)]

    assert runs.text_of(runs.in_family(made, "Noto Sans CJK JP")) == "".join(parts)


def test_only_cjk_characters_are_set_in_the_family_and_code_never_is():
    made = [Run("MeCab と「訂閱」!"), Run("コード", "font-family:'Noto Sans Mono'")]
    found = runs.in_family(made, "F")

    assert [(run.text, run.css) for run in found] == [
        ("MeCab ", ""),
        ("と「訂閱」", "font-family:'F'"),
        ("!", ""),
        ("コード", "font-family:'Noto Sans Mono'"),
    ]


@pytest.mark.parametrize(
    ("text", "family"),
    [
        ("検索インデックス", "Noto Sans CJK JP"),
        ("로그 파서", "Noto Sans CJK KR"),
        ("电影订阅", ""),
        ("plain · text・", ""),
    ],
)
def test_kana_ask_for_japanese_forms_and_hangul_for_korean_ones(text, family):
    assert Style(LIGHT).cjk_family(text) == family
