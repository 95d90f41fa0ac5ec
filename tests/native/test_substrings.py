"""A phrase of tokens finds what a plain search of the text finds, and nothing else.

The oracle knows no pairs and no offsets: it cuts a text into words and CJK runs, and looks
for the query's parts among the text's parts, one after the other.
"""

import random
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

import pytest

from core.cjk_ranges import CJK_RANGES
from core.store.tokenizer_probe import ARGUMENTS, TOKENIZER
from core.unicode61 import tokenize_option
from core.word_ranges import WORD_RANGES

TEXTS = 1_500
QUERIES = 1_200
KINDS = {
    "ideographs": "电影订阅成功服务器",
    "planes": "𠀀𠮷𰀀𰀁",
    "kana": "がこうユーザ々",
    "hangul": "설정값서버",
    "thai": "กินข้าว",
    "latin": "abAB",
    "digits": "019",
    "punctuation": " 。，.-_ \n",
    "emoji": "😀🤖🚀🧪🏽🫡",
    "hindi": "हिन्दी",
}


@dataclass(frozen=True)
class Part:
    """A word, in lower case, or a CJK run."""

    text: str
    is_run: bool


def kind_of(char: str) -> str:
    for name, ranges in (("run", CJK_RANGES), ("word", WORD_RANGES)):
        found = bisect_right(ranges, (ord(char), 0x110000)) - 1
        if found >= 0 and ranges[found][0] <= ord(char) <= ranges[found][1]:
            return name
    return "separator"


def parts_of(text: str) -> list[Part]:
    return [
        Part("".join(chars).lower(), kind == "run")
        for kind, chars in groupby(text, kind_of)
        if kind != "separator"
    ]


def holds(text: list[Part], query: list[Part]) -> bool:
    """Tell whether the parts of a query stand in a text, side by side.

    The first run of a query may start, and its last run may end, inside a run of the text.
    """
    last = len(query) - 1

    def fits(i: int, found: Part) -> bool:
        wanted = query[i]
        if wanted.is_run != found.is_run:
            return False
        if not wanted.is_run or 0 < i < last:
            return wanted.text == found.text
        if last == 0:
            return wanted.text in found.text
        if i == 0:
            return found.text.endswith(wanted.text)
        return found.text.startswith(wanted.text)

    return any(
        all(fits(i, text[start + i]) for i in range(len(query)))
        for start in range(len(text) - last)
    )


def generate(rng: random.Random) -> Iterator[str]:
    """Yield texts of few different characters, so that most queries are near some text."""
    while True:
        kinds = rng.sample(list(KINDS), rng.randint(1, 4))
        pieces = []
        for _ in range(rng.randint(1, 9)):
            alphabet = KINDS[rng.choice(kinds)]
            pieces.append("".join(rng.choices(alphabet, k=rng.randint(1, 4))))
        yield "".join(pieces)


def to_match(query: str, parts: list[Part]) -> str:
    """Return the phrase as SEARCH.md compiles it: a last run of one character is a prefix."""
    star = "*" if parts[-1].is_run and len(parts[-1].text) == 1 else ""
    return f'"{query}"{star}'


@pytest.mark.parametrize("seed", [11, 12])
def test_phrases_find_what_the_text_holds(db, seed):
    rng = random.Random(seed)
    texts = [text for text, _ in zip(generate(rng), range(TEXTS), strict=False)]
    cut = [parts_of(text) for text in texts]
    db.execute(
        "CREATE VIRTUAL TABLE temp.found"
        f" USING fts5(t, content='', {tokenize_option((TOKENIZER, *ARGUMENTS))})"
    )
    try:
        db.executemany("INSERT INTO found(rowid, t) VALUES (?, ?)", enumerate(texts))
        pairs = hits = 0
        while pairs < TEXTS * QUERIES:
            query = next(generate(rng))
            if rng.random() < 0.7:
                text = rng.choice(texts)
                start = rng.randrange(len(text))
                query = text[start : start + rng.randint(1, 7)]
            if not (wanted := parts_of(query)):
                continue
            rows = db.execute("SELECT rowid FROM found WHERE t MATCH ?", (to_match(query, wanted),))
            got = {row for (row,) in rows}
            assert got == {i for i, text in enumerate(cut) if holds(text, wanted)}, query
            pairs += TEXTS
            hits += len(got)
    finally:
        db.execute("DROP TABLE found")
    assert hits > QUERIES  # the queries do find something
