"""How the CJK tokenizer cuts a text, for people to look at."""

from pathlib import Path
from typing import Any, NamedTuple

import apsw

from core.store.recipe import load_tokenizer
from core.store.tokenizer_probe import ARGUMENTS, TOKENIZER

LONGEST = 1_000
"""Characters of a text that are cut; the rest is left out."""


class Token(NamedTuple):
    """A token, and the characters of the text that it was made of: [start, end)."""

    start: int
    end: int
    text: str


def split(library: Path, text: str) -> tuple[Token, ...]:
    """Return the tokens that an index would hold of `text`, in order.

    Asks the library itself, on a connection of its own. A lone surrogate is
    cut as a question mark is.

    Raises:
        TokenizerError: the library does not load.
    """
    utf8 = [char.encode(errors="replace") for char in text[:LONGEST].replace("\0", " ")]
    places, place = {0: 0}, 0
    for n, char in enumerate(utf8, 1):
        place += len(char)
        places[place] = n
    db = apsw.Connection(":memory:")
    try:
        load_tokenizer(db, library)
        tokenize = db.fts5_tokenizer(TOKENIZER, ARGUMENTS)
        found: Any = tokenize(b"".join(utf8), apsw.FTS5_TOKENIZE_DOCUMENT, None)
        return tuple(Token(places[start], places[end], word) for start, end, word in found)
    finally:
        db.close()
