"""A copy of a store: of one moment, whole, private, or not there."""

import asyncio
import os
import shutil
import stat
from pathlib import Path
from types import SimpleNamespace

import apsw
import pytest

from core import settings
from core.errors import RefusedError, StoreError, StoreFullError
from core.store import copying
from core.store.connection import open_writer
from core.store.copying import copy_store
from core.store.store import Store
from tests.unit.store.making import message, path_at, store_at, store_messages


@pytest.fixture
def db(tmp_path):
    made = store_at(tmp_path, cjk=False)
    store_messages(made, *(message(f"m{n}", f"text {n} " * 50) for n in range(2_000)))
    yield made
    made.close()


@pytest.fixture
def target(tmp_path) -> Path:
    return tmp_path / "profile" / "copy.db"


def contents(path: Path) -> list[tuple[str, str]]:
    db = open_writer(path, tokenizer=None)
    assert db.pragma("integrity_check") == "ok"
    found = db.execute("SELECT uid, content FROM messages ORDER BY id").fetchall()
    db.close()
    return found


def test_the_copy_is_the_store_at_one_moment_though_others_write(db, target, monkeypatch):
    monkeypatch.setattr(copying, "STEP_PAGES", 20)
    before = db.execute("SELECT uid, content FROM messages ORDER BY id").fetchall()
    other = open_writer(path_at(target.parent.parent), tokenizer=None)
    steps = 0
    for progress in copy_store(db, target):
        steps += 1
        assert progress.what == "writing to disk" or 0 < progress.done <= progress.total
        store_messages(db, message(f"here{steps}"))
        store_messages(other, message(f"there{steps}"))
    other.close()
    assert steps > 10
    assert progress.done == progress.total == target.stat().st_size
    assert contents(target) == before


def test_the_copy_is_one_private_file_without_a_log(db, target):
    store_messages(db, message("in the log alone"))
    umask = os.umask(0)
    try:
        list(copy_store(db, target))
    finally:
        os.umask(umask)
    beside = [entry.name for entry in target.parent.iterdir() if entry.name.startswith("copy")]
    assert beside == ["copy.db"]
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    moved = target.parent / "elsewhere" / "state.db"
    moved.parent.mkdir()
    target.rename(moved)
    assert ("in the log alone", "hello") in contents(moved)


@pytest.mark.parametrize("after", [0, 1, 3])
def test_a_copy_that_is_given_up_leaves_nothing(db, target, monkeypatch, after):
    monkeypatch.setattr(copying, "STEP_PAGES", 20)
    copy = copy_store(db, target)
    for _ in range(after):
        next(copy)
        assert target.exists()
    copy.close()
    assert [entry.name for entry in target.parent.iterdir() if "copy" in entry.name] == []
    store_messages(db, message("still writable"))


def test_a_copy_that_fails_leaves_nothing_and_says_why(db, target, monkeypatch):
    monkeypatch.setattr(copying, "STEP_PAGES", 20)

    def full(*_args):
        raise apsw.FullError("database or disk is full")

    copy = copy_store(db, target)
    next(copy)
    monkeypatch.setattr(copying, "Progress", full)
    with pytest.raises(StoreFullError, match="full"):
        next(copy)
    assert not target.exists()


def test_a_copy_without_room_is_refused_with_both_numbers(db, target, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=12_345))
    size = db.pragma("page_count") * db.pragma("page_size")
    with pytest.raises(StoreFullError, match=f"{size:,} bytes are needed.*12,345 are free"):
        next(copy_store(db, target))
    assert not target.exists()


@pytest.mark.parametrize("end", ["", "-wal", "-shm", "-journal"])
def test_what_stands_in_the_place_of_a_copy_stays(db, target, end):
    planted = target.with_name(target.name + end)
    planted.write_text("mine")
    with pytest.raises(RefusedError, match="exists already"):
        next(copy_store(db, target))
    assert planted.read_text() == "mine"


def test_a_link_in_the_place_of_a_copy_is_not_followed(db, target, tmp_path):
    target.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RefusedError, match="exists already"):
        next(copy_store(db, target))
    assert not (tmp_path / "elsewhere").exists()


def test_a_copy_into_no_folder_is_an_error_in_words(db, tmp_path):
    with pytest.raises(StoreError, match="cannot be looked at"):
        next(copy_store(db, tmp_path / "nowhere" / "copy.db"))


def test_the_window_copies_by_steps_and_writes_in_between(db, target, monkeypatch):
    monkeypatch.setattr(copying, "STEP_PAGES", 20)
    before = db.execute("SELECT count(*) FROM messages").get

    async def copy() -> int:
        store = await Store.open(target.parent, tokenizer=None)
        steps = 0
        async for _ in store.steps(copy_store, target):
            steps += 1
            await store.write(settings.write, settings.TRASH_DAYS, steps)
        await store.close()
        return steps

    assert asyncio.run(copy()) > 10
    assert len(contents(target)) == before
