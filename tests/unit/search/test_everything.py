"""Scanning everything: no index, every state, whole texts, reasoning, words inside words."""

import re
from random import Random

import pytest

from core.search import in_trash
from core.search.language import parse
from core.search.run import QUERY_TIMEOUT, search
from core.search.term import Term, ascii_lower
from core.sources.records import SessionRecord
from core.store.connection import open_store, snapshot, transaction
from core.text import project
from core.types import MessageState, Role, SearchRequest
from core.upkeep import trash
from tests.unit.search import texts
from tests.unit.search.stores import record
from tests.unit.store.making import library, message, path_at, store_at, store_messages


@pytest.fixture
def db(tmp_path):
    made = store_at(tmp_path)
    yield made
    made.close()


def ask(db, query, **more):
    more.setdefault("deadline_s", 60.0)
    return search(db, SearchRequest(query, everything=True, **more))


def found(result):
    return [hit.message for hit in result.hits]


FILLER = "filler " * 40_000  # beyond what any index holds of a text


@pytest.fixture
def hidden_places(db):
    """A store in which a word stands wherever a usual search does not look."""
    store_messages(
        db,
        message("said", "the kestrel flies"),
        message("rewound", "kestrel", state=MessageState.REWOUND),
        message("hidden", "kestrel", state=MessageState.HIDDEN),
        message("off", "kestrel", state=MessageState.OFF_BRANCH),
        message("deep", FILLER + "kestrel", role=Role.TOOL),
        message("long", FILLER + "kestrel"),
        message("thought", "plain", role=Role.ASSISTANT, reasoning="a kestrel, perhaps"),
        message("inside", "twokestrels"),
        message("trashed", "kestrel", session="gone"),
        message("heron", "heron"),
    )
    with transaction(db):
        db.execute("UPDATE sessions SET trashed_at_ms = 1 WHERE native_id = 'gone'")
        db.execute("UPDATE sessions SET archived_at_ms = 1 WHERE native_id = 's'")
    return db


def test_nothing_is_left_out(hidden_places):
    usual = search(hidden_places, SearchRequest("kestrel"))
    assert sorted(found(usual)) == ["off", "said"]
    result = ask(hidden_places, "kestrel")
    assert set(found(result)) == {
        "said", "rewound", "hidden", "off", "deep", "long", "thought", "inside", "trashed",
    }  # fmt: skip
    assert (result.total_hits, result.total_is_exact, result.complete) == (9, True, True)
    assert result.not_searched == {}
    assert result.messages_searched == 10
    assert (result.search_path, result.inside_words) == ("like", None)
    assert "read to its end" in result.why
    assert [step.path for step in result.steps] == ["like", "title"]


def test_superseded_texts_stay_gone(db):
    store_messages(db, message("m", "kestrel"))
    store_messages(db, message("m", "heron"), rewrites=True)
    assert ask(db, "kestrel").total_hits == 0
    assert found(ask(db, "heron")) == ["m"]


def test_what_matched_is_shown_wherever_it_stands(hidden_places):
    hits = {hit.message: hit for hit in ask(hidden_places, "KESTREL").hits}
    for name, hit in hits.items():
        assert hit.marks, name
        assert {hit.snippet[slice(*mark)].lower() for mark in hit.marks} == {"kestrel"}
    assert hits["thought"].snippet == "a kestrel, perhaps"


def test_no_index_is_asked(hidden_places):
    asked = []

    def note(_cursor, sql, _bindings):
        asked.append(sql)
        return True

    hidden_places.exec_trace = note
    ask(hidden_places, "kestrel 订阅")
    hidden_places.exec_trace = None
    read = [sql for sql in asked if not sql.endswith("LIMIT 0")]  # which only declares a table
    assert read
    assert not any("messages_fts" in sql for sql in read)


def test_reasoning_is_folded_as_other_text_is(db):
    store_messages(
        db,
        message("wide", "x", role=Role.ASSISTANT, reasoning="ＫＥＳＴＲＥＬ ｃａｆé"),
        message("apart", "x", role=Role.ASSISTANT, reasoning="cafe\u0301 \x1b[1mkes\x1b[0mtrel"),
    )
    assert sorted(found(ask(db, "kestrel"))) == ["apart", "wide"]
    assert sorted(found(ask(db, "café"))) == ["apart", "wide"]


def test_filters_and_fields_still_narrow(hidden_places):
    assert set(found(ask(hidden_places, "kestrel", roles=(Role.TOOL,)))) == {"deep"}
    assert set(found(ask(hidden_places, "kestrel role:tool,assistant"))) == {"deep", "thought"}
    assert set(found(ask(hidden_places, "kestrel", sessions=("gone",)))) == {"trashed"}
    assert set(found(ask(hidden_places, "role:assistant"))) == {"thought"}
    assert set(found(ask(hidden_places, "plain -kestrel"))) == set()


def test_titles_in_the_trash_are_found_too(db):
    store_messages(db, message("m", "x"), sessions=(SessionRecord("s", title="about kestrels"),))
    with transaction(db):
        db.execute("UPDATE sessions SET trashed_at_ms = 1")
    result = ask(db, "kestrels")
    assert (result.search_path, [s.ref for s in result.title_matches]) == ("title", ["s"])


@pytest.mark.parametrize("sort", ["relevance", "newest", "oldest"])
def test_pages_go_through_all_of_it(db, sort):
    states = (MessageState.ACTIVE, MessageState.REWOUND, MessageState.HIDDEN)
    store_messages(
        db,
        *(
            message(f"m{n}", f"akestrel {n}", state=states[n % 3], created_at_ms=n % 5)
            for n in range(50)
        ),
    )
    page = ask(db, "kestrel", sort=sort, limit=20)
    seen, totals = found(page), {page.total_hits}
    while page.next is not None:
        page = ask(db, "kestrel", sort=sort, limit=20, after=page.next)
        seen += found(page)
        totals.add(page.total_hits)
    assert sorted(seen) == sorted(f"m{n}" for n in range(50))
    assert totals == {50}


def test_a_deadline_leaves_what_was_found_and_where_to_go_on(db):
    store_messages(db, message("old", "kestrel"))
    store_messages(db, *(message(f"m{n}", "NOT here " * 2_000) for n in range(300)))
    store_messages(db, message("new", "kestrel"))
    asked = [ask(db, "kestrel OR NOT here") for _ in range(3)]
    whole = min(asked, key=lambda result: result.elapsed_ms)  # the first one finds nothing cached
    assert (whole.complete, whole.total_hits) == (True, 2)
    for _ in range(50):  # on a busy machine the watchdog may wake when all is read already
        cut = ask(db, "kestrel OR NOT here", deadline_s=whole.elapsed_ms / 1000 / 20)
        assert (cut.complete, cut.reason) == (False, QUERY_TIMEOUT)
        assert cut.total_is_exact is (cut.total_hits == 2)
        if not cut.total_is_exact:
            break
    assert not cut.total_is_exact
    assert found(cut) in ([], ["new"])
    assert "Every message" in whole.why
    assert "Every message" not in cut.why
    assert "not all of them in time" in cut.why
    if cut.next is not None:
        assert found(ask(db, "kestrel OR NOT here", after=cut.next)) == ["old"]


def test_an_answer_cut_short_does_not_say_that_no_message_matches(db):
    store_messages(db, message("a", "kestrel"), sessions=(SessionRecord("s", title="kestrel"),))
    for everything in (False, True):
        cut = search(db, SearchRequest("kestrel", everything=everything, deadline_s=0.0))
        assert (cut.complete, cut.total_hits) == (False, 0)
        assert "No message" not in cut.why


def holds(term_text, row):
    """Tell by plain substring whether a row's texts hold a word."""
    needle = ascii_lower(project(term_text))
    searched = (row.content, row.tool_name, row.tool_calls)
    return any(needle in ascii_lower(project(text)) for text in searched)


def test_it_finds_what_a_plain_substring_finds(tmp_path):
    random = Random(3)
    made = store_at(tmp_path)
    rows = {f"m{n}": texts.row(random) for n in range(150)}
    store_messages(made, *(record(uid, row) for uid, row in rows.items()))
    checked = 0
    for row in rows.values():
        tokens = re.findall(r"[^\W_]+", row.content)
        token = random.choice(tokens)[:4] if tokens else ""
        if not isinstance(parse(token).tree, Term) or parse(token).understood != token:
            continue
        expected = {uid for uid, other in rows.items() if holds(token, other)}
        assert set(found(ask(made, token, limit=1_000))) == expected, token
        checked += 1
    assert checked > 60
    made.close()


def test_counts_of_the_trash_follow_every_change_and_forget_what_was_rolled_back(tmp_path):
    path = path_at(tmp_path)
    made, other = store_at(tmp_path), open_store(path, library())
    for name in ("a", "b"):
        store_messages(made, *(message(f"{name}{n}", "ochre", session=name) for n in range(3)))

    def counts(db):
        with snapshot(db):
            answer = search(db, SearchRequest("ochre"))
        return answer.messages_searched, answer.not_searched.get("trashed", 0)

    def throw(db, name):
        row = db.execute("SELECT id FROM sessions WHERE native_id = ?", (name,)).get
        return trash.trash_sessions(db, [row], "you")

    assert counts(made) == counts(other) == (6, 0)
    with transaction(made):
        thrown = throw(made, "a")
    assert counts(made) == counts(other) == (3, 3)
    other.execute("BEGIN IMMEDIATE")
    throw(other, "b")
    assert in_trash.trash_counts(other).held != in_trash.trash_counts(made).held
    other.execute("ROLLBACK")
    assert counts(other) == (3, 3)
    with transaction(made):
        trash.undo(made, thrown.id, "you")
    assert counts(made) == counts(other) == (6, 0)
    made.close()
    other.close()


def test_a_message_shown_elsewhere_is_found_before_and_after_the_trash_was_counted(tmp_path):
    made = store_at(tmp_path)
    for name in ("a", "b"):
        store_messages(made, message("both", "umber", session=name))
    store_messages(made, message("alone", "umber", session="a"))
    with transaction(made):
        row = made.execute("SELECT id FROM sessions WHERE native_id = 'a'").get
        trash.trash_sessions(made, [row], "you")
    assert in_trash.shared_known(made) is None
    first = search(made, SearchRequest("umber"))
    assert in_trash.shared_known(made) == (
        made.execute("SELECT id FROM messages WHERE uid = 'both'").get,
    )
    again = search(made, SearchRequest("umber"))
    assert found(first) == found(again) == ["both"]
    assert first.messages_searched == again.messages_searched == 1
    made.close()
