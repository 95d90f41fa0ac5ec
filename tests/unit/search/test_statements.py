"""The statements a search makes: planned along the right indexes, within SQLite's limits."""

import pytest

from core.search.language import parse
from core.search.run import search
from core.types import MessageState, Role, SearchRequest
from tests.unit.store.making import message, store_at, store_messages


@pytest.fixture
def db(tmp_path):
    made = store_at(tmp_path)
    store_messages(
        made,
        *(
            message(f"m{n}", f"kestrel 订阅 {n}", role=Role.TOOL if n % 3 else Role.USER,
                    created_at_ms=n)
            for n in range(60)
        ),
        message("r", "kestrel", state=MessageState.REWOUND),
    )  # fmt: skip
    yield made
    made.close()


def plans(db, request):
    """Return each statement of a search with its plan."""
    noted: list[tuple[str, list[str]]] = []

    def note(cursor, sql, bindings):
        if sql.startswith(("SELECT", "WITH")):
            plan = cursor.connection.execute(f"EXPLAIN QUERY PLAN {sql}", bindings)
            noted.append((sql, [row[3] for row in plan]))
        return True

    db.exec_trace = note
    try:
        search(db, request)
    finally:
        db.exec_trace = None
    return noted


def steps(noted, beginning):
    found = [plan for sql, plan in noted if sql.startswith(beginning)]
    assert found
    return found


@pytest.mark.parametrize("query", ["kestrel", "订阅", "kestrel NOT 订阅", "kest*"])
def test_hits_come_from_the_index_and_join_the_narrow_rows(db, query):
    for plan in steps(plans(db, SearchRequest(query)), "SELECT k.id, CASE"):
        if plan[0].startswith("SCAN messages_fts"):
            assert "VIRTUAL TABLE INDEX" in plan[0]
            assert plan[1] == "SEARCH k USING INTEGER PRIMARY KEY (rowid=?)"
        assert not any(step.startswith("SCAN m") and "VIRTUAL" not in step for step in plan)


def test_the_newest_hits_need_no_sorting(db):
    noted = plans(db, SearchRequest("kestrel"))
    newest = [plan for sql, plan in noted if "rowid DESC LIMIT" in sql and "bm25" not in sql]
    assert newest
    for plan in newest:
        assert not any("TEMP B-TREE" in step for step in plan)


def scans(noted):
    return [plan for sql, plan in noted if "CROSS JOIN messages AS m" in sql]


@pytest.mark.parametrize("query", ["kestrel", "订阅", "kestrel订阅", "kestrel OR 订阅"])
def test_with_every_index_nothing_is_scanned(db, query):
    assert scans(plans(db, SearchRequest(query))) == []


def test_without_the_cjk_index_tool_rows_with_cjk_are_read_along_their_own(tmp_path):
    made = store_at(tmp_path, cjk=False)
    store_messages(made, message("m", "电影订阅"), message("t", "电影订阅", role=Role.TOOL))
    (plan,) = scans(plans(made, SearchRequest("电影订阅")))
    assert "USING COVERING INDEX message_keys_cjk_tools" in plan[0]
    assert plan[1] == "SEARCH m USING INTEGER PRIMARY KEY (rowid=?)"
    assert not any("TEMP B-TREE" in step for step in plan)
    made.close()


@pytest.mark.parametrize("query", ["kestrel", "订阅", "kestrel OR 订阅"])
def test_long_tool_rows_are_read_along_their_own_index(db, query):
    read = scans(plans(db, SearchRequest(query, roles=(Role.TOOL,))))
    assert read
    for plan in read:
        assert "USING COVERING INDEX message_keys_long" in plan[0]
        assert plan[1] == "SEARCH m USING INTEGER PRIMARY KEY (rowid=?)"


def test_what_is_left_out_is_counted_along_its_own_index(db):
    noted = plans(db, SearchRequest("kestrel"))
    counted = [plan for sql, plan in noted if "(k.flags & 28) = 8" in sql]
    assert counted
    for plan in counted:
        assert any("COVERING INDEX message_keys_aside" in step for step in plan), plan


def test_messages_are_read_for_the_page_alone(db):
    reads = [
        (sql, plan)
        for sql, plan in plans(db, SearchRequest("kestrel", limit=5))
        if "content" in sql and "FROM messages" in sql and "messages_fts" not in sql
    ]
    assert len(reads) == 1
    sql, plan = reads[0]
    assert sql.count("?") == 5
    assert plan == ["SEARCH messages USING INTEGER PRIMARY KEY (rowid=?)"]


@pytest.mark.parametrize(
    "filters",
    [
        {"since_ms": 5, "until_ms": 50},
        {"sources": ("claude-code",)},
        {"sessions": ("s",)},
        {"roles": (Role.USER,)},
        {"sort": "newest"},
    ],
    ids=str,
)
def test_filters_leave_the_index_first(db, filters):
    noted = plans(db, SearchRequest("kestrel", **filters))
    asked = [plan for sql, plan in noted if "MATCH" in sql and sql.startswith("SELECT k.id")]
    assert asked
    for plan in asked:
        assert plan[0].startswith("SCAN messages_fts")
        assert plan[1] == "SEARCH k USING INTEGER PRIMARY KEY (rowid=?)"


LETTERS = ",".join("abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_-")


@pytest.mark.parametrize(
    "query",
    [
        "(" * 16 + "a" + "".join(f" OR b{n}) AND c{n}" for n in range(16)),
        "(" * 16 + "订" + "".join(f" OR 阅{n}) NOT c{n}" for n in range(16)),
        " OR ".join(f"w{n}" for n in range(64)),
        " ".join(f"订{n}阅" for n in range(64)),
        " OR ".join(f"x{n}*" for n in range(64)),
        "订阅" * 1_000,
        "word " * 1_000,
        '"' + "a b " * 500 + '"',
        "C++" + "+" * 2_000,
        "NOT " * 400 + "a",
        "a " + " ".join(f"-tool:{LETTERS[n:]},{LETTERS[: n - 1]}" for n in range(2, 30, 2)),
        " ".join(f"model:{LETTERS[n:]},{LETTERS[: n - 1]}" for n in range(2, 30, 2)),
        "a " + " ".join(f"-tool:{n}" for n in range(63)),
    ],
    ids=range(13),
)
@pytest.mark.parametrize("cjk", [True, False])
def test_the_largest_queries_are_within_sqlites_limits(tmp_path, query, cjk):
    made = store_at(tmp_path, cjk=cjk)
    store_messages(made, message("m", "a c0 订阅 w1 x1y"), message("t", "订阅 w1", role=Role.TOOL))
    assert parse(query).tree is not None
    result = search(made, SearchRequest(query))
    assert result.complete
    made.close()


def test_titles_are_found_by_indexes_however_short_the_word(db):
    for query in ("阅读", "阅", "go", "g", "go OR 阅", "title:阅 x"):
        noted = plans(db, SearchRequest(query))
        found = [plan for sql, plan in noted if "FROM sessions_fts_terms WHERE" in sql]
        assert len(found) == 1 + ("title:" in query)
        for titles in found:
            assert "SEARCH s USING INTEGER PRIMARY KEY (rowid=?)" in titles
            assert not [step for step in titles if step.startswith(("SCAN s ", "SCAN e "))]
            ends = [step for step in titles if step.startswith("SEARCH e")]
            assert ends
            assert all("<expr>" in step for step in ends)
    noted = plans(db, SearchRequest("阅读器"))
    (titles,) = [plan for sql, plan in noted if "sessions_fts MATCH" in sql]
    assert "SCAN sessions_fts VIRTUAL TABLE INDEX 0:M1" in titles
