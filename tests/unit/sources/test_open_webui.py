"""Open WebUI's database and exports, against what was read from them by eye."""

import pytest

from core.sources import open_webui
from tests.unit.sources import expected


@pytest.mark.parametrize("entry", expected.entries("openwebui"), ids=expected.name)
def test_the_sample_holds_what_was_read_by_eye(entry):
    expected.assert_entry(entry, expected.observe(expected.readings(entry, open_webui)))
