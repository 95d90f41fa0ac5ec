"""Nothing that was acknowledged is lost when the power goes, at whatever moment."""

import random
import shutil
from collections import Counter

import pytest

from tests.faults import figures
from tests.faults.power_cut import DAMAGES, Recording, images, record, synchronous, verdict
from tests.faults.sizes import scratch, size

pytestmark = pytest.mark.faults
FINISHED_ONE_IN = 40


@pytest.fixture
def folder():
    made = scratch("power-cut-")
    yield made
    shutil.rmtree(made)


def failures(folder, found: Recording, count: int) -> Counter[str]:
    """What is wrong with so many images, by its first word."""
    every = found.moments
    moments = sorted(random.Random(2).sample(every, min(len(every), count // len(DAMAGES))))
    told: Counter[str] = Counter()
    for number, image in enumerate(images(found, moments)):
        to_the_end = number % FINISHED_ONE_IN == 0
        wrong = verdict(folder / "image", image, found.states, to_the_end=to_the_end)
        told[wrong or ""] += 1
    return told


def test_no_power_cut_loses_or_damages_anything(folder):
    found = record(folder, size(24, 300, 900))
    told = failures(folder, found, size(120, 4_000, 20_000))
    count = sum(told.values())
    figures.note(
        "2",
        "power cut at any moment × lost, subset, torn (synchronous=FULL, backfill beside it)",
        f"{count:,} images of {len(found.log):,} operations with {found.syncs:,} syncs:"
        f" {count - told['']} lost, damaged or unopenable",
    )
    assert count > 100
    assert told == {"": count}


def test_without_waiting_for_the_disk_the_same_check_fails(folder):
    """The check has teeth: it sees what a careless setting does."""
    with synchronous("OFF", 0):
        found = record(folder, size(24, 150, 300))
    told = failures(folder, found, size(60, 900, 3_000))
    bad = sum(told.values()) - told[""]
    figures.note(
        "3",
        "control: the same with synchronous=OFF",
        f"{bad:,} of {sum(told.values()):,} images fail",
    )
    assert bad >= size(10, 100, 100)
