"""Hermes databases and session files, against what was read from them by eye."""

import contextlib

import apsw
import pytest

from core.sources import hermes
from tests.unit.sources import expected
from tests.unit.sources.expected import SAMPLES


@pytest.mark.parametrize("entry", expected.entries("hermes"), ids=expected.name)
def test_the_sample_holds_what_was_read_by_eye(entry, tmp_path):
    (path,) = expected.paths(entry)
    if path.suffix == ".sql":  # a database as text
        database = tmp_path / "state.db"
        with contextlib.closing(apsw.Connection(str(database))) as db:
            db.execute(path.read_text())
        found = [(hermes.identity(database), list(hermes.read(database)))]
    else:
        found = expected.readings(entry, hermes)
    expected.assert_entry(entry, expected.observe(found))
