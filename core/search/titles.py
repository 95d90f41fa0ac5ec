"""Sessions found by their title or their id."""

import re
from collections.abc import Iterable
from itertools import islice

import apsw

from core.history.sessions import sessions_by_id
from core.search import compile as compiling
from core.search.check import fulfils
from core.search.scope import Scope, of_places
from core.search.sql import EVERYTHING, Sql, both, places
from core.search.tree import Node
from core.types import SearchRequest, Session

MOST_MATCHES = 10
_ID = re.compile(r"[\w.:#/@+=-]{4,128}")
_TITLE = "coalesce(s.search_title, s.title)"


def title_matches(
    db: apsw.Connection, tree: Node, request: SearchRequest, scope: Scope
) -> tuple[Session, ...]:
    """Return the sessions whose id begins with the query, then those whose title fulfils it.

    At most `MOST_MATCHES`; the exact id first, else the most recently active first. Titles
    are looked up by trigram; a query without three characters in a row reads all of them,
    0.1 ms for a thousand.
    """
    named = places(scope.session_ids)
    allowed = both(
        Sql("true" if "trash" in request.include else "s.trashed_at_ms IS NULL"),
        Sql(f"s.id IN {named.text}", named.bindings) if scope.session_ids else EVERYTHING,
        of_places(db, request),
    )
    by_id = _by_id(db, request.query.strip(), allowed)
    ids = list(dict.fromkeys((*by_id, *_by_title(db, tree, allowed))))[:MOST_MATCHES]
    sessions = sessions_by_id(db, ids) if ids else {}
    return tuple(sessions[row] for row in ids)


def _by_id(db: apsw.Connection, text: str, allowed: Sql) -> Iterable[int]:
    if not _ID.fullmatch(text):
        return []
    rows: Iterable[tuple[int]] = db.execute(
        "SELECT s.id FROM sessions AS s WHERE s.native_id >= ? AND s.native_id < ? || ?"
        f" AND {allowed.text} ORDER BY s.native_id <> ?, s.last_active_at_ms DESC, s.id DESC"
        f" LIMIT {MOST_MATCHES}",
        (text, text, "\U0010ffff", *allowed.bindings, text),
    )
    return [row[0] for row in rows]


def _by_title(db: apsw.Connection, tree: Node, allowed: Sql) -> list[int]:
    match = compiling.to_match(tree, compiling.trigrams)
    if match.expression is not None:
        fits = Sql(
            "s.id IN (SELECT rowid FROM sessions_fts WHERE sessions_fts MATCH ?)",
            (match.expression,),
        )
    else:
        fits = compiling.to_like(tree, (_TITLE,))
        if fits is EVERYTHING:
            return []
    wanted = both(fits, allowed)
    rows: Iterable[tuple[int, str]] = db.execute(
        f"SELECT s.id, {_TITLE} FROM sessions AS s WHERE {wanted.text}"
        " ORDER BY +s.last_active_at_ms DESC, s.id DESC",  # +: by title, not along the times
        wanted.bindings,
    )
    matching = (row for row, title in rows if fulfils([title], tree))
    return list(islice(matching, MOST_MATCHES))
