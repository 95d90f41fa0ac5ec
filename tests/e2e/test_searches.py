"""`backscroll searches` and `search --saved`: saved in one process, asked in another."""

import pytest

from tests.e2e.conftest import TALK


@pytest.fixture
def talked(backscroll, tmp_path):
    path = tmp_path / "talk.jsonl"
    path.write_text(TALK, encoding="utf-8")
    assert backscroll("import", path).code == 0
    return backscroll


def found(finished) -> list[tuple[str, str]]:
    return [(hit["session"], hit["message"]) for hit in finished.json["hits"]]


def test_a_saved_search_is_asked_by_its_name_with_its_filters_and_order(talked):
    saved = talked("searches", "save", "films", "订阅", "--role", "user", "--sort", "newest")
    listed = talked("searches", "list", "--json").json["searches"]
    hits = found(talked("search", "--saved", "films", "--json"))
    narrowed = found(talked("search", "--saved", "films", "--role", "tool", "--json"))

    assert (saved.code, saved.out) == (0, "saved as films\n")
    assert [(s["name"], s["query"], s["sort"], s["roles"]) for s in listed] == [
        ("films", "订阅", "newest", ["user"])
    ]
    assert hits == [("s1", "m1")]
    assert narrowed == [("s1", "m3")]


def test_a_saved_search_can_be_renamed_and_removed(talked):
    talked("searches", "save", "films", "订阅")
    renamed = talked("searches", "rename", "films", "my films")
    gone = talked("searches", "remove", "my films")
    again = talked("searches", "remove", "my films", "--json")

    assert (renamed.code, gone.code, gone.out) == (0, 0, "removed my films: 订阅\n")
    assert (again.code, again.json["error"]["code"]) == (1, "not-found")
    assert talked("searches", "list", "--json").json == {"searches": []}


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("search",), 2),
        (("search", "--saved", "a", "word"), 2),
        (("search", "--saved", "nothing"), 1),
        (("searches",), 2),
        (("searches", "save", "a"), 2),
        (("searches", "save", "", "x"), 1),
        (("searches", "save", "a", "x", "--since", "soon"), 1),
        (("searches", "save", "a", "x", "--role", "wizard"), 1),
    ],
)
def test_what_cannot_be_asked_or_saved_is_refused_in_words(backscroll, arguments, code):
    finished = backscroll(*arguments)

    assert (finished.code, finished.out) == (code, "")
    assert finished.err
