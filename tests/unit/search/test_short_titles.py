"""Titles by one or two characters: as the slow evaluator finds them, and by indexes alone."""

from random import Random

import pytest

from core.search.run import search
from core.search.titles import MOST_MATCHES
from core.sources.records import SessionRecord
from core.store import migrations
from core.store.connection import open_reader, open_store, transaction
from core.types import SearchRequest, TitleSource
from tests.unit.search import texts
from tests.unit.search.oracle import Spec, searchable
from tests.unit.store.making import (
    library,
    message,
    path_at,
    store_at,
    store_in_older_schema,
    store_messages,
)


def store_titles(db, titles):
    records = (
        SessionRecord(name, title=title, title_source=TitleSource.MODEL)
        for name, title in titles.items()
    )
    store_messages(db, *(message(n, "-", session=n) for n in titles), sessions=tuple(records))


def matches(db, query):
    return sorted(each.ref for each in search(db, SearchRequest(query)).title_matches)


def short_spec(random, titles):
    """One or two characters, mostly some that stand in a title."""
    if random.random() < 0.2:
        return Spec(
            random.choice(["a", "ab", "C", "x1", "42", "订", "阅读", "한", "🤖", "->", "é"])
        )
    title = random.choice(titles)
    at = random.randrange(max(1, len(title)))
    return Spec(title[at : at + random.randint(1, 2)], is_prefix=random.random() < 0.2)


@pytest.mark.parametrize("seed", range(4))
def test_short_words_find_the_titles_that_are_meant(tmp_path, seed):
    random = Random(f"short titles {seed}")
    db = store_at(tmp_path)
    # Fewer than an answer lists, so that what is found is all there is.
    titles = {f"s{n}": texts.text(random)[:40].strip() or "plan" for n in range(MOST_MATCHES)}
    store_titles(db, titles)
    asked = found = 0
    while asked < 300:
        spec = short_spec(random, list(titles.values()))
        if not spec.typed.isalnum() or spec.typed in ("OR", "NOT"):
            continue
        asked += 1
        expected = sorted(n for n, title in titles.items() if spec.matches(searchable(title)))
        typed = f'"{spec.typed}"{"*" * spec.is_prefix}'
        assert matches(db, typed) == expected, (typed, titles)
        found += len(expected)
    assert found > 200


def test_a_word_is_found_wherever_it_stands_in_a_title(tmp_path):
    db = store_at(tmp_path)
    titles = {
        "alone": "go", "first": "go east", "middle": "to go east", "last": "let it go",
        "dotted": "x.go", "called": "go_east", "before cjk": "go语言", "behind cjk": "用Go",
        "inside": "gopher", "ending": "indigo", "one": "g", "pair": "订阅", "end": "我的订阅",
        "start": "订阅器", "lone": "订",
    }  # fmt: skip
    store_titles(db, titles)
    inside = {"inside", "ending", "one", "pair", "end", "start", "lone"}
    assert matches(db, "go") == sorted(titles.keys() - inside)
    assert matches(db, "go*") == sorted((titles.keys() - inside) | {"inside"})
    assert matches(db, "订阅") == ["end", "pair", "start"]
    assert matches(db, "订") == ["end", "lone", "pair", "start"]
    assert matches(db, "阅") == ["end", "pair", "start"]
    assert matches(db, "g") == ["one"]
    with transaction(db):
        db.execute("UPDATE sessions SET title = 'other' WHERE native_id = 'end'")
    assert matches(db, "订阅") == ["pair", "start"]


def test_a_store_of_an_earlier_schema_that_is_only_read_is_searched_as_before(
    tmp_path, monkeypatch
):
    with monkeypatch.context() as older:
        older.setattr(migrations, "STEPS", migrations.STEPS[:2])
        older.setattr(migrations, "NEWEST", 2)
        db = store_at(tmp_path)
        for name, title in (("s", "我的订阅"), ("t", "let it go")):
            store_in_older_schema(db, name, "-", name)
            with transaction(db):
                db.execute("UPDATE sessions SET title = ? WHERE native_id = ?", (title, name))
        db.close()
    reader = open_reader(path_at(tmp_path), tokenizer=library())
    assert matches(reader, "订阅") == ["s"]
    assert matches(reader, "go") == ["t"]
    assert matches(reader, "title:go") == ["t"]
    reader.close()
    db = open_store(path_at(tmp_path), library())
    assert matches(db, "订阅") == ["s"]
    assert matches(db, "go") == ["t"]
    db.close()
