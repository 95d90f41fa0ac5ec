"""A store is damaged at random: the program starts, says what is so, and everything comes back."""

import random
import shutil
import time
from collections import Counter
from contextlib import closing

import apsw
import pytest

from core.errors import CoreError
from core.search import run
from core.store import aside, damage, snapshots
from core.store.connection import open_store, open_writer, snapshot
from core.store.errors import translated
from core.types import INDEX_NAMES, SearchRequest
from core.upkeep import backup, compact, repair
from core.upkeep.restore import restore
from tests.faults import figures, truth
from tests.faults.sizes import scratch, size
from tests.unit.damage.damaging import PAGE, WORDS, filled, noise, overwrite, pages_of
from tests.unit.store.making import library, message, store_messages

pytestmark = pytest.mark.faults
SEEDS = size(2, 50, 400)
ROWS = 300
START_MAX_S = 3.0


@pytest.fixture(scope="module")
def base():
    """A store with a snapshot, and with a log that its last program left behind."""
    folder = scratch("corruption-")
    path = filled(folder, ROWS)
    db = open_store(path, library())
    assert truth.finish(db) == []
    db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    store_messages(db, message("last", "the last word"))
    list(backup.make(db, "faults", "command"))
    found = truth.digest(db)
    db.close()
    yield folder / "profile", found
    shutil.rmtree(folder)


@pytest.fixture
def copied(base, tmp_path_factory):
    folder = scratch("damaged-")

    def copy():
        shutil.rmtree(folder)
        shutil.copytree(base[0], folder)
        return folder / "state.db"

    yield copy
    damage.mend(str(folder / "state.db"))
    shutil.rmtree(folder)


# Each damages a store that nobody has open.


def a_page_of_a_table(path, rng):
    tables = ("messages", "message_placements", "message_keys", "sessions", "sqlite_schema")
    _checkpointed(path)
    overwrite(path, rng.choice(pages_of(path, rng.choice(tables))), noise(rng.random()))


def a_header(path, rng):
    overwrite(path, 1, noise(rng.random(), 100))


def zeroes(path, rng):
    _checkpointed(path)
    overwrite(path, rng.randrange(2, path.stat().st_size // PAGE), bytes(65_536))


def a_cut(path, rng):
    _checkpointed(path)
    with path.open("r+b") as file:
        file.truncate(rng.randrange(PAGE, path.stat().st_size))


def a_log(path, rng):
    log = path.with_name("state.db-wal")
    content = bytearray(log.read_bytes())
    at = rng.randrange(len(content) - 512)
    content[at : at + 512] = noise(rng.random(), 512)
    log.write_bytes(content)


def no_shm(path, rng):
    path.with_name("state.db-shm").unlink(missing_ok=True)


DAMAGES = (a_page_of_a_table, a_header, zeroes, a_cut, a_log, no_shm)


def _checkpointed(path):
    with closing(open_writer(path, tokenizer=library())) as db:
        db.pragma("wal_checkpoint", "TRUNCATE")


@pytest.mark.parametrize("harm", DAMAGES, ids=lambda harm: harm.__name__)
def test_it_starts_or_says_why_and_a_snapshot_brings_everything_back(base, copied, harm):
    told: Counter[str] = Counter()
    slowest = 0.0
    for seed in range(SEEDS):
        path = copied()
        damage.mend(str(path))
        harm(path, random.Random(f"{harm.__name__} {seed}"))
        began = time.monotonic()
        told[started(path)] += 1
        slowest = max(slowest, time.monotonic() - began)
        (kept,) = snapshots.listed(snapshots.folder_of(path.parent))
        list(restore(path.parent, snapshots.folder_of(path.parent) / kept.path, "command"))
        db = open_store(path, library())
        assert truth.digest(db) == base[1]
        assert truth.finish(db) == []
        db.close()
        assert list(path.parent.glob("replaced-*/state.db")), "the damaged file is kept"
    words = ", ".join(f"{count} {what}" for what, count in sorted(told.items()))
    figures.note(
        "14",
        f"{harm.__name__.replace('_', ' ')} damaged, {SEEDS} seeds",
        f"{words}, at most {slowest:.1f} s to start; all messages back from the snapshot",
    )
    assert slowest < START_MAX_S
    assert not [what for what in told if what.startswith("refused:")]


def started(path):
    """Start as the program does; return what came of it. Nothing but words is allowed."""
    try:
        with translated(path):
            db = open_store(path, library())
    except CoreError as error:
        return "refused in words" if str(path) in str(error) else f"refused: {error}"
    with closing(db):
        try:
            with translated(path):
                assert db.execute("SELECT count(content) FROM messages").get <= ROWS + 1
                ask(db, WORDS[0])
        except CoreError:
            return "opened, damage told"
    return "opened and answered"


def ask(db, word):
    with snapshot(db):
        return run.search(db, SearchRequest(word)).total_hits


def test_damaged_indexes_cost_no_message_and_no_answer(base, copied):
    """Fifty pages of garbage in the indexes, as where rebuilding and dropping fail."""
    answered = 0
    for seed in range(SEEDS):
        rng, path = random.Random(seed), copied()
        damage.mend(str(path))
        _checkpointed(path)
        pages = pages_of(path, *(f"{name}_data" for name in INDEX_NAMES))
        for page in rng.sample(pages, min(50, len(pages) // 2)):
            overwrite(path, page, noise(rng.random()))
        db = open_store(path, library())
        for word in WORDS:
            assert ask(db, word) == ROWS // len(WORDS)
            answered += 1
        *_, report = repair.run(db, "command")
        assert report.state == "succeeded"
        assert truth.digest(db) == base[1]
        *_, report = compact.run(db, "command")
        assert aside.set_aside_names(db) == ()
        assert truth.finish(db) == []
        db.close()
    figures.note(
        "14",
        f"50 pages of the full-text indexes overwritten, {SEEDS} seeds",
        f"{answered:,} of {answered:,} searches right meanwhile, every index whole after"
        " repair, every message there",
    )
