"""A Hermes database imported again and again while Hermes rewrites it."""

import subprocess
import sys

import pytest

from core.sources import ingest
from core.store.connection import open_store
from tests.unit.sources.hermes_home import TIME, Home


@pytest.fixture
def db(tmp_path):
    opened = open_store(tmp_path / "store" / "state.db", None)
    yield opened
    opened.close()


@pytest.fixture
def home(tmp_path):
    made = Home(tmp_path / "home")
    made.session("s")
    return made


def imported(db, home):
    job = ingest.Import([home.path])
    for _ in ingest.run_sync(db, job):
        pass
    report = job.report()
    assert report.failed == 0
    return report.new, report.changed


def shown(db, session="s"):
    return [
        text
        for (text,) in db.execute(
            "SELECT m.content FROM message_placements AS p"
            " JOIN messages AS m ON m.id = p.message_id JOIN sessions AS s ON s.id = p.session_id"
            " WHERE s.native_id = ? AND m.state IN ('active', 'compacted') ORDER BY p.seq",
            (session,),
        )
    ]


def test_compaction_adds_its_summary_and_changes_states_only(db, home):
    for text in ("one", "two", "three"):
        home.message(text)
    assert imported(db, home) == (3, 0)
    home.run("UPDATE messages SET active = 0, compacted = 1")
    home.message("[CONTEXT COMPACTION] summary", at=TIME + 50)
    home.message("three", at=TIME + 2)  # carried, with the time it had
    home.message("four", at=TIME + 60)
    assert imported(db, home) == (2, 2)  # one and two are summarized now
    assert shown(db) == ["one", "two", "three", "[CONTEXT COMPACTION] summary", "four"]
    assert imported(db, home) == (0, 0)


def test_rows_deleted_and_written_anew_double_nothing_and_lose_nothing(db, home):
    for text in ("one", "two", "three"):
        home.message(text)
    imported(db, home)
    home.run("DELETE FROM messages")
    home.message("one", at=TIME)
    home.message("two", at=TIME + 1)
    home.message("instead", at=TIME + 90)
    assert imported(db, home) == (1, 0)
    # What vanished at the source stays here, where it was.
    assert shown(db) == ["one", "two", "three", "instead"]


def test_what_is_undone_is_hidden_and_comes_back_when_it_is_restored(db, home):
    for text in ("one", "two"):
        home.message(text)
    imported(db, home)
    home.run("UPDATE messages SET active = 0 WHERE content = 'two'")
    assert imported(db, home) == (0, 1)
    assert shown(db) == ["one"]
    home.run("UPDATE messages SET active = 1")
    assert imported(db, home) == (0, 1)
    assert shown(db) == ["one", "two"]


def test_a_branch_stores_its_beginning_once(db, home):
    home.session("b", parent_session_id="s", model_config='{"_branched_from": "s"}')
    home.message("asked", at=TIME)
    home.message("asked", session="b", at=TIME)
    home.message("branched", session="b")
    imported(db, home)
    assert (shown(db), shown(db, "b")) == (["asked"], ["asked", "branched"])
    assert db.execute("SELECT count(*) FROM messages").get == 2


WRITER = """
import sys, time
import apsw
db = apsw.Connection(sys.argv[1])
db.set_busy_timeout(0)  # refused once, it fails
db.execute("PRAGMA journal_mode=WAL").fetchall()
print("ready", flush=True)
for i in range(int(sys.argv[2])):
    db.execute(
        "INSERT INTO messages(session_id, role, content, timestamp) VALUES('s','user',?,?)",
        (f"{i} " + "x" * 500, 1784800000.0 + i),
    )
    time.sleep(0.002)
"""


def test_importing_from_a_database_that_is_being_written_to_refuses_its_writer_nothing(db, home):
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(home.path), "600"], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "ready\n"
        rounds = 0
        while process.poll() is None:
            imported(db, home)
            rounds += 1
        assert process.returncode == 0
    assert rounds > 1
    imported(db, home)
    assert [text.split()[0] for text in shown(db)] == [str(i) for i in range(600)]
