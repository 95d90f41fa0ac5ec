"""An answer that ran out of time is still an answer."""

import apsw
import pytest

from core.search import run
from core.search.collect import Collector
from core.store import attachment
from core.store.connection import open_reader, snapshot, transaction
from core.store.indexes import INDEXES
from core.types import INDEX_NAMES, SearchRequest, Sort
from tests.unit.store.making import library, message, path_at, store_at, store_messages

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT sum(i) FROM n"


def count_without_end(db):
    def count(self: Collector) -> None:
        list(db.execute(ENDLESS))

    return count


def test_hits_are_read_after_the_count_was_interrupted(tmp_path, monkeypatch):
    db = store_at(tmp_path, cjk=False)
    store_messages(db, *(message(f"m{n}", f"第{n}次订阅") for n in range(40)))
    monkeypatch.setattr(Collector, "count", count_without_end(db))
    for sort in ("relevance", "newest", "oldest"):
        found = ask(db, sort)
        assert [hit.snippet[-2:] for hit in found.hits] == ["订阅"] * 3
        assert not found.total_is_exact
        assert not db.is_interrupted


@pytest.mark.parametrize("sort", ["relevance", "newest", "oldest"])
def test_what_stands_inside_words_is_counted_after_a_count_was_interrupted(
    tmp_path, monkeypatch, sort
):
    """Some messages are scanned, some asked of an index; merging leaves the scan half read."""
    db = half_built(tmp_path)
    monkeypatch.setattr(Collector, "count", count_without_end(db))
    found = ask(db, sort, "kestrel")
    assert (found.complete, len(found.hits), found.inside_words) == (True, 3, 1)
    assert not db.in_transaction


def test_no_scan_is_left_when_a_search_is_stopped(tmp_path, monkeypatch):
    """It would keep the interruption, and the transaction could not even be rolled back."""
    db = half_built(tmp_path)

    def stopped(self: Collector) -> None:
        db.interrupt()
        raise apsw.InterruptError("stopped")

    monkeypatch.setattr(Collector, "count", stopped)
    with pytest.raises(apsw.InterruptError, match="stopped"):
        ask(db, "newest", "kestrel")
    assert not db.in_transaction


def half_built(folder):
    """A store whose word index holds the first half of its messages."""
    db = store_at(folder, cjk=False)
    store_messages(
        db, *(message(f"m{n}", f"kestrel {n}") for n in range(40)), message("in", "akestrels")
    )
    index = INDEXES["messages_fts"]
    columns = ", ".join(index.columns)
    with transaction(db):
        attachment.rebuild(db, index, None)
        db.execute(
            f"INSERT INTO {index.name}(rowid, {columns}) SELECT id, {columns} FROM {index.view}"
            " WHERE id <= 20"
        )
    return db


TABLES = ("sessions_fts", "sessions_fts_terms", *INDEX_NAMES)


@pytest.mark.parametrize("table", TABLES)
def test_an_interruption_behind_a_search_is_always_one(tmp_path, table):
    """While SQLite declares a table at its first use, an interruption is another error."""
    store = store_at(tmp_path)
    store_messages(store, message("m", "第1次订阅"))
    store.close()
    db = open_reader(path_at(tmp_path), tokenizer=library())
    ask(db, "relevance", "role:user")
    under_way = db.execute(ENDLESS.replace("sum(i)", "i"))
    next(under_way)

    def interrupt(operation: int, *_args: object) -> int:
        if operation == apsw.SQLITE_SELECT:
            db.interrupt()
        return apsw.SQLITE_OK

    db.authorizer = interrupt
    with pytest.raises(apsw.InterruptError):
        db.execute(f"SELECT 1 FROM {table}")


def ask(db, sort: Sort, query: str = "订阅"):
    with snapshot(db):
        return run.search(db, SearchRequest(query, limit=3, sort=sort))
