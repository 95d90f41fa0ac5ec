"""Sessions found by their title or their id."""

import re
from collections.abc import Iterable
from itertools import islice
from typing import Any

import apsw

from core.history.sessions import SEARCHED_TITLE, sessions_by_id
from core.search import compile as compiling
from core.search.check import fulfils, listed
from core.search.fields import SESSION_FIELDS
from core.search.named import of_places
from core.search.scope import Scope, has_message_at
from core.search.short_titles import short_title
from core.search.sql import EVERYTHING, Sql, both, places
from core.search.tree import (
    Field,
    Leaf,
    Node,
    Predicate,
    any_of,
    describe,
    parted,
    replaced,
    sought_terms,
)
from core.search.tree import fields as fields_of
from core.store import damage
from core.types import SearchRequest, Session

MOST_MATCHES = 10
_ID = re.compile(r"[\w.:#/@+=-]{4,128}")


def title_matches(
    db: apsw.Connection, tree: Node, request: SearchRequest, scope: Scope
) -> tuple[Session, ...]:
    """Return the sessions whose id begins with the query, then those whose title fulfils it.

    Fields that ask something of a session (`SESSION_FIELDS`) hold for those found, and so does
    the time asked for: something was said in them then. Other fields say nothing of a title. A
    query of fields alone finds sessions by `title:` and `session:`.

    At most `MOST_MATCHES`; the exact id first, else the most recently active first. Titles
    are looked up by trigram, or by the beginnings of trigrams for one or two characters.
    """
    named = places(scope.session_ids)
    has_trash = request.everything or "trash" in request.include
    allowed = both(
        Sql("true" if has_trash else "s.trashed_at_ms IS NULL"),
        Sql(f"s.id IN {named.text}", named.bindings) if scope.session_ids else EVERYTHING,
        of_places(db, request.sources, request.projects),
        has_message_at(request.since_ms, request.until_ms),
    )
    words, asked = _of_session(tree)
    fits = both(allowed, *(compiling.of_fields(node, _session_of) for node in asked))
    if words is not None:
        text = describe(words) if fields_of(tree) else request.query.strip()
        found = [*_by_id(db, text, fits), *_by_title(db, words, fits)]
    elif any(isinstance(node, Field) and node.name in ("title", "session") for node in asked):
        found = _ordered(db, fits)
    else:
        found = []
    ids = list(dict.fromkeys(found))[:MOST_MATCHES]
    sessions = sessions_by_id(db, ids) if ids else {}
    return tuple(sessions[row] for row in ids)


def _of_session(tree: Node) -> tuple[Node | None, tuple[Node, ...]]:
    """Return what `tree` asks of a title and, beside it, of a session."""

    def known(leaf: Leaf) -> Leaf | None:
        return None if isinstance(leaf, Field) and leaf.name not in SESSION_FIELDS else leaf

    left = replaced(tree, known)
    return (None, ()) if left is None else parted(left)


def _session_of(known: Predicate) -> Sql | None:
    return known.session


def _ordered(db: apsw.Connection, wanted: Sql) -> list[int]:
    rows: Iterable[tuple[int]] = db.execute(
        f"SELECT s.id FROM sessions AS s WHERE {wanted.text}"
        f" ORDER BY s.last_active_at_ms DESC, s.id DESC LIMIT {MOST_MATCHES}",
        wanted.bindings,
    )
    return [row[0] for row in rows]


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
    if match.expression is not None and damage.titles_usable(db):
        fits = Sql(
            "s.id IN (SELECT rowid FROM sessions_fts WHERE sessions_fts MATCH ?)",
            (match.expression,),
        )
    else:
        like = compiling.to_like(tree, (SEARCHED_TITLE,), of=_session_of)
        if like is EVERYTHING or not sought_terms(tree):
            return []
        fits = both(short_title(db, tree) or EVERYTHING, like)
    wanted = both(fits, allowed)
    asked = fields_of(tree)
    columns = listed(SEARCHED_TITLE, [field.predicate.session or EVERYTHING for field in asked])
    rows: Iterable[tuple[Any, ...]] = db.execute(
        f"SELECT s.id, {columns.text} FROM sessions AS s WHERE {wanted.text}"
        " ORDER BY +s.last_active_at_ms DESC, s.id DESC",  # +: by title, not along the times
        (*columns.bindings, *wanted.bindings),
    )
    sought = any_of(list(sought_terms(tree)))  # a field beside words is no title's merit
    matching = (
        row
        for row, title, *told in rows
        if fulfils((title, *told), tree, asked) and (not asked or fulfils((title,), sought))
    )
    return list(islice(matching, MOST_MATCHES))
