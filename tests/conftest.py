"""Fixtures of every test."""

from pathlib import Path

import pytest

from core.index import reference, tokenizer


@pytest.fixture(scope="session")
def tokenizer_path(tmp_path_factory) -> Path:
    """The CJK tokenizer's library: the installed one if it is right, else one built here."""
    found = tokenizer.verify(tokenizer.locate())
    if found.fingerprint != reference.expected_fingerprint():
        found = tokenizer.build(tmp_path_factory.mktemp("tokenizer"))
    return Path(found.path)
