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


def texts(db):
    return sorted(text for (text,) in db.execute("SELECT content FROM messages"))


def delete_message(db, uid):
    rows = [row for (row,) in db.execute("SELECT id FROM messages WHERE uid = ?", (uid,))]
    key = tombstones.key_to_delete_with(db)
    with deletion.own_key_checks(db):
        written(db, deletion.delete_messages, rows, key)


def test_a_message_in_a_copy_a_fork_or_the_file_that_is_read_once_more(db, tmp_path):
    at = "2026-08-05T10:0{}:00Z"
    lines = [said(f"u{n}", f"words {n}", timestamp=at.format(n)) for n in range(3)]
    path = tmp_path / "p" / "talk.jsonl"
    path.parent.mkdir()
    path.write_text("".join(lines))
    run(db, path)
    delete_message(db, "u1")
    assert texts(db) == ["words 0", "words 2"]
    copy = tmp_path / "copy" / "talk.jsonl"  # an older one of the same session
    copy.parent.mkdir()
    copy.write_text("".join(lines[:2]))
    fork = tmp_path / "p" / "fork.jsonl"
    fork.write_text("".join([*lines, said("u9", "words 9", timestamp=at.format(9))]))
    for place in (copy, fork, tmp_path / "p", path):
        run(db, place, again=place == path)
        assert "words 1" not in texts(db)
    assert texts(db) == ["words 0", "words 2", "words 9"]
