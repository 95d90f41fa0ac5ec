"""What is known of the files that were read."""

import pytest

from core.history.sources import is_read_whole
from core.store.connection import transaction
from tests.unit.store.making import store_at


@pytest.fixture
def db(tmp_path):
    db = store_at(tmp_path)
    yield db
    db.close()


def add_file(db, path, state):
    with transaction(db):
        db.execute(
            "INSERT INTO source_files(source_id, path, device, inode, size, mtime_ns,"
            " reader_version, state) VALUES (1, ?, 1, 1, 1, 1, 1, ?)",
            (path, state),
        )


def test_history_is_read_whole_until_a_file_is_begun_or_fails(db):
    assert is_read_whole(db) is True
    add_file(db, "/a", "done")
    add_file(db, "/b", "gone")
    assert is_read_whole(db) is True


@pytest.mark.parametrize("state", ["reading", "failed"])
def test_a_file_that_is_not_read_to_its_end_is_told(db, state):
    add_file(db, "/a", "done")
    add_file(db, "/b", state)
    assert is_read_whole(db) is False
