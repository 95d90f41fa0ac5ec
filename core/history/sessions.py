"""Listing sessions and finding one by its name."""

import base64
import binascii
import json
from collections.abc import Collection
from typing import Any

import apsw

from core.errors import AmbiguousError, NotFoundError, SettingError
from core.store import damage
from core.store.listing import LISTED_KINDS, has_something, listed_count
from core.store.migrations import schema_version
from core.store.places import in_projects
from core.text import project
from core.types import Relation, Session, SessionFilter, SessionKind, SessionPage, TitleSource

_ORDERS = {  # a column and the index that has it in this order
    "last_active": ("last_active_at_ms", "sessions_by_activity"),
    "started": ("started_at_ms", "sessions_by_start"),
    "messages": ("message_count", "sessions_by_size"),
}
_TRIGRAM = 3

SEARCHED_TITLE = "coalesce(s.search_title, s.title)"
"""SQL for the title of a session s as it is searched, written as in the indexes on it."""

# A session is named by its native id where no other has it, else by source/native_id; where two
# places of one kind share even that, by kind#row/native_id.
_REF = (
    "CASE WHEN NOT EXISTS (SELECT 1 FROM sessions AS o"
    " WHERE o.native_id = {s}.native_id AND o.id <> {s}.id) THEN {s}.native_id"
    " WHEN NOT EXISTS (SELECT 1 FROM sessions AS o JOIN sources AS p ON p.id = o.source_id"
    " WHERE o.native_id = {s}.native_id AND o.id <> {s}.id AND p.kind = {r}.kind)"
    " THEN {r}.kind || '/' || {s}.native_id"
    " ELSE {r}.kind || '#' || {r}.id || '/' || {s}.native_id END"
)
_COLUMNS = (
    f"SELECT s.id, {_REF.format(s='s', r='r')}, r.kind, s.native_id, s.kind, s.title,"
    " s.title_source, s.model, s.cwd, s.git_repo_root, s.git_branch, s.started_at_ms,"
    " s.last_active_at_ms, s.message_count, s.user_turn_count,"
    " CASE WHEN s.parent_native_id IS NOT NULL THEN coalesce("
    f"(SELECT {_REF.format(s='f', r='r')} FROM sessions AS f"
    " WHERE f.source_id = s.source_id AND f.native_id = s.parent_native_id"
    " AND f.trashed_at_ms IS NULL),"
    " CASE WHEN NOT EXISTS (SELECT 1 FROM sessions AS f WHERE f.source_id = s.source_id"
    " AND f.native_id = s.parent_native_id) THEN s.parent_native_id END) END,"
    " s.relation, s.archived_at_ms, s.pinned_at_ms, s.end_reason, s.trashed_at_ms,"
    " s.reset_cutoff_seq, r.display_name"
)
_LATER_SCHEMA = 5
_LATER_COLUMNS = ("s.channel", "s.gone_at_ms", "s.own_project", "s.told_project")
_FROM = "FROM sessions AS s JOIN sources AS r ON r.id = s.source_id"


def list_sessions(
    db: apsw.Connection, wanted: SessionFilter, *, limit: int = 50, after: str | None = None
) -> SessionPage:
    """Return one page of sessions, the newest (or largest) first; those without a time last.

    Sessions in the trash are never listed; archived ones, empty ones and those of subagents
    and tools only when asked for. A page costs the same at any depth, because it goes on from
    the last row of the one before; `total` costs a walk where there is a filter. `after` is
    `next` of the page before.

    Raises:
        SettingError: `after` is not a token of a list in this order.
    """
    return damage.answered(db, lambda: _page(db, wanted, limit, after))


def _page(db: apsw.Connection, wanted: SessionFilter, limit: int, after: str | None) -> SessionPage:
    column, index = _ORDERS[wanted.sort]
    conditions, bindings = _conditions(db, wanted)
    # The planner does not know that 50 rows are wanted; only what has an index goes first.
    walk = "" if wanted.text or wanted.projects else f"INDEXED BY {index}"
    rows: list[tuple[Any, ...]] = []
    for place, bound in _places(column, _position(after, wanted.sort)):
        if len(rows) <= limit:
            rows += db.execute(
                f"{_columns(db)} FROM sessions AS s {walk} CROSS JOIN sources AS r"
                f" ON r.id = s.source_id WHERE {' AND '.join((*conditions, place))}"
                f" ORDER BY s.{column} DESC, s.id DESC LIMIT ?",
                (*bindings, *bound, limit + 1 - len(rows)),
            )
    sessions = tuple(_session(row) for row in rows[:limit])
    following = None
    if len(rows) > limit:
        following = _token(wanted.sort, getattr(sessions[-1], column), sessions[-1].id)
    return SessionPage(sessions, following, _total(db, wanted, conditions, bindings))


def reset_cutoff(db: apsw.Connection, session_id: int) -> int:
    """Return the `seq` up to which a reset took a session's messages from the model, 0 if none."""
    found = db.execute("SELECT reset_cutoff_seq FROM sessions WHERE id = ?", (session_id,)).get
    return int(found or 0)


def session_by_id(db: apsw.Connection, session_id: int) -> Session:
    """Return the session of a row of this store.

    Raises:
        NotFoundError: it is gone.
    """
    row = db.execute(f"{_select(db)} WHERE s.id = ?", (session_id,)).get
    if row is None:
        raise NotFoundError("this session is no longer in the store")
    return _session(row)


def kept_session(db: apsw.Connection, session_id: int) -> Session:
    """Return the session of a row, unless it is in the trash.

    Raises:
        NotFoundError: it is gone, or in the trash.
    """
    row = db.execute(f"{_select(db)} WHERE s.id = ? AND s.trashed_at_ms IS NULL", (session_id,)).get
    if row is None:
        raise NotFoundError("this session is not in the store, or in its trash")
    return _session(row)


def sessions_by_id(db: apsw.Connection, ids: Collection[int]) -> dict[int, Session]:
    """Return the sessions of these rows by their row; those that are gone are left out.

    One statement for all: ten times as fast as one by one.
    """
    found = db.execute(f"{_select(db)} WHERE s.id IN ({', '.join('?' * len(ids))})", tuple(ids))
    sessions = [_session(row) for row in found]
    return {session.id: session for session in sessions}


def session_by_ref(db: apsw.Connection, ref: str) -> Session:
    """Return the session named by its native id, or by `source/native_id`.

    Raises:
        NotFoundError: no session has this name.
        AmbiguousError: several have; the message lists the longer names.
    """
    found = _named(db, "s.native_id = ?", (ref,))
    if not found:
        source, _, native_id = ref.partition("/")
        of_source = "s.native_id = ? AND ? IN (r.kind, r.kind || '#' || r.id)"
        found = _named(db, of_source, (native_id, source))
    if not found:
        raise NotFoundError(f"no session is named {ref}")
    if len(found) > 1:
        names = ", ".join(session.ref for session in found)
        raise AmbiguousError(f"{ref} is the name of several sessions: {names}")
    return found[0]


def _named(db: apsw.Connection, condition: str, bindings: tuple[str, ...]) -> list[Session]:
    rows = db.execute(f"{_select(db)} WHERE {condition} AND s.trashed_at_ms IS NULL", bindings)
    return [_session(row) for row in rows]


def _conditions(db: apsw.Connection, wanted: SessionFilter) -> tuple[list[str], list[Any]]:
    """Return the filter as conditions on `s` and what they bind."""
    conditions, bindings = ["s.trashed_at_ms IS NULL"], list[Any]()
    if not wanted.include_archived:
        conditions.append("s.archived_at_ms IS NULL")
    if not wanted.include_hidden_kinds:
        kinds = ", ".join(f"'{kind}'" for kind in LISTED_KINDS)
        conditions.append(f"s.kind IN ({kinds}) AND {has_something('s', schema_version(db))}")
    if wanted.sources:
        places = ", ".join("?" * len(wanted.sources))
        conditions.append(f"s.source_id IN (SELECT id FROM sources WHERE kind IN ({places}))")
        bindings += wanted.sources
    if wanted.projects:
        conditions.append(in_projects("s", len(wanted.projects)))
        bindings += wanted.projects
    if wanted.channels:
        has_later = schema_version(db) >= _LATER_SCHEMA
        places = ", ".join("?" * len(wanted.channels))
        conditions.append(f"{'s.channel' if has_later else 'NULL'} IN ({places})")
        bindings += wanted.channels
    for bound, operator in ((wanted.since_ms, ">="), (wanted.until_ms, "<")):
        if bound is not None:
            conditions.append(f"s.last_active_at_ms {operator} ?")
            bindings.append(bound)
    if text := project(wanted.text).strip():
        _add_title(text, conditions, bindings, has_titles=damage.titles_usable(db))
    return conditions, bindings


def _add_title(text: str, conditions: list[str], bindings: list[Any], *, has_titles: bool) -> None:
    """Narrow to titles that hold `text`; three characters or more go through the index.

    FTS5 answers LIKE from a trigram index only without ESCAPE, so there the wildcards become
    "any character", and the exact comparison follows.
    """
    if has_titles and len(text) >= _TRIGRAM:
        loose = text.replace("%", "_")
        conditions.append("s.id IN (SELECT rowid FROM sessions_fts WHERE title LIKE ?)")
        bindings.append(f"%{loose}%")
    literal = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    conditions.append(f"{SEARCHED_TITLE} LIKE ? ESCAPE '\\'")
    bindings.append(f"%{literal}%")


def _places(column: str, after: tuple[int | None, int] | None) -> list[tuple[str, list[Any]]]:
    """Return the stretches of the list that remain: rows with a value, then rows without."""
    nameless = [] if column == "message_count" else [(f"s.{column} IS NULL", list[Any]())]
    if after is None:
        return [(f"s.{column} IS NOT NULL", []), *nameless]
    value, row = after
    if value is None:
        return [(f"s.{column} IS NULL AND s.id < ?", [row])]
    beyond = f"s.{column} <= ? AND (s.{column} < ? OR s.id < ?)"
    return [(beyond, [value, value, row]), *nameless]


def _total(
    db: apsw.Connection, wanted: SessionFilter, conditions: list[str], bindings: list[Any]
) -> int:
    if wanted == SessionFilter(sources=wanted.sources, sort=wanted.sort):
        return listed_count(db, wanted.sources)
    where = " AND ".join(conditions)
    return int(db.execute(f"SELECT count(*) FROM sessions AS s WHERE {where}", bindings).get)


def _token(sort: str, value: int | None, row: int) -> str:
    return base64.urlsafe_b64encode(json.dumps([sort, value, row]).encode()).decode()


def _columns(db: apsw.Connection) -> str:
    """Return what is selected of a session; an older store that is only read lacks the last."""
    has_later = schema_version(db) >= _LATER_SCHEMA
    return ", ".join((_COLUMNS, *(_LATER_COLUMNS if has_later else ["NULL"] * len(_LATER_COLUMNS))))


def _select(db: apsw.Connection) -> str:
    return f"{_columns(db)} {_FROM}"


def _position(token: str | None, sort: str) -> tuple[int | None, int] | None:
    if token is None:
        return None
    try:
        found_sort, value, row = json.loads(base64.urlsafe_b64decode(token))
    except (binascii.Error, ValueError, TypeError) as error:
        raise SettingError(f"not the token of a page: {token}") from error
    if found_sort != sort or not isinstance(row, int) or not isinstance(value, int | None):
        raise SettingError("the token belongs to a list in another order")
    return value, row


def _session(row: tuple[Any, ...]) -> Session:
    session_id, ref, source, native_id, kind, title, title_source, *told = row
    *rest, reset_cutoff_seq, program, channel, gone_at_ms, own_project, told_project = told
    *rest, relation, archived_at_ms, pinned_at_ms, end_reason, trashed_at_ms = rest
    model, cwd, git_repo_root, git_branch, started, last_active, messages, turns, parent = rest
    return Session(
        id=session_id,
        ref=ref,
        source=source,
        native_id=native_id,
        kind=SessionKind(kind),
        title=title,
        title_source=TitleSource(title_source),
        model=model,
        cwd=cwd,
        git_repo_root=git_repo_root,
        git_branch=git_branch,
        started_at_ms=started,
        last_active_at_ms=last_active,
        message_count=messages,
        user_turn_count=turns,
        parent_ref=parent,
        relation=Relation(relation) if relation else None,
        archived_at_ms=archived_at_ms,
        pinned_at_ms=pinned_at_ms,
        end_reason=end_reason,
        trashed_at_ms=trashed_at_ms,
        reset_cutoff_seq=reset_cutoff_seq,
        channel=channel,
        gone_at_ms=gone_at_ms,
        own_project=own_project,
        told_project=told_project,
        program=program,
    )
