import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.render import code, runs
from app.tokens import LIGHT

LANGUAGES = st.sampled_from(
    ["python", "bash", "json", "diff", "", "no-such-language", "c++", "html"]
)


@given(text=st.text(max_size=200), language=LANGUAGES)
@settings(max_examples=200, deadline=None)
def test_colouring_never_changes_a_character(text, language):
    assert runs.text_of(code.runs(text, language, LIGHT)) == text


@pytest.mark.parametrize(
    ("text", "language", "part", "ink"),
    [
        ("def f(): pass", "python", "def", "code_kw"),
        ("def f(): pass", "python", "f", "code_fn"),
        ('x = "a"', "python", '"a"', "code_str"),
        ("x = 12", "python", "12", "code_num"),
        ("# note", "python", "# note", "code_com"),
    ],
)
def test_parts_of_code_have_the_colours_of_the_palette(text, language, part, ink):
    css = {run.text.strip(): run.css for run in code.runs(text, language, LIGHT)}

    assert css[part] == f"color:{getattr(LIGHT, ink)}"


def test_a_patch_without_a_language_is_seen_as_one():
    text = "@@ -1,2 +1,2 @@\n-old\n+new\n"

    looks = {run.text.strip(): run.css for run in code.runs(text, "", LIGHT)}

    assert looks["-old"] == f"color:{LIGHT.err}"
    assert looks["+new"] == f"color:{LIGHT.ok}"


def test_very_long_code_stays_in_one_colour():
    text = "x = 1\n" * 4_000

    assert code.runs(text, "python", LIGHT) == [runs.Run(text)]
