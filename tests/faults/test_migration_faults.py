"""Brought up to date, a store is of the old schema or of the new one, whatever happens."""

import os
import random
import shutil
from contextlib import suppress

import apsw
import pytest

from core.errors import CoreError
from core.store import migrations, snapshots
from core.store.connection import open_store
from core.store.errors import translated
from tests.faults import figures, truth, workers
from tests.faults.disks import Disk, Failure, Fault, through
from tests.faults.killing import killed, start
from tests.faults.old_stores import SCHEMAS, old_store, shape
from tests.faults.sizes import scratch, size
from tests.unit.store.making import library, path_at, store_at

pytestmark = pytest.mark.faults
EVERY_STATEMENT = size(37, 1, 1)
EVERY_CALL = size(90, 3, 1)
AT_RANDOM = size(1, 50, 1_000)
KNOWN = {"state.db", "state.db-wal", "state.db-shm", "snapshots", "tombstone.key"}
LASTING = ("messages", "sessions", "bodies")


@pytest.fixture(scope="module")
def folder():
    made = scratch("migrations-")
    yield made
    shutil.rmtree(made)


@pytest.fixture(scope="module", params=SCHEMAS, ids=lambda schema: f"schema {schema}")
def old(request, folder):
    """A folder with a store of an earlier schema, and what it holds."""
    made = folder / f"schema-{request.param}"
    path = old_store(made, request.param)
    db = bare(path)
    found = shape(db), truth.digests(db, LASTING)
    db.close()
    return made, request.param, *found


@pytest.fixture(scope="module")
def newest(folder):
    db = store_at(folder / "newest")
    found = shape(db)
    db.close()
    return found


def bare(path):
    """A connection that changes nothing; the tokenizer is not needed for what it reads."""
    return apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)


def copied(old, folder):
    shutil.rmtree(folder / "copy", ignore_errors=True)
    shutil.copytree(old[0], folder / "copy")
    return path_at(folder / "copy")


def assert_old_or_new(path, old, newest):
    _, schema, shape_before, held = old
    db = bare(path)
    version = db.pragma("user_version")
    wanted = {schema: shape_before, migrations.NEWEST: newest}
    assert shape(db).keys() - {"messages_fts_cjk"} == wanted[version].keys() - {"messages_fts_cjk"}
    assert truth.digests(db, LASTING) == held
    assert db.pragma("integrity_check") == "ok"
    db.close()
    return version


def assert_opens(path, old, newest):
    db = open_store(path, library())
    assert db.pragma("user_version") == migrations.NEWEST
    assert shape(db) == newest
    assert truth.digests(db, LASTING) == old[3]
    assert truth.problems(db) == []
    db.close()
    assert_sweeps(path.parent)


def assert_sweeps(profile):
    """Half a snapshot is known by its name, and gone when it is an hour old."""
    kept = snapshots.folder_of(profile)
    left = set(profile.rglob("*")) - set(kept.rglob("*"))
    assert {each.name for each in left} <= KNOWN
    for half in kept.glob("*.partial*"):
        os.utime(half, (0, 0))
    snapshots.sweep(kept)
    assert not list(kept.glob("*.partial*"))


def test_it_is_killed_at_every_statement(folder, old, newest):
    at, deaths = 1, 0
    while True:
        path = copied(old, folder)
        child = start(workers.open_and_die, path, at)
        if child.end().is_through:
            break
        deaths += 1
        assert_old_or_new(path, old, newest)
        assert_opens(path, old, newest)
        at += EVERY_STATEMENT
    figures.note(
        "23",
        f"schema {old[1]} → {migrations.NEWEST}, killed before every statement",
        f"{deaths} deaths, always the old or the new store, every row the same",
    )
    assert deaths > 3


def test_it_is_killed_at_any_moment(folder, old, newest):
    rng, versions = random.Random(old[1]), []
    for _ in range(AT_RANDOM):
        path = copied(old, folder)
        killed(rng, 0.04, workers.open_and_die, path, 0)
        versions.append(assert_old_or_new(path, old, newest))
        assert_opens(path, old, newest)
    figures.note(
        "1-23",
        f"kill -9 of the migration from schema {old[1]}, {AT_RANDOM:,} times",
        f"{versions.count(old[1])} found old, {versions.count(migrations.NEWEST)} new,"
        " none between; every row the same",
    )


@pytest.mark.parametrize("failure", ["full", "io", "short", "fsync", "read"])
def test_the_disk_fails_at_every_call(folder, old, newest, failure: Failure):
    counting = Fault(failure)
    attempt(copied(old, folder), counting)
    told, every = 0, min(EVERY_CALL, max(1, counting.seen // 3))
    for at in range(1, counting.seen + 1, every):
        path = copied(old, folder)
        told += attempt(path, Fault(failure, at, sticky=bool(at % 2)))
        assert_old_or_new(path, old, newest)
        assert_opens(path, old, newest)
    figures.note(
        "23",
        f"schema {old[1]} → {migrations.NEWEST}, {failure} at every call",
        f"faults told in words: {told}; always the old or the new store",
    )
    assert told


def attempt(path, fault):
    """Open the store on a disk that fails; tell whether the caller was told."""
    disk = Disk()
    disk.fault = fault
    with through(disk):
        try:
            with translated(path):
                db = open_store(path, library())
        except CoreError as error:
            return bool(str(error))
    is_told = bool(db.readonly("main"))
    fault.heal()
    with suppress(apsw.Error):
        db.close()
    return is_told
