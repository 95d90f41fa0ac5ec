"""Cases of others about CJK tokens, through `project` as every text and query goes.

Left out are rows about what is above the tokenizer: filters, flags, counts, life cycle, NOT
and OR (H107, H110 to H112, H210 and later). The search tests have those.
"""

import json
from pathlib import Path

import pytest

from core.store.tokenizer_probe import ARGUMENTS, TOKENIZER
from core.text import has_cjk, project
from core.unicode61 import tokenize_option

CASES = Path(__file__).parents[1] / "data" / "cases"
ABOVE = {"H107", "H110", "H111", "H112"}
PUBLIC = {"S01", "S02", "S03", "S09", "S10", "S11", "S13", "S14", "S15", "S20"}


def rows(name, wanted):
    cases = map(json.loads, (CASES / name).read_text(encoding="utf-8").splitlines())
    return [pytest.param(case, id=case["id"]) for case in cases if wanted(case)]


def match(query):
    """Each word of a query as a phrase; one CJK character at its end as a prefix."""
    terms = []
    for word in project(query).split():
        alone = has_cjk(word[-1]) and not has_cjk(word[-2:-1])
        terms.append(f'"{word}"{"*" if alone else ""}')
    return " ".join(terms)


@pytest.fixture
def found(db):
    db.execute(
        f"CREATE VIRTUAL TABLE temp.found USING fts5(t, {tokenize_option((TOKENIZER, *ARGUMENTS))})"
    )
    yield "found"
    db.execute("DROP TABLE found")


@pytest.mark.parametrize(
    "case",
    rows(
        "hermes_cases.jsonl",
        lambda case: case.get("capability") == "cjk" and case["id"] not in ABOVE,
    ),
)
def test_hermes(db, found, case):
    for rowid, message in enumerate(case["messages"]):
        if message["role"] != "tool":
            db.execute(
                f"INSERT INTO {found}(rowid, t) VALUES (?, ?)", (rowid, project(message["content"]))
            )
    for step in case.get("steps", []):
        db.execute(
            f"UPDATE {found} SET t = ? WHERE rowid = ?", (project(step["value"]), step["message"])
        )
    hits = db.execute(
        f"SELECT rowid FROM {found} WHERE t MATCH ?", (match(case["query"]),)
    ).fetchall()
    assert [rowid for (rowid,) in hits] == case.get("desired", case["expect"])["hits"]


@pytest.mark.parametrize("case", rows("public_cases.jsonl", lambda case: case["id"] in PUBLIC))
def test_public(db, found, case):
    messages = case["input"].get("messages") or {
        name: eval(text) for name, text in case["input"]["gen_messages"].items()
    }
    names = list(messages)
    for rowid, text in enumerate(messages.values()):
        db.execute(f"INSERT INTO {found}(rowid, t) VALUES (?, ?)", (rowid, project(text)))
    for query, expected in case["expect"]["hits"].items():
        hits = db.execute(f"SELECT rowid FROM {found} WHERE t MATCH ?", (match(query),)).fetchall()
        assert [names[rowid] for (rowid,) in hits] == expected, query
