"""What is deleted is overwritten at once; a purge then sees to the rest (`test_purge`)."""

import shutil

import pytest

from core.store.connection import transaction
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
