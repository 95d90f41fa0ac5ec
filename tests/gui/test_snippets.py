import pytest
from hypothesis import given
from hypothesis import strategies as st

from app import theme
from app.text_ranges import one_line, plain_tooltip, to_utf16, visible
from app.views.snippet_layout import lay_out

WIDTH = 320


def shown(text, *marks, width=WIDTH):
    """The lines as drawn, and in each the marked texts."""
    laid = lay_out(text, marks, theme.font("snippet"), width)
    lines = []
    for layout in laid.lines:
        utf16 = layout.text().encode("utf-16-le")
        marked = [
            utf16[2 * each.start : 2 * (each.start + each.length)].decode("utf-16-le")
            for each in layout.formats()
        ]
        lines.append((layout.text(), marked))
    return lines


def test_a_short_snippet_is_one_line_with_its_match_marked(themed):
    assert shown("可以，旧的订阅记录不要动", (5, 7)) == [("可以，旧的订阅记录不要动", ["订阅"])]


def test_a_long_snippet_ends_in_an_ellipsis_on_the_second_line(themed):
    lines = shown("word " * 80, (0, 4))

    assert len(lines) == 2
    assert lines[1][0].endswith("…")
    assert lines[0][1] == ["word"]


def test_a_match_far_behind_the_start_is_kept_in_sight(themed):
    text = "x " * 300 + "the needle is here"
    start = text.index("needle")

    lines = shown(text, (start, start + 6))

    assert lines[0][0].startswith("…")
    assert ["needle"] in [marked for _, marked in lines]


def test_a_match_across_the_line_break_is_marked_on_both_lines(themed):
    text = "漢" * 40
    lines = shown(text, (0, 40))

    assert "".join(marked for _, found in lines for marked in found) == text


def test_marks_behind_an_emoji_are_not_shifted(themed):
    assert shown("😀😀 订阅", (3, 5)) == [("😀😀 订阅", ["订阅"])]


def test_lines_have_one_pitch_whatever_the_script(themed):
    laid = lay_out("latin 漢字 한국어 " * 8, (), theme.font("snippet"), WIDTH)
    lines = [layout.lineAt(0) for layout in laid.lines]

    assert len(lines) == 2
    assert all(line.ascent() > 0 for line in lines)


@given(
    text=st.text(max_size=200),
    start=st.integers(0, 200),
    length=st.integers(1, 30),
)
def test_any_text_fits_into_two_lines_and_shows_the_start_of_its_match(themed, text, start, length):
    plain = one_line(text)
    end = min(start + length, len(plain))
    marks = [(start, end)] if start < end and plain[start:end].strip() else []
    laid = lay_out(text, marks, theme.font("snippet"), WIDTH)

    assert len(laid.lines) <= 2
    if marks and laid.lines:
        assert any(layout.formats() for layout in laid.lines)


@pytest.fixture(scope="module")
def themed(qapp):
    """The hypothesis test asks for a fixture that is made once."""
    theme.apply(qapp, dark=False)
    return qapp


@given(text=st.text(), data=st.data())
def test_utf16_ranges_cut_the_same_text(text, data):
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    ranges = to_utf16(text, [(start, end)])

    units = text.encode("utf-16-le", "surrogatepass")
    cut = [units[2 * a : 2 * b].decode("utf-16-le", "surrogatepass") for a, b in ranges]

    assert "".join(cut) == text[start:end]


@given(text=st.text())
def test_visible_text_has_no_control_or_bidi_character_and_keeps_offsets(text):
    for safe in (visible(text), one_line(text)):
        assert len(safe) == len(text)
        assert not set(safe) & set("\n\r\t\x00\x1b\x7f\u200e\u200f\u202a\u202e\u2066\u2069\u2028")


def test_a_tooltip_of_stored_text_is_never_markup():
    assert plain_tooltip("<b>x</b>") == "<p>&lt;b&gt;x&lt;/b&gt;</p>"
