"""The reader of Codex's rollouts, held against the samples and against what can go wrong."""

import shutil
from pathlib import Path

import pytest

from core.sources import codex
from tests.unit.sources import expected

ALONE = "without its parent's file beside it"


@pytest.mark.parametrize("entry", expected.entries("codex"), ids=expected.name)
def test_the_sample_holds_what_was_read_by_eye(entry, tmp_path):
    if "alone (parent missing)" in entry["note"]:
        lone = shutil.copy(expected.paths(entry)[0], tmp_path)
        found = [(codex.identity(lone), list(codex.read(Path(lone))))]
    else:
        found = expected.readings(entry, codex)
    expected.assert_entry(entry, expected.observe(found))
