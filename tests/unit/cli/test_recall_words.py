"""What `recall` prints of a marked text: its lines, each with its own marks."""

from hypothesis import given
from hypothesis import strategies as st

from app.cli.recall import lines_of


@st.composite
def marked_texts(draw):
    text = draw(st.text(st.sampled_from("ab\n漢"), max_size=30))
    edges = draw(st.lists(st.integers(0, len(text)), unique=True, max_size=8).map(sorted))
    return text, [tuple(edges[at : at + 2]) for at in range(0, len(edges) - 1, 2)]


@given(given_text=marked_texts())
def test_lines_hold_the_text_and_exactly_the_marked_characters(given_text):
    text, marks = given_text
    marked = {at for start, end in marks for at in range(start, end) if text[at] != "\n"}

    lines = list(lines_of(text, marks))

    assert "\n".join(line for line, _ in lines) == text
    found, start = set(), 0
    for line, own in lines:
        assert all(0 <= first < last <= len(line) for first, last in own if first != last)
        found |= {start + at for first, last in own for at in range(first, last)}
        start += len(line) + 1
    assert found == marked


def test_no_text_has_no_lines():
    assert list(lines_of("", ())) == []
