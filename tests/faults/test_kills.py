"""Killed at any moment, the program has stored what it said, and goes on where it was.

This proves our transactions, not the disk: the page cache outlives the process (`test_power_cut`).
"""

import json
import random
import shutil

import pytest

from core.sources import ingest
from core.store import attachment
from core.store.connection import open_store, tokenizer_fingerprint, transaction
from core.store.indexes import CJK, INDEXES
from core.types import INDEX_NAMES, Role
from tests.faults import figures, truth, workers
from tests.faults.killing import killed
from tests.faults.sizes import scratch, size
from tests.unit.store.making import library, message, path_at, store_at, store_messages

pytestmark = pytest.mark.faults
KILLS = size(4, 150, 1_000)
ON_ONE_STORE = 40


@pytest.fixture
def folder():
    made = scratch("kills-")
    yield made
    shutil.rmtree(made)


@pytest.fixture
def path(folder):
    store_at(folder).close()
    return path_at(folder)


def opened(path):
    db = open_store(path, library())
    truth.forget_holders(db)
    return db


def begin_anew(folder):
    shutil.rmtree(folder, ignore_errors=True)
    store_at(folder).close()


def test_a_writer(folder, path):
    rng, commits, unacked = random.Random(1), 0, 0
    stored = 0
    for kill in range(KILLS):
        if kill % ON_ONE_STORE == 0:
            begin_anew(folder)
            stored = 0
        end = killed(rng, 0.15, workers.write, path, stored + 1)
        db = opened(path)
        uids = {uid for (uid,) in db.execute("SELECT uid FROM messages")}
        reached = len(uids) // workers.EACH
        whole = {f"{n}-{e}" for n in range(1, reached + 1) for e in range(workers.EACH)}
        assert uids == whole, "a hole, or half a commit"
        acked = int(end.acked or stored)
        assert acked <= reached <= acked + 1
        assert truth.problems(db) == []
        commits, unacked = commits + reached - stored, unacked + reached - acked
        stored = reached
        db.close()
    figures.note(
        "1",
        f"kill -9 of a writer, {KILLS:,} times",
        f"{commits:,} commits, {unacked} of them stored but not yet acknowledged;"
        " 0 lost, 0 holes, 0 wrong",
    )
    assert commits > 0


def test_the_backfill(path):
    rng, rounds = random.Random(2), 0
    db = opened(path)
    for part in range(3):
        texts = (
            f"第{n}次电影订阅 word{n} common " * 12 for n in range(500 * part, 500 * part + 500)
        )
        store_messages(db, *(message(f"{part}-{n}", text) for n, text in enumerate(texts)))
    empty(db)
    db.close()
    for _ in range(KILLS):
        end = killed(rng, 0.3, workers.fill, path)
        db = opened(path)
        assert truth.problems(db) == []
        if end.acked:
            words = end.acked.split()
            held = len(truth.held(db, INDEXES[words[0]]))
            assert held >= int(words[-1]), "what was done is undone"
        if all(state == "ready" for (state,) in db.execute("SELECT state FROM index_state")):
            rounds += 1
            empty(db)
        db.close()
    db = opened(path)
    assert truth.finish(db) == []
    db.close()
    figures.note(
        "1",
        f"kill -9 of the backfill, {KILLS:,} times",
        f"{rounds + 1:,} times filled from nothing; 0 wrong rows, none done twice",
    )


def empty(db):
    with transaction(db):
        for name in INDEX_NAMES:
            own = tokenizer_fingerprint(db) if name == CJK else None
            attachment.rebuild(db, INDEXES[name], own)


# C10 of the public faults.
def test_an_import(folder):
    """Of files that grow; in the end the rows are those of an import that nobody disturbed."""
    rng, talks = random.Random(3), folder / "talks"
    wanted = {}
    for part in (1, 2):
        grow(talks, part)
        whole = store_at(folder / f"whole-{part}")
        take_in(whole, talks)
        wanted[part] = truth.digests(whole)
        whole.close()
    kills = imports = 0
    while kills < size(2, 150, 1_000):
        shutil.rmtree(talks)
        begin_anew(folder / "killed")
        here = path_at(folder / "killed")
        for part in (1, 2):
            grow(talks, part)
            while True:
                end = killed(rng, 0.5, workers.take_in, here, talks)
                db = opened(here)
                assert truth.problems(db) == []
                assert stored(db) >= int(end.acked or 0)
                db.close()
                if end.is_through:
                    break
                kills += 1
            db = opened(here)
            assert truth.digests(db) == wanted[part]
            assert take_in(db, talks).new == 0
            assert truth.digests(db) == wanted[part]
            assert truth.finish(db) == []
            db.close()
            imports += 1
    figures.note(
        "24",
        f"kill -9 of an import of a growing folder, {kills:,} times",
        f"{imports} imports came to their end with the very rows of an undisturbed one",
    )


def stored(db):
    return db.execute("SELECT count(*) FROM messages").get


def take_in(db, talks):
    job = ingest.Import([talks])
    for _ in ingest.run_sync(db, job):
        pass
    return job.report()


FILES, LINES = 6, size(60, 400, 400)


def grow(talks, part):
    """Write each file's first or second half; a later line may correct an earlier one."""
    talks.mkdir(exist_ok=True)
    for number in range(FILES):
        with (talks / f"{number}.jsonl").open("a" if part == 2 else "w") as file:
            for line in range(LINES * (part - 1), LINES * part):
                role = (Role.USER, Role.ASSISTANT)[line % 2]
                uid = line - 7 if line % 50 == 9 else line
                said = {
                    "session": f"talk{number}-{line // 60}",
                    "id": f"{number}-{uid}",
                    "role": role,
                    "content": f"第{line}次订阅 kestrel {line} " * (1 + line % 30),
                    "created_at": f"2026-05-01T10:{line // 60 % 60:02}:{line % 60:02}Z",
                }
                file.write(json.dumps(said, ensure_ascii=False) + "\n")
