"""What an answer says of itself: path, order, totals, what was left out, how far it came."""

import time
from dataclasses import replace

import apsw
import pytest

from core.errors import NotFoundError, QueryError
from core.search import candidates, collect, run
from core.search.run import QUERY_TIMEOUT, search
from core.sources.records import SessionRecord
from core.store.connection import transaction
from core.types import (
    INDEX_NAMES,
    MessageState,
    Origin,
    Role,
    SearchRequest,
    SessionKind,
    TitleSource,
    ToolCall,
)
from tests.unit.store.making import add_source, message, store_at, store_messages, verify_indexes


@pytest.fixture
def db(tmp_path):
    made = store_at(tmp_path)
    yield made
    made.close()


def ask(db, query, **more):
    return search(db, SearchRequest(query, **more))


def found(result):
    return [hit.message for hit in result.hits]


# Paths


def test_the_path_is_the_index_that_answered(db):
    store_messages(
        db,
        message("a", "重启nginx服务"),
        message("b", "nginx is up", role=Role.TOOL),
        message("c", "订阅 in a tool", role=Role.TOOL),
        message("d", "plain", role=Role.TOOL),
        message("e", "see src -> dst"),
    )
    for query, path, hits in (
        ("服务", "cjk", ["a"]),
        ("nginx服务", "cjk", ["a"]),
        ("nginx", "fts5+cjk", ["a", "b"]),
        ("plain", "fts5", ["d"]),
        ("订阅", "cjk", ["c"]),
        ("->", "like", ["e"]),
        ("lain", "trigram", None),
        ("dst nowhere", "fts5_or", ["e"]),
        ("没有", "cjk", []),
        ("nowhere", "fts5+cjk", []),
        ("", "empty", []),
    ):
        result = ask(db, query)
        assert result.search_path == path or hits is None, query
        if hits is not None:
            assert found(result) == hits
            assert result.total_hits == len(hits)
        assert result.why.endswith((".", ":"))
        assert set(result.index_status) == set(INDEX_NAMES)


def test_indexes_that_answer_alike_are_named_in_one_sentence(db):
    store_messages(db, message("a", "nginx 服务"), message("b", "C++ nginx", role=Role.TOOL))
    trigrams = "The trigram index (any three characters in a row)"
    for query, sentences in (
        ("nginx", "The CJK index and the word index answer this exactly."),
        ("服务", "The CJK index answers this exactly."),
        (
            "c++ nginx",
            f"{trigrams}, the CJK index and the word index found candidates, and each was read.",
        ),
    ):
        assert ask(db, query).why == sentences, query


def test_the_steps_tell_what_was_tried_and_what_was_not(db):
    store_messages(db, message("a", "nginx 服务"))
    steps = ask(db, "nginx nowhere", roles=(Role.USER,)).steps
    assert [(step.path, step.hits) for step in steps] == [
        ("cjk", 0),
        ("title", 0),
        ("trigram", 0),
        ("fts5_or", 1),
    ]
    assert all(step.elapsed_ms is not None for step in steps)
    steps = ask(db, "服务", roles=(Role.USER,)).steps
    assert [(step.path, step.hits) for step in steps] == [("cjk", 1), ("title", 0), ("like", None)]
    assert steps[-1].note == "not run: the indexes answer for every row"


def test_a_hit_says_which_index_found_it(db):
    store_messages(db, message("a", "nginx 服务"), message("b", "nginx", role=Role.TOOL))
    assert [(hit.message, hit.path) for hit in ask(db, "nginx").hits] == [
        ("a", "cjk"),
        ("b", "fts5"),
    ]


def test_without_the_tokenizer_the_answer_says_so(tmp_path):
    db = store_at(tmp_path, cjk=False)
    store_messages(db, message("a", "电影订阅成功"), message("b", "subscribe"))
    for query, path in (("订阅", "like"), ("电影订阅", "trigram"), ("subscribe", "fts5")):
        result = ask(db, query)
        assert result.search_path == path
        assert "The CJK index cannot be asked" in result.why
        assert result.total_hits == 1
    assert ask(db, "x").index_status["messages_fts_cjk"].state == "detached"


# Order


def test_what_was_said_goes_before_what_was_injected_or_left(db):
    store_messages(
        db,
        message("injected", "deploy deploy", origin=Origin.INJECTED),
        message("off", "deploy deploy", state=MessageState.OFF_BRANCH),
        message("synthetic", "deploy", role=Role.SYSTEM, origin=Origin.SYNTHETIC),
        message("said", "we may deploy it some day, when all of this is over"),
        message("compacted", "deploy", state=MessageState.COMPACTED),
    )
    result = ask(db, "deploy")
    assert found(result) == ["compacted", "said", "off", "injected", "synthetic"]
    assert result.hits[2].state is MessageState.OFF_BRANCH
    assert result.hits[3].origin is Origin.INJECTED


def test_the_better_match_goes_before_the_longer_text(db):
    store_messages(
        db,
        message("once", "kestrel " + "and other birds " * 40),
        message("twice", "kestrel or kestrel"),
    )
    result = ask(db, "kestrel")
    assert found(result) == ["twice", "once"]
    assert result.hits[0].score > result.hits[1].score > 0


def test_time_orders_everything_and_puts_the_timeless_last(db):
    store_messages(
        db,
        message("b", "订阅 x", created_at_ms=2_000),
        message("none", "订阅 x"),
        message("tool", "x 订阅", role=Role.TOOL, created_at_ms=3_000),
        message("a", "订阅 x", created_at_ms=1_000),
        message("plain", "x", role=Role.TOOL, created_at_ms=2_500),
    )
    assert found(ask(db, "订阅", sort="newest")) == ["tool", "b", "a", "none"]
    assert found(ask(db, "订阅", sort="oldest")) == ["a", "b", "tool", "none"]
    assert found(ask(db, "x", sort="newest", limit=2)) == ["tool", "plain"]
    assert found(ask(db, "x", sort="newest", limit=2, offset=2)) == ["b", "a"]


def test_a_lone_character_is_answered_newest_first(db):
    store_messages(db, message("a", "漓漓漓"), message("b", "漓" + "江" * 50))
    result = ask(db, "漓")
    assert found(result) == ["b", "a"]
    assert result.ranked_scope is None


def test_a_lone_character_is_answered_the_same_however_long_ago_it_was_said(db, monkeypatch):
    store_messages(
        db,
        *(message(f"m{n}", "漓江" if n % 3 else "江") for n in range(30)),
        message("tool", "漓", role=Role.TOOL),
        message("gone", "漓", state=MessageState.REWOUND),
    )
    expected = ["tool", *(f"m{n}" for n in range(29, -1, -1) if n % 3)]
    for recent in (0, 5, 12, 100):
        monkeypatch.setattr(collect, "RECENT", recent)
        result = ask(db, "漓", limit=4)
        assert (found(result), result.total_hits) == (expected[:4], 21)
        assert (result.search_path, result.hits[0].path) == ("cjk", "cjk")
        seen = found(result)
        while result.next is not None:
            result = ask(db, "漓", limit=4, after=result.next)
            seen += found(result)
        assert seen == expected


def test_beyond_the_budget_the_newest_are_ranked_and_the_answer_says_so(db, monkeypatch):
    monkeypatch.setattr(collect, "RANKED_HITS", 5)
    store_messages(db, *(message(f"m{n}", "kestrel " * (12 - n) + "x " * n) for n in range(12)))
    result = ask(db, "kestrel")
    assert result.ranked_scope == 5
    assert found(result) == ["m7", "m8", "m9", "m10", "m11", *(f"m{n}" for n in range(6, -1, -1))]
    assert (result.total_hits, result.total_is_exact) == (12, True)
    assert [hit.score is None for hit in result.hits] == [False] * 5 + [True] * 7
    pages = [ask(db, "kestrel", limit=5, offset=offset) for offset in (0, 5, 10)]
    assert [uid for page in pages for uid in found(page)] == found(result)


def test_the_indexes_share_the_budget(db, monkeypatch):
    monkeypatch.setattr(collect, "RANKED_HITS", 5)
    store_messages(
        db,
        *(message(f"m{n}", "kestrel") for n in range(3)),
        *(message(f"t{n}", "kestrel", role=Role.TOOL) for n in range(4)),
    )
    result = ask(db, "kestrel")
    assert result.ranked_scope == 5
    assert found(result) == ["m2", "m1", "m0", "t3", "t2", "t1", "t0"]
    assert [hit.score is None for hit in result.hits] == [False] * 5 + [True] * 2
    assert ask(db, "m0").ranked_scope is None


@pytest.mark.parametrize("ranked", [20_000, 30])
@pytest.mark.parametrize("hidden", [False, True])
def test_the_order_is_the_same_whether_an_index_is_ranked_alone_or_joined(
    db, monkeypatch, ranked, hidden
):
    """With a message that is left out, every row has to be looked at."""
    monkeypatch.setattr(collect, "RANKED_HITS", ranked)
    origins = (Origin.INJECTED, Origin.HUMAN, Origin.SYNTHETIC)
    rows = [
        message(f"m{n}", "kestrel " * (n * 7 % 5 + 1) + "filler " * (n % 11), origin=origins[n % 3])
        for n in range(60)
    ]
    store_messages(db, *rows, message("tool", "kestrel", role=Role.TOOL))
    plain = {limit: found(ask(db, "kestrel", limit=limit)) for limit in (3, 10, 25, 100)}
    store_messages(db, message("heron", "heron", state=MessageState.HIDDEN))
    with transaction(db):
        db.execute(
            "DELETE FROM message_placements WHERE message_id = (SELECT max(id) FROM messages)"
        )
        if not hidden:
            db.execute("DELETE FROM messages WHERE uid = 'heron'")
    for limit, expected in plain.items():
        result = ask(db, "kestrel", limit=limit)
        assert found(result) == expected == plain[100][:limit]
        assert result.not_searched == ({"hidden": 1} if hidden else {})
    said = [uid for uid in plain[100] if uid != "tool" and int(uid[1:]) % 3 == 1]
    if ranked == 20_000:
        assert plain[100][: len(said)] == said


# Pages


@pytest.mark.parametrize("sort", ["relevance", "newest", "oldest"])
def test_pages_part_the_hits_whatever_is_written_meanwhile(db, sort):
    store_messages(
        db,
        *(
            message(f"m{n}", "kestrel 订阅 " * (n % 4 + 1), created_at_ms=n % 7 * 1_000,
                    role=Role.TOOL if n % 3 == 0 else Role.USER)
            for n in range(40)
        ),
    )  # fmt: skip
    every = found(ask(db, "kestrel", sort=sort, limit=100))
    page = ask(db, "kestrel", sort=sort, limit=7)
    seen = found(page)
    late = 0
    while page.next is not None:
        late += 1
        store_messages(db, message(f"late{late}", "kestrel", created_at_ms=10_000 * late))
        page = ask(db, "kestrel", sort=sort, limit=7, after=page.next)
        seen += found(page)
    assert late == 5
    assert sorted(seen) == sorted(every)
    if sort != "relevance":
        assert seen == every
    assert found(ask(db, "kestrel", sort=sort, limit=7, offset=40)) == (
        [f"late{n}" for n in range(1, 6)] if sort == "oldest" else found(page_at(db, sort))
    )


def page_at(db, sort):
    every = ask(db, "kestrel", sort=sort, limit=100)
    return replace(every, hits=every.hits[40:47])


@pytest.mark.parametrize(
    "wrong", [{"limit": 0}, {"offset": -1}, {"after": "x"}, {"after": "1-2-3"}, {"after": ""}]
)
def test_a_page_that_is_none_is_refused(db, wrong):
    with pytest.raises(QueryError):
        ask(db, "x", **wrong)


# What is searched, and what is not


def test_taken_back_messages_are_found_on_request_and_counted(db):
    store_messages(
        db,
        message("kept", "kestrel"),
        message("rewound", "kestrel", state=MessageState.REWOUND),
        message("hidden", "kestrel", state=MessageState.HIDDEN),
        message("elsewhere", "kestrel", session="t", state=MessageState.REWOUND),
    )
    result = ask(db, "kestrel")
    assert found(result) == ["kept"]
    assert result.not_searched == {"rewound": 2, "hidden": 1}
    assert result.messages_searched == 1
    assert ask(db, "kestrel", sessions=("s",)).not_searched == {"rewound": 1, "hidden": 1}
    everything = ask(db, "kestrel", include=frozenset({"rewound", "hidden"}))
    assert found(everything)[0] == "kept"
    assert set(found(everything)) == {"kept", "rewound", "hidden", "elsewhere"}
    assert everything.not_searched == {}


def test_superseded_texts_are_found_by_no_path(db):
    store_messages(db, message("m", "kestrel 订阅 ->"))
    store_messages(db, message("m", "heron"), rewrites=True)
    everything = frozenset({"rewound", "hidden", "tool", "trash"})
    for query in ("kestrel", "订阅", "->", "kest", "NOT heron"):
        assert found(ask(db, query, include=everything)) == []
    assert found(ask(db, "heron")) == ["m"]


def test_the_trash_is_left_out_but_for_what_is_shown_elsewhere(db):
    store_messages(db, message("a", "kestrel one"), message("both", "kestrel two"))
    store_messages(db, message("both", "kestrel two", session="fork"))
    with transaction(db):
        db.execute("UPDATE sessions SET trashed_at_ms = 1 WHERE native_id = 's'")
    result = ask(db, "kestrel")
    assert [(hit.message, hit.session) for hit in result.hits] == [("both", "fork")]
    assert result.not_searched == {"trashed": 1}
    assert result.messages_searched == 1
    included = ask(db, "kestrel", include=frozenset({"trash"}))
    assert sorted(found(included)) == ["a", "both"]
    assert {hit.session for hit in included.hits} == {"s"}


@pytest.mark.parametrize("cjk", [True, False])
def test_tool_rows_are_searched_to_their_end_on_request(tmp_path, cjk):
    db = store_at(tmp_path, cjk=cjk)
    store_messages(
        db,
        message("deep", "filler " * 3_000 + "deeptoken 订阅", role=Role.TOOL),
        message("latin", "filler " * 3_000 + "deeptoken", role=Role.TOOL),
        message("plain", "deeptoken", role=Role.TOOL),
        message("short", "deeptoken订阅", role=Role.TOOL),
        message("user", "about deeptoken"),
    )
    result = ask(db, "deeptoken")
    assert sorted(found(result)) == ["plain", "short", "user"]
    assert result.not_searched == {"cut_tails": 2}
    for query, hits in (
        ("deeptoken", ["deep", "latin", "plain", "short"]),
        ("deeptoken NOT other", ["deep", "latin", "plain", "short"]),
        ("deeptoken NOT 订阅", ["latin", "plain"]),
        ("NOT 订阅", ["latin", "plain"]),
        ("NOT filler", ["plain", "short"]),
        ("filler OR 订阅", ["deep", "latin", "short"]),
        ("订阅", ["deep", "short"]),
        ("deeptoken订阅", ["deep", "short"]),
    ):
        tools = ask(db, query, roles=(Role.TOOL,))
        assert sorted(found(tools)) == hits, query
        assert (tools.total_hits, tools.total_is_exact) == (len(hits), True)
        assert tools.not_searched == {}
    assert "Long tool rows were read to their end" in tools.why
    whole = ask(db, "deeptoken", include=frozenset({"tool"}))
    assert sorted(found(whole)) == ["deep", "latin", "plain", "short", "user"]
    assert found(ask(db, "订阅")) == ["short"]
    db.close()


def test_a_text_is_searched_as_far_as_it_is_indexed(db):
    store_messages(db, message("m", "x " * 131_072 + "behind"), message("n", "behind"))
    result = ask(db, "behind")
    assert found(result) == ["n"]
    assert result.not_searched == {"cut_tails": 1}


def test_tool_rows_with_cjk_are_answered_by_the_index_however_many(db):
    store_messages(
        db,
        message("user", "nginx 订阅"),
        message("glued", "nginx订阅 one", role=Role.TOOL),
        message("apart", "nginx apart 订阅", role=Role.TOOL),
        message("plain", "nginx one", role=Role.TOOL),
        *(message(f"t{n}", f"龘 {n} 三", role=Role.TOOL) for n in range(1_100)),
    )
    for query, path, hits in (
        ("订阅", "cjk", ["apart", "glued", "user"]),
        ("1099 三", "cjk", ["t1099"]),
        ("nginx订阅", "cjk", ["glued", "user"]),
        ("nginx", "fts5+cjk", ["apart", "glued", "plain", "user"]),
        ("one NOT 订阅", "fts5", ["plain"]),
        ("订阅 OR one", "fts5+cjk", ["apart", "glued", "plain", "user"]),
        ("没有", "cjk", []),
    ):
        result = ask(db, query)
        assert sorted(found(result)) == hits, query
        assert (result.search_path, result.total_hits) == (path, len(hits)), query
        assert (result.total_is_exact, result.complete) == (True, True)
        assert result.not_searched == {}
        assert result.messages_searched == 1_104
        assert "were read" not in result.why
    many = ask(db, "龘")
    assert (many.search_path, many.total_hits, many.total_is_exact) == ("cjk", 1_100, True)
    assert found(ask(db, "订阅", roles=(Role.USER,))) == ["user"]


def test_a_tool_rows_words_are_found_where_its_last_rewrite_put_them(db):
    row = message("t", "nginx up", role=Role.TOOL)
    store_messages(db, row)
    for content, query, path in (
        ("nginx服务 up", "nginx", "cjk"),
        ("服务 up", "服务", "cjk"),
        ("nginx up again", "nginx", "fts5"),
        ("again 订阅", "again", "cjk"),
    ):
        store_messages(db, replace(row, content=content), rewrites=True)
        result = ask(db, query)
        assert (found(result), result.search_path) == (["t"], path)
        assert (result.total_hits, result.total_is_exact) == (1, True)
        verify_indexes(db)
    assert found(ask(db, "nginx")) == found(ask(db, "服务")) == []


def test_filters_narrow_hits_totals_and_what_was_searched(db):
    other = add_source(db, "jsonl", "telegram")
    store_messages(
        db,
        message("a", "kestrel", created_at_ms=1_000),
        message("b", "kestrel", created_at_ms=2_000, role=Role.ASSISTANT),
        message("c", "kestrel", session="w", created_at_ms=3_000),
        sessions=(SessionRecord("w", cwd="/home/x/web_app"),),
    )
    store_messages(db, message("d", "kestrel", session="t"), source=other)
    for filters, hits in (
        ({"roles": (Role.ASSISTANT,)}, "b"),
        ({"roles": (Role.USER, Role.ASSISTANT)}, "abcd"),
        ({"sources": ("jsonl",)}, "d"),
        ({"sources": ("telegram",)}, "d"),
        ({"sources": ("nowhere",)}, ""),
        ({"projects": ("web_app",)}, "c"),
        ({"projects": ("webXapp",)}, ""),
        ({"sessions": ("w", "t")}, "cd"),
        ({"sessions": ("claude-code/w",)}, "c"),
        ({"since_ms": 2_000}, "bc"),
        ({"until_ms": 2_000}, "a"),
        ({"since_ms": 2_000, "until_ms": 3_000}, "b"),
    ):
        result = ask(db, "kestrel", **filters)
        assert sorted(found(result)) == list(hits), filters
        assert (result.total_hits, result.total_is_exact) == (len(hits), True)
        assert result.messages_searched == len(hits)
    with pytest.raises(NotFoundError):
        ask(db, "kestrel", sessions=("nowhere",))


def test_sessions_of_every_kind_are_searched(db):
    store_messages(
        db,
        *(message(kind.value, "kestrel", session=kind.value) for kind in SessionKind),
        sessions=tuple(SessionRecord(kind.value, kind=kind) for kind in SessionKind),
    )
    assert sorted(found(ask(db, "kestrel"))) == sorted(kind.value for kind in SessionKind)


# When nothing has it


def test_inside_words_is_tried_and_offered(db):
    store_messages(db, message("a", "die Datenbankverbindung bricht ab"), message("b", "ab"))
    result = ask(db, "verbindung")
    assert (found(result), result.search_path) == (["a"], "trigram")
    assert "inside longer ones" in result.why
    (hit,) = result.hits
    assert [hit.snippet[slice(*mark)] for mark in hit.marks] == ["verbindung"]
    store_messages(db, message("c", "die Verbindung"))
    whole = ask(db, "verbindung")
    assert found(whole) == ["c"]
    assert whole.inside_words == 1
    offered = whole.steps[-1]
    assert (offered.path, offered.understood, offered.hits) == ("trigram", "verbindung", 1)
    assert found(ask(db, "verbindung", inside_words=True)) == ["c", "a"]
    assert found(ask(db, "ba", inside_words=True)) == []


def test_what_stands_inside_words_alone_is_counted_beside_whole_words(db):
    store_messages(
        db,
        message("whole", "rail"),
        message("both", "rail and railway"),
        message("inside", "monorail, railway"),
        message("cjk", "订阅railways"),
        message("tool", "railway", role=Role.TOOL),
        message("other", "heron"),
    )
    result = ask(db, "rail")
    assert (sorted(found(result)), result.inside_words) == (["both", "whole"], 2)
    (step,) = [step for step in result.steps if step.note == "further ones, inside words"]
    assert (step.path, step.understood, step.hits) == ("trigram", "rail", 2)
    assert sorted(found(ask(db, "rail", inside_words=True))) == ["both", "cjk", "inside", "whole"]
    assert ask(db, "rail", roles=(Role.ASSISTANT,)).inside_words is None
    assert ask(db, "rail heron").inside_words is None
    for query in ("NOT rail", "订阅", "rail OR 订阅", "ra"):
        assert ask(db, query).inside_words is None, query
    assert ask(db, "rail NOT heron").inside_words == 2
    assert ask(db, "monorail OR rail").inside_words == 1
    assert ask(db, "rail", inside_words=True).inside_words is None
    assert ask(db, "rail", limit=1, after=ask(db, "rail", limit=1).next).inside_words is None


def test_small_operators_are_left_out_with_the_first_words(db):
    store_messages(
        db,
        message("both", "a cat saw a dog"),
        message("cat", "a cat"),
        message("dog", "a dog"),
        message("or", "either or"),
        message("not", "not this"),
    )
    for query, hits in (
        ("cat or dog", ["both", "cat", "dog"]),
        ("cat and dog", ["both", "cat", "dog"]),
        ("cat not dog", ["both", "cat", "dog"]),
        ("not cat", ["both", "cat"]),
        ("or not and", ["not", "or"]),
    ):
        result = ask(db, query)
        assert (result.search_path, sorted(found(result))) == ("fts5_or", hits), query
    assert found(ask(db, "cat or dog"))[0] == "both"
    assert found(ask(db, "either or")) == ["or"]


def test_with_words_left_out_the_fuller_matches_go_first(db):
    store_messages(
        db,
        message("one", "alpha alpha alpha"),
        message("three", "alpha with beta and a long way to gamma"),
        message("two", "beta beta gamma gamma"),
        message("none", "epsilon"),
    )
    result = ask(db, "alpha beta gamma delta")
    assert result.search_path == "fts5_or"
    assert found(result) == ["three", "two", "one"]
    assert result.total_hits == 3
    assert all(hit.path in ("cjk", "fts5", "like") for hit in result.hits)
    for query in ("alpha AND NOT alpha", '"alpha delta"', "delta", "delta OR zeta"):
        assert found(ask(db, query)) == []


def test_a_title_answers_when_no_message_does(db):
    store_messages(
        db,
        message("a", "text"),
        message("b", "about 电影", session="t"),
        sessions=(
            SessionRecord("s", title="电影订阅 plan", title_source=TitleSource.MODEL),
            SessionRecord("t", title="other"),
        ),
    )
    for query in ("plan", "订阅", "订阅 plan", "影订", "pla*"):
        result = ask(db, query)
        assert (result.search_path, found(result)) == ("title", [])
        assert [session.ref for session in result.title_matches] == ["s"]
    both = ask(db, "电影")
    assert (both.search_path, found(both)) == ("cjk", ["b"])
    assert [session.ref for session in both.title_matches] == ["s"]
    assert ask(db, "plan", sessions=("t",)).title_matches == ()
    assert ask(db, "plan", sources=("codex",)).title_matches == ()
    with transaction(db):
        db.execute("UPDATE sessions SET trashed_at_ms = 1 WHERE native_id = 's'")
    assert ask(db, "plan").title_matches == ()


# Deadlines and errors


def test_a_deadline_leaves_what_was_found_and_says_so(db):
    store_messages(
        db, *(message(f"m{n}", "x" * 20_000 + " 找", role=Role.TOOL) for n in range(100))
    )
    result = ask(db, "找", roles=(Role.TOOL, Role.USER), deadline_s=1e-6)
    assert (result.complete, result.reason) == (False, QUERY_TIMEOUT)
    assert result.total_is_exact is False


class _Slow:
    """Lets the deadline strike while a certain step of the work runs."""

    def __init__(self, monkeypatch, name):
        real = getattr(candidates.Asked, name)

        def slow(asked, *args, **kwargs):
            list(asked._db.execute(_ENDLESS))
            return real(asked, *args, **kwargs)

        monkeypatch.setattr(candidates.Asked, name, slow)


_ENDLESS = (
    "WITH RECURSIVE n(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM n) SELECT 1 FROM n"
    " WHERE x < 0 LIMIT 1"
)


def test_a_deadline_within_the_ranking_leaves_the_newest(db, monkeypatch):
    store_messages(db, *(message(f"m{n}", "kestrel") for n in range(30)))
    _Slow(monkeypatch, "best")
    result = ask(db, "kestrel", limit=3, deadline_s=0.5)
    assert (result.complete, result.reason) == (False, QUERY_TIMEOUT)
    assert found(result) == ["m29", "m28", "m27"]
    assert (result.total_is_exact, result.next) == (False, None)
    assert 3 <= result.total_hits < 30


def test_a_deadline_within_a_scan_leaves_what_indexes_found_and_where_to_go_on(
    tmp_path, monkeypatch
):
    db = store_at(tmp_path, cjk=False)
    store_messages(db, *(message(f"m{n}", "kestrel " * (n + 1)) for n in range(4)))
    store_messages(db, message("cjk", "订阅 kestrel", role=Role.TOOL))
    real = collect.scan

    def endless(db, part, where, sort):
        list(db.execute(_ENDLESS))
        yield from real(db, part, where, sort)

    for sort in ("relevance", "newest"):
        whole = ask(db, "kestrel", sort=sort)
        assert len(found(whole)) == 5
        monkeypatch.setattr(collect, "scan", endless)
        cut = ask(db, "kestrel", sort=sort, deadline_s=0.4)
        monkeypatch.setattr(collect, "scan", real)
        assert (cut.complete, cut.reason, cut.total_is_exact) == (False, QUERY_TIMEOUT, False)
        assert cut.total_hits == 4
        assert found(cut) == [uid for uid in found(whole) if uid != "cjk"]
        if sort == "relevance":
            assert found(ask(db, "kestrel", after=cut.next)) == ["cjk"]
    db.close()


def test_a_deadline_before_the_first_attempt_is_an_answer_too(db):
    store_messages(db, message("m", "kestrel"))
    result = ask(db, "kestrel", deadline_s=0.0)
    assert (result.complete, result.reason, found(result)) == (False, QUERY_TIMEOUT, [])


def test_a_slow_total_is_an_upper_bound(db, monkeypatch):
    monkeypatch.setattr(collect, "RANKED_HITS", 5)
    store_messages(
        db,
        *(message(f"m{n}", "kestrel") for n in range(30)),
        message("r", "kestrel", state=MessageState.REWOUND),
    )
    _Slow(monkeypatch, "count")
    result = ask(db, "kestrel", limit=3)
    assert (result.complete, len(result.hits)) == (True, 3)
    assert (result.total_hits, result.total_is_exact) == (31, False)


def test_an_unfinished_scan_is_bounded_by_what_was_searched(db, monkeypatch):
    store_messages(db, *(message(f"m{n}", "x" * 20_000) for n in range(200)))
    monkeypatch.setattr(run, "COUNT_S", 0.0)
    result = ask(db, "NOT kestrel", limit=3)
    assert (len(result.hits), result.complete, result.total_is_exact) == (3, True, False)
    assert result.total_hits == result.messages_searched == 200


def test_a_deadline_ends_the_counting_too(db, monkeypatch):
    monkeypatch.setattr(collect, "RANKED_HITS", 5)
    store_messages(db, *(message(f"m{n}", f"kestrel akestrel {n}") for n in range(30)))
    _Slow(monkeypatch, "count")
    monkeypatch.setattr(run, "COUNT_S", 60.0)
    monkeypatch.setattr(run, "INSIDE_S", 60.0)
    began = time.monotonic()
    result = ask(db, "kestrel", limit=3, deadline_s=0.3)
    assert time.monotonic() - began < 5
    assert (result.complete, len(result.hits), result.total_is_exact) == (True, 3, False)
    assert (result.total_hits, result.inside_words) == (30, None)


def test_an_interrupt_that_is_not_the_deadlines_is_raised(db, monkeypatch):
    store_messages(db, message("m", "kestrel"))

    def interrupted(*_args, **_kwargs):
        raise apsw.InterruptError("somebody else's")

    monkeypatch.setattr(candidates.Asked, "newest", interrupted)
    with pytest.raises(apsw.InterruptError):
        ask(db, "kestrel")


def test_an_error_of_sqlite_is_never_an_empty_answer(db, monkeypatch):
    store_messages(db, message("m", "kestrel"))

    def failing(*_args, **_kwargs):
        raise apsw.CorruptError("database disk image is malformed")

    monkeypatch.setattr(candidates.Asked, "newest", failing)
    with pytest.raises(apsw.CorruptError):
        ask(db, "kestrel")


def test_a_body_of_tool_calls_alone_has_a_snippet(db):
    call = ToolCall("c", "write_file", '{"path": "/srv/nginx.conf", "text": "订阅 on"}')
    store_messages(db, message("m", "", role=Role.ASSISTANT, tool_calls=(call,)))
    for query in ("订阅", "write_file", "nginx.conf"):
        (hit,) = ask(db, query).hits
        assert [hit.snippet[slice(*mark)] for mark in hit.marks] == [query]


def test_the_tools_name_is_shown_when_it_is_what_matched(db):
    store_messages(db, message("m", "done", role=Role.TOOL, tool_name="web_lookup"))
    (hit,) = ask(db, "web_lookup").hits
    assert hit.snippet == "web_lookup: done"
    assert hit.marks == ((0, 10),)
