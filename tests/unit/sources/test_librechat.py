"""Exports of LibreChat and Chatbot UI, against what was read from them by eye."""

import pytest

from core.sources import librechat
from tests.unit.sources import expected


@pytest.mark.parametrize("entry", expected.entries("librechat"), ids=expected.name)
def test_the_sample_holds_what_was_read_by_eye(entry):
    expected.assert_entry(entry, expected.observe(expected.readings(entry, librechat)))
