"""An index that is set aside, and dropped by pieces while everything else goes on."""

import apsw
import pytest

from core.index.backfill import run_sync, unfinished
from core.index.state import new_holder
from core.store import attachment, leftovers
from core.store.connection import open_store, open_writer, tokenizer_fingerprint, transaction
from core.store.indexes import CJK, INDEXES
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
SHADOW_TABLES = ("data", "idx", "docsize", "config")


@pytest.fixture
def db(tmp_path, monkeypatch):
    """A store of 60 messages whose indexes count as large."""
    monkeypatch.setattr(attachment, "EMPTY_AT_ONCE_BLOCKS", 2)
    db = store_at(tmp_path)
    for n in range(60):
        store_messages(db, message(f"u{n}", f"电影{n} 订阅 word{n}"))
    yield db
    db.close()


def rebuild(db, index=INDEX):
    with transaction(db):
        attachment.rebuild(db, index, tokenizer_fingerprint(db) if index is INDEX else None)


def tables(db):
    """Every table of an index that was set aside, of this name and behind it."""
    rows = db.execute("SELECT name FROM sqlite_schema WHERE name GLOB '*_stale_*'")
    return sorted(name for (name,) in rows)


def test_the_old_index_is_renamed_and_a_new_one_takes_its_place(db):
    rebuild(db)
    assert leftovers.names(db, INDEX) == [f"{CJK}_stale_1"]
    assert tables(db) == sorted(
        [f"{CJK}_stale_1", *(f"{CJK}_stale_1_{name}" for name in SHADOW_TABLES)]
    )
    assert (state(db, CJK), held(db, CJK)) == ("building", set())
    store_messages(db, message("live", "电影新"))
    assert ids(db, CJK, '"影新"') == [61]
    verify_indexes(db, ("messages_fts", "messages_fts_trigram"))


def test_it_is_dropped_before_the_new_one_is_filled_and_leaves_nothing(db):
    rebuild(db)
    what = [progress.done for progress in run_sync(db, new_holder())]
    assert what[0] == 0  # the first steps drop
    assert tables(db) == []
    assert state(db, CJK) == "ready"
    assert ids(db, CJK, '"订阅"') == list(range(1, 61))
    verify_indexes(db)


def test_each_piece_takes_no_more_than_it_may(db):
    """Each table's rows go at most so many at a time, the table itself last."""
    rebuild(db)
    name = f"{CJK}_stale_1"

    def rows(table, where="true"):
        return db.execute(f"SELECT count(*) FROM {name}_{table} WHERE {where}").get

    seen = []
    for _ in range(1000):
        before = (rows("data", "id > 10"), rows("docsize"), rows("idx"))
        seen.append(before)
        with transaction(db):
            if leftovers.drop_piece(db, name, 3):
                break
        after = (rows("data", "id > 10"), rows("docsize"), rows("idx"))
        gone = [was - now for was, now in zip(before, after, strict=True)]
        assert sum(bool(each) for each in gone) == 1
        assert 0 < gone[0] <= 3 or 0 < gone[1] <= 24 or 0 < gone[2] <= 24
    assert seen[0][1] == 60
    assert seen[-1] == (0, 0, 0)
    assert tables(db) == []


def test_it_can_be_set_aside_again_before_the_first_is_gone(db):
    rebuild(db)
    with transaction(db):
        name = leftovers.set_aside(db, INDEX)
    assert name == f"{CJK}_stale_2"
    assert leftovers.names(db, INDEX) == [f"{CJK}_stale_1", f"{CJK}_stale_2"]


def test_a_ready_index_with_something_left_over_has_work(db):
    """A program that died between the last rows and the drop leaves the table to the next."""
    rebuild(db)
    with transaction(db):
        db.execute("UPDATE index_state SET state = 'ready' WHERE name = ?", (CJK,))
    assert unfinished(db) == (CJK,)
    list(run_sync(db, new_holder()))
    assert unfinished(db) == ()
    assert tables(db) == []


def test_nothing_can_write_behind_an_index_afterwards(db):
    rebuild(db)
    with transaction(db):
        leftovers.drop_piece(db, f"{CJK}_stale_1", 1)
    for name in (CJK, f"{CJK}_stale_1", "messages_fts"):
        with pytest.raises(apsw.SQLError, match="may not be modified"):
            db.execute(f"DELETE FROM {name}_data")


def test_a_failure_while_pieces_go_leaves_the_defence_up(db):
    with pytest.raises(apsw.SQLError, match="no such table"), transaction(db):
        leftovers.drop_piece(db, "messages_fts_cjk_stale_9", 1)
    assert db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, -1) == 1


def test_programs_with_and_without_the_tokenizer_write_meanwhile(tmp_path, db):
    """Also connections that had the old table open, and one that cannot read it at all."""
    other = open_store(path_at(tmp_path), library())
    assert ids(other, CJK, '"电影"')
    rebuild(db)
    store_messages(other, message("a", "电影甲"))
    assert ids(other, CJK, '"影甲"') == [61]
    plain = open_writer(path_at(tmp_path), tokenizer=None)
    store_messages(plain, message("b", "电影乙"))
    with transaction(plain):
        plain.execute("DELETE FROM message_placements WHERE message_id IN (2, 61)")
        plain.execute("DELETE FROM messages WHERE id IN (2, 61)")
    assert state(db, CJK) == "detached"
    list(run_sync(db, new_holder()))
    assert tables(db) == []
    assert held(db, CJK) == {1, *range(3, 61), 62}
    verify_indexes(db)
    plain.close()
    other.close()


def test_a_small_index_is_emptied_at_once(tmp_path):
    db = store_at(tmp_path)
    store_messages(db, message("a", "电影"))
    rebuild(db)
    assert tables(db) == []
    assert held(db, CJK) == set()
    db.close()
