"""Pages behind pages: every hit once, however far one reads and whatever is written meanwhile."""

import base64
import json
from random import Random

import pytest

from core.errors import QueryError
from core.search import collect, paging
from core.search.run import search
from core.store import attachment
from core.store.connection import transaction
from core.types import MessageState, Role, SearchRequest
from tests.unit.store.making import message, store_at, store_messages

SORTS = ("relevance", "newest", "oldest")


@pytest.fixture
def db(tmp_path):
    made = store_at(tmp_path)
    yield made
    made.close()


def ask(db, query, **more):
    return search(db, SearchRequest(query, **more))


def found(result):
    return [hit.message for hit in result.hits]


def read_on(db, page, query, between=lambda: None, **more):
    """Return the uids of a page and of all behind it; `between` runs before each of those."""
    seen, totals = found(page), [page.total_hits]
    while page.next is not None:
        between()
        page = ask(db, query, after=page.next, **more)
        seen += found(page)
        totals.append(page.total_hits)
        assert len(seen) <= 2 * totals[0] + 10, "pages without an end"
    return seen, totals


def some_texts(random, count, words):
    """Messages of every kind of row that may or may not hold `words`."""
    for number in range(count):
        said = [word for word in words if random.random() < 0.8]
        filler = random.choices(("one", "two", "三", "电影", "filler"), k=random.randrange(12))
        tokens = said * random.randint(1, 3) + filler
        random.shuffle(tokens)
        yield message(
            f"m{number}",
            " ".join(tokens) or "nothing",
            role=random.choice((Role.USER, Role.ASSISTANT, Role.TOOL)),
            state=random.choices(
                (MessageState.ACTIVE, MessageState.OFF_BRANCH), weights=(9, 1)
            )[0],
            created_at_ms=random.choice((None, random.randrange(9) * 1_000)),
        )  # fmt: skip


class Disturbance:
    """Writes that go on while somebody pages: new messages, longer ones, other averages."""

    def __init__(self, db, random, words):
        self._db, self._random, self._words = db, random, words

    def __call__(self):
        for _ in range(self._random.randrange(4)):
            text = " ".join(self._words * self._random.randint(1, 40))
            late = message(
                f"late{self._random.getrandbits(64):x}",
                text,
                created_at_ms=self._random.randrange(9_000),
            )
            store_messages(self._db, late)


def every_hit_comes_once(db, random, words, query, sort, limit):
    everything = ask(db, query, sort=sort, limit=10_000)
    first = ask(db, query, sort=sort, limit=limit)
    seen, totals = read_on(db, first, query, Disturbance(db, random, words), sort=sort, limit=limit)
    assert sorted(seen) == sorted(found(everything)), (query, sort, limit)
    assert len(seen) == len(set(seen))
    if sort != "relevance":
        assert seen == found(everything)
    assert set(totals) == {everything.total_hits}


@pytest.mark.parametrize("cjk", [True, False])
@pytest.mark.parametrize("sort", SORTS)
@pytest.mark.parametrize("ranked", [7, 20_000])
def test_every_hit_comes_once_whatever_is_written_meanwhile(
    tmp_path, monkeypatch, cjk, sort, ranked
):
    monkeypatch.setattr(collect, "RANKED_HITS", ranked)
    random = Random(f"{cjk} {sort} {ranked}")
    made = store_at(tmp_path, cjk=cjk)
    words = ["kestrel", "订阅"]
    store_messages(made, *some_texts(random, 60, words))
    for query in (
        "kestrel",
        "订阅",
        "kestrel 订阅",
        "kestrel OR 订阅",
        "影",
        "kestrel NOT 三",
        "NOT 订阅",
    ):
        every_hit_comes_once(made, random, words, query, sort, random.randint(1, 17))
    made.close()


@pytest.mark.long
@pytest.mark.parametrize("seed", range(20))
def test_every_hit_comes_once_at_length(tmp_path, monkeypatch, seed):
    random = Random(f"long {seed}")
    monkeypatch.setattr(collect, "RANKED_HITS", random.choice((5, 50, 300)))
    made = store_at(tmp_path, cjk=seed % 2 == 0)
    words = ["kestrel", "订阅", "heron"]
    store_messages(made, *some_texts(random, 600, words))
    for query in ("kestrel", "订阅", "heron kestrel", "heron OR 影", "->", "影", "NOT heron"):
        for sort in SORTS:
            every_hit_comes_once(made, random, words, query, sort, random.choice((11, 50, 300)))
    made.close()


@pytest.mark.parametrize("sort", SORTS)
def test_pages_go_on_past_300(db, sort):
    store_messages(db, *(message(f"m{n}", "kestrel " * (n % 5 + 1)) for n in range(700)))
    first = ask(db, "kestrel", sort=sort, limit=300)
    seen, totals = read_on(db, first, "kestrel", sort=sort, limit=300)
    assert sorted(seen) == sorted(f"m{n}" for n in range(700))
    assert totals == [700, 700, 700]


@pytest.mark.long
@pytest.mark.parametrize("sort", SORTS)
def test_pages_go_on_past_20_000(db, sort):
    every = [f"m{n}" for n in range(20_500)]
    for start in range(0, len(every), 500):
        some = every[start : start + 500]
        store_messages(db, *(message(uid, f"kestrel {uid[-1]} " * (len(uid) - 1)) for uid in some))
    first = ask(db, "kestrel", sort=sort, limit=1_000)
    assert first.ranked_scope == (20_000 if sort == "relevance" else None)
    late = iter(range(100))
    seen, totals = read_on(
        db, first, "kestrel",
        lambda: store_messages(db, message(f"late{next(late)}", "kestrel " * 30)),
        sort=sort, limit=1_000,
    )  # fmt: skip
    assert sorted(seen) == sorted(every)
    assert set(totals) == {20_500}


def test_a_page_behind_the_ranking_goes_on_newest_first(db, monkeypatch):
    monkeypatch.setattr(collect, "RANKED_HITS", 10)
    store_messages(db, *(message(f"m{n}", "kestrel " * (n % 7 + 1)) for n in range(40)))
    seen, _ = read_on(db, ask(db, "kestrel", limit=6), "kestrel", limit=6)
    assert sorted(seen[:10]) == sorted(f"m{n}" for n in range(30, 40))
    assert seen[10:] == [f"m{n}" for n in range(29, -1, -1)]


def test_a_hit_that_is_taken_away_takes_no_other_with_it(db):
    store_messages(db, *(message(f"m{n}", "kestrel " * (n + 1)) for n in range(20)))
    for sort in SORTS:
        first = ask(db, "kestrel", sort=sort, limit=5)
        expected = set(found(ask(db, "kestrel", limit=100)))
        gone = found(first)[2]

        def take_away(gone=gone):
            with transaction(db):
                db.execute("UPDATE messages SET state = 'rewound' WHERE uid = ?", (gone,))

        seen, _ = read_on(db, first, "kestrel", take_away, sort=sort, limit=5)
        assert sorted(seen) == sorted(expected)


def test_the_answer_behind_a_page_is_the_one_that_was_given_whatever_would_fit_now(db):
    store_messages(db, *(message(f"m{n}", f"alpha {n}") for n in range(30)))
    first = ask(db, "alpha omega", limit=10)
    assert (first.search_path, first.total_hits) == ("fts5_or", 30)
    store_messages(db, message("late", "alpha omega", session="omega alpha"))
    second = ask(db, "alpha omega", limit=10, after=first.next)
    assert (second.search_path, second.title_matches) == ("fts5_or", ())
    assert set(found(first)) & set(found(second)) == set()
    inside = ask(db, "lpha", limit=10)
    assert inside.search_path == "trigram"
    store_messages(db, message("later", "lpha"))
    seen, _ = read_on(db, inside, "lpha", limit=10)
    assert len(seen) == len(set(seen)) == 31


def test_a_ranking_whose_pages_are_forgotten_says_that_its_order_may_have_moved(db, monkeypatch):
    store_messages(db, *(message(f"m{n}", "kestrel " * (n % 3 + 1)) for n in range(30)))
    first = ask(db, "kestrel", limit=10)
    store_messages(db, message("soon", "kestrel and more"))
    assert "may have moved" not in ask(db, "kestrel", limit=10, after=first.next).why
    first = ask(db, "kestrel", limit=10)
    monkeypatch.setattr(paging, "shown", paging.Shown())
    second = ask(db, "kestrel", limit=10, after=first.next)
    assert "may have moved" not in second.why
    assert set(found(first)) & set(found(second)) == set()
    store_messages(db, message("late", "kestrel and much else"))
    assert "may have moved" in ask(db, "kestrel", limit=10, after=first.next).why


def test_a_scan_goes_on_where_the_page_ended(db):
    store_messages(db, *(message(f"m{n}", f"a -> {n}") for n in range(50)))
    read = []

    def note(_cursor, sql, bindings):
        if "CROSS JOIN messages AS m" in sql:
            read.append((sql, bindings))
        return True

    first = ask(db, "->", limit=20)
    db.exec_trace = note
    second = ask(db, "->", limit=20, after=first.next)
    db.exec_trace = None
    assert found(second) == [f"m{n}" for n in range(29, 9, -1)]
    assert (second.total_hits, second.total_is_exact) == (50, True)
    ((sql, bindings),) = read
    last = db.execute("SELECT id FROM messages WHERE uid = 'm30'").get
    assert "k.id < ?" in sql
    assert last in bindings


def test_a_token_is_for_its_question_and_its_indexes_alone(db):
    store_messages(db, *(message(f"m{n}", "kestrel heron") for n in range(30)))
    token = ask(db, "kestrel", limit=10).next
    for other in ({"sort": "newest"}, {"roles": (Role.USER,)}, {"until_ms": 5},
                  {"include": frozenset({"tool"})}, {"inside_words": True}):  # fmt: skip
        with pytest.raises(QueryError, match="another question"):
            ask(db, "kestrel", after=token, **other)
    with pytest.raises(QueryError, match="another question"):
        ask(db, "heron", after=token)
    assert len(found(ask(db, "kestrel", limit=3, after=token))) == 3
    with transaction(db):
        attachment.detach(db, "for a test")
    with pytest.raises(QueryError, match="indexes have changed"):
        ask(db, "kestrel", after=token)


def forged(*values):
    text = json.dumps(list(values)).encode()
    return base64.urlsafe_b64encode(text).decode().rstrip("=")


@pytest.mark.parametrize(
    "token",
    [
        "", "x", "1-2", "====", "é", "A" * 10_000, "bnVsbA", "W10", "e30",
        forged("q"), forged("q", 1, 0, 1, 1, True, None, [], 0, 0, "z"),
        forged("q", -1, 0, 1, 1, True, None, [], 0, 0, "r"),
        forged("q", 1 << 70, 0, 1, 1, True, None, [], 0, 0, "r"),
        forged("q", 1, 0, 1, 1, True, None, ["x"], 0, 0, "r"),
        forged("q", 1, 0, 1, 1, True, None, [], 0, 0, "b", 1),
        forged("q", 1, 0, 1, 1, True, None, [], 0, 0, "m", "x", 1),
        forged("q", 1, 0, 1, 1, 1, None, [], 0, 0, "r"),
        "[" * 400,
    ],
)  # fmt: skip
def test_what_is_no_token_is_refused_in_words(db, token):
    store_messages(db, message("m", "kestrel"))
    with pytest.raises(QueryError, match=r"page|question"):
        ask(db, "kestrel", after=token)


def test_a_walk_over_the_hits_takes_no_page_out_of_memory(db, monkeypatch):
    monkeypatch.setattr(paging, "_REMEMBERED", 1)
    store_messages(db, *(message(f"m{n}", "kestrel") for n in range(30)))
    first = ask(db, "kestrel", limit=10)
    walked = search(db, SearchRequest("kestrel", limit=10), lambda *_: None)
    assert (walked.hits, walked.next) == ((), None)
    store_messages(db, message("new", "kestrel " * 50))
    assert "may have moved" not in ask(db, "kestrel", limit=10, after=first.next).why


def test_the_ids_that_were_shown_are_forgotten_at_last(monkeypatch):
    monkeypatch.setattr(paging, "_REMEMBERED", 2)
    kept = paging.Shown()
    for number in range(3):
        kept.note("store", f"token{number}", [number])
    assert kept.before("store", "token0") is None
    assert kept.before("store", "token2") == {2}
    assert kept.before("another store", "token2") is None
    assert kept.before("store", None) == frozenset()
