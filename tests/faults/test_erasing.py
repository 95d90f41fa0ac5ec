"""What is deleted is overwritten at once; a purge then sees to the rest (`test_purge`)."""

import shutil
import subprocess
import sys

import pytest

from core.store.connection import open_reader, transaction
from core.upkeep import purge, trash
from tests.faults import figures
from tests.faults.sizes import scratch, size
from tests.unit.store.making import message, path_at, store_at, store_messages

pytestmark = pytest.mark.faults
ROWS = size(400, 4_000, 4_000)


@pytest.fixture
def folder():
    made = scratch("erasing-")
    yield made
    shutil.rmtree(made)


def test_rows_that_are_deleted_leave_next_to_nothing_in_the_file(folder):
    """A few stay in gaps of pages that were split: that is what a purge is for."""
    db = store_at(folder)
    texts = {n: f"{'secret' if n % 10 == 0 else 'word'}-{n:06} kestrel" for n in range(ROWS)}
    store_messages(db, *(message(f"m{n}", text) for n, text in texts.items()))
    db.pragma("wal_checkpoint", "TRUNCATE")
    with transaction(db):
        gone = "SELECT id FROM messages WHERE content GLOB 'secret*'"
        db.execute(f"DELETE FROM message_placements WHERE message_id IN ({gone})")
        db.execute("DELETE FROM messages WHERE content GLOB 'secret*'")
    db.pragma("wal_checkpoint", "TRUNCATE")
    db.close()
    kept = path_at(folder).read_bytes()  # nobody has it open
    left = sum(kept.count(text.encode()) for text in texts.values() if text.startswith("secret"))
    figures.note(
        "16",
        f"{ROWS // 10:,} of {ROWS:,} messages deleted, before any purge",
        f"{left} texts left in the file",
    )
    assert kept.count(b"word-") > ROWS // 2
    assert left <= ROWS // 100


@pytest.fixture
def purged(folder):
    """A store after most of it was deleted and purged, which another connection has open."""
    db = store_at(folder)
    for number in range(4):
        texts = {f"{number}-{each}": f"secret-{number}-{each} " * 40 for each in range(100)}
        store_messages(db, *(message(uid, text, session="gone") for uid, text in texts.items()))
    other = open_reader(path_at(folder), tokenizer=None)
    session = db.execute("SELECT id FROM sessions WHERE native_id = 'gone'").get
    with transaction(db):
        trash.trash_sessions(db, [session], "you")
    list(trash.empty(db, "you"))
    *_, report = purge.run(db, "command", now=True)
    assert report.state == "succeeded"
    yield db
    other.close()
    db.close()


def test_a_purge_leaves_nothing_in_the_log_though_others_have_the_store_open(folder, purged):
    """Another process reads it: closing a descriptor of it here would drop SQLite's locks."""
    log = path_at(folder).with_name("state.db-wal")
    counting = "import sys; print(open(sys.argv[1], 'rb').read().count(b'secret-'))"
    told = subprocess.run([sys.executable, "-c", counting, log], capture_output=True, check=True)
    assert int(told.stdout) == 0


def test_a_purge_writes_the_file_anew(purged):
    """What was free in it, and what lay in gaps of its pages, is not there any more."""
    assert purged.pragma("freelist_count") == 0
