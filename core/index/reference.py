"""What `cjk_unicode61` means, in a few lines of Python.

The C library is measured against this: an installed one by its fingerprint, the tests token
by token. It is far too slow for an index.
"""

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import cast

import apsw

from core.store.tokenizer_probe import TOKENIZER, fingerprint
from core.text import CJK_CLASS

Token = tuple[int, int, str]
"""Where a token starts and ends in the UTF-8 text, and the token itself."""

_STRETCH = re.compile(f"(?P<run>[{CJK_CLASS}]+)|[^{CJK_CLASS}]+")


def tokens(text: str, unicode61: apsw.FTS5Tokenizer, *, query: bool) -> list[Token]:
    """Return the tokens of ``text``, in order.

    A CJK run is its overlapping pairs of characters and then its last character. A query that
    ends in such a run ends with its last pair, so that what follows in the document is free.
    """
    found: list[Token] = []
    place = 0
    for stretch in _STRETCH.finditer(text):
        cut = _run(stretch[0]) if stretch["run"] else _words(stretch[0], unicode61)
        found += [(place + start, place + end, token) for start, end, token in cut]
        place += len(stretch[0].encode())
    if query and len(found) > 1 and found[-1][1] == found[-2][1]:
        found.pop()
    return found


def register(db: apsw.Connection) -> None:
    """Make this the connection's `cjk_unicode61`."""
    db.register_fts5_tokenizer(TOKENIZER, _factory)


@cache
def expected_fingerprint() -> str:
    """Return the fingerprint of every tokenizer that cuts as this one does."""
    db = apsw.Connection(":memory:")
    try:
        register(db)
        found = fingerprint(db)
    finally:
        db.close()
    assert found is not None, "a tokenizer just registered is available"
    return found


def _run(run: str) -> Iterator[Token]:
    """Yield a run's pairs, the last of them the last character alone."""
    place = 0
    for i, char in enumerate(run):
        pair = run[i : i + 2]
        yield place, place + len(pair.encode()), pair
        place += len(char.encode())


def _words(text: str, unicode61: apsw.FTS5Tokenizer) -> Iterator[Token]:
    found = unicode61(text.encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None)
    yield from cast(list[Token], found)  # the form without options gives offsets


def _factory(
    db: apsw.Connection, arguments: list[str]
) -> Callable[[bytes, int, str | None], list[Token]]:
    unicode61 = db.fts5_tokenizer("unicode61", arguments)

    def tokenize(utf8: bytes, flags: int, locale: str | None) -> list[Token]:
        del locale  # unicode61 knows none
        return tokens(utf8.decode(), unicode61, query=bool(flags & apsw.FTS5_TOKENIZE_QUERY))

    return tokenize
