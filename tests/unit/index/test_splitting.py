"""Showing how a text is cut: by the library itself, in places of characters."""

import pytest

from core.errors import TokenizerError
from core.index.splitting import LONGEST, Token, split


def test_a_run_is_cut_into_pairs_and_its_last_character(tokenizer_path):
    assert split(tokenizer_path, "电影订阅") == (
        Token(0, 2, "电影"),
        Token(1, 3, "影订"),
        Token(2, 4, "订阅"),
        Token(3, 4, "阅"),
    )


def test_words_and_runs_keep_their_places_in_a_mixed_text(tokenizer_path):
    assert split(tokenizer_path, "Über nginx服务") == (
        Token(0, 4, "über"),
        Token(5, 10, "nginx"),
        Token(10, 12, "服务"),
        Token(11, 12, "务"),
    )


@pytest.mark.parametrize("text", ["", "   ", "。、！"])
def test_what_holds_no_word_has_no_token(tokenizer_path, text):
    assert split(tokenizer_path, text) == ()


def test_a_hostile_text_is_cut_too_and_a_long_one_to_its_bound(tokenizer_path):
    assert [token.text for token in split(tokenizer_path, "a\0b \ud800c")] == ["a", "b", "c"]
    assert split(tokenizer_path, "语" * 5_000)[-1].end == LONGEST


def test_a_file_that_is_no_library_is_refused(tmp_path):
    place = tmp_path / "none.so"
    place.write_bytes(b"no library")
    with pytest.raises(TokenizerError):
        split(place, "订阅")
