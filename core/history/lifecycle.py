"""What the user decides of a session: kept, put away, moved, begun anew, called otherwise.

Everything runs in the caller's transaction and tells what it changed, so that it can be undone.
No import undoes it: what a source says of the same is kept beside it.
"""

import time
from typing import Any, Literal, NamedTuple

import apsw

from core.errors import NotFoundError, SettingError
from core.history.bodies import clean
from core.store import turns
from core.text import project
from core.types import TitleSource

Column = Literal["pinned_at_ms", "archived_at_ms", "own_project", "own_cutoff_seq"]

MOST_TITLE_CHARS = 500
MOST_PROJECT_CHARS = 200

_AFTER_RESET = (
    "UPDATE sessions SET reset_cutoff_seq = max(told_cutoff_seq, coalesce(own_cutoff_seq, 0))"
    " WHERE id = ?"
)
_UNNAMED = (
    "UPDATE sessions SET former_title = title, title = coalesce(told_title, ''),"
    " title_source = coalesce(told_title_source, 'none'), renamed_at_ms = NULL,"
    " told_title = NULL, told_title_source = NULL WHERE id = ?"
)
_NAMED = (
    "UPDATE sessions SET"
    " told_title = CASE WHEN renamed_at_ms IS NULL THEN title ELSE told_title END,"
    " told_title_source ="
    " CASE WHEN renamed_at_ms IS NULL THEN title_source ELSE told_title_source END,"
    " former_title = CASE WHEN renamed_at_ms IS NOT NULL THEN title END,"
    f" title = ?, title_source = '{TitleSource.USER}', renamed_at_ms = ? WHERE id = ?"
)


class Change(NamedTuple):
    """A value of a session that was replaced, and by what; None where there is none."""

    session_id: int
    before: int | str | None
    after: int | str | None


def set_pinned(db: apsw.Connection, session_id: int, pinned: bool) -> Change | None:
    """Pin a session, or let it loose; a pinned one never goes by age.

    Raises:
        NotFoundError: it is gone, or in the trash.
    """
    return _mark(db, session_id, "pinned_at_ms", is_set=pinned)


def set_archived(db: apsw.Connection, session_id: int, archived: bool) -> Change | None:
    """Put a session away, or bring it back. It comes back by itself when it goes on.

    Raises:
        NotFoundError: it is gone, or in the trash.
    """
    return _mark(db, session_id, "archived_at_ms", is_set=archived)


def move(db: apsw.Connection, session_id: int, name: str) -> Change | None:
    """Put a session into a project, whatever its source says; '' into the source's own.

    Raises:
        NotFoundError: it is gone, or in the trash.
        SettingError: as `project_name`.
    """
    return _put(db, session_id, "own_project", project_name(name) or None)


def reset(db: apsw.Connection, session_id: int) -> Change | None:
    """Begin a session anew: its active segment is what comes from now on. Nothing is deleted.

    Raises:
        NotFoundError: it is gone, or in the trash.
    """
    last = db.execute(
        "SELECT max(seq) FROM message_placements WHERE session_id = ?", (session_id,)
    ).get
    if last is None:
        _now(db, session_id, "own_cutoff_seq")
        return None
    return _put(db, session_id, "own_cutoff_seq", int(last))


def take_back(db: apsw.Connection, column: Column, change: Change) -> bool:
    """Put back what a change replaced, unless the value is another one by now."""
    session_id, before, after = change
    db.execute(
        f"UPDATE sessions SET {column} = ? WHERE id = ? AND {column} IS ?",
        (before, session_id, after),
    )
    if not db.changes():
        return False
    if column == "own_cutoff_seq":
        _follow_reset(db, session_id)
    return True


def rename(db: apsw.Connection, session_id: int, title: str, operation_id: int) -> bool:
    """Call a session otherwise, and no import calls it as before; '' as its source calls it.

    `operation_id` is what `former_title` can be had back by.

    Returns:
        False where it is called so already.

    Raises:
        NotFoundError: it is gone, or in the trash.
        SettingError: the title is too long.
    """
    new = one_line(title)
    if len(new) > MOST_TITLE_CHARS:
        raise SettingError(f"a title has at most {MOST_TITLE_CHARS} characters")
    is_renamed = _now(db, session_id, "renamed_at_ms") is not None
    if not new and not is_renamed:
        return False
    if new and is_renamed and _now(db, session_id, "title") == new:
        return False
    _call(db, session_id, new, operation_id)
    return True


def take_back_title(db: apsw.Connection, operation_id: int) -> bool:
    """Call the session that an operation renamed as it was called before, if it still is so."""
    row = db.execute(
        "SELECT id, former_title FROM sessions WHERE renamed_by = ?", (operation_id,)
    ).get
    if row is None:
        return False
    session_id, former = row
    _call(db, session_id, former or "", None)
    return True


def project_name(text: str) -> str:
    """Return a project's name as it is stored: on one line, without spaces around it.

    Raises:
        SettingError: it is too long.
    """
    name = one_line(text)
    if len(name) > MOST_PROJECT_CHARS:
        raise SettingError(f"the name of a project has at most {MOST_PROJECT_CHARS} characters")
    return name


def one_line(text: str) -> str:
    """Return a text on one line, without white space around it, as SQLite can hold it."""
    return " ".join(clean(text).replace("\0", " ").split())


def _call(db: apsw.Connection, session_id: int, title: str, operation_id: int | None) -> None:
    if title:
        db.execute(_NAMED, (title, time.time_ns() // 1_000_000, session_id))
    else:
        db.execute(_UNNAMED, (session_id,))
        title = str(_now(db, session_id, "title"))
    searchable = project(title)
    db.execute(
        "UPDATE sessions SET search_title = ?, renamed_by = ?,"
        " former_title = CASE WHEN ?2 IS NULL THEN NULL ELSE former_title END WHERE id = ?3",
        (None if searchable == title else searchable, operation_id, session_id),
    )


def _mark(db: apsw.Connection, session_id: int, column: Column, *, is_set: bool) -> Change | None:
    """Set a time of a session to now, unless it has one, or take it away."""
    found = _now(db, session_id, column)
    if (found is not None) == is_set:
        return None
    return _put(db, session_id, column, time.time_ns() // 1_000_000 if is_set else None)


def _put(
    db: apsw.Connection, session_id: int, column: Column, value: int | str | None
) -> Change | None:
    found = _now(db, session_id, column)
    if found == value:
        return None
    db.execute(f"UPDATE sessions SET {column} = ? WHERE id = ?", (value, session_id))
    if column == "own_cutoff_seq":
        _follow_reset(db, session_id)
    return Change(session_id, found, value)


def _follow_reset(db: apsw.Connection, session_id: int) -> None:
    db.execute(_AFTER_RESET, (session_id,))
    turns.recount(db, [session_id])


def _now(db: apsw.Connection, session_id: int, column: str) -> Any:
    """Return a value of a session.

    Raises:
        NotFoundError: it is gone, or in the trash.
    """
    row = db.execute(
        f"SELECT {column}, id FROM sessions WHERE id = ? AND trashed_at_ms IS NULL", (session_id,)
    ).get
    if row is None:
        raise NotFoundError("this session is no longer in the store")
    return row[0]
