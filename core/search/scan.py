"""Finding matches without an index: by LIKE, then by the term's meaning."""

from collections.abc import Iterable, Iterator
from typing import Any

import apsw

from core.search.check import Candidate, columns_sql, fulfils
from core.search.compile import to_like
from core.search.route import Part
from core.search.scope import TIER
from core.search.sql import Sql, both
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
    if part.tree is None:
        rows = Sql(f"FROM message_keys AS k WHERE {part.rows} AND {where.text}", where.bindings)
        columns = ""
    else:
        fits = both(Sql(part.rows), where, to_like(part.tree))
        rows = Sql(
            f"FROM message_keys AS k CROSS JOIN messages AS m ON m.id = k.id WHERE {fits.text}",
            fits.bindings,
        )
        columns = f", {columns_sql(whole=part.whole)}"
    found: Iterable[tuple[Any, ...]] = db.execute(
        f"SELECT k.id, {TIER}, NULL, k.at_ms{columns} {rows.text} ORDER BY {_ORDER[sort]}",
        rows.bindings,
    )
    for message_id, tier, score, at_ms, *texts in found:
        if part.tree is None or fulfils(texts, part.tree):
            yield Candidate(message_id, tier, score, at_ms)
