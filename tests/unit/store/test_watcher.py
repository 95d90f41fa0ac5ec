"""Commits are noticed, from this process and from others."""

import asyncio
import subprocess
import sys

from core.store.connection import transaction
from core.store.watcher import Watcher
from tests.unit.store.making import path_at, store_at

COMMIT = """
import sys
from pathlib import Path
from core.store.connection import open_writer, transaction
db = open_writer(Path(sys.argv[1]), tokenizer=None)
with transaction(db):
    db.execute("INSERT INTO meta VALUES ('k', 'v')")
db.close()
"""


def test_each_commit_is_seen_once_and_a_rollback_never(tmp_path):
    db = store_at(tmp_path)
    watcher = Watcher(path_at(tmp_path))
    assert not watcher.poll()
    with transaction(db):
        db.execute("INSERT INTO meta VALUES ('a', 'b')")
        assert not watcher.poll()
    assert watcher.poll()
    assert not watcher.poll()
    db.execute("BEGIN IMMEDIATE; DELETE FROM meta; ROLLBACK")
    assert not watcher.poll()
    watcher.close()
    db.close()


def test_another_process_is_seen(tmp_path):
    store_at(tmp_path).close()
    watcher = Watcher(path_at(tmp_path))
    subprocess.run([sys.executable, "-c", COMMIT, str(path_at(tmp_path))], check=True)
    assert watcher.poll()
    watcher.close()


def test_changes_come_as_they_are_committed(tmp_path):
    db = store_at(tmp_path)
    watcher = Watcher(path_at(tmp_path))

    async def watch():
        changes = watcher.changes(0.01)
        first = asyncio.create_task(anext(changes))
        await asyncio.sleep(0.05)
        assert not first.done()
        with transaction(db):
            db.execute("INSERT INTO meta VALUES ('a', 'b')")
        await asyncio.wait_for(first, 5)
        await changes.aclose()

    asyncio.run(watch())
    watcher.close()
    db.close()
