"""The rules of recall that no recorded case tells of."""

import time
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.errors import AmbiguousError, CoreError, NotFoundError, QueryError
from core.history.sessions import session_by_ref
from core.recall.link import link, place_of
from core.recall.recall import recall
from core.sources.records import SessionRecord
from core.types import (
    MessageState,
    Origin,
    RecallRequest,
    Relation,
    Role,
    SessionKind,
    TitleSource,
)
from tests.unit.search import cases
from tests.unit.store.making import add_source, message, store_at, store_messages


@pytest.fixture
def db(tmp_path):
    made = store_at(tmp_path)
    yield made
    made.close()


def store_session(db, name, *messages, source=1, **more):
    if "title" in more:
        more.setdefault("title_source", TitleSource.USER)
    record = SessionRecord(name, **more)
    store_messages(db, *messages, sessions=(record,), source=source)


def say(db, name, text="kestrel", *, source=1, at_ms=None, state=MessageState.ACTIVE, **more):
    """A session of one message, whose id is the session's with an m before it."""
    said = message(f"m{name}", text, session=name, created_at_ms=at_ms, state=state)
    store_session(db, name, said, source=source, **more)


def refs(answer):
    return [result.session.ref for result in answer.results]


def uids(messages):
    return [each.uid for each in messages]


def find(db, query="kestrel", **more):
    return recall(db, RecallRequest(query, **{"limit": 10, **more}))


def test_a_talkative_session_does_not_starve_the_others(db):
    talk = [message(f"t{n}", "kestrel " * 3, session="talk") for n in range(1_500)]
    store_session(db, "talk", *talk)
    for n in range(4):
        say(db, f"s{n}", "a kestrel among many other words that make it rank below")
    answer = find(db)
    assert refs(answer)[0] == "talk"
    assert sorted(refs(answer)) == ["s0", "s1", "s2", "s3", "talk"]
    assert answer.search.total_hits == 1_504
    assert answer.left_out == {}
    for sort in ("newest", "oldest"):
        assert set(refs(find(db, sort=sort))) == {"s0", "s1", "s2", "s3", "talk"}


def test_a_live_talkative_session_is_passed_over_whole_but_for_what_it_compacted(db):
    talk = [message(f"t{n}", "kestrel " * 3, session="talk") for n in range(1_000)]
    old = message("old", "kestrel " + "word " * 50, session="talk", state=MessageState.COMPACTED)
    store_session(db, "talk", old, *talk)
    say(db, "other", "kestrel " + "word " * 50)
    answer = find(db, current_session="talk")
    assert sorted(refs(answer)) == ["other", "talk"]
    by_session = {result.session.ref: result for result in answer.results}
    assert by_session["talk"].match.message == "old"
    assert answer.left_out == {}


def test_what_a_clock_started_comes_last_however_much_it_is(db):
    for n in range(150):
        say(db, f"cron{n}", "kestrel kestrel", kind=SessionKind.CRON)
    say(db, "named", "kestrel kestrel", source=add_source(db, "jsonl", "cron"))
    say(db, "spoken", "kestrel and a great many other words beside it, so that it ranks last")
    answer = find(db, limit=3)
    assert refs(answer)[0] == "spoken"
    assert answer.left_out["beyond_limit"] >= 8
    alone = find(db, limit=3, sources=("cron",))
    assert len(alone.results) == 3
    assert "spoken" not in refs(alone)


def test_sessions_of_machines_are_hidden_until_they_are_named(db):
    say(db, "spoken")
    for kind in (SessionKind.SUBAGENT, SessionKind.TOOL, SessionKind.KANBAN):
        say(db, f"of {kind}", kind=kind)
    say(db, "by name", source=add_source(db, "jsonl", "kanban"))
    answer = find(db)
    assert refs(answer) == ["spoken"]
    assert answer.left_out == {"hidden_kind": 4}
    assert refs(recall(db, RecallRequest(limit=10))) == ["spoken"]
    assert sorted(refs(find(db, sources=("kanban",)))) == ["by name", "of kanban"]
    named = recall(db, RecallRequest(limit=10, sources=("subagent", "claude-code")))
    assert sorted(refs(named)) == ["of subagent", "spoken"]


def test_a_reset_begins_a_lineage_and_a_continuation_does_not(db):
    say(db, "a", title="first", at_ms=1_000)
    say(db, "b", parent_native_id="a", relation=Relation.CONTINUATION, at_ms=2_000)
    say(db, "c", parent_native_id="b", relation=Relation.RESET, at_ms=3_000)
    say(db, "d", parent_native_id="c", relation=Relation.BRANCH, at_ms=4_000)
    answer = find(db, sort="newest")
    assert refs(answer) == ["d", "b"]
    assert [result.lineage for result in answer.results] == ["c", "a"]
    assert [result.session.title for result in answer.results] == ["", ""]  # its own, not a's
    browsed = recall(db, RecallRequest(limit=10))
    assert refs(browsed) == ["d", "c", "b"]
    assert refs(recall(db, RecallRequest(limit=10, current_session="a"))) == ["d", "c"]


def test_an_excluded_session_takes_its_lineage_with_it(db):
    say(db, "a")
    say(db, "b", parent_native_id="a", relation=Relation.FORK)
    say(db, "c")
    answer = find(db, exclude_sessions=("b", "nobody"))
    assert refs(answer) == ["c"]
    assert answer.left_out == {"excluded": 1}
    assert answer.warnings == ("no session is named nobody",)
    many = find(db, exclude_sessions=(*(f"x{n}" for n in range(25)), "c"))
    assert "c" in refs(many)
    assert "20" in many.warnings[0]
    assert len(many.warnings) == 21


def test_a_branch_still_has_what_it_copied_before_it(db):
    """The parent was compacted away, yet the branch carries its words on."""
    shared = message("shared", "kestrel one", session="a")
    store_session(db, "a", shared, message("own", "kestrel two", session="a"),
                  end_reason="compression")  # fmt: skip
    branch = [message("shared", "kestrel one", session="b"), message("new", "egret", session="b")]
    store_session(db, "b", *branch, parent_native_id="a", relation=Relation.BRANCH)
    answer = find(db, current_session="b")
    assert [result.match.message for result in answer.results] == ["own"]
    with pytest.raises(QueryError, match="still before you"):
        recall(db, RecallRequest(session="a", around="shared", current_session="b"))
    assert find(db, "one", current_session="b").left_out == {"current_lineage": 1}


def test_the_ends_of_a_session_are_what_was_said(db):
    told = [
        message("injected", "rules of the house", origin=Origin.INJECTED),
        message("summary", "[CONTEXT SUMMARY]: so far"),
        message("blank", " \n\t"),
        message("first", "hello"),
        *(message(f"n{n}", "words") for n in range(20)),
        message("hit", "kestrel"),
        *(message(f"o{n}", "words") for n in range(20)),
        message("tool", "output", role=Role.TOOL),
        message("last", "bye", role=Role.ASSISTANT),
        message("written", "summed up", origin=Origin.SYNTHETIC),
        message("gone", "kestrel of the past", state=MessageState.REWOUND),
    ]
    store_session(db, "s", *told)
    (result,) = find(db).results
    assert uids(result.opening) == ["first", "n0", "n1"]
    assert uids(result.messages) == [*(f"n{n}" for n in range(15, 20)), "hit",
                                     *(f"o{n}" for n in range(5))]  # fmt: skip
    assert uids(result.resolution) == ["o18", "o19", "last"]
    assert (result.before, result.after) == (4 + 15, 15 + 3)
    assert result.messages[5].number == 25


def test_only_the_first_result_is_whole_unless_all_are_asked_for(db):
    for name in ("a", "b"):
        store_session(db, name, *(message(f"{name}{n}", f"kestrel {n}", session=name)
                                  for n in range(9)))  # fmt: skip
    first, second = find(db, window=2).results
    assert (first.is_whole, second.is_whole) == (True, False)
    assert len(second.messages) == 1
    assert second.match.message == second.messages[0].uid
    assert not second.opening
    assert all(each.is_whole and len(each.messages) > 1 for each in find(db, detail="full").results)


def test_a_title_goes_first_the_newest_of_its_numbers_before_the_plain_one(db):
    say(db, "a", "egret", title="Blue Heron", started_at_ms=1_000)
    say(db, "b", "egret", title="Blue Heron #2", started_at_ms=2_000)
    say(db, "c", "egret", title="Blue Heron #10", started_at_ms=3_000)
    say(db, "d", "about a blue heron", title="Birds", started_at_ms=4_000)
    say(db, "e", "egret", title="The Blue Heron", started_at_ms=5_000)
    for query in ("blue heron", ' `"Blue Heron"` ', "ＢＬＵＥ heron"):
        answer = find(db, query)
        assert refs(answer)[:2] == ["c", "d"]
        assert answer.results[0].match.role is None
        assert sorted(refs(answer)) == ["a", "b", "c", "d", "e"]  # titles with the words, at last
    assert refs(find(db, "Blue Heron #2"))[0] == "b"
    assert refs(find(db, "blue heron", exclude_sessions=("c",)))[0] == "b"
    match = answer.results[0].match
    assert [match.snippet[slice(*mark)] for mark in match.marks] == ["Blue", "Heron"]


@pytest.mark.parametrize("title", ["猫", "ab", "aB", "AB", "x"])
def test_a_short_title_goes_first_too(db, title):
    say(db, "a", "egret", title=title, started_at_ms=1_000)
    say(db, "b", "egret", title=f"{title} #3", started_at_ms=2_000)
    say(db, "c", "egret", title=f"{title}y", started_at_ms=3_000)
    say(db, "d", f"about {title} and {title}")
    assert refs(find(db, title.lower()))[0] == "b"
    assert refs(find(db, title, exclude_sessions=("b",)))[0] == "a"


def test_a_title_has_to_lie_in_the_time_and_place_asked_for(db):
    say(db, "a", "egret", title="Heron", at_ms=5_000)
    say(db, "b", "egret", title="Heron", at_ms=9_000, cwd="/home/x/elsewhere")
    assert refs(find(db, "heron", since_ms=5_000, until_ms=9_000)) == ["a"]
    assert refs(find(db, "heron", since_ms=9_001)) == []
    assert refs(find(db, "heron", projects=("elsewhere",))) == ["b"]
    assert refs(find(db, "heron", sources=("codex",))) == []


def test_a_message_is_in_time_by_its_own_time(db):
    """A long session is found by what was said in time, whenever it began."""
    store_session(db, "s", message("early", "kestrel", created_at_ms=1_000),
                  message("late", "kestrel", created_at_ms=9_000),
                  message("never", "kestrel"), started_at_ms=1)  # fmt: skip
    assert [r.match.message for r in find(db, since_ms=9_000).results] == ["late"]
    assert [r.match.message for r in find(db, until_ms=9_000).results] == ["early"]


def test_nothing_found_says_what_to_try(db):
    say(db, "a")
    assert "no proof" in find(db, "nowhere").hint
    assert find(db).hint == ""
    hidden = find(db, current_session="a")
    assert (refs(hidden), hidden.left_out) == ([], {"current_lineage": 1})
    assert "left_out" in hidden.hint
    assert recall(db, RecallRequest(sources=("codex",))).hint


def test_a_query_may_say_itself_whose_words_it_is_about(db):
    store_session(db, "s", message("said", "kestrel"), message("done", "kestrel", role=Role.TOOL))
    assert find(db).results[0].match.message == "said"
    (result,) = find(db, "kestrel role:tool").results
    assert (result.match.message, result.match.role) == ("done", Role.TOOL)
    assert not find(db, "kestrel role:tool", roles=(Role.USER,)).results


def test_bounds_are_kept_whatever_is_asked(db):
    for n in range(12):
        say(db, f"s{n}")
    assert len(find(db, limit=99).results) == 10
    assert len(find(db, limit=-1).results) == 1
    assert len(recall(db, RecallRequest(limit=99)).results) == 10
    assert find(db, sort="sideways", detail="everything", deadline_s=1e9).complete
    assert find(db, window=-3).results[0].messages
    assert find(db, roles=()).results
    assert not find(db, "x" * 1_000_000).results
    assert find(db, "\0").mode == "browse"


def test_a_message_is_named_with_its_session(db):
    say(db, "a")
    with pytest.raises(QueryError, match="without its session"):
        recall(db, RecallRequest(around="ma"))
    with pytest.raises(NotFoundError, match="nobody"):
        recall(db, RecallRequest(session="nobody"))
    with pytest.raises(NotFoundError, match="named xyz"):
        recall(db, RecallRequest(session="a", around="xyz"))


def test_a_name_that_several_sessions_have_is_asked_back_for(db):
    say(db, "a")
    say(db, "a", "other", source=add_source(db, "codex"))
    with pytest.raises(AmbiguousError, match="codex/a"):
        recall(db, RecallRequest(session="a"))
    assert find(db, current_session="a").complete
    assert refs(find(db, "codex/a"))[:1] == ["codex/a"]


def test_an_anchor_may_stand_in_a_descendant_or_among_what_was_compacted(db):
    say(db, "a", state=MessageState.COMPACTED)
    say(db, "b", parent_native_id="a", relation=Relation.CONTINUATION)
    say(db, "z")
    answer = recall(db, RecallRequest(session="a", around="mb"))
    assert refs(answer) == ["b"]
    assert "of the same lineage" in answer.warnings[0]
    own = recall(db, RecallRequest(session="a", around="ma"))
    assert (refs(own), own.warnings) == (["a"], ())
    with pytest.raises(NotFoundError):
        recall(db, RecallRequest(session="a", around="mz"))


@pytest.mark.parametrize("state", [MessageState.REWOUND, MessageState.HIDDEN])
def test_what_was_taken_back_is_refused_in_words(db, state):
    say(db, "a", state=state)
    with pytest.raises(NotFoundError, match="taken back"):
        recall(db, RecallRequest(session="a", around="ma"))
    assert refs(find(db)) == []
    assert uids(recall(db, RecallRequest(session="a")).results[0].opening) == []


def test_scrolling_tells_what_remains_on_each_side(db):
    store_session(db, "s", *(message(f"m{n}", "x") for n in range(100)))
    (result,) = recall(db, RecallRequest(session="s", around="m50", window=99)).results
    assert len(result.messages) == 41
    assert (result.before, result.after) == (30, 29)
    assert (result.match.message, result.match.role) == ("m50", Role.USER)
    assert (result.match.snippet, result.match.marks) == ("x", ())


def test_a_preview_is_what_a_person_asked_first(db):
    told = (
        message("1", "be nice", origin=Origin.INJECTED),
        message("2", "an undone thought", state=MessageState.REWOUND),
        message(
            "3",
            "\x1b[31mWhy\x1b[0m is\n\tthe sky   blue, and why is the sea not red, tell me?"
            + "y" * 99,
        ),
    )
    store_session(db, "s", *told)
    (result,) = recall(db, RecallRequest()).results
    assert result.preview == "Why is the sky blue, and why is the sea not red, tell me?yy…"
    assert len(result.preview) == 60


@pytest.mark.parametrize("asked", [RecallRequest(), RecallRequest("kestrel")])
def test_time_that_is_over_is_told(db, asked):
    for n in range(50):
        say(db, f"s{n}")
    late = recall(db, RecallRequest(asked.query, deadline_s=0.0))
    assert (late.complete, late.reason, late.hint) == (False, "query_timeout", "")
    assert recall(db, asked).complete


def line(length):
    return tuple(
        SessionRecord(f"s{n}", parent_native_id=f"s{n - 1}", relation=Relation.CONTINUATION)
        for n in range(length)
    )


def test_a_long_line_is_one_lineage(db):
    ends = [message(f"m{n}", "kestrel", session=f"s{n}") for n in (0, 400, 899)]
    store_messages(db, *ends, sessions=line(900))
    (result,) = find(db).results
    assert result.lineage == "s0"
    (browsed,) = recall(db, RecallRequest(limit=10)).results
    assert browsed.session.ref == "s899"
    assert refs(find(db, current_session="s899"))[0] in ("s0", "s400")  # those were left behind


def test_deep_lines_and_circles_come_to_an_end(db):
    store_messages(db, message("deep", "kestrel", session="s2499"), sessions=line(2_500))
    circle = (
        SessionRecord("x", parent_native_id="y", relation=Relation.CONTINUATION),
        SessionRecord("y", parent_native_id="x", relation=Relation.CONTINUATION),
        SessionRecord("me", parent_native_id="me", relation=Relation.BRANCH),
    )
    told = [message(name, "kestrel", session=name) for name in ("x", "y", "me")]
    store_messages(db, *told, sessions=circle)
    began = time.perf_counter()
    found = refs(find(db, current_session="me"))
    assert len(found) == 2
    assert "s2499" in found
    browsed = refs(recall(db, RecallRequest(limit=10, current_session="s3")))
    assert sorted(browsed) in (["me", "s2499", "x"], ["me", "s2499", "y"])
    assert time.perf_counter() - began < 3


def test_a_conversation_is_shown_where_it_stands_now(db):
    """Even if an older part was written to later, as a gateway that lags behind does."""
    say(db, "a", at_ms=9_000)
    say(db, "b", parent_native_id="a", relation=Relation.CONTINUATION, at_ms=2_000)
    say(db, "c", at_ms=5_000)
    assert refs(recall(db, RecallRequest(limit=10))) == ["b", "c"]


@given(ref=st.text(min_size=1), uid=st.none() | st.text(min_size=1))
def test_a_link_gives_back_what_it_was_made_of(ref, uid):
    session = _Named(ref.strip() or "x")
    made = link(session, uid)
    assert made.isascii()
    assert place_of(f" {made}\n") == (session.ref, uid)


class _Named:
    """A session as far as a link asks."""

    def __init__(self, ref):
        self.ref = ref


def test_a_link_names_a_session_and_its_message(db):
    say(db, "dir/a b#c", "kestrel")
    session = session_by_ref(db, "dir/a b#c")
    named = link(session, "mdir/a b#c")
    answer = recall(db, RecallRequest(session=named))
    assert (answer.mode, answer.results[0].link) == ("scroll", named)
    assert recall(db, RecallRequest(session=link(session))).mode == "read"
    assert refs(find(db, link(session)))[:1] == [session.ref]
    assert find(db, current_session=named).left_out == {"current_lineage": 1}


def test_every_statement_goes_through_an_index(db):
    """But for the sources, of which there are few, and the walk of browse along its index."""
    for n in range(30):
        say(db, f"s{n}", "kestrel", title=f"Heron {n}", at_ms=n,
            parent_native_id=f"s{n - 1}" if n % 3 else None,
            relation=Relation.CONTINUATION if n % 3 else None)  # fmt: skip
    plans: list[tuple[str, str]] = []

    def note(cursor, sql, bindings):
        if sql.startswith(("SELECT", "WITH")):
            plan = cursor.connection.execute(f"EXPLAIN QUERY PLAN {sql}", bindings).fetchall()
            made = {step.split()[1] for *_, step in plan if not step.startswith(("SCAN", "SEARCH"))}
            plans.extend((step, sql) for *_, step in plan if step.split()[1] not in made)
        return True

    for request in (
        RecallRequest("kestrel", current_session="s4", exclude_sessions=("s8",)),
        RecallRequest("Heron 7", detail="full"),
        RecallRequest("He"),
        RecallRequest(session="s1"),
        RecallRequest(session="s1", around="ms2", current_session="s9"),
        RecallRequest(since_ms=2, sources=("claude-code",), current_session="s9"),
    ):
        db.exec_trace = note
        recall(db, request)
        db.exec_trace = None
    allowed = (
        "SCAN s USING INDEX sessions_by_activity",
        "SCAN sqlite_schema",  # of some hundred rows
        "SCAN sessions USING INDEX sessions_in_trash",
        "SCAN sources",
        "SCAN legacy_imports",  # of one row for each snapshot that is moved in
        "SCAN message_counts",
        "SCAN index_state",
        "SCAN CONSTANT ROW",
    )
    scans = [
        each
        for each in plans
        if each[0].startswith("SCAN") and "VIRTUAL TABLE" not in each[0]
        if not each[0].startswith(allowed)
    ]
    assert scans == []
    sorts = [
        each for each in plans if "TEMP B-TREE" in each[0] and "sessions_by_activity" in each[1]
    ]
    assert sorts == []
    assert sum(step.startswith("SEARCH") for step, _ in plans) > 20


def test_the_recorded_present_is_not_needed(db):
    """Browsing orders by activity alone, whatever the clock says."""
    say(db, "future", at_ms=cases.NOW_MS * 2)
    say(db, "past", at_ms=1)
    say(db, "never")
    assert refs(recall(db, RecallRequest(limit=10))) == ["future", "past", "never"]


TEXTS = st.text() | st.sampled_from(
    ["s1", "m1", "\ud800", "\0", "a/b", "backscroll://session/", "#"]
)


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    query=TEXTS,
    session=st.none() | TEXTS,
    around=st.none() | TEXTS,
    current=st.none() | TEXTS,
    excluded=st.lists(TEXTS, max_size=3),
    names=st.lists(TEXTS, max_size=2),
    times=st.tuples(st.none() | st.integers(), st.none() | st.integers()),
    window=st.integers(),
    limit=st.integers(),
)
def test_whatever_is_asked_is_answered_or_refused_in_words(
    db, query, session, around, current, excluded, names, times, window, limit
):
    if db.execute("SELECT count(*) FROM sessions").get == 0:
        say(db, "s1", "kestrel s1 # a/b", at_ms=1_000, title="backscroll")
    request = RecallRequest(
        query=query,
        session=session,
        around=around,
        current_session=current,
        exclude_sessions=tuple(excluded),
        sources=tuple(names),
        projects=tuple(names),
        since_ms=times[0],
        until_ms=times[1],
        window=window,
        limit=limit,
    )
    with suppress(CoreError):
        assert recall(db, request).complete


def test_browsing_a_place_that_is_none_says_so(db):
    say(db, "s", "kestrel")
    answer = recall(db, RecallRequest(sources=("nowhere",)))
    assert (answer.results, answer.warnings) == ((), ("no source is named nowhere",))
    assert recall(db, RecallRequest(sources=("claude-code",))).warnings == ()
