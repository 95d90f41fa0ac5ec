"""Fields: what is read behind a colon, and which messages each of them means."""

from datetime import UTC, datetime

import pytest

from core.search.language import MAX_TERMS, parse
from core.search.run import search
from core.search.tree import Field, Not, fields, terms
from core.sources.records import SessionRecord
from core.store.connection import transaction
from core.types import MessageState, Role, SearchRequest, SessionKind, TitleSource, ToolCall
from tests.unit.store.making import add_source, message, store_at, store_messages

NOW = datetime(2026, 3, 31, 12, 0, tzinfo=UTC)
DAY_MS = 86_400_000


def session(name, title=None, **more):
    source = TitleSource.NONE if title is None else TitleSource.MODEL
    return SessionRecord(name, title=title, title_source=source, **more)


def ask(db, query, **more):
    return search(db, SearchRequest(query, **more))


def found(result):
    return [hit.message for hit in result.hits]


# Reading


@pytest.mark.parametrize(
    ("typed", "understood"),
    [
        ("role:user", "role:user"),
        ("role:USER,tool", "role:user,tool"),
        ("role：user", "role:user"),
        ('project:"my app" x', 'project:"my app" AND x'),
        ("project:“my app”", 'project:"my app"'),
        ('source:codex,"claude code"', 'source:codex,"claude code"'),
        ('project:"a,b"', 'project:"a,b"'),
        ("-role:tool", "NOT role:tool"),
        ("x -role:tool", "x NOT role:tool"),
        ("NOT -role:tool", "role:tool"),
        ("x OR (role:tool -y)", "x OR (role:tool NOT y)"),
        ("(title:deploy)", "title:deploy"),
        ("title:deplo*", "title:deplo*"),
        ('title:"rate limit"', 'title:"rate limit"'),
        ('title:"rate lim"*', 'title:"rate lim"*'),
        ("title:部署，订阅", "title:部署,订阅"),
        ("after:2026-02-01 before:24h", "after:2026-02-01 AND before:24h"),
        ("session:abc*", "session:abc"),
        ("role:user role:user", "role:user"),
        ("model:a(b)", 'model:"a(b)"'),
    ],
)
def test_fields_are_read_and_shown_as_typed(typed, understood):
    query = parse(typed, NOW)
    assert query.repairs == ()
    assert query.understood == understood


@pytest.mark.parametrize(
    "typed",
    ["role:", "role: user", ":x", "http://x", "C:\\Users", "TODO: fix", "std::vector", "12:30",
     "role::user", "Role:user", "foo:bar", "title:", 'title:""', "xrole:user", "source:,"],
)  # fmt: skip
def test_what_is_no_field_is_text_without_a_word(typed):
    query = parse(typed)
    assert query.repairs == ()
    assert query.tree is not None
    assert fields(query.tree) == ()
    assert terms(query.tree)


@pytest.mark.parametrize(
    ("typed", "reason"),
    [
        ("role:wizard", "role:wizard is looked for as text: roles are user, assistant, tool"),
        ("x -role:user,wizard", "role:user,wizard is looked for as text"),
        ("before:2026-02-30", "'2026-02-30' is not a time"),
        ("after:0000-00-00", "'0000-00-00' is not a time"),
        ("after:999999mo", "'999999mo' is not a time"),
        ('after:"next week"', "'next week' is not a time"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_text_and_said(typed, reason):
    query = parse(typed, NOW)
    assert query.tree is not None
    assert fields(query.tree) == ()
    assert any(reason in repair for repair in query.repairs), query.repairs


def test_a_minus_before_a_field_that_is_none_keeps_its_rule():
    assert parse("-role:wizard").understood == '"-role:wizard"'
    assert parse("x -role:wizard").understood == 'x NOT "role:wizard"'


def test_times_are_counted_from_now():
    (field,) = fields(parse("after:24h", NOW).tree)
    assert field.at_ms == int(NOW.timestamp() * 1000) - DAY_MS
    (field,) = fields(parse("before:2026-01-01T00:00Z,2026-02-01T00:00Z", NOW).tree)
    assert field.at_ms == int(datetime(2026, 2, 1, tzinfo=UTC).timestamp() * 1000)


def test_fields_count_among_the_terms():
    query = parse(" ".join(f"a{n} tool:b{n}" for n in range(MAX_TERMS)))
    assert len(terms(query.tree)) + len(fields(query.tree)) == MAX_TERMS
    assert f"only the first {MAX_TERMS} different terms are looked for" in query.repairs


def test_a_field_alone_under_a_minus_is_no_text():
    tree = parse("-title:x").tree
    assert isinstance(tree, Not)
    assert isinstance(tree.child, Field)


# Meaning


@pytest.fixture
def db(tmp_path):
    made = store_at(tmp_path)
    codex = add_source(made, "codex", "at-work")
    store_messages(
        made,
        message("user", "kestrel", session="alpha-1", created_at_ms=1_000),
        message("called", "kestrel flies", session="alpha-1", role=Role.ASSISTANT,
                model="opus-4", created_at_ms=2_000,
                tool_calls=(ToolCall("c", "web_Search", '{"q": "bash"}'),)),
        message("tool", "x " * 5_000 + "kestrel", session="alpha-1", role=Role.TOOL,
                tool_name="web_search", created_at_ms=3_000),
        message("gone", "kestrel", session="alpha-1", state=MessageState.REWOUND),
        sessions=(session("alpha-1", "Deploy the birds", cwd="/w/my app", model="sonnet"),),
    )  # fmt: skip
    store_messages(
        made,
        message("timeless", "kestrel 部署", session="beta-2"),
        message("cron", "nothing", session="cron-3", created_at_ms=9_000),
        sessions=(
            session("beta-2", "部署 plan", cwd="/w/other", model="GPT-5"),
            session("cron-3", kind=SessionKind.CRON),
        ),
        source=codex,
    )
    yield made
    made.close()


EVERY = {"user", "called", "tool", "timeless", "cron"}


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("role:user", {"user", "timeless", "cron"}),
        ("role:user,tool", {"user", "timeless", "cron", "tool"}),
        ("-role:user", {"called", "tool"}),
        ("source:codex", {"timeless", "cron"}),
        ("source:CODEX", {"timeless", "cron"}),
        ("source:at-work", {"timeless", "cron"}),
        ("source:cron", {"cron"}),
        ("-source:codex", {"user", "called", "tool"}),
        ('project:"my app"', {"user", "called", "tool"}),
        ("project:other,nowhere", {"timeless"}),
        ("-project:other", EVERY - {"timeless"}),
        ("session:alpha", {"user", "called", "tool"}),
        ("session:codex/beta-2", {"timeless"}),
        ("session:ta-2", set()),
        ("-session:alpha", {"timeless", "cron"}),
        ("title:deploy", {"user", "called", "tool"}),
        ("title:dep", set()),
        ("title:dep*", {"user", "called", "tool"}),
        ("title:署", {"timeless"}),
        ("title:deploy,部署", EVERY - {"cron"}),
        ("-title:deploy", {"timeless", "cron"}),
        ("tool:search", {"called", "tool"}),
        ("tool:WEB_", {"called", "tool"}),
        ("tool:bash", set()),
        ("tool:%", set()),
        ("-tool:search", {"user", "timeless", "cron"}),
        ("model:opus", {"called"}),
        ("model:SONNET", {"user", "tool"}),
        ("model:gpt-5", {"timeless"}),
        ("-model:o", {"timeless", "cron"}),
        ("after:1970-01-01T00:00:02Z", {"called", "tool", "cron"}),
        ("before:1970-01-01T00:00:02Z", {"user"}),
        ("-before:1970-01-01T00:00:02Z", EVERY - {"user"}),
        ("role:user role:tool", set()),
        ("role:user OR tool:search", EVERY),
        ("kestrel role:user", {"user", "timeless"}),
        ("kestrel -role:user", {"called"}),
        ("kestrel role:tool", {"tool"}),  # read to its end, beyond what indexes hold
        ("(kestrel source:codex) OR role:tool", {"timeless", "tool"}),
        ("kestrel OR source:cron", {"user", "called", "timeless", "cron"}),
        ("NOT (kestrel role:user)", {"called", "tool", "cron"}),
        ("部署 OR role:tool", {"timeless", "tool"}),
        ("kestrel title:deploy -tool:search", {"user"}),
        ("kestrel NOT (role:user title:部署)", {"user", "called"}),
        ("-> OR model:opus", {"called"}),
    ],
)
def test_what_a_field_means(db, typed, expected):
    result = ask(db, typed, limit=100)
    assert result.complete
    assert set(found(result)) == expected, (result.understood, result.search_path, result.why)
    assert (result.total_hits, result.total_is_exact) == (len(expected), True)


def test_a_name_that_is_also_that_of_a_role_asks_for_no_role(tmp_path):
    """Tool rows are read to their end for `role:tool`, and not for a tool of that name."""
    db = store_at(tmp_path)
    store_messages(
        db, message("m", "x " * 5_000 + "kestrel", role=Role.TOOL, tool_name="tool"),
        sessions=(session("s", "a tool", kind=SessionKind.TOOL, cwd="/w/tool"),),
    )  # fmt: skip
    assert found(ask(db, "role:tool kestrel")) == ["m"]
    for field in ("tool:tool", "project:tool", "source:tool", "title:tool"):
        assert found(ask(db, f"{field} x")) == ["m"]
        result = ask(db, f"{field} kestrel")
        assert (found(result), result.not_searched) == ([], {"cut_tails": 1})
    db.close()


def test_fields_alone_leave_no_end_of_a_text_unread(tmp_path):
    db = store_at(tmp_path)
    store_messages(db, message("m", "x " * 5_000, role=Role.TOOL, tool_name="bash"))
    store_messages(db, message("back", "y", state=MessageState.REWOUND))
    assert ask(db, "tool:bash").not_searched == {}
    assert ask(db, "session:s").not_searched == {"rewound": 1}
    assert ask(db, "tool:bash x").not_searched == {"cut_tails": 1}
    db.close()


def test_fields_alone_are_answered_newest_first_and_say_so(db):
    result = ask(db, "-role:system")
    assert found(result) == ["cron", "tool", "called", "user", "timeless"]
    assert result.search_path == "like"
    assert result.why == "The messages were picked by their fields alone, without an index."
    assert result.hits[2].snippet == "kestrel flies"
    assert all(hit.marks == () for hit in result.hits)
    assert found(ask(db, "-role:system", sort="oldest"))[0] == "user"


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("kestrel source:nowhere", "no source is named nowhere"),
        ("kestrel project:nowhere", "no project is named nowhere"),
        ("kestrel session:nowhere", "no session is named nowhere"),
    ],
)
def test_a_name_of_nothing_is_said(db, typed, said):
    result = ask(db, typed)
    assert result.total_hits == 0
    assert result.repairs == (said,)


def test_a_place_chosen_beside_the_query_is_named_as_a_field_names_it(db):
    for name in ("claude-code", "Claude-Code"):
        assert found(ask(db, "kestrel", sources=(name,))) == found(
            ask(db, f"kestrel source:{name}")
        )
    nowhere = ask(db, "kestrel", sources=("nowhere",), projects=("never",))
    assert nowhere.hits == ()
    assert nowhere.repairs == ("no source is named nowhere", "no project is named never")
    assert ask(db, "kestrel", sources=("claude-code",)).repairs == ()


def test_a_source_has_each_of_its_names_in_any_case(tmp_path):
    db = store_at(tmp_path)
    work = add_source(db, "hermes", "/w/state.db")
    with transaction(db):
        db.execute("UPDATE sources SET display_name = 'At Work' WHERE id = ?", (work,))
    store_messages(db, message("m", "kestrel", session="w"), source=work)
    store_messages(db, message("other", "kestrel"))
    for name in ("hermes", "HERMES", "/w/state.db", "/W/State.db", "At Work", "at work"):
        assert found(ask(db, f'kestrel source:"{name}"')) == ["m"], name
        assert found(ask(db, "kestrel", sources=(name,))) == ["m"], name
    db.close()


def test_fields_are_kept_when_words_are_left_out(db):
    result = ask(db, "kestrel nowhere role:user")
    assert result.search_path == "fts5_or"
    assert set(found(result)) == {"user", "timeless"}
    assert result.steps[-1].understood == "(kestrel OR nowhere) AND role:user"
    result = ask(db, "estre role:user")
    assert set(found(result)) == {"user", "timeless"}
    assert result.steps[-1].understood == "estre AND role:user"


def test_titles_are_narrowed_by_what_is_asked_of_sessions(db):
    def titles(query):
        return [each.ref for each in ask(db, query).title_matches]

    assert titles("deploy") == ["alpha-1"]
    assert titles("deploy source:codex") == []
    assert titles("deploy source:claude-code role:user") == ["alpha-1"]
    assert titles("deploy -title:birds") == []
    assert titles("title:部署") == ["beta-2"]
    assert titles("session:beta") == ["beta-2"]
    assert titles("source:codex") == []
    assert titles("-title:deploy") == []
    assert titles("deploy OR source:codex") == ["alpha-1"]
    assert titles("deploy OR 部署 role:user") == ["alpha-1", "beta-2"]


def test_a_title_is_found_where_something_was_said_in_the_time_asked_for(tmp_path):
    db = store_at(tmp_path)
    day = 1_770_000_000_000  # 2026-02-02
    store_messages(
        db,
        message("m1", session="old", created_at_ms=day),
        message("m2", session="old", created_at_ms=day + 4 * DAY_MS),
        message("m3", session="taken back", state=MessageState.REWOUND, created_at_ms=day),
        sessions=(session("old", "kestrel"), session("taken back", "kestrel too")),
    )

    def titles(query, **more):
        return [each.ref for each in ask(db, query, **more).title_matches]

    assert sorted(titles("kestrel")) == ["old", "taken back"]
    assert titles("kestrel after:2026-02-05") == ["old"]
    assert titles("kestrel after:2026-02-09") == []
    assert titles("kestrel before:2026-01-30") == []
    assert titles("kestrel", since_ms=day, until_ms=day + 1) == ["old"]
    # Something before it and something behind it is nothing within it.
    assert titles("kestrel", since_ms=day + DAY_MS, until_ms=day + 2 * DAY_MS) == []
    db.close()


def test_a_hit_is_shown_in_the_session_that_its_field_names(db):
    store_messages(
        db, message("user", "kestrel", session="alpha-fork", created_at_ms=1_000),
        sessions=(session("alpha-fork", "A fork"),),
    )  # fmt: skip
    (hit,) = ask(db, "kestrel title:fork").hits
    assert (hit.message, hit.session) == ("user", "alpha-fork")


def test_what_is_in_the_trash_is_found_there_alone(db):
    with transaction(db):
        db.execute("UPDATE sessions SET trashed_at_ms = 1 WHERE native_id = 'beta-2'")
    for query in ("title:部署", "session:beta", "project:other"):
        assert found(ask(db, query)) == []
        result = ask(db, query, include=frozenset({"trash"}))
        assert found(result) == ["timeless"]
        assert result.repairs == ()


# Cost


def plans(db, query):
    """Each statement of a search with its plan."""
    noted = []

    def note(cursor, sql, bindings):
        if sql.startswith(("SELECT", "WITH")):
            plan = cursor.connection.execute(f"EXPLAIN QUERY PLAN {sql}", bindings)
            noted.append((sql, [row[3] for row in plan]))
        return True

    db.exec_trace = note
    try:
        ask(db, query)
    finally:
        db.exec_trace = None
    return noted


@pytest.mark.parametrize(
    "field",
    ["role:user", "source:codex", "project:other", "session:alpha-1", "title:deploy", "tool:web",
     "model:opus", "after:1970-01-01", "-title:deploy", "-source:codex",
     "title:deploy OR role:user"],
)  # fmt: skip
def test_fields_leave_the_index_first(db, field):
    asked = [plan for sql, plan in plans(db, f"kestrel ({field})")
             if "MATCH" in sql and "sessions" not in sql.split("MATCH")[0]]  # fmt: skip
    assert asked
    for plan in asked:
        steps = [step for step in plan if step.startswith(("SCAN", "SEARCH"))]
        assert steps[0].startswith("SCAN messages_fts"), plan
        if len(steps) > 1:
            assert steps[1] == "SEARCH k USING INTEGER PRIMARY KEY (rowid=?)", plan


@pytest.mark.parametrize("query", ["session:alpha", "project:other", "session:codex/beta-2"])
def test_names_are_looked_up_along_indexes(db, query):
    for sql, plan in plans(db, query):
        assert not any(step in ("SCAN s", "SCAN sessions", "SCAN k", "SCAN m") for step in plan), (
            sql
        )


@pytest.mark.parametrize("query", ["role:user", "-role:tool", "source:codex", "tool:web"])
def test_the_newest_that_fit_their_fields_need_no_sorting(db, query):
    newest = [plan for sql, plan in plans(db, query) if sql.startswith("SELECT k.id, CASE")]
    assert newest
    for plan in newest:
        assert any("message_keys_by_time" in step for step in plan), plan
        assert not any("TEMP B-TREE" in step for step in plan), plan
