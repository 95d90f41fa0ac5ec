"""Titles made of what was said: one short line, cut where a reader would."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.sources.headline import TITLE_CHARS, derived_title, unwrapped


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Fix the login bug", "Fix the login bug"),
        ("  Fix\n\nthe\tlogin \r\n bug ", "Fix the login bug"),
        ("<system-reminder>be brief</system-reminder>\nFix it", "Fix it"),
        ("<ide_selection>line\n1</ide_selection><ide_opened_file>a</ide_opened_file> Fix", "Fix"),
        ("", None),
        (" \n\t ", None),
        ("<system-reminder>be brief</system-reminder>", None),
        ("a\0b", "a b"),
        ("word " * 40, "word " * 15 + "word…"),
        ("x" * 200, "x" * 79 + "…"),
        ("订" * 200, "订" * 79 + "…"),
    ],
)
def test_a_title_is_one_short_line(text, title):
    assert derived_title(text) == title


def test_a_character_made_of_several_is_not_cut():
    family = "👩‍👩‍👧"
    title = derived_title("x" * 76 + family + "y" * 20)
    assert title == "x" * 76 + "…"
    accents = derived_title("x" * 78 + "e\u0301" * 20)
    assert accents == "x" * 78 + "…"


@given(st.text(max_size=300))
def test_a_title_is_never_too_long_and_never_blank(text):
    title = derived_title(text)
    if title is None:
        assert not text.replace("\0", " ").split()
        return
    assert 0 < len(title) <= TITLE_CHARS
    assert title == " ".join(title.split())
    line = " ".join(unwrapped(text).replace("\0", " ").split())
    assert line.startswith(title.removesuffix("…"))
    assert len(line) <= TITLE_CHARS or title.endswith("…")
