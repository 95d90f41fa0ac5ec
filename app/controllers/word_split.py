"""Why a CJK word has no hits: how often each of its pairs of characters does occur."""

from dataclasses import dataclass, replace
from itertools import pairwise

import apsw

from app.views.token_split import Pair
from core.search.run import search
from core.text import has_cjk
from core.types import SearchRequest

_LONGEST = 8


@dataclass(frozen=True, slots=True)
class WordSplit:
    """A run of characters, its pairs, and a search for its parts that has `hits`."""

    run: str
    pairs: tuple[Pair, ...]
    offered: str
    hits: int


def split_words(db: apsw.Connection, request: SearchRequest) -> WordSplit | None:
    """Return how the pairs of a request's first CJK run occur, None when that tells nothing.

    Runs of 3 to 8 characters are looked at; each pair costs one search for its count. The parts
    offered are the run cut where a pair never occurs, else cut in two.
    """
    run = _first_run(request.query)
    if not 3 <= len(run) <= _LONGEST:
        return None
    texts = [run[n : n + 2] for n in range(len(run) - 1)]
    pairs = tuple(Pair(text, _hits(db, request, text)) for text in texts)
    cuts = [n + 1 for n, pair in enumerate(pairs) if not pair.hits] or [len(run) // 2]
    borders = [0, *cuts, len(run)]
    parts = [run[a:b] for a, b in pairwise(borders)]
    offered = request.query.replace(run, " ".join(parts), 1)
    return WordSplit(run, pairs, offered, _hits(db, request, offered))


def _first_run(query: str) -> str:
    """Return the first maximal run of CJK characters, '' when there is none."""
    run = ""
    for char in query:
        if has_cjk(char):
            run += char
        elif run:
            break
    return run


def _hits(db: apsw.Connection, request: SearchRequest, query: str) -> int:
    return search(db, replace(request, query=query, limit=1, offset=0)).total_hits
