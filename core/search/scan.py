"""Finding matches without an index: by LIKE, then by the term's meaning."""

from collections.abc import Iterable, Iterator
from typing import Any

import apsw

from core.search.check import REASONING, Candidate, Texts, columns_sql, fulfils
from core.search.compile import to_like
from core.search.route import Part
from core.search.scope import TIER
from core.search.sql import EVERYTHING, Sql, both, either
from core.search.tree import fields, terms
from core.text import project
from core.types import Sort

_ORDER = {
    "relevance": "k.id DESC",
    "newest": "k.at_ms DESC NULLS LAST, k.id DESC",
    "oldest": "k.at_ms NULLS LAST, k.id",
}


def scan(db: apsw.Connection, part: Part, where: Sql, sort: Sort) -> Iterator[Candidate]:
    """Yield the matches among the part's rows: by time, or those stored last first.

    Lazy: it reads as far as it is asked. Costs about 1 s for 1 GB of text.
    """
    fits = _fitting(part, where)
    order = f"ORDER BY {_ORDER[sort]}"
    found: Iterable[tuple[Any, ...]]
    if part.tree is None or not reads_texts(part):
        found = db.execute(
            f"SELECT k.id, {TIER}, NULL, k.at_ms FROM message_keys AS k WHERE {fits.text} {order}",
            fits.bindings,
        )
        yield from (Candidate(*row) for row in found)
        return
    columns, asked = columns_sql(part.tree, part.texts), fields(part.tree)
    found = db.execute(
        f"SELECT k.id, {TIER}, NULL, k.at_ms, {columns.text} FROM message_keys AS k"
        f" CROSS JOIN messages AS m ON m.id = k.id WHERE {fits.text} {order}",
        (*columns.bindings, *fits.bindings),
    )
    for message_id, tier, score, at_ms, *texts in found:
        if part.texts is Texts.EVERYTHING and texts[REASONING] is not None:
            texts[REASONING] = project(texts[REASONING])
        if fulfils(texts, part.tree, asked):
            yield Candidate(message_id, tier, score, at_ms)


def reads_texts(part: Part) -> bool:
    """Tell whether the part's rows have to be read; fields alone are known without."""
    return part.tree is not None and bool(terms(part.tree))


def count_unread(db: apsw.Connection, part: Part, where: Sql) -> int:
    """Return how many matches a part has whose rows need not be read."""
    fits = _fitting(part, where)
    sql = f"SELECT count(*) FROM message_keys AS k WHERE {fits.text}"
    return int(db.execute(sql, fits.bindings).get)


def _fitting(part: Part, where: Sql) -> Sql:
    like = EVERYTHING if part.tree is None else to_like(part.tree)
    if part.texts is Texts.EVERYTHING and like is not EVERYTHING and reads_texts(part):
        # LIKE knows the searchable form alone, and reasoning is stored as it was written.
        like = either(like, Sql("m.reasoning IS NOT NULL"))
    return both(Sql(part.rows), where, like)
