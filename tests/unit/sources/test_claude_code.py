"""The Claude Code reader: the samples, and what each ruling says about its files."""

import pytest

from core.sources import claude_code
from tests.unit.sources import expected


@pytest.mark.parametrize("entry", expected.entries("claude_code"), ids=expected.name)
def test_the_sample_holds_what_was_read_by_eye(entry):
    expected.assert_entry(entry, expected.observe(expected.readings(entry, claude_code)))
