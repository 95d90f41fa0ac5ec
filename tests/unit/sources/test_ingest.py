"""Importing: the same rows however often, wherever it was interrupted, whatever lies there."""

import asyncio
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from core.errors import SourceError
from core.sources import claude_code, detect, ingest
from core.sources import files as disk
from core.store.connection import open_store
from core.store.store import Store
from tests.unit.sources.expected import SAMPLES

CLAUDE = SAMPLES / "claude_code"


@pytest.fixture
def new_store(tmp_path):
    """Make stores, each of its own, without the CJK tokenizer."""
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


def run(db, *paths, kind=None):
    job = ingest.Import(list(paths), kind)
    for _ in ingest.run_sync(db, job):
        pass
    return job.report()


def rows(db):
    """Everything an import decides, without row ids and times of the run."""
    return {
        "messages": sorted(
            db.execute(
                "SELECT s.native_id, row_number() OVER (PARTITION BY s.id ORDER BY p.seq), m.uid,"
                " m.role, m.origin, m.state, m.content,"
                " m.reasoning, m.tool_calls, m.tool_status, m.created_at_ms, m.usage"
                " FROM message_placements AS p JOIN messages AS m ON m.id = p.message_id"
                " JOIN sessions AS s ON s.id = p.session_id"
            ),
            key=str,
        ),
        "sessions": sorted(
            db.execute(
                "SELECT native_id, parent_native_id, kind, title, title_source, cwd,"
                " message_count, user_turn_count, last_active_at_ms FROM sessions"
            ),
            key=str,
        ),
        "files": sorted(db.execute("SELECT path, size, state, offset FROM source_files"), key=str),
        "indexed": db.execute("SELECT count(*) FROM messages_fts_docsize").get,
    }


def said(text, uid=None, session="s", **fields):
    return json.dumps({"session": session, "id": uid, "role": "user", "content": text} | fields)


def write(path, *lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def contents(db):
    found = "SELECT content FROM messages WHERE state <> 'superseded' ORDER BY content"
    return [text for (text,) in db.execute(found)]


def outcomes(report):
    return {Path(f.path).name: (f.outcome, f.reason) for f in report.files}


# What a first import does


def test_a_transcript_is_stored_and_reported(db):
    path = CLAUDE / "claude-code-log" / "dag_within_fork.jsonl"
    report = run(db, path)
    assert (report.new, report.changed, report.skipped, report.failed) == (8, 0, 0, 0)
    (file,) = report.files
    assert (file.path, file.outcome, file.sessions, file.messages) == (str(path), "new", 1, 8)
    assert db.execute("SELECT kind, instance, display_name FROM sources").fetchall() == [
        ("claude-code", "", "Claude Code")
    ]
    stored = db.execute("SELECT path, size, state, offset FROM source_files").fetchall()
    size = path.stat().st_size
    assert stored == [(str(path), size, "done", size)]


def test_a_folder_may_hold_anything(db, tmp_path):
    shutil.copytree(CLAUDE / "rungraph", tmp_path / "mixed" / "claude")
    write(tmp_path / "mixed" / "talk.jsonl", said("neutral words"))
    write(tmp_path / "mixed" / "letter.txt", "dear all")
    write(tmp_path / "mixed" / "other.json", '{"a": 1}')
    write(tmp_path / "mixed" / "strange.jsonl", '{"a": 1}')
    write(tmp_path / "mixed" / "empty.jsonl")
    write(tmp_path / "mixed" / "auth.json", '{"token": "secret"}')
    os.mkfifo(tmp_path / "mixed" / "pipe.jsonl")

    report = run(db, tmp_path / "mixed")

    found = outcomes(report)
    assert report.failed == 0
    assert found["talk.jsonl"] == ("new", None)
    assert found["66666666-6666-4666-8666-666666666666.jsonl"][0] == "new"
    assert found["letter.txt"] == ("skipped", "not a file of conversations")
    unknown = ("skipped", "not a file of conversations that this version knows")
    assert found["other.json"] == found["strange.jsonl"] == unknown
    assert found["empty.jsonl"] == ("skipped", "the file is empty")
    assert found["pipe.jsonl"][0] == "skipped"
    assert "a pipe, not a regular file" in found["pipe.jsonl"][1]
    assert "auth.json" not in found
    kinds = {kind for (kind,) in db.execute("SELECT kind FROM sources")}
    assert kinds == {"claude-code", "jsonl"}
    assert report.unknown_records["turn-capsule"] == 26


def test_credentials_are_never_opened(db, tmp_path, monkeypatch):
    write(tmp_path / "home" / "auth.json", '{"session":"s","role":"user","content":"secret"}')
    write(tmp_path / "home" / "talk.jsonl", said("words"))
    seen = []
    opening = os.open
    monkeypatch.setattr(
        os, "open", lambda path, *a, **k: seen.append(path) or opening(path, *a, **k)
    )
    run(db, tmp_path / "home")
    assert any(str(path).endswith("talk.jsonl") for path in seen)
    assert not any(str(path).endswith("auth.json") for path in seen)
    with pytest.raises(SourceError, match="credentials"):
        detect.detect(tmp_path / "home" / "auth.json")


def test_the_store_itself_is_never_opened(db, tmp_path, monkeypatch):
    write(tmp_path / "talk.jsonl", said("words"))
    seen = []
    opening = os.open
    monkeypatch.setattr(
        os, "open", lambda path, *a, **k: seen.append(str(path)) or opening(path, *a, **k)
    )
    report = run(db, tmp_path, tmp_path / "store", tmp_path / "store" / "state.db")
    assert (report.new, report.failed) == (1, 2)
    assert {f.reason.endswith("belongs to the store itself") for f in report.files if f.reason} == {
        True
    }
    assert not [path for path in seen if "state.db" in path]


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda path: os.mkfifo(path), "a pipe, not a regular file"),
        (lambda path: path.write_text("dear all"), "not a file of conversations"),
        (lambda path: path.write_bytes(os.urandom(5000)), "not a file of conversations"),
        (lambda path: path.symlink_to("/dev/zero"), "a device, not a regular file"),
    ],
)
def test_a_file_that_was_named_and_cannot_be_read_has_failed(db, tmp_path, make, reason):
    make(tmp_path / "it.jsonl")
    talk = write(tmp_path / "talk.jsonl", said("words"))
    report = run(db, tmp_path / "it.jsonl", talk)
    assert (report.failed, report.new) == (1, 1)
    outcome, told = outcomes(report)["it.jsonl"]
    assert outcome == "failed"
    assert reason in told


def test_a_kind_that_is_none_is_refused(db, tmp_path):
    with pytest.raises(SourceError, match="there is no kind 'gemini'"):
        run(db, tmp_path, kind="gemini")


def test_bad_lines_are_named_and_stored_with_the_file(db, tmp_path):
    path = write(tmp_path / "talk.jsonl", said("before"), "{broken", said("after"))
    (file,) = run(db, path).files
    assert [(bad.path, bad.line) for bad in file.bad_records] == [(str(path), 2)]
    assert contents(db) == ["after", "before"]
    ((stored,),) = db.execute("SELECT bad_records FROM source_files")
    assert json.loads(stored)[0][0] == 2


def test_of_very_many_bad_lines_a_thousand_are_named(db, tmp_path):
    path = write(tmp_path / "talk.jsonl", said("before"), *("{broken" for _ in range(1200)))
    (file,) = run(db, path).files
    assert len(file.bad_records) == 1000
    assert file.reason == "200 more bad records are not listed"
    ((stored,),) = db.execute("SELECT bad_records FROM source_files")
    assert len(json.loads(stored)) == 1000


@pytest.mark.parametrize(
    ("count", "told"),
    [(3, None), (4, "1 more remark is not listed"), (5, "2 more remarks are not")],
)
def test_of_many_remarks_three_are_told_and_the_others_counted(db, tmp_path, count, told):
    lines = (said(f"text {n}", created_at="long ago") for n in range(count))
    (file,) = run(db, write(tmp_path / "talk.jsonl", *lines)).files
    parts = file.reason.split("; ")
    assert [part.partition(":")[0] for part in parts[:3]] == ["line 1", "line 2", "line 3"]
    assert [part[: len(told or "")] for part in parts[3:]] == ([] if told is None else [told])


def test_a_line_that_the_file_ends_within_is_told_and_read_when_it_is_whole(db, tmp_path):
    path = write(tmp_path / "talk.jsonl", said("whole"))
    with path.open("a") as file:
        file.write(said("half")[:-5])
    (report,) = run(db, path).files
    assert (report.messages, report.bad_records) == (1, ())
    assert report.reason is not None
    assert report.reason.startswith("line 2: the file ends within this line")
    write(path, said("whole"), said("half"))
    (report,) = run(db, path).files
    assert report.reason is None
    assert contents(db) == ["half", "whole"]


def test_what_was_kept_in_spite_of_something_is_told(db, tmp_path):
    path = tmp_path / "talk.jsonl"
    path.write_bytes(b'{"session":"s","role":"user","content":"caf\xe9"}\n')
    (file,) = run(db, path).files
    assert (file.outcome, file.reason) == (
        "new",
        "line 1: bytes that are not UTF-8 are shown as \ufffd",
    )


def test_one_file_may_hold_several_sources(db, tmp_path):
    path = write(
        tmp_path / "talk.jsonl",
        said("one", "m", source="laptop"),
        said("two", "m", source="desk"),
        said("three", "n", source="laptop"),
    )
    run(db, path)
    found = db.execute(
        "SELECT o.instance, m.content FROM messages AS m JOIN sources AS o ON o.id = m.source_id"
        " ORDER BY m.content"
    ).fetchall()
    assert found == [("laptop", "one"), ("laptop", "three"), ("desk", "two")]
    assert run(db, path).new == 0


def test_progress_counts_bytes_up_to_the_whole(db):
    job = ingest.Import([CLAUDE])
    told = list(ingest.run_sync(db, job))
    reading = [p for p in told if p.unit == "bytes"]
    done = [p.done for p in reading]
    assert done == sorted(done)
    report = job.report()
    assert reading[-1].done == reading[-1].total
    assert reading[-1].messages == report.new + report.changed


# Doing it again


@pytest.mark.parametrize("folder", ["claude_code", "codex/rungraph", "chatgpt", "edge", "hermes"])
def test_a_second_reading_changes_nothing(db, tmp_path, folder):
    shutil.copytree(SAMPLES / folder, tmp_path / folder)
    run(db, tmp_path / folder)
    before = rows(db)
    assert before["messages"]

    assert run(db, tmp_path / folder).new == 0
    assert rows(db) == before

    db.execute("UPDATE source_files SET reader_version = 0")
    again = run(db, tmp_path / folder)
    assert again.skipped < len(again.files)
    assert (again.new, again.changed, again.conflicts) == (0, 0, 0)
    assert rows(db) == before


def test_unchanged_files_are_not_even_opened(db, tmp_path, monkeypatch):
    folder = tmp_path / "projects"
    for number in range(1000):
        line = {"type": "user", "uuid": f"u{number}", "message": {"content": f"word {number}"}}
        write(folder / f"{number}.jsonl", json.dumps(line))
    assert run(db, folder).new == 1000

    monkeypatch.setattr(disk, "opened", None)
    monkeypatch.setattr(os, "open", None)
    started = time.perf_counter()
    report = run(db, folder)
    elapsed = time.perf_counter() - started

    assert (report.new, report.skipped, report.failed) == (0, 1000, 0)
    assert {f.reason for f in report.files} == {"unchanged"}
    assert elapsed < 3  # the budget is 0.3 s, on an idle machine


def test_a_file_that_grew_gives_what_is_new(db, tmp_path):
    path = write(tmp_path / "talk.jsonl", said("one", "a"))
    run(db, path)
    with path.open("a") as file:
        file.write(said("two", "b") + "\n" + said("three", "c")[:-9])
    report = run(db, path)
    assert (report.new, report.changed) == (1, 0)
    outcome, told = outcomes(report)["talk.jsonl"]
    assert (outcome, told.partition(",")[0]) == (
        "changed",
        "line 3: the file ends within this line",
    )
    whole = len(said("one", "a")) + len(said("two", "b")) + 2
    assert db.execute("SELECT offset FROM source_files").get == whole
    with path.open("a") as file:
        file.write(said("three", "c")[-9:] + "\n")
    assert run(db, path).new == 1
    assert contents(db) == ["one", "three", "two"]


def test_a_text_that_was_rewritten_in_place_is_replaced(db, tmp_path):
    path = write(tmp_path / "talk.jsonl", said("INCONE", "r1"), said("stays", "r2"))
    run(db, path)
    write(path, said("INCTWO", "r1"), said("stays", "r2"), said("new", "r3"))
    assert run(db, path).new == 1
    assert contents(db) == ["INCTWO", "new", "stays"]

    before = path.stat()
    write(path, said("INCSIX", "r1"), said("stays", "r2"), said("new", "r3"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size
    run(db, path)
    assert contents(db) == ["INCSIX", "new", "stays"]

    write(path, said("INCSIX", "r1"))
    run(db, path)
    assert contents(db) == ["INCSIX", "new", "stays"]


def test_a_later_line_of_the_same_id_corrects_the_earlier_one(db, tmp_path):
    path = write(tmp_path / "talk.jsonl", said("alpha", "m"), said("beta", "m"))
    for _ in range(2):
        report = run(db, path)
        assert (report.conflicts, report.failed) == (0, 0)
        found = db.execute("SELECT content, state FROM messages ORDER BY content").fetchall()
        assert found == [("alpha", "superseded"), ("beta", "active")]
        db.execute("UPDATE source_files SET reader_version = 0")


def test_a_message_that_was_still_being_written_grows(db, tmp_path):
    def answer(uuid, *blocks):
        message = {"id": "msg_1", "role": "assistant", "content": list(blocks)}
        return json.dumps({"type": "assistant", "uuid": uuid, "message": message})

    text = {"type": "text", "text": "let me look"}
    path = write(tmp_path / "0a.jsonl", answer("u1", text))
    run(db, path)
    with path.open("a") as file:
        file.write(answer("u2", {"type": "tool_use", "id": "t", "name": "ls", "input": {}}) + "\n")
    report = run(db, path)
    assert (report.new, report.changed, report.conflicts) == (0, 1, 0)
    found = db.execute(
        "SELECT uid, content, tool_calls IS NOT NULL, state FROM messages"
    ).fetchall()
    assert found == [("u1", "let me look", 1, "active")]


@pytest.mark.parametrize("first", ["0a", "0b"])
def test_copies_of_a_conversation_share_their_messages_and_name_their_origin(db, tmp_path, first):
    def line(uuid, text, second):
        at = f"2026-05-01T10:00:{second:02}Z"
        return json.dumps(
            {"type": "user", "uuid": uuid, "timestamp": at, "message": {"content": text}}
        )

    shared = [line("u1", "otter", 1), line("u2", "more", 2)]
    files = {
        "0a": write(tmp_path / "p" / "0a.jsonl", *shared, line("u3", "its own end", 3)),
        "0b": write(tmp_path / "p" / "0b.jsonl", *shared, line("u4", "beaver", 9)),
    }
    run(db, files.pop(first))
    run(db, tmp_path / "p")
    assert db.execute("SELECT count(*) FROM messages").get == 4
    shown = "SELECT s.native_id, count(*) FROM sessions AS s JOIN message_placements AS p"
    shown += " ON p.session_id = s.id GROUP BY s.id ORDER BY s.native_id"
    assert db.execute(shown).fetchall() == [("0a", 3), ("0b", 3)]
    found = "SELECT native_id, parent_native_id, relation, evidence FROM sessions ORDER BY 1"
    assert db.execute(found).fetchall() == [
        ("0a", None, None, None),
        ("0b", "0a", "fork", "heuristic"),
    ]


def test_a_vanished_file_takes_nothing_with_it(db, tmp_path):
    path = write(tmp_path / "talks" / "talk.jsonl", said("one", "a"))
    other = write(tmp_path / "talks" / "other.jsonl", said("two", "b"))
    run(db, tmp_path / "talks")
    path.unlink()
    run(db, tmp_path / "talks")
    states = dict(db.execute("SELECT path, state FROM source_files"))
    assert states == {str(path): "gone", str(other): "done"}
    assert contents(db) == ["one", "two"]

    write(path, said("one", "a"))
    assert outcomes(run(db, tmp_path / "talks"))["talk.jsonl"][0] == "changed"
    assert set(dict(db.execute("SELECT path, state FROM source_files")).values()) == {"done"}


def test_a_moved_file_is_known_again(db, tmp_path):
    home = tmp_path / "p"
    path = home / "0a.jsonl"
    write(path, '{"type":"user","uuid":"u","message":{"content":"dunlin"}}')
    run(db, home)
    before = rows(db)
    for name in ("0b", "0c", "archived/0d"):
        moved = home / f"{name}.jsonl"
        moved.parent.mkdir(exist_ok=True)
        path = path.rename(moved)
        report = run(db, home)
        assert (report.new, report.changed) == (0, 0)
    assert rows(db)["sessions"] == before["sessions"]
    assert rows(db)["messages"] == before["messages"]
    assert dict(db.execute("SELECT path, state FROM source_files")) == {str(path): "done"}


def test_a_file_that_failed_is_tried_again(db, tmp_path, monkeypatch):
    path = write(tmp_path / "0a.jsonl", '{"type":"user","uuid":"u","message":{"content":"hi"}}')
    reading = claude_code.read

    def broken(path):
        yield from reading(path)
        raise SourceError("the disk is tired", path=str(path))

    monkeypatch.setattr(claude_code, "read", broken)
    report = run(db, path)
    assert (report.new, report.failed) == (1, 1)
    assert outcomes(report)["0a.jsonl"] == ("failed", "the disk is tired")
    assert db.execute("SELECT state, error FROM source_files").get == (
        "failed",
        "the disk is tired",
    )
    monkeypatch.undo()
    report = run(db, path)
    assert (report.new, report.failed) == (0, 0)
    assert db.execute("SELECT state, error FROM source_files").get == ("done", None)


# Being interrupted


@pytest.fixture
def in_small_batches(monkeypatch):
    monkeypatch.setattr(ingest, "FIRST_BATCH", 7)
    monkeypatch.setattr(ingest, "SMALLEST_BATCH", 7)
    monkeypatch.setattr(ingest, "LARGEST_BATCH", 7)


@pytest.mark.parametrize("folder", ["rungraph", "claude-code-log"])
def test_stopped_after_any_batch_it_comes_to_the_same_rows(new_store, in_small_batches, folder):
    whole = new_store("whole")
    batches = sum(1 for _ in ingest.run_sync(whole, ingest.Import([CLAUDE / folder])))
    assert batches > 10
    wanted = rows(whole)
    for stop in range(1, batches, 5):
        db = new_store(f"stopped-{stop}")
        running = ingest.run_sync(db, ingest.Import([CLAUDE / folder]))
        for _ in range(stop):
            next(running)
        running.close()
        assert not db.in_transaction
        run(db, CLAUDE / folder)
        assert rows(db) == wanted


KILLED = """
import sys
from pathlib import Path
from core.sources import ingest
from core.store.connection import open_store
ingest.FIRST_BATCH = ingest.SMALLEST_BATCH = ingest.LARGEST_BATCH = 20
db = open_store(Path(sys.argv[1]), None)
print("open", flush=True)
for _ in ingest.run_sync(db, ingest.Import([Path(sys.argv[2])])):
    print("batch", flush=True)
"""


def test_killed_at_any_moment_it_comes_to_the_same_rows(new_store, tmp_path):
    lines = (said(f"word{n} and more", f"m{n}", session=f"s{n % 7}") for n in range(3000))
    path = write(tmp_path / "talk.jsonl", *lines)
    wanted = rows_of(new_store("whole"), path)
    store = tmp_path / "killed" / "state.db"
    chance = random.Random(5)
    for _ in range(4):
        command = [sys.executable, "-c", KILLED, str(store), str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=SAMPLES.parents[2]) as process:
            for _ in range(chance.randrange(2, 12)):
                process.stdout.readline()
            time.sleep(chance.random() / 50)
            process.send_signal(signal.SIGKILL)
        assert process.returncode == -signal.SIGKILL
    db = open_store(store, None)
    partly = db.execute("SELECT count(*) FROM messages").get
    assert 0 < partly < 3000
    assert rows_of(db, path) == wanted
    db.close()


def rows_of(db, path):
    run(db, path)
    return rows(db)


def test_a_file_may_grow_while_it_is_read(db, tmp_path, in_small_batches):
    path = write(tmp_path / "talk.jsonl", *(said(f"old {n}", f"o{n}") for n in range(30)))
    running = ingest.run_sync(db, ingest.Import([path]))
    next(running)
    with path.open("a") as file:
        file.write(said("new", "n") + "\n")
    for _ in running:
        pass
    run(db, path)
    assert len(contents(db)) == 31
    assert run(db, path).skipped == 1


def test_a_transcript_rewritten_while_it_is_read_fails_and_is_read_again(
    db, tmp_path, in_small_batches
):
    def line(number, text):
        return json.dumps({"type": "user", "uuid": f"u{number}", "message": {"content": text}})

    path = write(tmp_path / "0a.jsonl", *(line(n, "x" * 100_000) for n in range(40)))
    job = ingest.Import([path])
    running = ingest.run_sync(db, job)
    next(running)
    path.write_text(line(0, "short") + "\n")
    for _ in running:
        pass
    (file,) = job.report().files
    assert file.outcome == "failed"
    assert "changed while it was being read" in file.reason
    run(db, path)
    assert "short" in contents(db)
    assert db.execute("SELECT state FROM source_files").get == "done"


def test_an_import_through_the_store_can_be_cancelled_and_resumed(
    new_store, tmp_path, in_small_batches
):
    wanted = rows_of(new_store("whole"), CLAUDE / "rungraph")

    async def cancelled_then_whole():
        store = await Store.open(tmp_path / "profile", tokenizer=None)
        try:
            started = asyncio.Event()

            async def work():
                async for _ in ingest.run(store, ingest.Import([CLAUDE / "rungraph"])):
                    started.set()

            task = asyncio.create_task(work())
            await started.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            partly = await store.read(rows)
            job = ingest.Import([CLAUDE / "rungraph"])
            told = [progress async for progress in ingest.run(store, job)]
            return partly, await store.read(rows), told
        finally:
            await store.close()

    partly, whole, told = asyncio.run(cancelled_then_whole())
    assert len(partly["messages"]) < len(whole["messages"])
    assert whole == wanted
    assert {p.unit for p in told} >= {"bytes"}


def test_indexes_are_settled_after_a_large_import(new_store, tmp_path, tokenizer_path):
    path = write(tmp_path / "talk.jsonl", *(said(f"word{n} 订阅", f"m{n}") for n in range(2500)))
    db = open_store(tmp_path / "cjk" / "state.db", tokenizer_path)
    assert run(db, path).new == 2500
    assert dict(db.execute("SELECT name, state FROM index_state")) == {
        "messages_fts": "ready",
        "messages_fts_cjk": "ready",
        "messages_fts_trigram": "ready",
    }
    for name in ("messages_fts", "messages_fts_cjk"):
        found = db.execute(f"SELECT count(*) FROM {name} WHERE {name} MATCH 'word77'").get
        assert found == 1
    db.close()


def test_batches_keep_to_a_size_that_takes_the_time_allowed():
    job = ingest.Import([])
    job._adapt(1000, 0.8)
    assert job._batch_messages == 250
    job._adapt(100, 9.0)
    assert job._batch_messages == 250  # it was not full, and tells nothing
    for _ in range(20):
        job._adapt(job._batch_messages, 0.0001)
    assert job._batch_messages == ingest.LARGEST_BATCH
    for _ in range(20):
        job._adapt(job._batch_messages, 60)
    assert job._batch_messages == ingest.SMALLEST_BATCH
