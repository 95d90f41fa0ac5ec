"""Whatever the indexes hold, a search finds what the slow evaluator finds."""

from dataclasses import replace
from random import Random

import pytest

from core.search.run import search
from core.types import Role, SearchRequest, SearchResult
from tests.unit.search import questions, stores
from tests.unit.search.oracle import Row
from tests.unit.search.questions import Question

SHOWN = {"active", "compacted", "off_branch"}
INCLUDED = ["rewound", "hidden", "tool", "trash"]


def found(result: SearchResult) -> list[str]:
    return [hit.message for hit in result.hits]


def request(random: Random, typed: str) -> SearchRequest:
    """A request of the question, now and then in another order or narrowed on top."""
    sort = random.choice(["relevance", "relevance", "newest", "oldest"])
    include = frozenset(name for name in INCLUDED if random.random() < 0.1)
    asked = SearchRequest(typed, limit=10_000, sort=sort, include=include)
    if random.random() < 0.1:
        asked = replace(asked, roles=tuple(random.sample(list(Role), random.randint(1, 3))))
    if random.random() < 0.1:
        asked = replace(asked, sources=(random.choice(stores.SOURCES)[0],))
    if random.random() < 0.1:
        day_ms = 1_767_571_200_000 + random.randrange(60) * 86_400_000
        asked = replace(asked, since_ms=day_ms, until_ms=day_ms + 20 * 86_400_000)
    return asked


def is_asked_for(asked: SearchRequest, row: Row) -> bool:
    """Whether a row is in what the request searches at all."""
    if row.state not in SHOWN | (asked.include & {"rewound", "hidden"}):
        return False
    if "trash" not in asked.include and all(session.is_trashed for session in row.sessions):
        return False
    if asked.roles and row.role not in asked.roles:
        return False
    if asked.sources and row.sessions[0].sources[0] not in asked.sources:
        return False
    if asked.since_ms is not None:
        return row.at_ms is not None and asked.since_ms <= row.at_ms < asked.until_ms
    return True


def meant(asked: SearchRequest, question: Question, rows: dict[str, Row]) -> set[str]:
    is_whole = question.reads_whole or Role.TOOL in asked.roles or "tool" in asked.include
    with_trash = "trash" in asked.include
    return {
        uid
        for uid, row in rows.items()
        if is_asked_for(asked, row)
        and question.holds(replace(row, is_whole=is_whole or row.is_whole, with_trash=with_trash))
    }


def in_order(db, sort: str, rows: dict[str, Row], uids: set[str]) -> list[str]:
    """The rows by time, those without one last, and as they were stored where that is equal."""
    stored = dict(db.execute("SELECT uid, id FROM messages WHERE state <> 'superseded'"))
    sign = -1 if sort == "newest" else 1

    def place(uid: str):
        at_ms = rows[uid].at_ms
        return at_ms is None, sign * (at_ms or 0), sign * stored[uid]

    return sorted(uids, key=place)


def check_pages(db, asked: SearchRequest, every: list[str], limit: int) -> None:
    """Every hit is on one page, in the order of the whole."""
    page = search(db, replace(asked, limit=limit))
    seen = found(page)
    while page.next is not None:
        page = search(db, replace(asked, limit=limit, after=page.next))
        assert page.hits
        seen += found(page)
        assert len(seen) <= len(every), asked
    assert seen == every, asked


def agree(db, rows: dict[str, Row], random: Random, count: int) -> int:
    hits = 0
    for _ in range(count):
        question = questions.question(random, list(rows.values()), fields=True)
        asked = request(random, question.typed)
        expected = meant(asked, question, rows)
        result = search(db, asked)
        assert result.complete
        if not expected:
            assert result.steps[0].hits == 0, asked
            continue
        got = found(result)
        assert len(got) == len(set(got)), asked
        assert set(got) == expected, (asked, result.understood, result.search_path, result.why)
        assert (result.total_hits, result.total_is_exact) == (len(expected), True), asked
        if asked.sort != "relevance":
            assert got == in_order(db, asked.sort, rows, expected), asked
        if random.random() < 0.1:
            check_pages(db, asked, got, random.choice([3, 7, 20]))
        hits += len(got)
    return hits


@pytest.mark.parametrize("state", stores.STATES)
def test_every_route_finds_what_is_meant(tmp_path, state):
    random = Random(f"{state} 1")
    db, rows = stores.store_in_state(tmp_path, state, random, 80)
    assert agree(db, rows, random, 260) > 400
    db.close()


@pytest.mark.long
@pytest.mark.parametrize("seed", range(16))
@pytest.mark.parametrize("state", stores.STATES)
def test_every_route_finds_what_is_meant_at_length(tmp_path, state, seed):
    random = Random(f"{state} {seed} long")
    db, rows = stores.store_in_state(tmp_path, state, random, 70)
    agree(db, rows, random, 400)
    db.close()
