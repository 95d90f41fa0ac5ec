"""Filling indexes beside everything else, through any interruption."""

import signal
import subprocess
import sys
import time

import pytest

from core.index import backfill
from core.index.backfill import Pace, needs_work, run_sync, step
from core.index.state import claim, new_holder, release, state_of, statuses
from core.store import attachment, indexes
from core.store.connection import open_store, open_writer, tokenizer_fingerprint, transaction
from core.store.indexes import CJK, INDEXES
from core.store.waiting import LOOK_EVERY_S
from core.types import INDEX_NAMES, MessageState, Role
from tests.unit.store.making import (
    held,
    ids,
    library,
    message,
    path_at,
    state,
    store_at,
    store_messages,
    verify_indexes,
)


@pytest.fixture
def db(tmp_path):
    db = store_at(tmp_path)
    yield db
    db.close()


def empty(db, *names):
    """Forget what the indexes hold, as after a repair."""
    with transaction(db):
        for name in names or INDEX_NAMES:
            fingerprint = tokenizer_fingerprint(db) if name == CJK else None
            attachment.rebuild(db, INDEXES[name], fingerprint)


def fill(db, *names):
    return list(run_sync(db, new_holder(), names or INDEX_NAMES))


def some(count, start=0):
    roles = (Role.USER, Role.ASSISTANT, Role.TOOL, Role.TOOL)
    texts = ("电影{n} 订阅 word{n} common",) * 3 + ("word{n} common",)
    return [
        message(f"u{n}", texts[n % 4].format(n=n), role=roles[n % 4])
        for n in range(start, start + count)
    ]


def expected(db, name):
    kind = {
        "messages_fts": "true",
        "messages_fts_trigram": "role <> 'tool'",
        CJK: "(role <> 'tool' OR content GLOB '*电影*')",
    }[name]
    rows = db.execute(f"SELECT id FROM messages WHERE state <> 'superseded' AND {kind}")
    return {row for (row,) in rows}


def assert_complete(db):
    for found in statuses(db):
        assert (found.state, found.todo, found.coverage, found.ready) == ("ready", 0, 1.0, True)
        assert held(db, found.name) == expected(db, found.name)
    verify_indexes(db)


def test_an_empty_store_is_done_at_once(db):
    assert fill(db) == []
    empty(db)
    assert_complete(db)


def test_a_store_of_superseded_rows_alone_ends_too(db):
    store_messages(db, message("u", state=MessageState.SUPERSEDED))
    empty(db)
    fill(db)
    assert_complete(db)


def test_everything_is_filled_in_and_progress_tells_so(db):
    store_messages(db, *some(600))
    empty(db)
    assert [found.coverage for found in statuses(db)] == [0.0] * 3
    progress = fill(db)
    assert_complete(db)
    assert ids(db, CJK, '"订阅"') == sorted(expected(db, CJK))
    done = [p.done for p in progress if p.what.startswith("messages_fts ")]
    assert done == sorted(done)
    assert done[-1] == 600
    assert db.execute("SELECT DISTINCT holder FROM index_state").fetchall() == [(None,)]


def test_it_goes_on_where_it_was_closed(db):
    store_messages(db, *(message(f"u{n}", f"word{n} " * 60) for n in range(900)))
    empty(db)
    running = run_sync(db, new_holder())
    next(running)
    running.close()
    found = statuses(db)[0]
    assert 0 < found.cursor < 900
    assert 0 < found.done < 900
    assert found.todo == 900 - found.done
    assert found.last_moved_at_ms is not None
    fill(db)
    assert_complete(db)


def test_changes_during_the_filling_are_neither_lost_nor_doubled(db):
    store_messages(db, *some(300))
    empty(db)
    pace, holder = Pace(text_bytes=400), new_holder()
    round_number = 0
    while True:
        round_number += 1
        with transaction(db):
            pace.text_bytes = 400
            if step(db, "messages_fts", pace, holder) is None:
                break
        row = (round_number * 37) % 300 + 1
        with transaction(db):
            if round_number % 3 == 0:
                db.execute("DELETE FROM message_placements WHERE message_id = ?", (row,))
                db.execute("DELETE FROM messages WHERE id = ?", (row,))
            else:
                sql = "UPDATE messages SET content = ?, text_flags = 0 WHERE id = ?"
                db.execute(sql, (f"new{row}", row))
        store_messages(db, message(f"live{round_number}", "live"))
        assert ids(db, "messages_fts", "live")[-1] == 300 + round_number
    assert state_of(db, "messages_fts") == "ready"
    assert round_number > 20
    with transaction(db):
        release(db, holder)
    fill(db)
    assert_complete(db)


def test_rows_that_a_foreign_program_kept_from_the_index_are_found(db):
    with transaction(db):
        indexes.drop_triggers(db, INDEXES["messages_fts"])
    store_messages(db, *some(5))
    with transaction(db):
        indexes.install_live_triggers(db, INDEXES["messages_fts"])
        attachment.resume(db, INDEXES["messages_fts"])
        db.execute("UPDATE index_state SET high_water = 5 WHERE name = 'messages_fts'")
    assert state_of(db, "messages_fts") == "building"
    fill(db)
    assert_complete(db)


def test_a_second_process_leaves_it_to_the_first(db):
    store_messages(db, *some(50))
    empty(db)
    first = new_holder()
    with transaction(db):
        assert claim(db, first)
    assert fill(db) == []
    assert statuses(db)[0].done == 0
    with transaction(db):
        release(db, first)
    assert fill(db)
    assert_complete(db)


def test_without_the_tokenizer_the_other_indexes_are_filled(tmp_path):
    db = store_at(tmp_path, cjk=False)
    store_messages(db, *some(30))
    empty(db, "messages_fts", "messages_fts_trigram")
    fill(db)
    assert [state(db, name) for name in INDEX_NAMES] == ["ready", "ready", "detached"]
    assert not needs_work(db, CJK)
    db.close()
    db = open_store(path_at(tmp_path), library())
    assert needs_work(db, CJK)
    fill(db)
    assert_complete(db)
    db.close()


def test_a_long_queue_is_drained_in_steps_and_the_index_attached(tmp_path, db, monkeypatch):
    monkeypatch.setattr(attachment, "DRAIN_AT_ONCE", 10)
    store_messages(db, *some(20))
    plain = open_writer(path_at(tmp_path), tokenizer=None)
    store_messages(plain, *some(35, start=20))
    plain.close()
    assert state(db, CJK) == "detached"
    fill(db)
    assert_complete(db)


def test_a_queue_is_drained_by_the_size_of_its_texts(db, monkeypatch):
    monkeypatch.setattr(attachment, "DRAIN_AT_ONCE", 0)
    store_messages(db, message("old", "旧" * 2_000))
    with transaction(db):
        attachment.detach(db, "test")
    store_messages(db, *(message(f"u{n}", "电影" * 1_000) for n in range(6)))  # 6,000 bytes each
    with transaction(db):
        db.execute("UPDATE messages SET content = '新', search_text = NULL WHERE id = 1")
    left, pace = [], Pace(text_bytes=11_000)
    while state(db, CJK) == "detached":
        with transaction(db):
            pace.text_bytes = 11_000
            step(db, CJK, pace, "x")
        left.append(attachment.queued(db, INDEXES[CJK]))
    assert left == [5, 3, 1, 0]  # what leaves the index counts as well as what comes
    assert ids(db, CJK, '"旧旧"') == []
    with transaction(db):
        release(db, "x")
    fill(db)
    assert_complete(db)


def test_a_start_leaves_a_queue_of_long_texts_to_the_backfill(tmp_path, db, monkeypatch):
    monkeypatch.setattr(attachment, "DRAIN_AT_ONCE_BYTES", 10_000)
    with transaction(db):
        attachment.detach(db, "test")
    store_messages(db, *(message(f"u{n}", "电影" * 1_000) for n in range(3)))
    open_store(path_at(tmp_path), library()).close()
    assert (state(db, CJK), attachment.queued(db, INDEXES[CJK])) == ("detached", 3)
    monkeypatch.setattr(attachment, "DRAIN_AT_ONCE_BYTES", 20_000)
    open_store(path_at(tmp_path), library()).close()
    assert (state(db, CJK), attachment.queued(db, INDEXES[CJK])) == ("ready", 0)


def test_many_rows_are_filled_with_wider_merges_and_the_settings_taken_back(db, monkeypatch):
    monkeypatch.setattr("core.index.bulk.BULK_ROWS", 50)
    store_messages(db, *some(60))
    empty(db, "messages_fts")

    def automerge():
        return db.execute("SELECT v FROM messages_fts_config WHERE k = 'automerge'").get

    steps = run_sync(db, new_holder(), ("messages_fts",))
    next(steps)
    assert automerge() == 32
    assert list(steps)
    assert automerge() == 4
    assert db.execute("SELECT v FROM messages_fts_config WHERE k = 'crisismerge'").get == 16
    assert_complete(db)


def test_an_index_of_another_build_is_built_anew(db):
    store_messages(db, *some(20))
    with transaction(db):
        attachment.detach(db, "test")
        db.execute("UPDATE index_state SET fingerprint = 'other', state = 'stale' WHERE name = ?",
                   (CJK,))  # fmt: skip
    fill(db)
    assert_complete(db)
    own = tokenizer_fingerprint(db)
    assert db.execute("SELECT fingerprint FROM index_state WHERE name = ?", (CJK,)).get == own


def test_pace_follows_the_time_a_batch_took():
    pace = Pace(text_bytes=100_000)
    pace.learn(100_000, 0.05)
    assert pace.text_bytes == 50_000
    pace.learn(50_000, 0.001)
    assert pace.text_bytes == 100_000  # at most twice as much at a time
    pace.learn(100_000, 60.0)
    assert pace.text_bytes == 8 * 1024
    pace.last_s = 0.01
    assert pace.pause_s(is_busy=True) == 0.2
    pace.last_s = 0.1
    assert pace.pause_s(is_busy=True) == pytest.approx(0.4)
    assert pace.pause_s(is_busy=False) == 0.0


def test_whoever_waits_for_the_lock_finds_a_gap_also_where_nobody_was_seen():
    for now, is_busy in ((False, False), (True, False), (True, True)):
        pace, held = Pace(last_s=0.04), 0.0
        for _ in range(100):
            held += pace.last_s
            if pace.pause_s(is_busy=is_busy, now=now) > LOOK_EVERY_S:
                held = 0.0
            assert held < 0.35


def test_batches_are_short(db):
    store_messages(db, *some(1500))
    empty(db)
    longest, started = 0.0, time.perf_counter()
    for _ in run_sync(db, new_holder()):
        longest = max(longest, time.perf_counter() - started)
        started = time.perf_counter()
    assert longest < 1.0  # a wide margin for a busy machine; the bench has the budget


KILLED = """
import sys
from pathlib import Path
from core.index.backfill import run_sync
from core.index.state import new_holder
from core.store.connection import open_store
db = open_store(Path(sys.argv[1]), Path(sys.argv[2]))
print(flush=True)
for _ in run_sync(db, new_holder()):
    pass
"""


def test_killed_at_any_moment_it_goes_on(tmp_path, db):
    store_messages(db, *some(3000))
    empty(db)
    for delay in (0.0, 0.03, 0.1):
        process = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(path_at(tmp_path)), str(library())],
            stdout=subprocess.PIPE,
        )
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    fill(db)  # at once: who is gone holds nothing
    assert_complete(db)
    assert backfill.is_paused(db) is False
