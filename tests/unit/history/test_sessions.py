"""The list of sessions and their names."""

import dataclasses

import pytest

from core.errors import AmbiguousError, NotFoundError, SettingError
from core.history.sessions import list_sessions, session_by_id, session_by_ref
from core.sources.records import SessionRecord
from core.store.connection import transaction
from core.types import Relation, SessionFilter, SessionKind, TitleSource
from tests.unit.store.making import add_source, message, store_at, store_messages


@pytest.fixture
def db(tmp_path):
    db = store_at(tmp_path)
    yield db
    db.close()


def add(db, name, *, at_ms=None, messages=1, source=1, **fields):
    store_messages(
        db,
        *(message(f"{name}{n}", session=name, created_at_ms=at_ms) for n in range(messages)),
        sessions=(SessionRecord(name, **fields),),
        source=source,
    )


def names(page):
    return [session.native_id for session in page.sessions]


def listed(db, **wanted):
    return names(list_sessions(db, SessionFilter(**wanted)))


def test_a_session_is_listed_with_all_that_is_known_of_it(db):
    add(db, "parent")
    add(
        db, "s", at_ms=9_000, messages=2, kind=SessionKind.CRON, title="Title", model="m",
        title_source=TitleSource.MODEL, cwd="/home/x/work/", git_repo_root="/home/x/repo",
        git_branch="main", started_at_ms=5_000, parent_native_id="parent",
        relation=Relation.FORK, end_reason="done", pinned=True,
    )  # fmt: skip
    found = list_sessions(db, SessionFilter()).sessions[0]
    assert found.pinned_at_ms is not None
    assert dataclasses.replace(found, pinned_at_ms=None) == dataclasses.replace(
        session_by_ref(db, "s"), pinned_at_ms=None
    )
    assert (found.ref, found.source, found.kind) == ("s", "claude-code", SessionKind.CRON)
    assert (found.title, found.title_source) == ("Title", TitleSource.MODEL)
    assert (found.model, found.cwd, found.git_branch) == ("m", "/home/x/work/", "main")
    assert (found.started_at_ms, found.last_active_at_ms) == (5_000, 9_000)
    assert (found.message_count, found.user_turn_count) == (2, 2)
    assert (found.parent_ref, found.relation) == ("parent", Relation.FORK)
    assert (found.end_reason, found.project) == ("done", "repo")
    assert found.program == "claude-code"  # as these tests call their source


def test_the_newest_come_first_and_those_without_a_time_last(db):
    for name, at_ms in (("old", 1_000), ("none", None), ("new", 3_000), ("mid", 2_000)):
        add(db, name, at_ms=at_ms)
    assert listed(db) == ["new", "mid", "old", "none"]


@pytest.mark.parametrize("sort", ["last_active", "started", "messages"])
@pytest.mark.parametrize("limit", [1, 2, 3, 7, 100])
def test_pages_follow_one_another_without_gap_or_repetition(db, sort, limit):
    for number in range(23):
        at_ms = None if number % 5 == 0 else 1_000 * (number % 4)
        add(db, f"s{number}", at_ms=at_ms, messages=1 + number % 3)
    wanted = SessionFilter(sort=sort)
    whole = names(list_sessions(db, wanted, limit=1000))
    assert sorted(whole) == sorted(f"s{n}" for n in range(23))
    found, after = [], None
    while True:
        page = list_sessions(db, wanted, limit=limit, after=after)
        assert page.total == 23
        found += names(page)
        after = page.next
        if after is None:
            break
        assert len(page.sessions) == limit
    assert found == whole


def test_a_page_goes_on_where_it_stopped_while_sessions_come(db):
    for number in range(4):
        add(db, f"s{number}", at_ms=1_000 + number)
    page = list_sessions(db, SessionFilter(), limit=2)
    add(db, "newest", at_ms=9_000)
    assert names(page) == ["s3", "s2"]
    assert names(list_sessions(db, SessionFilter(), limit=2, after=page.next)) == ["s1", "s0"]


@pytest.mark.parametrize("token", ["", "x", "bm8=", "WyJzdGFydGVkIiwgMSwgMV0=", "WzFd", "W10="])
def test_a_token_of_another_list_is_refused(db, token):
    with pytest.raises(SettingError):
        list_sessions(db, SessionFilter(), after=token)


def test_what_is_not_listed_by_default(db):
    add(db, "shown")
    add(db, "empty", messages=0)
    add(db, "agent", kind=SessionKind.SUBAGENT)
    add(db, "tool", kind=SessionKind.TOOL)
    add(db, "board", kind=SessionKind.KANBAN)
    add(db, "archived", archived=True)
    add(db, "trashed")
    with transaction(db):
        db.execute("UPDATE sessions SET trashed_at_ms = 1 WHERE native_id = 'trashed'")
    assert listed(db) == ["shown"]
    assert sorted(listed(db, include_archived=True)) == ["archived", "shown"]
    assert sorted(listed(db, include_hidden_kinds=True)) == [
        "agent", "board", "empty", "shown", "tool",
    ]  # fmt: skip


def test_the_total_is_kept_right_by_every_change(db):
    other = add_source(db, "codex")
    add(db, "a")
    add(db, "b")
    add(db, "c", source=other)

    def totals():
        kinds = ((), ("claude-code",), ("codex",), ("codex", "claude-code"), ("hermes",))
        return [list_sessions(db, SessionFilter(sources=kind)).total for kind in kinds]

    assert totals() == [3, 2, 1, 3, 0]
    for column in ("archived_at_ms", "trashed_at_ms"):
        with transaction(db):
            db.execute(f"UPDATE sessions SET {column} = 1 WHERE native_id = 'a'")
        assert totals() == [2, 1, 1, 2, 0]
        with transaction(db):
            db.execute(f"UPDATE sessions SET {column} = NULL")
        assert totals() == [3, 2, 1, 3, 0]
    with transaction(db):
        db.execute("UPDATE sessions SET kind = 'tool' WHERE native_id = 'c'")
    assert totals() == [2, 2, 0, 2, 0]
    with transaction(db):
        db.execute("DELETE FROM message_placements; DELETE FROM messages; DELETE FROM sessions")
    assert totals() == [0] * 5


def test_filters_narrow_the_list_and_count_what_is_left(db):
    other = add_source(db, "codex")
    add(db, "a", at_ms=1_000, cwd="/home/x/alpha/")
    add(db, "b", at_ms=2_000, cwd="C:\\work\\beta", source=other)
    add(db, "c", at_ms=3_000, git_repo_root="/r/alpha", cwd="/r/alpha/sub", source=other)
    assert listed(db, sources=("codex",)) == ["c", "b"]
    assert listed(db, projects=("alpha",)) == ["c", "a"]
    assert listed(db, projects=("beta", "sub")) == ["b"]
    assert listed(db, since_ms=2_000) == ["c", "b"]
    assert listed(db, until_ms=2_000) == ["a"]
    assert listed(db, sources=("codex",), projects=("alpha",), since_ms=1) == ["c"]
    page = list_sessions(db, SessionFilter(projects=("alpha",)), limit=1)
    assert (page.total, names(page)) == (2, ["c"])


@pytest.mark.parametrize(
    "place", ["/a/b", "/a/b/", "/b//", "b", "C:\\a\\b", "C:\\a\\b\\", "/a b/b"]
)
def test_a_project_is_found_under_the_name_that_is_shown(db, place):
    add(db, "s", cwd=place)
    assert session_by_ref(db, "s").project == "b"
    assert listed(db, projects=("b",)) == ["s"]
    assert listed(db, projects=("a",)) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("fix", ["fix"]),
        ("FIX THE", ["fix"]),
        ("100% bug", ["fix"]),
        ("100_ bug", []),
        ("g_o", ["fix"]),
        ("g%o", []),
        ("\\", []),
        ("电影", ["film"]),
        ("影", ["film"]),
        ("电影订阅", ["film"]),
        ("Ｆｉｘ", ["fix"]),
        ("cafe", ["wide"]),
        ("Ｃａｆé", ["wide"]),
        ("  fix  ", ["fix"]),
        ("fix film", []),
        ('"', []),
        ("", ["wide", "film", "fix"]),
    ],
)
def test_a_text_is_looked_for_in_titles_literally(db, text, found):
    add(db, "fix", at_ms=1, title="Fix the 100% bug_one")
    add(db, "film", at_ms=2, title="看电影订阅了")
    add(db, "wide", at_ms=3, title="Ｃａｆé")
    assert listed(db, text=text) == found


def test_fifty_of_a_hundred_thousand_are_read_from_an_index(db):
    for sort, index in (
        ("last_active", "sessions_by_activity"),
        ("started", "sessions_by_start"),
        ("messages", "sessions_by_size"),
    ):
        plans = []

        def trace(cursor, statement, bindings, plans=plans):
            if statement.startswith("SELECT s.id"):
                explained = f"EXPLAIN QUERY PLAN {statement}"
                plans.append(" | ".join(row[3] for row in db.execute(explained, bindings)))
            return True

        token = None
        for _ in range(2):
            db.exec_trace = trace
            list_sessions(db, SessionFilter(sort=sort), after=token)
            db.exec_trace = None
            add(db, f"{sort}1", at_ms=1)
            add(db, f"{sort}2", at_ms=2)
            token = list_sessions(db, SessionFilter(sort=sort), limit=1).next
        assert plans
        assert all(f"USING INDEX {index}" in plan for plan in plans), plans
        assert not any("TEMP B-TREE" in plan for plan in plans), plans


def test_a_name_is_the_sources_own_where_that_is_enough(db):
    add(db, "only")
    assert session_by_ref(db, "only").ref == "only"
    assert session_by_ref(db, "claude-code/only").ref == "only"
    with pytest.raises(NotFoundError, match="codex/only"):
        session_by_ref(db, "codex/only")
    with pytest.raises(NotFoundError, match="nobody"):
        session_by_ref(db, "nobody")


def test_a_name_of_two_sessions_needs_its_source(db):
    codex = add_source(db, "codex")
    first, second = add_source(db, "hermes", "/a.db"), add_source(db, "hermes", "/b.db")
    for source in (1, codex, first, second):
        add(db, "7", source=source)
    refs = {session.ref for session in list_sessions(db, SessionFilter()).sessions}
    assert refs == {"claude-code/7", "codex/7", f"hermes#{first}/7", f"hermes#{second}/7"}
    assert {session_by_ref(db, ref).ref for ref in refs} == refs
    with pytest.raises(AmbiguousError, match="claude-code/7, codex/7"):
        session_by_ref(db, "7")
    with pytest.raises(AmbiguousError, match=f"hermes#{first}/7"):
        session_by_ref(db, "hermes/7")


def test_a_name_with_a_slash_of_its_own_is_found(db):
    add(db, "a/b")
    assert session_by_ref(db, "a/b").native_id == "a/b"
    assert session_by_ref(db, "claude-code/a/b").native_id == "a/b"


def test_a_session_that_is_gone_is_not_found(db):
    add(db, "s")
    with transaction(db):
        db.execute("UPDATE sessions SET trashed_at_ms = 1")
    with pytest.raises(NotFoundError):
        session_by_ref(db, "s")
    with pytest.raises(NotFoundError):
        session_by_id(db, 99)


def test_a_parent_that_never_came_is_named_all_the_same(db):
    add(db, "s", parent_native_id="elsewhere")
    assert session_by_ref(db, "s").parent_ref == "elsewhere"
