"""What the store tells of each source: its last import, and what could not be read."""

import json

import pytest

from core.history import sources
from core.sources import ingest
from core.store import connection
from tests.gui.talks import talk


@pytest.fixture
def db(tmp_path, tokenizer_path):
    made = connection.open_store(tmp_path / "profile" / "state.db", tokenizer_path)
    yield made
    made.close()


def run(db, *paths) -> None:
    for _ in ingest.run_sync(db, ingest.Import(list(paths))):
        pass


def test_a_source_tells_what_its_last_import_made_of_it(db, tmp_path):
    talk(tmp_path / "talks" / "a.jsonl", "a", "one", "two")
    talk(tmp_path / "talks" / "b.jsonl", "b", "three")
    run(db, tmp_path / "talks")
    (found,) = sources.states(db)
    assert (found.kind, found.files, found.new, found.changed, found.skipped) == (
        "jsonl",
        2,
        3,
        0,
        0,
    )
    first_run = found.last_run_at_ms
    talk(tmp_path / "talks" / "b.jsonl", "b2", "four")
    run(db, tmp_path / "talks")
    (found,) = sources.states(db)
    assert (found.new, found.skipped) == (1, 1)
    run(db, tmp_path / "talks")
    (found,) = sources.states(db)
    assert (found.new, found.skipped, found.failed, found.troubles) == (0, 2, 0, ())
    assert found.last_run_at_ms >= first_run


def test_broken_and_unknown_records_are_listed_with_their_lines(db, tmp_path):
    path = talk(tmp_path / "talks" / "a.jsonl", "a", "one")
    with path.open("a", encoding="utf-8") as file:
        file.write("{broken\n")
        file.write(json.dumps({"session": "a", "role": "user"}) + "\n")
    run(db, path)
    (found,) = sources.states(db)
    assert found.bad_records == len(found.troubles) >= 1
    assert {each.path for each in found.troubles} == {str(path)}
    assert found.troubles[0].line == 2
    assert sources.states(db, most_troubles=0)[0].troubles == ()


def test_a_batch_that_is_stored_again_is_counted_once(db, tmp_path):
    """A batch whose transaction was rolled back is written a second time."""
    path = talk(tmp_path / "a.jsonl", "a", "one", "two")
    job = ingest.Import([path])
    job.plan(sources.known_files(db))
    parsed = job.read_batch()
    db.execute("BEGIN IMMEDIATE")
    job.write_batch(db, parsed)
    db.execute("ROLLBACK")
    with connection.transaction(db):
        job.write_batch(db, parsed)
        job.finish(db)
    job.close()
    assert sources.states(db)[0].new == 2
