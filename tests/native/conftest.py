"""The tokenizer as the source in this repository makes it, and ways to ask it."""

from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from core.index import reference, tokenizer
from core.store.tokenizer_probe import ARGUMENTS, TOKENIZER

Tokenize = Callable[..., list[reference.Token]]


@pytest.fixture(scope="session")
def library(tmp_path_factory) -> Path:
    """A library just compiled, whatever is installed."""
    return Path(tokenizer.build(tmp_path_factory.mktemp("native")).path)


@pytest.fixture(scope="session")
def db(library) -> apsw.Connection:
    """A connection that knows the tokenizer. It outlives everything asked of it."""
    db = apsw.Connection(":memory:")
    tokenizer.load(db, library)
    return db


@pytest.fixture(scope="session")
def tokenize(db) -> Tokenize:
    """Cut text, or bytes, as a document or as a query."""
    cut = db.fts5_tokenizer(TOKENIZER, ARGUMENTS)

    def tokenize(text: str | bytes, *, query: bool = False) -> list[reference.Token]:
        utf8 = text.encode() if isinstance(text, str) else text
        flags = apsw.FTS5_TOKENIZE_QUERY if query else apsw.FTS5_TOKENIZE_DOCUMENT
        return cut(utf8, flags, None)

    return tokenize


@pytest.fixture(scope="session")
def unicode61(db) -> apsw.FTS5Tokenizer:
    return db.fts5_tokenizer("unicode61", ARGUMENTS)
