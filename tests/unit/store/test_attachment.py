"""Programs with, without and with another tokenizer write one store."""

import subprocess
import sys
from random import Random

import apsw
import pytest

from core.store import attachment
from core.store.attachment import NO_TOKENIZER, OTHER_BUILD, OTHER_WRITER
from core.store.connection import open_reader, open_store, open_writer, transaction
from core.store.index_state import statuses
from core.store.indexes import CJK, INDEXES, NEVER_BUILT
from core.store.tokenizer_probe import fingerprint
from core.types import MessageState, Role
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

INDEX = INDEXES[CJK]


def reason(db: apsw.Connection) -> str:
    return str(db.execute("SELECT reason FROM index_state WHERE name = ?", (CJK,)).get)


def queue(db: apsw.Connection) -> list[tuple[object, ...]]:
    return db.execute("SELECT id, was_indexed, text FROM index_queue ORDER BY id").fetchall()


def cjk_status(db: apsw.Connection):
    return next(found for found in statuses(db) if found.name == CJK)


class OtherCutting:
    """A tokenizer under our name that cuts differently: every character is a token."""

    def __init__(self, db: apsw.Connection, arguments: list[str]) -> None:
        pass

    def __call__(self, text: bytes, reason: int, locale: str | None):
        offset = 0
        for char in text.decode():
            length = len(char.encode())
            yield offset, offset + length, char
            offset += length


def open_other_build(path):
    """A writing connection whose tokenizer has our name and another fingerprint."""
    db = open_writer(path, tokenizer=None)
    db.register_fts5_tokenizer("cjk_unicode61", OtherCutting)
    return db


def edit(db: apsw.Connection, row: int, content: str) -> None:
    with transaction(db):
        db.execute(
            "UPDATE messages SET content = ?, search_text = NULL WHERE id = ?", (content, row)
        )


def delete(db: apsw.Connection, row: int) -> None:
    with transaction(db):
        db.execute("DELETE FROM message_placements WHERE message_id = ?", (row,))
        db.execute("DELETE FROM messages WHERE id = ?", (row,))


def test_a_new_store_without_the_tokenizer_waits_for_it(tmp_path):
    db = store_at(tmp_path, cjk=False)
    store_messages(db, message("u", "电影订阅"))
    assert (state(db, CJK), reason(db)) == ("detached", NEVER_BUILT)
    assert queue(db) == []  # a whole build needs no notes
    assert (cjk_status(db).done, cjk_status(db).todo, cjk_status(db).coverage) == (0, 1, 0.0)
    db.close()
    db = open_store(path_at(tmp_path), library())
    assert state(db, CJK) == "building"
    store_messages(db, message("v", "订阅成功"))
    assert ids(db, CJK, '"订阅"') == [2]  # new messages are kept while the old ones wait
    db.close()


def test_a_new_store_with_the_tokenizer_is_ready_at_once(tmp_path):
    db = store_at(tmp_path)
    assert [found.state for found in statuses(db)] == ["ready"] * 3
    assert all(found.ready and found.coverage == 1.0 for found in statuses(db))
    db.close()


@pytest.fixture
def db(tmp_path):
    """A writer with the tokenizer, and three messages indexed."""
    db = store_at(tmp_path)
    store_messages(db, message("a", "电影一"), message("b", "电影二"), message("c", "电影三"))
    yield db
    db.close()


@pytest.fixture
def plain(tmp_path, db):
    """A writer of the same store that lacks the tokenizer."""
    plain = open_writer(path_at(tmp_path), tokenizer=None)
    yield plain
    plain.close()


def test_writing_without_the_tokenizer_goes_to_the_queue(db, plain):
    store_messages(plain, message("d", "电影四"))
    edit(plain, 1, "电影甲")
    edit(plain, 1, "电影乙")
    delete(plain, 2)
    assert (state(db, CJK), reason(db)) == ("detached", NO_TOKENIZER)
    assert queue(db) == [(1, 1, "电影一"), (2, 1, "电影二"), (4, 0, None)]
    assert ids(plain, "messages_fts", "nothing") == []
    assert held(plain, "messages_fts") == {1, 3, 4}
    found = cjk_status(db)
    assert (found.state, found.done, found.todo) == ("detached", 1, 2)


def test_a_program_with_the_same_tokenizer_takes_the_queue_in(tmp_path, db, plain):
    store_messages(plain, message("d", "电影四"))
    edit(plain, 1, "电影甲")
    edit(plain, 4, "影片")
    delete(plain, 2)
    again = open_store(path_at(tmp_path), library())
    assert (state(db, CJK), reason(db), queue(db)) == ("ready", "", [])
    assert ids(again, CJK, '"影甲"') == [1]
    assert ids(again, CJK, '"影一" OR "影二"') == []
    assert ids(again, CJK, '"影片"') == [4]
    verify_indexes(again)
    store_messages(again, message("e", "电影五"))
    assert queue(db) == []
    again.close()


def test_the_connection_that_lost_the_index_writes_on(db, plain):
    store_messages(plain, message("d", "电影四"))
    store_messages(db, message("e", "电影五"))  # has the tokenizer, but the triggers queue now
    assert [row for row, *_ in queue(db)] == [4, 5]
    with transaction(db):
        attachment.attach(db, fingerprint(db))
    assert ids(db, CJK, '"电影"') == [1, 2, 3, 4, 5]
    verify_indexes(db)


def test_rows_that_come_and_go_in_the_queue_leave_nothing(db, plain):
    store_messages(plain, message("d", "电影四"))
    delete(plain, 4)
    edit(plain, 3, "other")
    edit(plain, 3, "电影三")
    with transaction(plain):
        plain.execute("UPDATE messages SET role = 'tool', text_flags = 0 WHERE id = 1")
        plain.execute("UPDATE messages SET state = 'superseded' WHERE id = 2")
    with transaction(db):
        attachment.attach(db, fingerprint(db))
    assert held(db, CJK) == {3}
    verify_indexes(db)


def test_a_note_that_is_wrong_does_no_harm(db):
    with transaction(db):
        attachment.detach(db, "test")
        db.execute(
            "INSERT INTO index_queue(index_name, id, was_indexed) VALUES (?, 1, 0), (?, 99, 1)",
            (CJK, CJK),
        )
        attachment.attach(db, fingerprint(db))
    assert state(db, CJK) == "ready"
    verify_indexes(db)


def test_a_long_queue_is_left_to_the_backfill(db, plain, monkeypatch):
    monkeypatch.setattr(attachment, "DRAIN_AT_ONCE", 2)
    store_messages(plain, *(message(f"x{n}", "电影") for n in range(3)))
    with transaction(db):
        attachment.attach(db, fingerprint(db))
    assert state(db, CJK) == "detached"
    with transaction(db):
        assert attachment.drain(db, INDEX, 2) == 2
        assert attachment.drain(db, INDEX, 2) == 1
        assert attachment.drain(db, INDEX, 2) == 0
        attachment.resume(db, INDEX)
    assert state(db, CJK) == "ready"
    verify_indexes(db)


def test_another_build_detaches_before_its_first_write(tmp_path, db):
    other = open_other_build(path_at(tmp_path))
    assert fingerprint(other) not in (None, fingerprint(db))
    delete(other, 1)
    edit(other, 2, "影片")
    assert (state(db, CJK), reason(db)) == ("detached", OTHER_WRITER)
    other.close()
    with transaction(db):
        attachment.attach(db, fingerprint(db))
    verify_indexes(db)
    assert ids(db, CJK, '"电影"') == [3]


def test_another_build_cannot_attach_what_it_did_not_make(tmp_path, db):
    other = open_other_build(path_at(tmp_path))
    store_messages(other, message("d", "电影四"))
    with transaction(other):
        attachment.attach(other, fingerprint(other))
    assert (state(db, CJK), reason(db)) == ("stale", OTHER_BUILD)
    assert cjk_status(db).done == 0
    store_messages(other, message("e", "电影五"))
    other.close()
    with transaction(db):  # its maker has lost nothing by that
        attachment.attach(db, fingerprint(db))
    assert state(db, CJK) == "ready"
    verify_indexes(db)
    assert ids(db, CJK, '"电影"') == [1, 2, 3, 4, 5]


def test_a_stale_index_is_emptied_and_built_anew(tmp_path, db):
    other = open_other_build(path_at(tmp_path))
    with transaction(other):
        attachment.detach(other, "test")
        attachment.attach(other, fingerprint(other))
        attachment.rebuild(other, INDEX, fingerprint(other))
    assert state(other, CJK) == "building"
    assert held(other, CJK) == set()
    store_messages(other, message("d", "电影四"))
    assert ids(other, CJK, '"电" "影" "四"') == [4]
    other.close()


def test_status_is_that_of_the_connection_which_asks(tmp_path, db):
    reader = open_reader(path_at(tmp_path), tokenizer=None)
    found = cjk_status(reader)
    assert (found.state, found.ready) == ("detached", False)
    assert "without the CJK tokenizer" in found.reason
    assert state(reader, CJK) == "ready"
    assert [status.ready for status in statuses(db)] == [True] * 3
    reader.close()


def test_an_index_detached_while_it_is_built_goes_on_building(tmp_path):
    plain = store_at(tmp_path, cjk=False)
    store_messages(plain, message("a", "电影一"), message("b", "电影二"))
    db = open_store(path_at(tmp_path), library())
    edit(plain, 1, "电影甲")
    assert state(db, CJK) == "detached"
    with transaction(db):
        attachment.attach(db, fingerprint(db))
    assert state(db, CJK) == "building"
    assert held(db, CJK) == {1}  # the changed row came in with the queue, the other waits
    db.close()
    plain.close()


WRITER = """
import sys
from pathlib import Path
from random import Random
from core.errors import StoreBusyError
from core.store import attachment
from core.store.connection import open_store, tokenizer_fingerprint, transaction
from core.types import Role
from tests.unit.store.making import add_source, message, store_messages

path, name, library, seed = sys.argv[1:]
db = open_store(Path(path), Path(library) if library else None)
source = 1
random = Random(int(seed))
print(flush=True)
sys.stdin.readline()
for number in range(60):
    uid = f"{name}{number}"
    text = random.choice(["电影", "订阅成功", "nginx服务", "plain"]) + f" {uid} 影片{number}"
    role = random.choice([Role.USER, Role.ASSISTANT, Role.TOOL])
    store_messages(db, message(uid, text, session=name, role=role))
    with transaction(db):
        rows = [row for (row,) in db.execute("SELECT id FROM messages")]
        row = random.choice(rows)
        action = random.random()
        if action < 0.3:
            db.execute("DELETE FROM message_placements WHERE message_id = ?", (row,))
            db.execute("DELETE FROM messages WHERE id = ?", (row,))
        elif action < 0.6:
            db.execute("UPDATE messages SET content = ?, search_text = NULL WHERE id = ?",
                       (f"改 {text}", row))
    if library and number % 5 == 4:
        with transaction(db):
            attachment.attach(db, tokenizer_fingerprint(db))
db.close()
"""


@pytest.mark.parametrize("seed", [1, 2])
def test_two_programs_write_at_once_and_only_one_has_the_tokenizer(tmp_path, seed):
    store_at(tmp_path).close()
    running = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path_at(tmp_path)), name, where, str(seed)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for name, where in (("with", str(library())), ("without", ""))
    ]
    for process in running:
        assert process.stdout is not None
        process.stdout.readline()
    for process in running:
        assert process.stdin is not None
        process.stdin.write(b"\n")
        process.stdin.flush()
    for process in running:
        process.communicate(timeout=100)
    assert [process.returncode for process in running] == [0, 0]
    db = open_store(path_at(tmp_path), library())
    assert state(db, CJK) in ("ready", "settling")
    assert queue(db) == []
    verify_indexes(db)
    texts = dict(db.execute("SELECT id, content FROM messages").fetchall())  # all have CJK
    assert held(db, CJK) == set(texts)
    assert ids(db, CJK, '"影片"') == sorted(row for row, text in texts.items() if "影片" in text)
    db.close()


@pytest.mark.parametrize("seed", range(4))
def test_any_order_of_writers_ends_in_a_whole_index(tmp_path, seed):
    random = Random(seed)
    db = store_at(tmp_path)
    writers = [
        db,
        open_writer(path_at(tmp_path), tokenizer=None),
        open_other_build(path_at(tmp_path)),
    ]
    alive: list[int] = []
    for number in range(60):
        writer = random.choice(writers)
        action = random.random()
        if action < 0.5 or not alive:
            role = random.choice(list(Role))
            states = random.choice([MessageState.ACTIVE, MessageState.SUPERSEDED])
            text = f"电影{number} 影片"
            store_messages(writer, message(f"u{number}", text, role=role, state=states))
            alive.append(db.execute("SELECT max(id) FROM messages").get)
        elif action < 0.7:
            edit(writer, random.choice(alive), f"订阅{number}")
        elif action < 0.85:
            delete(writer, alive.pop(random.randrange(len(alive))))
        elif writer is not writers[1]:
            with transaction(writer):
                attachment.attach(writer, fingerprint(writer))
    with transaction(db):
        attachment.attach(db, fingerprint(db))
    verify_indexes(db)
    assert queue(db) == []
    for writer in writers:
        writer.close()
