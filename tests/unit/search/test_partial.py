"""Indexes that hold a part of their rows, or are broken: what is scanned, said and raised."""

import apsw
import pytest

from core.history.append import Batch, append
from core.index import backfill
from core.search.run import search
from core.store import attachment, damage
from core.store.connection import open_store, transaction, written
from core.store.indexes import CJK, INDEXES
from core.types import INDEX_NAMES, Role, SearchRequest
from tests.unit.store.making import library, message, path_at, store_at, store_messages

COUNT = 40


def ask(db, query, **more):
    return search(db, SearchRequest(query, limit=200, **more))


def found(result):
    return [hit.message for hit in result.hits]


def fill(db):
    store_messages(
        db,
        *(message(f"m{n}", f"kestrel 订阅 -> {n}", role=Role.TOOL if n % 4 == 1 else Role.USER)
          for n in range(COUNT)),
    )  # fmt: skip


def index_first(db, name, count):
    """Index the first rows, as a backfill that has come that far."""
    index = INDEXES[name]
    columns = ", ".join(index.columns)
    with transaction(db):
        db.execute(
            f"INSERT INTO {name}(rowid, {columns}) SELECT id, {columns} FROM {index.view}"
            " WHERE id <= ?",
            (count,),
        )


@pytest.fixture(params=INDEX_NAMES)
def half_built(request, tmp_path):
    """A store one of whose indexes holds the messages up to half of them."""
    name = request.param
    db = store_at(tmp_path, cjk=name != CJK)
    fill(db)
    if name == CJK:
        db.close()
        db = open_store(path_at(tmp_path), library())
    else:
        with transaction(db):
            attachment.rebuild(db, INDEXES[name], None)
    index_first(db, name, COUNT // 2)
    yield db, name
    db.close()


def held(db, name):
    return {row for (row,) in db.execute(f"SELECT id FROM {INDEXES[name].docsize}")}


def scanned_ids(db, request):
    """Return the ids of the messages whose texts a search reads by scanning."""
    read = []

    def note(_cursor, sql, bindings):
        if "CROSS JOIN messages AS m" in sql and "ORDER BY" in sql:
            read.append((sql, bindings))
        return True

    db.exec_trace = note
    try:
        search(db, request)
    finally:
        db.exec_trace = None
    return [row[0] for sql, bindings in read for row in db.execute(sql, bindings)]


@pytest.mark.parametrize("query", ["kestrel", "订阅", "kestrel 订阅"])
def test_exactly_the_rows_that_are_not_indexed_are_scanned(half_built, query):
    db, name = half_built
    result = ask(db, query)
    assert sorted(found(result)) == sorted(f"m{n}" for n in range(COUNT))
    assert (result.total_hits, result.total_is_exact) == (COUNT, True)
    scanned = scanned_ids(db, SearchRequest(query, limit=200))
    assert len(scanned) == len(set(scanned))
    asked = {index for hit in result.hits for index in INDEX_NAMES if hit.path in PATHS[index]}
    if name in asked:
        assert not set(scanned) & held(db, name)


PATHS = {"messages_fts": ("fts5",), "messages_fts_trigram": ("trigram",), CJK: ("cjk",)}


def test_a_row_that_an_index_answers_for_is_never_read_beside_it(tmp_path):
    """Plant rows that only the index finds, and rows that only a scan finds."""
    db = store_at(tmp_path, cjk=False)
    fill(db)
    db.close()
    db = open_store(path_at(tmp_path), library())
    index_first(db, CJK, COUNT // 2)
    with transaction(db):
        # what the index was given of m0 says heron; of m1, which it holds too, the text does
        db.execute(f"INSERT INTO {CJK}({CJK}, rowid, content, tool_name, tool_calls)"
                   " SELECT 'delete', id, content, tool_name, tool_calls"
                   f" FROM {INDEXES[CJK].view} WHERE id = 1")  # fmt: skip
        db.execute(f"INSERT INTO {CJK}(rowid, content) VALUES (1, 'heron 白鹭')")
        for trigger in ("messages_fts_cjk_qu", "messages_fts_cjk_au"):
            db.execute(f"DROP TRIGGER IF EXISTS {trigger}")
        db.execute("UPDATE messages SET content = 'heron 白鹭' WHERE id IN (3, 39)")
    result = ask(db, "白鹭")
    assert sorted(found(result)) == ["m0", "m38"]
    assert result.total_hits == 2
    db.close()


def test_each_index_tells_how_far_it_is(half_built):
    db, name = half_built
    status = ask(db, "kestrel").index_status
    assert set(status) == set(INDEX_NAMES)
    assert not status[name].ready
    assert (
        status[name].todo
        == status[name].done
        == COUNT // 2 - (0 if INDEXES[name].tool_rows != "none" else COUNT // 8)
    )
    assert 0.4 < status[name].coverage < 0.6
    assert all(status[other].ready for other in INDEX_NAMES if other not in (name, CJK))


def test_what_is_not_indexed_is_left_out_only_when_the_deadline_struck(half_built):
    db, name = half_built
    assert "unindexed" not in ask(db, "kestrel").not_searched
    late = ask(db, "kestrel", deadline_s=0.0)
    assert (late.complete, late.reason) == (False, "query_timeout")
    assert late.not_searched["unindexed"] == late.index_status[name].todo


def test_a_complete_store_leaves_nothing_unindexed_however_late(tmp_path):
    db = store_at(tmp_path)
    fill(db)
    assert "unindexed" not in ask(db, "kestrel", deadline_s=0.0).not_searched
    db.close()


BROKEN = [
    ("messages_fts_cjk", table, query)
    for table in ("data", "idx", "docsize")
    for query in ("kestrel", "订阅")
] + [
    ("messages_fts", "data", "kestrel"),
    ("messages_fts", "docsize", "kestrel"),
    ("messages_fts_trigram", "data", "kest"),
    ("sessions_fts", "data", "kestrel"),
]


@pytest.mark.parametrize(("index", "table", "query"), BROKEN)
def test_a_broken_index_is_answered_round_in_words(tmp_path, index, table, query):
    db = store_at(tmp_path)
    fill(db)
    store_messages(db, message("t", "kestrel", role=Role.TOOL))
    before = ask(db, query)
    assert before.total_hits
    db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
    if table == "data":
        db.execute(f"DELETE FROM {index}_data")
    else:
        db.execute(f"DROP TABLE {index}_{table}")
    db.close()
    again = open_store(path_at(tmp_path), library())
    found = ask(again, query)
    assert {hit.message for hit in found.hits} == {hit.message for hit in before.hits}
    assert found.total_hits == before.total_hits
    assert damage.noted(again) == (index,)
    if index != damage.TITLES:
        assert "damaged" in found.why
    again.close()


@pytest.mark.parametrize(("index", "table"), [(CJK, "idx"), ("messages_fts", "docsize")])
def test_the_next_write_replaces_an_index_that_lost_a_table(tmp_path, index, table):
    db = store_at(tmp_path)
    fill(db)
    db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
    db.execute(f"DROP TABLE {index}_{table}")
    db.close()
    again = open_store(path_at(tmp_path), library())
    ask(again, "kestrel")
    written(again, append, Batch(1, messages=[message("later", "kestrel")]))
    for _ in backfill.run_sync(again, "test"):
        pass
    assert damage.noted(again) == ()
    assert "later" in {hit.message for hit in ask(again, "kestrel").hits}
    again.execute(f"INSERT INTO {index}({index}, rank) VALUES ('integrity-check', 1)")
    again.close()
