"""A source at two moments of its life: nothing doubled, lost or set back, in whatever order.

Earlier stages of each sample are made by leaving out the end of it: lines of a file, the last of
a list, the youngest rows of a database. No reader has a part in that.
"""

import contextlib
import json
import os
import shutil
from collections import Counter

import apsw
import pytest

from core.errors import SourceError
from core.sources import detect, ingest
from core.sources.following import Followed
from core.store.connection import open_store
from tests.unit.sources.expected import SAMPLES

MOMENT = 1785899243
MOST_BYTES = 200_000
OTHERS = ("aider", "copilot", "cursor", "gemini", "goose", "omp", "openclaw", "opencode",
          "pi", "qwen", "vscode_chat")  # fmt: skip
CUT = (".db", ".json", ".jsonl", ".md", ".vscdb")
LISTS = ("messages", "requests", "history")
TOLD_MORE = "v0000000-0000-4000-8000-000000000002.jsonl"
"""Its last answer became shorter within one moment: nothing tells which of two is the later."""


def samples(*folders):
    found = []
    for folder in folders:
        for path in sorted((SAMPLES / folder).rglob("*")):
            if path.suffix in CUT and 0 < path.stat().st_size < MOST_BYTES:
                with contextlib.suppress(SourceError):
                    found += [path] if detect.detect(path) else []
    return found


def earlier(path, folder):
    """The bytes of a file at moments before its last, the earliest first."""
    text = path.read_bytes()
    if path.suffix in (".jsonl", ".md"):
        lines = text.splitlines(keepends=True)
        ends = sorted({max(1, len(lines) * n // 4) for n in range(1, 4)})
        return [b"".join(lines[:end]) for end in ends if end < len(lines)]
    if path.suffix == ".json":
        return [json.dumps(shorter(json.loads(text), part)).encode() for part in (0.35, 0.7)]
    return [fewer(path, folder / f"cut{part}.db", part) for part in (0.3, 0.7)]


def shorter(value, part):
    if isinstance(value, list):
        return [shorter(each, part) for each in value]
    if not isinstance(value, dict):
        return value
    found = {key: shorter(each, part) for key, each in value.items()}
    for name in LISTS:
        if isinstance(found.get(name), list):
            found[name] = found[name][: max(1, int(len(found[name]) * part))]
    return found


def fewer(path, made, part):
    made.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(path, made)
    with contextlib.closing(apsw.Connection(str(made))) as db:
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_schema")]
        for table in {"message", "messages", "part"} & set(tables):
            db.execute(
                f"DELETE FROM {table} WHERE rowid > (SELECT min(rowid)"
                f" + (max(rowid) - min(rowid)) * {part} FROM {table})"
            )
    return made.read_bytes()


def put(sample, folder, text):
    """Put a file where it lay among its neighbours, below another folder."""
    path = folder / sample.relative_to(SAMPLES)
    if not path.parent.exists():
        shutil.copytree(sample.parent, path.parent)
    path.write_bytes(text)
    if path.suffix in (".jsonl", ".md"):  # what a session without any time is as old as
        os.utime(path, (MOMENT, MOMENT))
    return path


@contextlib.contextmanager
def store(folder):
    db = open_store(folder / "state.db", None)
    try:
        yield db
    finally:
        db.close()


def run(db, path, kind, followed=None):
    job = ingest.Import([path], kind, followed=followed)
    for _ in ingest.run_sync(db, job):
        pass
    return job.report()


def shown(db, instance):
    """What is shown in which state, in its order; without what is marked as gone."""
    return db.execute(
        "SELECT s.native_id, m.uid, m.role, m.origin, m.state, m.content, m.reasoning,"
        " m.tool_calls, m.tool_status, m.model, m.usage,"
        " CASE m.time_quality WHEN 'file_mtime' THEN NULL ELSE m.created_at_ms END"
        " FROM message_placements AS p JOIN messages AS m ON m.id = p.message_id"
        " JOIN sessions AS s ON s.id = p.session_id JOIN sources AS r ON r.id = s.source_id"
        " WHERE r.instance = ? AND m.state <> 'superseded'"
        " AND NOT EXISTS (SELECT 1 FROM gone_messages AS g WHERE g.message_id = m.id)"
        " ORDER BY s.native_id, p.seq, m.uid",
        (instance,),
    ).fetchall()


def whole(sample, folder, reader):
    path = put(sample, folder / "place", sample.read_bytes())
    with store(folder / "whole") as db:
        run(db, path, reader.KIND)
        return path, shown(db, reader.identity(path).instance)


def check(sample, folder):
    reader = detect.detect(sample)
    path, wanted = whole(sample, folder, reader)
    instance, last = reader.identity(path).instance, sample.read_bytes()
    stages = earlier(sample, folder)
    followed = Followed() if hasattr(reader, "read_on") else None
    with store(folder / "grown") as db:
        for text in (*stages, last):
            path.unlink()  # another file of the same name, or a longer one
            run(db, put(sample, folder / "place", text), reader.KIND, followed)
        assert shown(db, instance) == wanted, "grown"
    for number, text in enumerate(stages):
        copy = put(sample, folder / f"copy{number}", text)
        with store(folder / f"newer{number}") as db:
            run(db, path, reader.KIND)
            run(db, copy, reader.KIND)
            beside = shown(db, instance)
            assert not Counter(wanted) - Counter(beside), "an older copy read later"
            assert uids(beside) >= uids(wanted)
        with store(folder / f"older{number}") as db:
            run(db, copy, reader.KIND)
            run(db, path, reader.KIND)
            assert not Counter(wanted) - Counter(shown(db, instance)), "an older copy read first"
    with store(folder / "shrunk") as db:
        run(db, path, reader.KIND)
        if stages:
            run(db, put(sample, folder / "place", stages[0]), reader.KIND)
            kept = db.execute("SELECT uid FROM messages WHERE state <> 'superseded'")
            assert {uid for (uid,) in kept} >= {uid for _, uid in uids(wanted)}, "shrunk"
            run(db, put(sample, folder / "place", last), reader.KIND)
            assert shown(db, instance) == wanted, "grown again"


def uids(rows):
    return {(session, uid) for session, uid, *_ in rows}


def sets_nothing_back(path):
    return path.name != TOLD_MORE


NEW = [path for path in samples(*(f"others/{name}" for name in OTHERS)) if sets_nothing_back(path)]
SOME = {detect.detect(path).KIND: path for path in reversed(NEW)}  # the first of each kind


def named(path):
    return str(path.relative_to(SAMPLES))


@pytest.mark.parametrize("sample", SOME.values(), ids=named)
def test_a_source_at_several_moments(sample, tmp_path):
    check(sample, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("sample", [*NEW, *samples("claude_code", "codex", "hermes")], ids=named)
def test_every_source_at_several_moments(sample, tmp_path):
    check(sample, tmp_path)


def said(uid, text, minute):
    at = f"2026-08-05T10:{minute:02}:00Z"
    return {"session": "s", "id": uid, "role": "user", "content": text, "created_at": at}


def write(path, *lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(each) + "\n" for each in lines))
    return path


def words(db):
    return dict(db.execute("SELECT uid, content FROM messages WHERE state = 'active'"))


def test_each_session_is_told_by_the_file_that_knows_it_longest(tmp_path):
    other = {"session": "t", "role": "user"}
    long_s = [said("1", "new one", 0), said("2", "two", 5)]
    old_s = [said("1", "one", 0)]
    long_t = [{**said("3", "new three", 0), **other}, {**said("4", "four", 5), **other}]
    old_t = [{**said("3", "three", 0), **other}]
    wanted = {"1": "new one", "2": "two", "3": "new three", "4": "four"}
    for number, turned in enumerate([False, True]):
        place = tmp_path / str(number)
        first = write(place / "a.jsonl", *long_s, *old_t)
        second = write(place / "b.jsonl", *old_s, *long_t)
        with store(place / "store") as db:
            for path in (second, first) if turned else (first, second):
                run(db, path, None)
            assert words(db) == wanted
            write(first, *long_s, *old_t, *old_t)  # changed, and as old as before
            run(db, first, None)
            assert words(db) == wanted
            assert db.execute("SELECT DISTINCT state FROM source_files").fetchall() == [("done",)]


def test_two_copies_read_at_once_end_like_one_after_the_other(tmp_path):
    for number, names in enumerate([("a", "b", "c"), ("c", "b", "a"), ("b", "c", "a")]):
        place = tmp_path / str(number)
        stages = [said("1", "oldest", 0)], [said("1", "older", 0), said("2", "two", 1)]
        newest = [said("1", "newest", 0), said("2", "two", 1), said("3", "three", 2)]
        for name, lines in zip(names, (*stages, newest), strict=True):
            write(place / f"{name}.jsonl", *lines)
        with store(place / "store") as db:
            run(db, place, None)
            assert words(db) == {"1": "newest", "2": "two", "3": "three"}
            again = run(db, place, None)
            assert (again.new, again.changed, again.skipped) == (0, 0, 3)


def test_what_was_thrown_away_stays_so_when_a_file_is_read_once_more(tmp_path):
    path = write(tmp_path / "a.jsonl", said("1", "one", 0), said("2", "two", 5))
    with store(tmp_path / "store") as db:
        run(db, path, None)
        db.execute("UPDATE messages SET state = 'trashed' WHERE uid = '1'")
        run(db, write(tmp_path / "b.jsonl", said("1", "another", 0)), None)
        assert words(db) == {"2": "two"}


def test_a_file_that_cannot_be_read_once_more_is_no_failure(tmp_path, monkeypatch):
    path = write(tmp_path / "a.jsonl", said("1", "one", 0), said("2", "two", 5))
    with store(tmp_path / "store") as db:
        run(db, path, None)
        path.rename(tmp_path / "away.jsonl")
        report = run(db, write(tmp_path / "b.jsonl", said("1", "another", 0)), None)
        assert report.failed == 0
        assert words(db) == {"1": "another", "2": "two"}


def test_a_time_that_is_told_later_is_the_sessions_too(tmp_path):
    timed = said("1", "one", 5)
    timeless = {name: value for name, value in timed.items() if name != "created_at"}
    times = "SELECT m.created_at_ms, s.last_active_at_ms FROM messages AS m, sessions AS s"
    with store(tmp_path / "store") as db:
        run(db, write(tmp_path / "a.jsonl", timeless, timed), None)
        assert db.execute(times).fetchall() == [(1785924300000, 1785924300000)]
