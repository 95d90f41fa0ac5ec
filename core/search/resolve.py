"""What the fields of a query come to in one store, as exact SQL.

It is worked out once for a request, before anything is planned: which sessions a title names
does not change from one statement to the next. Every predicate is true or false for every
message, and NULL for none, so that NOT means what it says.
"""

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

import apsw

from core.history.sessions import SEARCHED_TITLE
from core.search import compile as compiling
from core.search.check import fulfils
from core.search.named import (
    NOTHING,
    of_projects,
    of_sources,
    said,
    unknown_project,
    unknown_source,
)
from core.search.scope import has_message_at, has_role
from core.search.short_titles import short_title
from core.search.sql import Sql, both, either
from core.search.tree import Field, Leaf, Node, Predicate, any_of, fields, replaced
from core.store import damage
from core.types import Role

FEW_SESSIONS = 1_000
"""So many sessions at most are turned into the ids of their messages at once."""


class Resolved(NamedTuple):
    """A tree whose fields are known, and what is to be said of those that name nothing."""

    tree: Node
    repairs: tuple[str, ...]


def resolve(db: apsw.Connection, tree: Node, *, with_trash: bool = False) -> Resolved:
    """Return `tree` with a predicate in each of its fields.

    Titles and ids of sessions in the trash name something only `with_trash`: else a message
    that one of them shares with another session would tell of them.

    Costs a few look-ups a field.
    """
    repairs: list[str] = []
    known = {field: _predicate(db, field, repairs, with_trash) for field in fields(tree)}

    def look_up(leaf: Leaf) -> Leaf:
        return replace(leaf, known=known[leaf]) if isinstance(leaf, Field) else leaf

    if not known:
        return Resolved(tree, ())
    return Resolved(replaced(tree, look_up) or tree, tuple(dict.fromkeys(repairs)))


def _predicate(
    db: apsw.Connection, field: Field, repairs: list[str], with_trash: bool
) -> Predicate:
    match field.name:
        case "role":
            return _of_message(Sql(has_role(frozenset(map(Role, field.values)))))
        case "before" | "after":
            return _at_time(field)
        case "source":
            return _of_owner(_sources(db, field, repairs))
        case "project":
            projects = _projects(db, field, repairs)
            return _of_owner(projects, _few(db, projects))
        case "session":
            return _shown_in(_reachable(db, _sessions(db, field, repairs), with_trash))
        case "title":
            return _shown_in(_reachable(db, _titled(db, field), with_trash))
        case "tool":
            return _of_message(_has_tool(field.values))
        case "model":
            return _of_message(_by_model(field.values))


def _of_message(row: Sql) -> Predicate:
    return Predicate(row, row)


def _at_time(field: Field) -> Predicate:
    narrowing = f"k.at_ms {'<' if field.name == 'before' else '>='} ?"
    row = f"k.at_ms IS NOT NULL AND {narrowing}"
    bounds = (None, field.at_ms) if field.name == "before" else (field.at_ms, None)
    return Predicate(
        Sql(row, (field.at_ms,)), Sql(narrowing, (field.at_ms,)), has_message_at(*bounds)
    )


def _of_owner(session: Sql, few: list[int] | None = None) -> Predicate:
    """Return the predicate that a message's own session fulfils `session`.

    `few` are the sessions that do, where they are known: the messages of a small project are
    found along an index then, and not by looking at all.
    """
    if session is NOTHING:
        return Predicate(NOTHING, NOTHING, NOTHING)
    owner = f"EXISTS (SELECT 1 FROM sessions AS s WHERE s.id = k.session_id AND {session.text})"
    row = Sql(owner, session.bindings)
    if few is None:
        return Predicate(row, row, session)
    inside = "k.session_id IN (SELECT value FROM json_each(?))"
    return Predicate(row, Sql(inside, (json.dumps(few),)), session)


def _reachable(db: apsw.Connection, ids: list[int], with_trash: bool) -> list[int]:
    """Return those of the sessions that are meant to be found."""
    if with_trash or not ids:
        return ids
    trashed: Iterable[tuple[int]] = db.execute(
        "SELECT id FROM sessions WHERE trashed_at_ms IS NOT NULL"
    )
    left = {row for (row,) in trashed}
    return [row for row in ids if row not in left]


def _shown_in(ids: list[int]) -> Predicate:
    """Return the predicate that a message is shown in one of these sessions."""
    if not ids:
        return Predicate(NOTHING, NOTHING, NOTHING)
    listed = (json.dumps(ids),)
    inside = "IN (SELECT value FROM json_each(?))"
    row = Sql(  # +: a look into the list for each place, not one into the places for all listed
        "EXISTS (SELECT 1 FROM message_placements AS p"
        f" WHERE p.message_id = k.id AND +p.session_id {inside})",
        listed,
    )
    session = Sql(f"s.id {inside}", listed)
    if len(ids) > FEW_SESSIONS:
        return Predicate(row, row, session)
    placed = f"k.id IN (SELECT message_id FROM message_placements WHERE session_id {inside})"
    return Predicate(row, Sql(placed, listed), session, tuple(ids))


def _sources(db: apsw.Connection, field: Field, repairs: list[str]) -> Sql:
    found = of_sources(db, field.values)
    repairs += map(unknown_source, found.unknown)
    return found.condition


def _projects(db: apsw.Connection, field: Field, repairs: list[str]) -> Sql:
    found = of_projects(db, field.values)
    repairs += map(unknown_project, found.unknown)
    return found.condition


def _few(db: apsw.Connection, projects: Sql) -> list[int] | None:
    """Return the sessions of these projects, None where they are more than `FEW_SESSIONS`.

    The two halves have an index each.
    """
    ids: list[int] = []
    for trashed in ("IS NULL", "IS NOT NULL"):
        sql = f"SELECT id FROM sessions AS s WHERE {projects.text} AND s.trashed_at_ms {trashed}"
        found = db.execute(f"{sql} LIMIT {FEW_SESSIONS + 1}", projects.bindings)
        ids += (int(row) for (row,) in found)
    return None if len(ids) > FEW_SESSIONS else ids


_BY_ID = (
    "WITH prefixes(source_id, text) AS (SELECT id, kind || '/' FROM sources"
    " UNION ALL SELECT id, kind || '#' || id || '/' FROM sources)"
    " SELECT id FROM sessions WHERE native_id >= ?1"
    " AND substr(native_id, 1, length(?1)) = ?1 AND native_id < ?1 || char(0x10FFFF)"
    " UNION SELECT s.id FROM prefixes AS p CROSS JOIN sessions AS s ON s.source_id = p.source_id"
    " AND s.native_id = substr(?1, length(p.text) + 1)"
    " WHERE substr(?1, 1, length(p.text)) = p.text"
)


def _sessions(db: apsw.Connection, field: Field, repairs: list[str]) -> list[int]:
    ids: set[int] = set()
    for value in field.values:
        found = {int(row) for (row,) in db.execute(_BY_ID, (value,))}
        if not found:
            repairs.append(f"no session is named {said(value)}")
        ids |= found
    return sorted(ids)


def _titled(db: apsw.Connection, field: Field) -> list[int]:
    """Return the sessions whose title fulfils one of the field's terms."""
    tree = any_of(list(field.terms))
    match = compiling.to_match(tree, compiling.trigrams)
    if match.expression is not None and damage.titles_usable(db):
        sql = "s.id IN (SELECT rowid FROM sessions_fts WHERE sessions_fts MATCH ?)"
        found = [Sql(sql, (match.expression,))]
    elif short := short_title(db, tree):
        found = [both(short, compiling.to_like(tree, (SEARCHED_TITLE,)))]
    else:  # along an index of the titles, and one of the trash
        like = compiling.to_like(tree, (SEARCHED_TITLE,))
        found = [
            Sql(f"{like.text} AND s.trashed_at_ms {trashed}", like.bindings)
            for trashed in ("IS NULL", "IS NOT NULL")
        ]
    return [row for condition in found for row in _fulfilling(db, tree, condition)]


def _fulfilling(db: apsw.Connection, tree: Node, condition: Sql) -> Iterable[int]:
    rows: Iterable[tuple[int, str]] = db.execute(
        f"SELECT s.id, {SEARCHED_TITLE} FROM sessions AS s WHERE {condition.text}",
        condition.bindings,
    )
    return (row for row, title in rows if fulfils([title], tree))


def _has_tool(values: tuple[str, ...]) -> Sql:
    """Return the condition that a message's tool, or one it calls, has a name with a value.

    Calls are stored as a JSON list of (id, name, arguments, status). Taking JSON apart costs
    more than looking through it, so where values stand there as they are, that goes first.
    One subquery serves all values: some hundreds are too many for SQLite.
    """
    named, called = _holds("f.tool_name", values), _holds("c.value ->> '$[1]'", values)
    calls = Sql(
        f"EXISTS (SELECT 1 FROM json_each(f.tool_calls) AS c WHERE {called.text})", called.bindings
    )
    if all(map(_is_plain, values)):
        calls = both(_holds("f.tool_calls", values), calls)
    fits = either(named, calls)
    return Sql(
        f"EXISTS (SELECT 1 FROM messages AS f WHERE f.id = k.id AND {fits.text})", fits.bindings
    )


def _is_plain(value: str) -> bool:
    """Tell whether JSON writes a value as it is."""
    return value.isascii() and value.isprintable() and not set(value) & {'"', "\\", "/"}


def _by_model(values: tuple[str, ...]) -> Sql:
    named = _holds("u.model", values)
    return Sql(
        "EXISTS (SELECT 1 FROM (SELECT coalesce(nullif(f.model, ''),"
        " (SELECT s.model FROM sessions AS s WHERE s.id = f.session_id)) AS model"
        f" FROM messages AS f WHERE f.id = k.id) AS u WHERE {named.text})",
        named.bindings,
    )


def _holds(text: str, values: tuple[str, ...]) -> Sql:
    """Return the condition that an SQL text holds one of the values, ASCII case ignored."""
    return either(*(Sql(f"{text} LIKE ? ESCAPE '\\'", (_like(value),)) for value in values))


def _like(value: str) -> str:
    return "%{}%".format("".join(f"\\{c}" if c in "\\%_" else c for c in value))
