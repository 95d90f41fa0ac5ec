"""A damaged file: the program starts, what is outside of damaged pages comes back, all is kept."""

import hashlib
import random
import shutil
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path

import apsw
import pytest

from core.errors import CoreError, RefusedError
from core.history.deletion import delete_sessions, own_key_checks
from core.history.tombstones import make_key
from core.index import backfill
from core.index.health import check
from core.store import damage, replacing
from core.store.connection import open_reader, open_store, transaction
from core.store.errors import translated
from core.store.index_state import statuses
from core.upkeep import backup, salvage
from core.upkeep.pages import Pages
from core.upkeep_types import Report
from tests.unit.damage.damaging import PAGE, filled, leaves_of, noise, opened, overwrite, pages_of
from tests.unit.store.making import library, message, store_messages, verify_indexes

KINDS = ("fts", "leaf", "interior", "header", "no wal or shm", "truncated", "zeroed 64 KB")


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """A closed store, a snapshot of it, and the hash of each of its messages."""
    path = filled(tmp_path_factory.mktemp("original"), 400, 20)
    with opened(path) as db:
        for _ in backup.make(db, "test", "command"):
            pass
        kept = texts(db)
    return path, kept


@pytest.fixture(autouse=True)
def no_notes():
    yield
    damage._notes.clear()
    damage._broken.clear()


def texts(db):
    rows = db.execute("SELECT id, uid, role, content, created_at_ms FROM messages")
    return {row[0]: hashlib.sha256(repr(row).encode()).digest() for row in rows}


def ids_on(path, pages):
    """The messages whose own rows lie on some pages, by SQLite's own reading of a sound file."""
    with closing(Pages(path)) as sound:
        return {row.rowid for page in pages for row in sound.rows(page) if len(row.values) > 20}


def damaged(original, folder, kind, rng, *, with_snapshot):
    """A damaged copy of the store, and the ids of messages on its damaged pages."""
    path = folder / "profile" / "state.db"
    path.parent.mkdir(mode=0o700, parents=True)
    shutil.copyfile(original, path)
    path.chmod(0o600)
    if with_snapshot:
        shutil.copytree(original.parent / "snapshots", path.parent / "snapshots")
    count = path.stat().st_size // PAGE
    match kind:
        case "fts":
            hit = [rng.choice(pages_of(original, "messages_fts_data", "messages_fts_cjk_data"))]
        case "leaf":
            hit = rng.sample(leaves_of(original, "messages"), 3)
        case "interior":
            inner = set(pages_of(original, "messages")) - set(leaves_of(original, "messages"))
            hit = sorted(inner)[:1]
        case "header":
            hit = [1]
        case "truncated":
            hit = list(range(count - rng.randrange(1, count // 8) + 1, count + 1))
            with path.open("r+b") as file:
                file.truncate((hit[0] - 1) * PAGE)
            return path, ids_on(original, hit)
        case "zeroed 64 KB":
            first = rng.randrange(2, count - 16)
            hit = list(range(first, first + 16))
            overwrite(path, first, bytes(16 * PAGE))
            return path, ids_on(original, hit)
        case _:
            hit = []
    for page in hit:
        overwrite(path, page, noise(rng.randrange(1 << 30)))
    return path, ids_on(original, hit)


def start(path):
    """Open the store as every program does, read it as far as it can be read, close it."""
    began = time.perf_counter()
    with suppress(CoreError), translated(path):
        db = open_store(path, library())
        with closing(db), suppress(apsw.Error):
            db.execute("SELECT count(*) FROM messages").fetchall()
    return time.perf_counter() - began


def salvaged(path):
    *_, report = salvage.run(path, "command", tokenizer=library())
    assert isinstance(report, Report)
    return report


def drill(original, folder, kind, seed, *, with_snapshot):
    path, kept = original
    rng = random.Random(f"{kind} {seed}")
    ruined, hit = damaged(path, folder, kind, rng, with_snapshot=with_snapshot)
    content = ruined.read_bytes()
    assert start(ruined) < 3
    with suppress(FileNotFoundError):
        content = ruined.read_bytes()  # what the start itself checkpointed is no damage
    report = salvaged(ruined)
    with opened(ruined) as db:
        found = texts(db)
        assert all(kept[row] == digest for row, digest in found.items())
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        verify_indexes(db)
    assert (Path(report.facts["kept"]) / "state.db").read_bytes() == content
    outside = set(kept) - hit
    return len(outside & set(found)) / len(outside), len(found) / len(kept), report


@pytest.mark.parametrize("kind", ["leaf", "header", "zeroed 64 KB"])
def test_all_comes_back_with_a_snapshot(original, tmp_path, kind):
    _, share, report = drill(original, tmp_path, kind, 1, with_snapshot=True)
    assert share == 1
    assert report.facts["lost_messages"] == 0


@pytest.mark.parametrize("kind", KINDS)
def test_rows_outside_of_damaged_pages_come_back_without_one(original, tmp_path, kind):
    outside, _, report = drill(original, tmp_path, kind, 2, with_snapshot=False)
    assert outside >= 0.99
    assert report.facts["from_snapshot"] == {}


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(10, 67))
def test_four_hundred_seeds(original, tmp_path, kind, seed):
    outside, share, _ = drill(original, tmp_path, kind, seed, with_snapshot=seed % 2 == 0)
    assert outside >= 0.99
    assert seed % 2 or share == 1


def test_what_is_lost_is_told_by_id_and_time(original, tmp_path):
    path, hit = damaged(original[0], tmp_path, "leaf", random.Random(5), with_snapshot=False)
    report = salvaged(path)
    assert report.facts["lost_messages"] == len(hit) > 0
    told = {row for first, last in report.facts["lost_ids"] for row in range(first, last + 1)}
    assert told == hit
    times = [1_700_000_000_000 + (row - 1) * 1000 for row in hit]
    assert (report.facts["lost_from_ms"], report.facts["lost_until_ms"]) == (min(times), max(times))


def test_commits_that_are_still_in_the_log_are_read(tmp_path):
    path = filled(tmp_path, 50)
    script = (
        "import os, pathlib; from core.store.connection import open_writer\n"
        "from tests.unit.store.making import message, store_messages\n"
        f"db = open_writer(pathlib.Path({str(path)!r}), tokenizer=None)\n"
        "store_messages(db, message('last', 'only in the log ' * 500))\n"
        "os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
    assert path.with_name("state.db-wal").stat().st_size > 0
    overwrite(path, 1, noise(1))
    salvaged(path)
    with opened(path) as db:
        assert db.execute("SELECT count(*) FROM messages").get == 51
        assert db.execute("SELECT content FROM messages WHERE uid = 'last'").get == (
            "only in the log " * 500
        )


def test_what_was_deleted_since_the_snapshot_stays_deleted(tmp_path):
    path = filled(tmp_path, 60)
    with opened(path) as db:
        for _ in backup.make(db, "test", "command"):
            pass
        row = db.execute("SELECT id FROM sessions WHERE native_id = 's1'").get
        key = make_key(path.parent)
        with own_key_checks(db), transaction(db):
            delete_sessions(db, [row], key)
    overwrite(path, leaves_of(path, "messages")[0], noise(2))
    salvaged(path)
    with opened(path) as db:
        assert db.execute("SELECT count(*) FROM sessions WHERE native_id = 's1'").get == 0
        assert db.execute("SELECT count(*) FROM messages WHERE uid = 'm1'").get == 0
        assert db.execute("SELECT count(*) FROM messages WHERE uid = 'm2'").get == 1


def test_without_the_key_of_deletions_all_is_rescued_and_that_is_said(tmp_path):
    path = filled(tmp_path, 60)
    with opened(path) as db:
        for _ in backup.make(db, "test", "command"):
            pass
        row = db.execute("SELECT id FROM sessions WHERE native_id = 's1'").get
        with own_key_checks(db), transaction(db):
            delete_sessions(db, [row], make_key(path.parent))
    (path.parent / "tombstone.key").unlink()
    overwrite(path, leaves_of(path, "messages")[0], noise(2))
    *_, report = salvage.run(path, "command")
    assert "what was deleted since the snapshot may be back" in report.outcome
    assert report.facts["messages"] == 60


def test_a_store_that_is_open_is_refused_and_left(tmp_path):
    path = filled(tmp_path, 20)
    with opened(path), pytest.raises(RefusedError, match="open in"):
        salvaged(path)
    assert [each.name for each in path.parent.glob("damaged-*")] == []


def test_stopping_in_the_middle_leaves_everything_as_it_was(tmp_path, monkeypatch):
    path = filled(tmp_path, 100)
    overwrite(path, 1, noise(1))
    before = path.read_bytes()
    monkeypatch.setattr(salvage, "_PAGES_A_STEP", 5)
    running = salvage.run(path, "command")
    assert next(running).what == "reading pages"
    running.close()
    assert path.read_bytes() == before
    assert sorted(each.name for each in path.parent.iterdir()) == ["restore.lock", "state.db"]


@pytest.mark.parametrize("dies_at", ["replace", "finish"])
def test_killed_in_the_exchange_it_is_ended_by_whoever_opens_the_store(
    tmp_path, monkeypatch, dies_at
):
    """The log goes aside with the file it belongs to, and no index claims what it does not hold."""

    class Died(BaseException):
        pass

    def die(*_args):
        raise Died

    path = filled(tmp_path, 60)
    overwrite(path, leaves_of(path, "messages")[0], noise(2))
    path.with_name("state.db-wal").write_bytes(b"")
    with monkeypatch.context() as deadly:
        if dies_at == "replace":
            deadly.setattr(replacing, "_finish", die)
        else:
            deadly.setattr(salvage, "_finished", die)
        with pytest.raises(Died):
            salvaged(path)
    with closing(open_store(path, library())) as db:
        assert db.execute("SELECT count(*) FROM messages").get > 0
        assert not any(each.ready for each in statuses(db))
        for _ in backfill.run_sync(db, "test", now=True):
            pass
        assert all(finding.ok for finding in check(db))
    (folder,) = path.parent.glob("damaged-*")
    kept = {each.name for each in folder.iterdir()}
    assert kept >= {"report.json", "state.db", "state.db-wal"}
    assert list(path.parent.glob("restoring-*")) == []


def test_a_message_whose_text_was_overwritten_is_lost_and_not_garbled(tmp_path):
    path = filled(tmp_path, 20)
    with opened(path) as db:
        store_messages(db, message("long", "the whole text " * 2000))
    with closing(open_reader(path, tokenizer=None)) as db:
        page = db.execute(
            "SELECT pageno FROM dbstat WHERE name = 'messages' AND pagetype = 'overflow'"
            " ORDER BY path LIMIT 1 OFFSET 2"
        ).get
    with path.open("r+b") as file:
        file.seek((page - 1) * PAGE + 100)
        file.write(b"other text" * 100)
    report = salvaged(path)
    with opened(path) as db:
        assert db.execute("SELECT count(*) FROM messages").get == 20
        assert db.execute("SELECT count(*) FROM messages WHERE uid = 'long'").get == 0
    assert (report.facts["lost_messages"], report.facts["rows_that_disagreed"]) == (1, 1)
