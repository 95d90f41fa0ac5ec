"""What was deleted for good comes back by no file, whatever its name."""

import json
import os
from pathlib import Path

import pytest

from core.history import deletion, tombstones
from core.sources import ingest
from core.store.connection import open_store, written


@pytest.fixture
def db(tmp_path):
    db = open_store(tmp_path / "store" / "state.db", None)
    yield db
    db.close()


def run(db, *paths, **options):
    job = ingest.Import(list(paths), **options)
    for _ in ingest.run_sync(db, job):
        pass
    return job.report()


def delete_every_session(db):
    rows = [row for (row,) in db.execute("SELECT id FROM sessions")]
    key = tombstones.key_to_delete_with(db)
    with deletion.own_key_checks(db):
        written(db, deletion.delete_sessions, rows, key)
    assert db.execute("SELECT count(*) FROM sessions").get == 0


def said(uid, text, **more):
    message = {"content": text}
    return json.dumps({"type": "user", "uuid": uid, "message": message, **more}) + "\n"


# The session is called as its file is.
def test_a_session_named_by_a_file_whose_name_is_no_text(db, tmp_path):
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/p/caf\xe9.jsonl"))
    path.parent.mkdir()
    path.write_text(said("u1", "one"))
    assert run(db, path).failed == 0
    assert db.execute("SELECT native_id FROM sessions").fetchall() == [("caf\ufffd",)]
    delete_every_session(db)
    with path.open("a") as stream:
        stream.write(said("u2", "two"))
    assert run(db, path).failed == 0
    assert db.execute("SELECT count(*) FROM sessions").get == 0
