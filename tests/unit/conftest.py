"""A store for recorded cases, emptied after each: with the CJK tokenizer and without."""

import pytest

from core.store.connection import transaction
from tests.unit.store.making import store_at

_TABLES = ("message_placements", "messages", "sessions", "tombstones")


@pytest.fixture(scope="module", params=["cjk", "no cjk"])
def emptied(request, tmp_path_factory):
    made = store_at(tmp_path_factory.mktemp("cases"), cjk=request.param == "cjk")
    made.pragma("synchronous", "OFF")  # hundreds of small stores, none of them to last
    yield made
    made.close()


@pytest.fixture
def case_db(emptied):
    yield emptied
    with transaction(emptied):
        for table in _TABLES:
            emptied.execute(f"DELETE FROM {table}")
