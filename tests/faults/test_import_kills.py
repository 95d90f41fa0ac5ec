"""An import of every kind of history, killed anywhere and begun again, ends in the same rows."""

import random
import shutil
import time

import pytest

from core.sources import ingest
from core.store.connection import open_store
from tests.faults import figures, truth, workers
from tests.faults.killing import killed
from tests.faults.sizes import scratch, size
from tests.unit.sources.expected import SAMPLES
from tests.unit.store.making import library, path_at, store_at

pytestmark = pytest.mark.faults
KILLS = size(2, 100, 1_000)
FOLDERS = size(4, 100, 100)


@pytest.fixture
def folder():
    made = scratch("import-kills-")
    yield made
    shutil.rmtree(made)


def test_an_import_of_every_kind(folder):
    places = folder / "places"
    for sample in sorted(path for path in SAMPLES.iterdir() if path.is_dir())[:FOLDERS]:
        shutil.copytree(sample, places / sample.name)
    whole = store_at(folder / "whole")
    began = time.monotonic()
    take_in(whole, places)
    took = time.monotonic() - began
    wanted = truth.digests(whole)
    kinds = {kind for (kind,) in whole.execute("SELECT kind FROM sources")}
    whole.close()

    rng, kills, ends = random.Random(5), 0, 0
    here = path_at(folder / "killed")
    while kills < KILLS:
        shutil.rmtree(folder / "killed", ignore_errors=True)
        store_at(folder / "killed").close()
        is_through = False
        while not is_through:
            is_through = killed(rng, took, workers.take_in, here, places).is_through
            kills += not is_through
            if kills > KILLS:
                break
            db = open_store(here, library())
            truth.forget_holders(db)
            assert truth.problems(db) == []
            db.close()
        db = open_store(here, library())
        truth.forget_holders(db)
        take_in(db, places)
        assert truth.digests(db) == wanted
        assert take_in(db, places).new == 0
        assert truth.digests(db) == wanted
        assert truth.finish(db) == []
        db.close()
        ends += 1
    figures.note(
        "24",
        f"kill -9 of an import of {len(kinds)} kinds of sources, {kills:,} times",
        f"{ends} stores came to the very rows of an undisturbed one",
    )


def take_in(db, places):
    job = ingest.Import([places])
    for _ in ingest.run_sync(db, job):
        pass
    return job.report()
