"""What a store has to offer behind a field's colon.

Each list is read in bounded work, whatever the size of the store: distinct values are skipped
through where an index has them side by side, and taken from a sample of the newest rows where
none has. So a model or a tool that was last used long ago may be missing here; it can be typed
all the same.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

import apsw

from core.history.sessions import SEARCHED_TITLE, sessions_by_id
from core.search.in_trash import NOWHERE_ELSE
from core.search.scope import one_of
from core.search.term import ascii_lower
from core.store import damage, keys
from core.store.keys import ROLE_BITS, ROLE_MASK, STATE_BITS, STATE_MASK
from core.text import project
from core.types import Choice, MessageState, Role, Session

MOST = 13
"""Values looked up at most for one field: those that are shown, and the one that stands there."""

_DISTINCT = 400  # projects skipped through
_SESSIONS = 2_000  # sessions looked at, newest first, for their models
_ROWS = 500  # messages looked at for their tools, and for their models
_TITLES = 500  # titles looked at where fewer than three characters are typed
_COUNTED = 1_000  # sessions counted of one project
_TITLE_CHARS = 120  # longer titles are no choice: they would fill the field
_AGES = ("24h", "7d", "2w", "1mo", "3mo", "12mo")
_UNITS = ("h", "d", "w", "mo")
_IS_KEPT = (
    f"((k.flags & {STATE_MASK}) <> {STATE_BITS[MessageState.TRASHED]} AND NOT {NOWHERE_ELSE.text})"
)
_SPOKEN = frozenset({MessageState.ACTIVE, MessageState.COMPACTED, MessageState.OFF_BRANCH})


def choices(db: apsw.Connection, field: str, typed: str, now: datetime) -> list[Choice]:
    """Return values for `field` that go on from `typed`, the likeliest first, at most `MOST`.

    What begins with `typed` comes before what only holds it; ASCII case is ignored.
    """
    match field:
        case "role":
            return _fitting(_roles(db), typed)
        case "source":
            return _fitting(_sources(db), typed)
        case "project":
            return [_counted(db, c) for c in _fitting(_projects(db, typed), typed)]
        case "model":
            return _fitting(_models(db), typed)
        case "tool":
            return _fitting(_tools(db), typed)
        case "session":
            return [Choice(s.ref, s.title or s.ref) for s in _sessions(db, typed)]
        case "title":
            return _titles(db, typed)
        case _:
            return _times(typed, now)


def _fitting(offered: Iterable[Choice], typed: str) -> list[Choice]:
    sought = ascii_lower(typed)
    fitting = [choice for choice in offered if sought in ascii_lower(choice.text)]
    fitting.sort(key=lambda choice: not ascii_lower(choice.text).startswith(sought))
    return fitting[:MOST]


def _roles(db: apsw.Connection) -> Iterator[Choice]:
    counts, trashed = keys.counts(db), _trashed_roles(db)
    for role in Role:
        count = keys.total(counts, roles=frozenset({role}), states=_SPOKEN) - trashed[role]
        yield Choice(role.value, role.value, count)


def _trashed_roles(db: apsw.Connection) -> Counter[Role]:
    """Return how many messages of each role only sessions in the trash show; none costs nothing."""
    spoken = one_of(STATE_MASK, [STATE_BITS[state] for state in _SPOKEN])
    rows: Iterable[tuple[int, int]] = db.execute(
        f"SELECT k.flags & {ROLE_MASK}, count(*) FROM sessions AS s INDEXED BY sessions_in_trash"
        " CROSS JOIN message_keys AS k ON k.session_id = s.id"
        f" WHERE s.trashed_at_ms IS NOT NULL AND {spoken} AND {NOWHERE_ELSE.text} GROUP BY 1"
    )
    named = {bits: role for role, bits in ROLE_BITS.items()}
    return Counter({named[bits]: count for bits, count in rows})


def _sources(db: apsw.Connection) -> list[Choice]:
    """Return the kinds and names of sources that have sessions to list, the largest first.

    A name that only spells its kind otherwise (Claude Code) is not offered beside it.
    """
    rows: Iterable[tuple[str, str, int]] = db.execute(
        "SELECT s.kind, s.display_name, c.listed FROM sources AS s"
        " JOIN session_counts AS c ON c.source_id = s.id"
    )
    found: dict[str, int] = {}
    for kind, name, listed in rows:
        is_spelt_alike = ascii_lower(name).replace(" ", "-") == kind
        for value in {kind, kind if is_spelt_alike else name}:
            found[value] = found.get(value, 0) + listed
    ordered = sorted(found.items(), key=lambda each: (-each[1], each[0]))
    return [Choice(name, name, listed) for name, listed in ordered if name]


def _projects(db: apsw.Connection, typed: str) -> list[Choice]:
    """Return projects, the one last worked in first: the first `_DISTINCT` by name.

    A step from one name to the next is one look into the index. Where a store has more names
    than that, those that begin with what was typed, in the same case, are looked up besides.
    """
    found = dict(_names(db, "", None))
    if len(found) == _DISTINCT and typed:
        found |= dict(_names(db, typed, typed + "\U0010ffff"))
    ordered = sorted(found.items(), key=lambda each: (-(each[1] or 0), each[0]))
    return [Choice(name, name) for name, _ in ordered if name]


def _names(db: apsw.Connection, first: str, last: str | None) -> Iterable[tuple[str, int | None]]:
    newest = (
        "SELECT project, last_active_at_ms FROM sessions WHERE project {} ?"
        " AND trashed_at_ms IS NULL ORDER BY project, last_active_at_ms DESC, id DESC LIMIT 1"
    )
    row = db.execute(newest.format(">="), (first,)).get
    for _ in range(_DISTINCT):
        if row is None or (last is not None and row[0] >= last):
            return
        yield row
        row = db.execute(newest.format(">"), (row[0],)).get


def _counted(db: apsw.Connection, choice: Choice) -> Choice:
    count = db.execute(
        "SELECT count(*) FROM (SELECT 1 FROM sessions WHERE project = ?"
        f" AND trashed_at_ms IS NULL LIMIT {_COUNTED})",
        (choice.text,),
    ).get
    return choice if count == _COUNTED else Choice(choice.text, choice.shown, count)


def _models(db: apsw.Connection) -> list[Choice]:
    """Return the models of the newest sessions and messages, the newest first."""
    return _distinct(
        db.execute(
            "SELECT model FROM sessions WHERE trashed_at_ms IS NULL"
            f" ORDER BY last_active_at_ms DESC, id DESC LIMIT {_SESSIONS}"
        ),
        db.execute(
            f"SELECT m.model FROM (SELECT id, flags, session_id FROM message_keys"
            f" ORDER BY id DESC LIMIT {_ROWS}) AS k CROSS JOIN messages AS m ON m.id = k.id"
            f" WHERE {_IS_KEPT}"
        ),
    )


def _tools(db: apsw.Connection) -> list[Choice]:
    """Return the tools of the tool rows among the newest messages, the newest first."""
    is_tool = f"(k.flags & {ROLE_MASK}) = {ROLE_BITS[Role.TOOL]}"
    return _distinct(
        db.execute(
            "SELECT m.tool_name FROM"
            " (SELECT k.id FROM (SELECT id, flags, session_id FROM message_keys ORDER BY id DESC"
            f" LIMIT {4 * _ROWS}) AS k WHERE {is_tool} AND {_IS_KEPT} LIMIT {_ROWS}) AS newest"
            " CROSS JOIN messages AS m ON m.id = newest.id"
        )
    )


def _distinct(*found: Iterable[tuple[str | None]]) -> list[Choice]:
    names = dict.fromkeys(name for rows in found for (name,) in rows if name)
    return [Choice(name, name) for name in names]


def _sessions(db: apsw.Connection, typed: str) -> list[Session]:
    """Return sessions whose id begins with `typed`, then those whose title holds it."""
    sought = typed.strip()
    by_id: list[tuple[int]] = []
    if sought:
        by_id = list(
            db.execute(
                "SELECT id FROM sessions WHERE native_id >= ?1 AND native_id < ?1 || char(0x10FFFF)"
                f" AND trashed_at_ms IS NULL LIMIT {MOST}",
                (sought,),
            )
        )
    ids = list(dict.fromkeys(row for (row,) in (*by_id, *_by_title(db, sought))))[:MOST]
    sessions = sessions_by_id(db, ids) if ids else {}
    return [sessions[row] for row in ids]


def _by_title(db: apsw.Connection, sought: str) -> list[tuple[int]]:
    """Return the rows of sessions whose title holds `sought`, the last active first.

    Three characters or more are looked up, fewer looked for in the newest titles.
    """
    escaped = "".join(f"\\{c}" if c in "\\%_" else c for c in project(sought))
    holds = f"{SEARCHED_TITLE} LIKE ? ESCAPE '\\'"
    if len(project(sought)) >= 3 and damage.titles_usable(db):
        loose = project(sought).replace("%", "_")
        return list(
            db.execute(
                "SELECT s.id FROM sessions_fts AS f CROSS JOIN sessions AS s ON s.id = f.rowid"
                f" WHERE f.title LIKE ? AND {holds} AND s.trashed_at_ms IS NULL"
                f" ORDER BY f.rowid DESC LIMIT {MOST}",
                (f"%{loose}%", f"%{escaped}%"),
            )
        )
    return list(
        db.execute(
            f"SELECT s.id FROM (SELECT id, title, search_title FROM sessions"
            " WHERE trashed_at_ms IS NULL ORDER BY last_active_at_ms DESC, id DESC"
            f" LIMIT {_TITLES}) AS s WHERE {holds} LIMIT {MOST}",
            (f"%{escaped}%",),
        )
    )


def _titles(db: apsw.Connection, typed: str) -> list[Choice]:
    titles = dict.fromkeys(session.title for session in _sessions(db, typed))
    return [Choice(title, title) for title in titles if 0 < len(title) <= _TITLE_CHARS]


def _times(typed: str, now: datetime) -> list[Choice]:
    """Return ages and days, or a typed number with the units that it may have."""
    if typed.isdecimal() and typed.isascii() and len(typed) <= 3:
        return [Choice(typed + unit, typed + unit) for unit in _UNITS]
    today = now.date()
    days = (
        today,
        today - timedelta(days=1),
        today - timedelta(days=7),
        today.replace(day=1),
        today.replace(month=1, day=1),
    )
    values = dict.fromkeys((*_AGES, *map(str, days)))
    return [Choice(value, value) for value in values if value.startswith(typed)]
