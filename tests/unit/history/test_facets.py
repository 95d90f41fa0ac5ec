import json

import pytest

from core.history import facets, lifecycle
from core.sources import ingest
from core.store import connection


def talk(path, session, content, **fields):
    line = {"session": session, "role": "user", "content": content} | fields
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(line) + "\n")


@pytest.fixture
def db(tmp_path, tokenizer_path):
    made = connection.open_store(tmp_path / "profile" / "state.db", tokenizer_path)
    yield made
    made.close()


def test_projects_are_named_by_the_end_of_their_folder_and_counted_across_folders(db, tmp_path):
    folder = tmp_path / "talks"
    talk(folder / "a.jsonl", "a", "x", cwd="/home/dev/mailer/")
    talk(folder / "b.jsonl", "b", "x", cwd="/srv/mailer")
    talk(folder / "c.jsonl", "c", "x", cwd="C:\\work\\infra")
    talk(folder / "d.jsonl", "d", "x", cwd="/elsewhere", git_repo_root="/home/dev/infra")
    talk(folder / "e.jsonl", "e", "x")
    for _ in ingest.run_sync(db, ingest.Import([folder])):
        pass

    assert facets.projects(db) == (("infra", 2), ("mailer", 2))
    assert facets.sources(db) == (("jsonl", 5),)


def test_an_empty_store_offers_nothing(db):
    assert (facets.projects(db), facets.sources(db), facets.channels(db)) == ((), (), ())


def test_a_session_is_counted_in_the_project_it_was_moved_to(db, tmp_path):
    talk(tmp_path / "a.jsonl", "a", "x", cwd="/home/dev/mailer/")
    for _ in ingest.run_sync(db, ingest.Import([tmp_path / "a.jsonl"])):
        pass
    with connection.transaction(db):
        lifecycle.move(db, 1, "Fenwick")
        db.execute("UPDATE sessions SET channel = 'feishu'")
    assert facets.projects(db) == (("Fenwick", 1),)
    assert facets.channels(db) == (("feishu", 1),)
    plan = db.execute(f"EXPLAIN QUERY PLAN {facets._CHANNELS}").fetchall()
    assert "USING COVERING INDEX sessions_by_channel" in str(plan)
