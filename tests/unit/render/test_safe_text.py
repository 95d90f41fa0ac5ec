import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.render import cost, safe_text


def test_terminal_output_is_shown_as_the_terminal_left_it():
    """The text of case G08."""
    text = (
        "\x1b[32mPA\x1b[1mSS\x1b[0m 3 tests\r\n10%\r55%\r100% done"
        "\x1b]8;;http://x.example\x07link\x1b]8;;\x07\x1b[2J"
    )

    assert safe_text.without_terminal_codes(text) == "PASS 3 tests\n100% donelink"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]52;c;c2VjcmV0\x1b\\ok", "ok"),
        ("\x9b31mred\x9b0m", "red"),
        ("a\x1b(Bb", "ab"),
        ("a\r", "a"),
        ("\r\r\n\r", "\n"),
        ("one\r\ntwo\r\n", "one\ntwo\n"),
        ("\x1b[", ""),
        ("plain [31m stays", "plain [31m stays"),
    ],
)
def test_terminal_codes_go_and_nothing_else(text, shown):
    assert safe_text.without_terminal_codes(text) == shown


@given(text=st.text(alphabet=st.characters(blacklist_characters="\x1b\r", max_codepoint=0x7F)))
def test_a_text_without_codes_is_left_as_it_is(text):
    assert safe_text.without_terminal_codes(text) == text


@given(char=st.characters(max_codepoint=0xFFFF))
def test_what_a_character_is_named_brings_it_back(char):
    _, name = safe_text.mark(char)

    assert safe_text.original(name) == char


@given(text=st.text(max_size=300), limit=st.integers(2, 60))
def test_one_line_is_one_line_and_short_enough(text, limit):
    line = safe_text.one_line(text, limit)

    assert len(line) <= limit
    assert "\n" not in line
    assert line == line.strip()


def test_fit_leaves_what_fits_and_ends_the_rest_with_an_ellipsis():
    assert safe_text.fit("short", 200, 13) == "short"
    assert safe_text.fit("订" * 20, 130, 13) == "订" * 9 + "…"
    assert safe_text.fit("x" * 100, 72, 12, mono=True) == "x" * 8 + "…"


@given(text=st.text(max_size=80), width=st.integers(30, 400))
def test_fit_never_makes_up_text(text, width):
    cut = safe_text.fit(text, width, 13)

    assert cut == text or text.startswith(cut.removesuffix("…"))


@pytest.mark.parametrize(
    ("target", "place"),
    [
        ("http://127.0.0.1:9/pixel.png", "127.0.0.1"),
        ("file:///home/me/secret.png", "secret.png"),
        ("C:\\pictures\\x.png", "x.png"),
        ("data:image/png;base64,AAAA", "image/png"),
        ("//host/share/x.png", "host"),
        ("http://[bad", "[bad"),
    ],
)
def test_a_picture_is_named_by_where_it_is(target, place):
    assert safe_text.place(target) == place


@given(text=st.lists(st.sampled_from(["a ", "\n", "😀", "x" * 300, "غيّر ", "\x00"])).map("".join))
def test_pieces_join_to_the_text_and_each_is_quick_to_show(text):
    pieces = cost.pieces(text)

    assert "".join(pieces) == text
    assert all(len(piece) <= cost.PIECE_CHARS for piece in pieces)
    assert all(cost.of_text(piece) <= cost.PIECE_MS for piece in pieces if len(piece) > 512)
    assert cost.pieces(text, 1) == pieces[:1]


def test_a_long_text_is_cut_behind_a_line_end():
    pieces = cost.pieces(("word " * 20 + "\n") * 400)

    assert len(pieces) > 1
    assert all(piece.endswith("\n") for piece in pieces)
