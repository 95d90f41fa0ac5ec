"""An answer that ran out of time is still an answer."""

from core.search import run
from core.search.collect import Collector
from core.store.connection import snapshot
from core.types import SearchRequest, Sort
from tests.unit.store.making import message, store_at, store_messages

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


def ask(db, sort: Sort):
    with snapshot(db):
        return run.search(db, SearchRequest("订阅", limit=3, sort=sort))
