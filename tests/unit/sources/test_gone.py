"""What a source no longer has is marked and never deleted; there again, it is unmarked."""

import gzip
import json
import shutil
import sys
import zipfile

import pytest

from core.history.messages import messages_page
from core.sources import files, ingest, neutral
from core.sources.following import Followed
from core.sources.records import SessionRecord
from core.store.connection import open_store

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PACK = {".gz": gzip.compress, ".zst": zstd.compress}


@pytest.fixture
def db(tmp_path):
    db = open_store(tmp_path / "store" / "state.db", None)
    yield db
    db.close()


def run(db, *paths, followed=None):
    job = ingest.Import(list(paths), followed=followed)
    for _ in ingest.run_sync(db, job):
        pass
    return job.report()


def line(uid, text, session="s", **more):
    return {"session": session, "id": uid, "role": "user", "content": text, **more}


def write(path, *lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(each) + "\n" for each in lines))
    return path


def gone(db):
    return sorted(
        name for (name,) in db.execute("SELECT native_id FROM sessions WHERE gone_at_ms > 0")
    )


def gone_uids(db):
    found = "SELECT uid FROM gone_messages AS g JOIN messages AS m ON m.id = g.message_id"
    return sorted(uid for (uid,) in db.execute(found))


def messages(db):
    return db.execute("SELECT count(*) FROM messages").get


def test_a_session_is_gone_when_its_last_file_is(db, tmp_path):
    place = tmp_path / "place"
    write(place / "a.jsonl", line("1", "one"))
    write(place / "b.jsonl", line("1", "one"), line("2", "two"), line("3", "x", session="other"))
    run(db, place)
    assert gone(db) == []

    (place / "a.jsonl").unlink()
    run(db, place)
    assert gone(db) == []

    text = (place / "b.jsonl").read_bytes()
    (place / "b.jsonl").unlink()
    write(place / "c.jsonl", line("9", "other words", session="third"))
    run(db, place)
    assert gone(db) == ["other", "s"]
    assert messages(db) == 4

    (place / "b.jsonl").write_bytes(text)
    run(db, place)
    assert gone(db) == []
    assert messages(db) == 4


def test_a_file_that_is_there_again_as_it_was_is_not_read_again(db, tmp_path):
    place = tmp_path / "place"
    write(place / "sub" / "a.jsonl", line("1", "one"))
    write(place / "b.jsonl", line("2", "two", session="b"))
    run(db, place)
    (place / "sub").rename(tmp_path / "aside")
    run(db, place)
    assert gone(db) == ["s"]
    (tmp_path / "aside").rename(place / "sub")
    report = run(db, place)
    assert {file.reason for file in report.files} == {"unchanged"}
    assert gone(db) == []
    assert db.execute("SELECT DISTINCT state FROM source_files").fetchall() == [("done",)]


def test_a_file_that_was_not_read_to_its_end_is_read_when_it_is_there_again(db, tmp_path):
    place = tmp_path / "p"
    write(place / "sub" / "a.jsonl", line("1", "one"))
    write(place / "b.jsonl", line("2", "two", session="b"))
    run(db, place)
    db.execute("UPDATE source_files SET state = 'reading' WHERE path LIKE '%a.jsonl'")
    (place / "sub").rename(tmp_path / "aside")
    run(db, place)
    assert gone(db) == ["s"]
    (tmp_path / "aside").rename(place / "sub")
    outcomes = {file.path[-7:]: file.outcome for file in run(db, place).files}
    assert outcomes == {"a.jsonl": "changed", "b.jsonl": "skipped"}
    assert gone(db) == []


# C07 of the public faults.
def test_a_place_that_is_missing_or_empty_marks_nothing(db, tmp_path):
    place = tmp_path / "disk" / "claude"
    write(place / "a.jsonl", line("1", "one"))
    run(db, place)
    (tmp_path / "disk").rename(tmp_path / "unmounted")
    report = run(db, place)
    assert report.failed == 1
    assert "cannot be read" in report.files[0].reason
    assert gone(db) == []
    place.mkdir(parents=True)
    assert run(db, place).failed == 0
    assert gone(db) == []
    shutil.rmtree(tmp_path / "disk")
    (tmp_path / "unmounted").rename(tmp_path / "disk")
    assert [file.reason for file in run(db, place).files] == ["unchanged"]
    assert messages(db) == 1


@pytest.mark.parametrize("is_another_disk", [True, False])
def test_an_empty_folder_that_was_another_disk_marks_nothing(db, tmp_path, is_another_disk):
    place = tmp_path / "p"
    write(place / "disk" / "deep" / "a.jsonl", line("1", "one"))
    write(place / "b.jsonl", line("2", "two", session="b"))
    run(db, place)
    if is_another_disk:
        db.execute("UPDATE source_files SET device = device + 1 WHERE path LIKE '%a.jsonl'")
    shutil.rmtree(place / "disk" / "deep")
    run(db, place)
    assert gone(db) == ([] if is_another_disk else ["s"])


def test_a_file_that_ends_within_a_line_marks_nothing(db, tmp_path):
    lines = [line("1", "one"), line("2", "two"), line("3", "three", session="t")]
    path = write(tmp_path / "a.jsonl", *lines)
    run(db, path)
    path.write_text(json.dumps(lines[0]) + "\n" + json.dumps(lines[1])[:20])
    run(db, path)
    assert gone(db) == gone_uids(db) == []


def test_a_session_that_its_file_no_longer_holds_is_gone(db, tmp_path):
    path = write(tmp_path / "a.jsonl", line("1", "one"), line("2", "two", session="t"))
    run(db, path)
    write(path, line("1", "one"))
    run(db, path)
    assert gone(db) == ["t"]
    write(path, line("1", "one"), line("2", "two", session="t"))
    run(db, path)
    assert gone(db) == []


def test_a_message_that_its_only_file_no_longer_tells_is_marked(db, tmp_path):
    path = write(tmp_path / "a.jsonl", line("1", "one"), line("2", "two"), line("3", "three"))
    run(db, path)
    write(path, line("1", "one"), line("3", "three changed"))
    run(db, path)
    assert gone_uids(db) == ["2"]
    session = db.execute("SELECT id FROM sessions").get
    shown = messages_page(db, session, first=1, count=9)
    assert [(m.uid, m.gone) for m in shown] == [("1", False), ("2", True), ("3", False)]

    write(path, line("1", "one"), line("2", "two"), line("3", "three changed"))
    run(db, path)
    assert gone_uids(db) == []


def test_one_gone_and_one_new_at_once(db, tmp_path):
    path = write(tmp_path / "a.jsonl", line("1", "one"), line("2", "two"))
    run(db, path)
    write(path, line("1", "one"), line("3", "three"))
    run(db, path)
    assert gone_uids(db) == ["2"]
    write(path, line("1", "one"), line("2", "two"))
    run(db, path)
    assert gone_uids(db) == ["3"]


def test_a_message_in_another_file_of_its_session_is_not_gone(db, tmp_path):
    path = write(tmp_path / "p" / "a.jsonl", line("1", "one"), line("2", "two"))
    write(tmp_path / "p" / "b.jsonl", line("2", "two"))
    run(db, tmp_path / "p")
    write(path, line("1", "one"))
    run(db, tmp_path / "p")
    assert gone_uids(db) == []


def three_of_which_the_last_is_gone(db, path, followed=None):
    lines = [line("1", "one"), line("2", "two"), line("3", "three")]
    run(db, write(path, *lines), followed=followed)
    run(db, write(path, *lines[:2]), followed=followed)
    assert gone_uids(db) == ["3"]
    return lines


def test_a_message_that_another_file_tells_is_marked_no_longer(db, tmp_path):
    lines = three_of_which_the_last_is_gone(db, tmp_path / "a.jsonl")
    run(db, write(tmp_path / "backup.jsonl", *lines))
    assert gone_uids(db) == []


def test_a_message_that_is_appended_again_is_marked_no_longer(db, tmp_path):
    followed = Followed()
    path = tmp_path / "a.jsonl"
    lines = three_of_which_the_last_is_gone(db, path, followed)
    with path.open("a") as stream:
        stream.write(json.dumps(lines[2]) + "\n")
    run(db, path, followed=followed)
    assert gone_uids(db) == []


def test_a_file_that_moved_on_to_a_place_looked_at_later_is_not_gone(db, tmp_path):
    path = write(tmp_path / "one" / "a.jsonl", line("1", "one"))
    write(tmp_path / "one" / "b.jsonl", line("2", "two", session="b"))
    write(tmp_path / "two" / "c.jsonl", line("3", "three", session="c"))
    run(db, tmp_path / "one", tmp_path / "two")
    path.rename(tmp_path / "two" / "a.jsonl")
    run(db, tmp_path / "one", tmp_path / "two")
    assert gone(db) == []
    assert db.execute("SELECT DISTINCT state FROM source_files").fetchall() == [("done",)]


def test_a_fault_in_the_reading_marks_nothing(db, tmp_path):
    path = write(tmp_path / "a.jsonl", line("1", "one"), line("2", "two", session="t"))
    run(db, path)
    path.write_text(json.dumps(line("1", "one")) + '\n{"session": \n')
    report = run(db, path)
    assert len(report.files[0].bad_records) == 1
    assert gone(db) == gone_uids(db) == []


def test_an_append_marks_nothing(db, tmp_path):
    followed = Followed()
    path = write(tmp_path / "a.jsonl", line("1", "one"), line("2", "two", session="t"))
    run(db, path, followed=followed)
    for number in range(3, 6):
        with path.open("a") as stream:
            stream.write(json.dumps(line(str(number), "more")) + "\n")
        run(db, path, followed=followed)
    assert gone(db) == gone_uids(db) == []
    files = db.execute("SELECT count(*) FROM session_files").get
    assert files == 2


def test_an_export_that_holds_less_marks_nothing(db, tmp_path):
    def export(name, *ids):
        conversations = [
            {"id": i, "title": i, "create_time": 1785899243, "mapping": _mapping(i)} for i in ids
        ]
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("conversations.json", json.dumps(conversations))
        return tmp_path / name

    first = export("export.zip", "c1", "c2")
    assert run(db, tmp_path).new == 2
    export("export.zip", "c1")
    write(tmp_path / "beside.jsonl", line("1", "one"))
    run(db, tmp_path)
    first.unlink()
    run(db, tmp_path)
    assert gone(db) == gone_uids(db) == []


def _mapping(name):
    message = {
        "id": f"{name}-m",
        "author": {"role": "user"},
        "content": {"content_type": "text", "parts": [f"said in {name}"]},
        "create_time": 1785899243,
    }
    return {
        "root": {"id": "root", "message": None, "parent": None, "children": [f"{name}-m"]},
        f"{name}-m": {"id": f"{name}-m", "message": message, "parent": "root", "children": []},
    }


def test_a_session_deleted_at_its_source_is_gone_and_archived_once(db, tmp_path, monkeypatch):
    deleted = {"s"}
    read = neutral.read
    monkeypatch.setattr(neutral, "read", lambda path: _deleting(read(path), deleted))
    path = write(tmp_path / "a.jsonl", line("1", "one"), line("2", "two", session="t"))
    run(db, path)
    state = "SELECT native_id, archived_at_ms > 0, gone_at_ms > 0 FROM sessions ORDER BY 1"
    assert db.execute(state).fetchall() == [("s", 1, 1), ("t", None, None)]
    db.execute("UPDATE sessions SET archived_at_ms = NULL")
    write(path, line("1", "one"), line("2", "two", session="t"), line("3", "three", session="t"))
    run(db, path)
    assert db.execute(state).fetchall() == [("s", None, 1), ("t", None, None)]
    deleted.clear()
    write(path, line("1", "one"), line("2", "two", session="t"))
    run(db, path)
    assert gone(db) == []


def _deleting(records, deleted):
    for record in records:
        if isinstance(record, SessionRecord) and record.native_id in deleted:
            record = SessionRecord(record.native_id, deleted_at_source=True)
        yield record


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
@pytest.mark.parametrize("stays", [True, False])
def test_a_file_that_is_compressed_is_the_same_history(db, tmp_path, suffix, stays):
    transcript = [
        {"type": "user", "uuid": f"u{n}", "sessionId": "s", "message": {"content": f"said {n}"}}
        for n in range(3)
    ]
    write(tmp_path / "p" / "talk.jsonl", *transcript)
    write(tmp_path / "p" / "plain.jsonl", line("1", "one"))
    run(db, tmp_path / "p")
    before = db.execute("SELECT uid, content FROM messages ORDER BY id").fetchall()
    for name in ("talk.jsonl", "plain.jsonl"):
        path = tmp_path / "p" / name
        packed = path.with_name(name + suffix)
        packed.write_bytes(PACK[suffix](path.read_bytes()))
        if not stays:
            path.unlink()
    report = run(db, tmp_path / "p")
    assert (report.new, report.changed, report.failed) == (0, 0, 0)
    assert len([file for file in report.files if file.outcome == "new"]) == 2
    assert db.execute("SELECT uid, content FROM messages ORDER BY id").fetchall() == before
    assert gone(db) == gone_uids(db) == []
    assert db.execute("SELECT count(*) FROM sessions").get == 2


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_a_damaged_archive_is_refused_in_words_and_gives_what_it_can(db, tmp_path, suffix):
    rows = "".join(json.dumps(line(str(n), f"{n} " * 5000)) + "\n" for n in range(200)).encode()
    packed = PACK[suffix](rows)
    path = tmp_path / f"a.jsonl{suffix}"
    path.write_bytes(packed[: len(packed) - 40])
    (file,) = run(db, path).files
    assert file.outcome == "failed"
    assert "a damaged archive" in file.reason
    path.write_bytes(b"\x1f\x8b" + b"no archive at all" * 9)
    (file,) = run(db, path).files
    assert file.outcome == "failed"


def test_a_small_file_that_unpacks_to_very_much_is_no_history(db, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "PLAIN_BYTES", 1 << 20)
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps(line("1", "x" * (4 << 20))).encode()))
    (file,) = run(db, path).files
    assert file.outcome == "failed"
    assert "unpacks to more" in file.reason
