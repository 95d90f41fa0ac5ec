"""Snapshots that are moved in once: by pages, from where it stopped, and then never again."""

import ctypes
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

from core.history import legacy_imports
from core.sources import absence, ingest, moviepilot
from core.sources.records import LegacyCursor, MessageRecord
from core.store.connection import open_store
from tests.unit.sources.expected import SAMPLES
from tests.unit.sources.moviepilot_home import Main, ai, human, shown

CHATS = 130
IN_OPEN = 0x20


@pytest.fixture(scope="module")
def main(tmp_path_factory):
    """A main database with more than six pages of chats of three users."""
    main = Main(tmp_path_factory.mktemp("m") / "config")
    for n in range(CHATS):
        talk = [human(f"prompt {n}"), ai(f"answer {n}", f"a{n}"), human("ok")]
        main.chat(f"s{n}", talk, [shown("user", f"prompt {n}")], user=str(n % 3), name=None)
    return main


@pytest.fixture
def own_main(tmp_path):
    """A database of the test's own, that may be changed."""
    main = Main(tmp_path / "own")
    for n in range(45):
        main.chat(f"s{n}", [human(f"prompt {n}", f"h{n}")])
    return main


@pytest.fixture
def new_store(tmp_path):
    opened = []

    def make(name="store"):
        opened.append(open_store(tmp_path / name / "state.db", None))
        return opened[-1]

    yield make
    for db in opened:
        db.close()


@pytest.fixture
def db(new_store):
    return new_store()


@pytest.fixture
def page_by_page(monkeypatch):
    """Let every page be a transaction of its own."""
    for name in ("FIRST_BATCH", "SMALLEST_BATCH", "LARGEST_BATCH"):
        monkeypatch.setattr(ingest, name, 1)


def run(db, *paths, **options):
    job = ingest.Import(list(paths), **options)
    for _ in ingest.run_sync(db, job):
        pass
    return job.report()


def rows(db):
    return db.execute(
        "SELECT r.instance, s.native_id, s.title, p.seq, m.uid, m.role, m.content, m.provenance,"
        " m.created_at_ms, m.time_quality FROM messages AS m"
        " JOIN message_placements AS p ON p.message_id = m.id"
        " JOIN sessions AS s ON s.id = p.session_id JOIN sources AS r ON r.id = s.source_id"
        " ORDER BY 1, 2, 4"
    ).fetchall()


def moved_in(db):
    """The numbers of the chats whose three messages are all stored, and how many are in parts."""
    counts = dict(
        db.execute(
            "SELECT s.native_id, count(*) FROM sessions AS s"
            " JOIN message_placements AS p ON p.session_id = s.id GROUP BY s.native_id"
        )
    )
    whole = {int(name[1:]) for name, count in counts.items() if count == 3}
    return whole, len(counts) - len(whole)


def state(db):
    (found,) = legacy_imports.states(db).values()
    return found


@contextmanager
def openings(path):
    """Yield what tells whether the file was opened since, by whatever code of this machine."""
    libc = ctypes.CDLL(None, use_errno=True)
    watch = libc.inotify_init1(os.O_NONBLOCK)
    assert libc.inotify_add_watch(watch, os.fsencode(path), IN_OPEN) > 0

    def count():
        try:
            return len(os.read(watch, 65536)) > 0
        except BlockingIOError:
            return False

    try:
        yield count
    finally:
        os.close(watch)


# Pages


def test_a_page_is_twenty_rows_and_its_cursor_the_last_of_them(main):
    found = list(moviepilot.read_from(main.path, 0))
    cursors = [r for r in found if isinstance(r, LegacyCursor)]
    assert [c.cursor for c in cursors] == [20, 40, 60, 80, 100, 120, 130]
    assert [c.complete for c in cursors] == [False] * 6 + [True]
    first = found[: found.index(cursors[0])]
    assert len({m.session for m in first if isinstance(m, MessageRecord)}) == 20


def test_a_snapshot_whose_last_page_is_full_is_complete_all_the_same(tmp_path):
    main = Main(tmp_path)
    for n in range(20):
        main.chat(f"s{n}", [human("x")])
    cursors = [r for r in moviepilot.read_from(main.path, 0) if isinstance(r, LegacyCursor)]
    assert [(c.cursor, c.complete) for c in cursors] == [(20, False), (20, True)]


def test_a_page_and_its_cursor_are_stored_together(db, main, page_by_page):
    running = ingest.run_sync(db, ingest.Import([main.path]))
    for page in range(1, 4):
        next(running)
        found = state(db)
        assert (found.cursor, found.complete) == (20 * page, False)
        assert moved_in(db) == (set(range(20 * page)), 0)
        assert legacy_imports.is_complete(db) is False
    running.close()
    assert state(db).cursor == 60
    assert legacy_imports.is_complete(db) is False


def test_what_is_odd_in_a_page_does_not_part_it(db, tmp_path, page_by_page):
    main = Main(tmp_path / "odd")
    for n in range(25):
        main.chat(f"s{n}", [human("a"), {"type": "odd"}, human("b"), human("c")])
    running = ingest.run_sync(db, ingest.Import([main.path]))
    next(running)
    assert state(db).cursor == 20
    assert moved_in(db) == (set(range(20)), 0)
    running.close()


def test_it_goes_on_where_it_stopped_and_comes_to_the_same(
    new_store, main, page_by_page, monkeypatch
):
    wanted = new_store("whole")
    run(wanted, main.path)
    db = new_store("stopped")
    running = ingest.run_sync(db, ingest.Import([main.path]))
    next(running)
    next(running)
    running.close()
    asked = []
    read_from = moviepilot.read_from
    monkeypatch.setattr(
        moviepilot,
        "read_from",
        lambda path, cursor: asked.append(cursor) or read_from(path, cursor),
    )
    run(db, main.path)
    assert asked == [40]
    assert rows(db) == rows(wanted)
    assert (state(db).cursor, state(db).complete) == (CHATS, True)
    assert legacy_imports.is_complete(db) is True
    assert {provenance for *_, provenance, _, _ in rows(db)} == {"legacy_snapshot"}


def test_a_page_that_cannot_be_stored_leaves_the_cursor_where_it_was(
    db, main, page_by_page, monkeypatch
):
    stored = []

    def advance(*args, **options):
        stored.append(args)
        if len(stored) == 3:
            raise KeyboardInterrupt
        return advanced(*args, **options)

    advanced = legacy_imports.advance
    monkeypatch.setattr(legacy_imports, "advance", advance)
    with pytest.raises(KeyboardInterrupt):
        run(db, main.path)
    assert state(db).cursor == 40
    assert moved_in(db) == (set(range(40)), 0)


KILLED = """
import sys
from pathlib import Path
from core.sources import ingest
from core.store.connection import open_store
ingest.FIRST_BATCH = ingest.SMALLEST_BATCH = ingest.LARGEST_BATCH = 1
ingest.GAP_S = 0.002
db = open_store(Path(sys.argv[1]), None)
print("open", flush=True)
for _ in ingest.run_sync(db, ingest.Import([Path(sys.argv[2])])):
    print("batch", flush=True)
"""


def kill_one(store, path, chance):
    command = [sys.executable, "-c", KILLED, str(store), str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=SAMPLES.parents[2]) as process:
        for _ in range(chance.randrange(2, 8)):
            process.stdout.readline()
        time.sleep(chance.random() / 50)
        process.send_signal(signal.SIGKILL)


def assert_no_page_without_its_cursor(db):
    found = legacy_imports.states(db)
    cursor = found[min(found)].cursor if found else 0
    whole, parts = moved_in(db)
    assert set(range(cursor)) <= whole
    return parts


def test_killed_anywhere_it_comes_to_the_same_rows(new_store, main, tmp_path):
    wanted = new_store("whole")
    run(wanted, main.path)
    chance = random.Random(11)
    store = tmp_path / "killed" / "state.db"
    for _ in range(3):
        kill_one(store, main.path, chance)
        db = open_store(store, None)
        assert assert_no_page_without_its_cursor(db) == 0
        db.close()
    db = open_store(store, None)
    run(db, main.path)
    assert rows(db) == rows(wanted)
    db.close()


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_killed_at_a_hundred_moments_it_comes_to_the_same_rows(new_store, main, tmp_path):
    wanted = new_store("whole")
    run(wanted, main.path)
    chance = random.Random(7)
    for n in range(100):
        store = tmp_path / f"killed-{n}" / "state.db"
        kill_one(store, main.path, chance)
        db = open_store(store, None)
        assert assert_no_page_without_its_cursor(db) == 0
        run(db, main.path)
        assert rows(db) == rows(wanted)
        db.close()


def test_another_file_in_its_place_is_read_from_its_begin(db, own_main, tmp_path, page_by_page):
    running = ingest.run_sync(db, ingest.Import([own_main.path]))
    next(running)
    next(running)
    running.close()
    assert state(db).cursor == 40
    other = Main(tmp_path / "other")
    for n in range(45):
        other.chat(f"t{n}", [human(f"another {n}", f"g{n}")])
    other.path.replace(own_main.path)
    running = ingest.run_sync(db, ingest.Import([own_main.path]))
    next(running)
    running.close()
    assert (state(db).cursor, state(db).complete) == (20, False)
    run(db, own_main.path)
    assert (state(db).cursor, state(db).complete) == (45, True)
    assert db.execute("SELECT count(*) FROM sessions WHERE native_id GLOB 't*'").get == 45


# When it is complete


def test_two_paths_of_one_are_one(db, own_main, tmp_path):
    link = tmp_path / "link.db"
    link.symlink_to(own_main.path)
    run(db, own_main.path)
    run(db, link)
    own_main.chat("later", [human("said later")])
    for path in (own_main.path, link):
        assert "moved in completely" in run(db, path).files[0].reason
    assert db.execute("SELECT count(*) FROM messages").get == 45


@pytest.mark.parametrize("beside", ["app.env", "letter.txt"])
def test_a_complete_one_is_never_opened_again(db, own_main, beside):
    folder = own_main.path.parent  # with the first, MoviePilot's own; with the second, anybody's
    (folder / beside).touch()
    run(db, folder)
    own_main.chat("later", [human("said later")])
    with openings(own_main.path) as was_opened:
        for place in (folder, own_main.path, folder.parent):
            report = run(db, place)
            reasons = {f.path: f.reason for f in report.files}
            assert "moved in completely" in reasons[str(own_main.path)]
            assert (report.new, report.failed) == (0, 0)
            assert was_opened() is False
        own_main.path.read_bytes()
        assert was_opened() is True  # the watch sees what it should
    assert db.execute("SELECT count(*) FROM messages").get == 45


def test_whoever_asks_why_a_session_is_missing_does_not_open_it_either(db, own_main):
    run(db, own_main.path)
    own_main.chat("later", [human("said later")])
    with openings(own_main.path) as was_opened:
        found = absence.explain(db, "said later", [])
        assert was_opened() is False
    assert [each.kind for each in found.findings] == ["nowhere"]


def test_it_is_read_once_more_where_it_is_named_with_again(db, own_main):
    run(db, own_main.path)
    own_main.chat("later", [human("said later")])
    assert run(db, own_main.path).new == 0
    report = run(db, own_main.path, again=True)
    assert report.new == 1
    assert (state(db).cursor, state(db).complete) == (46, True)
    assert "moved in completely" in run(db, own_main.path).files[0].reason


def test_a_folder_is_not_enough_to_read_it_again(db, own_main):
    folder = own_main.path.parent
    (folder / "app.env").touch()
    run(db, folder)
    own_main.chat("later", [human("said later")])
    assert run(db, folder, again=True).new == 0


def test_stored_chats_outlive_their_rows(db, own_main):
    run(db, own_main.path)
    own_main.run("DELETE FROM agentchat WHERE id < 40")
    run(db, own_main.path, again=True)
    assert db.execute("SELECT count(*) FROM messages").get == 45
    assert db.execute("SELECT count(*) FROM sessions WHERE gone_at_ms IS NOT NULL").get == 0
    assert db.execute("SELECT count(*) FROM gone_messages").get == 0
