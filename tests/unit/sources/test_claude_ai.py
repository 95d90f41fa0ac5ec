"""Claude.ai exports, against what was read from them by eye and against the format page."""

import pytest

from core.sources import claude_ai
from tests.unit.sources import expected


@pytest.mark.parametrize("entry", expected.entries("claude_ai"), ids=expected.name)
def test_the_sample_holds_what_was_read_by_eye(entry):
    expected.assert_entry(entry, expected.observe(expected.readings(entry, claude_ai)))
