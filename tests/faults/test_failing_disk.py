"""A disk that fails at any call loses nothing and tells so."""

import shutil

import pytest

from tests.faults import figures
from tests.faults.disks import CALLS
from tests.faults.failing import ACTIONS, Bench, Outcome, cases
from tests.faults.sizes import scratch, size

pytestmark = pytest.mark.faults
READS_IN = size(3, 1, 1)


@pytest.fixture(scope="module")
def bench():
    folder = scratch("failing-disk-")
    yield Bench(folder)
    shutil.rmtree(folder)


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.name)
def test_every_call_may_fail(bench, action):
    outcome, reached = Outcome(), bench.reached(action)
    for failure in CALLS:
        every = size(23, 1, 1) * (READS_IN if failure == "read" else 1)
        for case in cases(bench, action, failure, every):
            bench.run(case, reached, outcome)
    figures.note(
        "4",
        f"{action.name}: ENOSPC, EIO, short write, fsync error, EIO on read, once and sticky",
        f"{outcome.cases:,} cases, {outcome.fired:,} faults met, {outcome.told:,} told in words,"
        f" {outcome.kept_although_told} stored although told,"
        f" {outcome.false_alarms} false alarms of FTS5 after a read; {len(outcome.wrong)} wrong",
    )
    assert outcome.wrong == []
    assert outcome.fired == outcome.told > size(3, 50, 50)
