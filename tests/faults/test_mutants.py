"""Each safeguard is seen by some test: without it that test fails."""

from dataclasses import replace

import pytest

from tests.faults import figures
from tests.faults.mutants import MUTANTS, copy_program, is_caught, mutate, outcome_of
from tests.faults.sizes import FORM

pytestmark = [pytest.mark.faults, pytest.mark.timeout(600)]
TRIED = (replace(MUTANTS[0], tests=MUTANTS[0].tests[:1]),) if FORM == "short" else MUTANTS


def test_the_program_as_it_is_passes(tmp_path):
    copy = copy_program(tmp_path)
    tests = {test for mutant in TRIED for test in mutant.tests}
    code, told = outcome_of(copy, tuple(sorted(tests)))
    assert code == 0, told


@pytest.mark.parametrize("mutant", TRIED, ids=lambda mutant: mutant.name)
def test_without_it_a_test_fails(tmp_path, mutant):
    copy = copy_program(tmp_path)
    mutate(copy, mutant)
    _, told = outcome_of(copy, mutant.tests)
    assert is_caught(told), f"{mutant.name} may go: {told[-2000:]}"
    figures.note("26", f"without {mutant.name}", "each caught by a test")
