"""Completion: what is offered at the cursor, what it replaces, and that it stays cheap."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.search import choices
from core.search.completion import MOST_CHOICES, complete
from core.search.language import parse
from core.search.tree import fields
from core.sources.records import SessionRecord
from core.store.connection import transaction
from core.types import Role, TitleSource
from tests.unit.store.making import add_source, message, store_at, store_messages

NOW = datetime(2026, 3, 31, 12, 0, tzinfo=UTC)


def session(name, title, **more):
    return SessionRecord(name, title=title, title_source=TitleSource.MODEL, **more)


@pytest.fixture(scope="module")
def db(tmp_path_factory):
    made = store_at(tmp_path_factory.mktemp("completion"))
    codex = add_source(made, "codex")
    store_messages(
        made,
        message("a", session="alpha-1", created_at_ms=1_000),
        message("b", session="alpha-1", role=Role.TOOL, tool_name="web_search",
                created_at_ms=2_000),
        message("c", session="alpha-2", role=Role.ASSISTANT, model="opus-4", created_at_ms=3_000),
        sessions=(
            session("alpha-1", "Deploy the birds", cwd="/w/my app"),
            session("alpha-2", 'Say "hi", twice', cwd="/w/my app", model="gpt-5"),
        ),
    )  # fmt: skip
    store_messages(
        made,
        message("d", session="beta", role=Role.TOOL, tool_name="bash", created_at_ms=9_000),
        sessions=(session("beta", "部署计划", cwd="/w/site", model="sonnet"),),
        source=codex,
    )
    yield made
    made.close()


def offered(db, text):
    """The completion at `|`, as (text with it replaced by the first choice, all choices)."""
    cursor = text.index("|")
    typed = text.replace("|", "")
    found = complete(db, typed, cursor, NOW)
    if found is None:
        return None, []
    replaced = typed[: found.start] + found.items[0].text + typed[found.end :]
    return replaced, [(item.text, item.count) for item in found.items]


@pytest.mark.parametrize(
    ("text", "replaced", "names"),
    [
        ("ro|", "role:", ["role:"]),
        ("t|", "title:", ["title:", "tool:"]),
        ("nginx -pr|", "nginx -project:", ["project:"]),
        ("(a OR so|)", "(a OR source:)", ["source:"]),
        ("r|ole:user", None, []),
        ("so|le:user", "source:user", ["source:"]),
        ("be|", "before:", ["before:"]),
    ],
)
def test_names_go_on_from_what_was_typed(db, text, replaced, names):
    got, items = offered(db, text)
    assert got == replaced
    assert [text for text, _ in items] == names


@pytest.mark.parametrize(
    "text",
    ["|", "a |", '"ro|', '"ro| x"', "xyz|", "ro le|", "Ro|", "title:x |", 'project:"my app"|',
     "role:user|", "before:nonsense|", "-|"],
)  # fmt: skip
def test_where_nothing_can_be_meant_nothing_is_offered(db, text):
    assert offered(db, text) == (None, [])


@pytest.mark.parametrize(
    ("text", "replaced", "items"),
    [
        ("role:|", "role:user", [("user", 1), ("assistant", 1), ("tool", 2), ("system", 0)]),
        ("role:user,to|", "role:user,tool", [("tool", 2)]),
        ("role：To|", "role：tool", [("tool", 2)]),
        ("source:|", "source:claude-code", [("claude-code", 2), ("codex", 1)]),
        ("-source:dex|", "-source:codex", [("codex", 1)]),
        ("project:| x", "project:site x", [("site", 1), ('"my app"', 2)]),
        ('project:"my|', 'project:"my app"', [('"my app"', 2)]),
        ('project:"my| app" x', None, []),
        ("model:|", "model:sonnet", [("sonnet", None), ("gpt-5", None), ("opus-4", None)]),
        ("model:OPU|", "model:opus-4", [("opus-4", None)]),
        ("tool:|", "tool:bash", [("bash", None), ("web_search", None)]),
        ("session:alpha|", "session:alpha-1", [("alpha-1", None), ("alpha-2", None)]),
        ("session:部署|", "session:beta", [("beta", None)]),
        ("session:birds|", "session:alpha-1", [("alpha-1", None)]),
        ("title:birds|", 'title:"Deploy the birds"', [('"Deploy the birds"', None)]),
        ("title:hi|", "title:“Say \"hi\", twice”", [("“Say \"hi\", twice”", None)]),
        ("after:2|", "after:2h", [("2h", None), ("2d", None), ("2w", None), ("2mo", None)]),
        ("after:2026-03-3|", "after:2026-03-31", [("2026-03-31", None), ("2026-03-30", None)]),
    ],
)  # fmt: skip
def test_values_come_from_the_store(db, text, replaced, items):
    assert offered(db, text) == (replaced, items)


def test_ages_and_days_are_offered(db):
    _, items = offered(db, "before:|")
    assert [text for text, _ in items] == [
        "24h", "7d", "2w", "1mo", "3mo", "12mo",
        "2026-03-31", "2026-03-30", "2026-03-24", "2026-03-01", "2026-01-01",
    ]  # fmt: skip


def test_what_was_taken_is_read_as_that_field(db):
    for text in ("project:my|", "title:hi|", "session:be|", "source:c|", "after:|"):
        replaced, _ = offered(db, text)
        query = parse(replaced, NOW)
        assert query.repairs == ()
        assert [field.name for field in fields(query.tree)] == [text.split(":")[0]]


def test_there_are_no_more_than_can_be_shown(tmp_path):
    made = store_at(tmp_path)
    told = [session(f"s{n}", f"title {n}", cwd=f"/w/p{n}") for n in range(40)]
    store_messages(made, *(message(f"m{n}", session=f"s{n}") for n in range(40)),
                   sessions=tuple(told))  # fmt: skip
    for text in ("project:", "session:", "title:", "project:p"):
        assert len(complete(made, text, len(text)).items) == MOST_CHOICES
    with transaction(made):
        made.execute("UPDATE sessions SET trashed_at_ms = 1")
    for text in ("project:", "session:", "title:", "project:p"):
        assert complete(made, text, len(text)) is None
    made.close()


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.sampled_from(["role", "title", "project:", "before:", ":", '"', "“", ",", "(", ")", "-",
                         " ", "a", "部", "\0", "\ud800", "：", "*", "%"]),
        max_size=12,
    ).map("".join),
    st.integers(0, 40),
)  # fmt: skip
def test_any_text_can_be_gone_on_from(db, text, cursor):
    found = complete(db, text, cursor, NOW)
    if found is not None:
        assert 0 <= found.start <= min(cursor, len(text)) <= found.end <= len(text)
        assert 0 < len(found.items) <= MOST_CHOICES


def _steps(db, text):
    """How many of SQLite's instructions a completion takes, in hundreds."""
    count = 0

    def note():
        nonlocal count
        count += 1
        return False

    db.set_progress_handler(note, 100)
    try:
        complete(db, text, len(text), NOW)
    finally:
        db.set_progress_handler(None)
    return count


TYPED = ["role:", "source:", "project:", "project:p1", "model:", "tool:", "session:", "session:s1",
         "session:ti", "title:t", "title:title"]  # fmt: skip


def test_the_work_does_not_grow_with_the_store(tmp_path, monkeypatch):
    for name in ("_SESSIONS", "_ROWS", "_TITLES", "_DISTINCT", "_COUNTED"):
        monkeypatch.setattr(choices, name, 20)
    made = store_at(tmp_path)

    def fill(first, last):
        numbers = range(first, last)
        told = [session(f"s{n:05}", f"title {n}", cwd=f"/w/p{n % 40}", model="m") for n in numbers]
        store_messages(
            made,
            *(
                message(f"m{n}", session=f"s{n:05}", role=Role.TOOL, tool_name="bash")
                for n in numbers
            ),
            sessions=tuple(told),
        )

    fill(0, 500)
    before = {text: _steps(made, text) for text in TYPED}
    fill(500, 5_000)
    for text in TYPED:
        assert _steps(made, text) <= before[text] * 1.5 + 30, text
    made.close()


def test_a_source_is_offered_once_however_its_name_is_spelt(tmp_path):
    made = store_at(tmp_path)
    for kind, instance, name in (
        ("claude-code", "", "Claude Code"), ("hermes", "/a", "Hermes"), ("hermes", "/b", "At work"),
    ):  # fmt: skip
        source = add_source(made, kind, instance)
        with transaction(made):
            made.execute("UPDATE sources SET display_name = ? WHERE id = ?", (name, source))
        store_messages(made, message(f"m{source}", session=f"s{source}"), source=source)
    _, items = offered(made, "source:|")
    assert items == [("hermes", 2), ('"At work"', 1), ("claude-code", 1)]
    made.close()
