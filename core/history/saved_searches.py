"""The searches that were saved under a name: what was asked, how narrowed, in which order."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import apsw

from core.errors import NotFoundError, SettingError
from core.store import migrations
from core.types import Role, Sort

MOST_SEARCHES = 500
MOST_NAME_CHARS = 200
MOST_QUERY_CHARS = 2_048  # of a longer one no more is read
_MOST_VALUES = 64
_FIRST_SCHEMA = 2
_COLUMNS = "id, name, query, sort, saved_at_ms, filters"

Row = tuple[int, str, str, Sort, int, str]


@dataclass(frozen=True, slots=True)
class SavedFilters:
    """What a saved search is narrowed to; empty narrows nothing.

    `days` are the last days of the calendar, today among them. `since` and `until` are times as
    people type them (`core.search.times`): an age counts from the moment one searches.
    """

    roles: tuple[Role, ...] = ()
    sources: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    days: int | None = None
    since: str = ""
    until: str = ""


NO_FILTERS = SavedFilters()


@dataclass(frozen=True, slots=True)
class SavedSearch:
    """A search with its name. `id` is the row of this store and never leaves it."""

    id: int
    name: str
    query: str
    filters: SavedFilters
    sort: Sort
    saved_at_ms: int


def saved(db: apsw.Connection) -> tuple[SavedSearch, ...]:
    """Return every saved search, the one saved first in front.

    A store of an older schema that cannot be written to has none.
    """
    if migrations.schema_version(db) < _FIRST_SCHEMA:
        return ()
    rows: Iterable[Row] = db.execute(f"SELECT {_COLUMNS} FROM saved_searches ORDER BY id")
    return tuple(_search(*row) for row in rows)


def by_name(db: apsw.Connection, name: str) -> SavedSearch:
    """Return the search saved under a name.

    Raises:
        NotFoundError: there is none.
    """
    wanted = one_line(name)
    for search in saved(db):
        if search.name == wanted:
            return search
    raise NotFoundError(f"no search is saved as {wanted!r}")


def save(
    db: apsw.Connection,
    name: str,
    query: str,
    filters: SavedFilters = NO_FILTERS,
    sort: Sort = "relevance",
    *,
    at_ms: int,
) -> SavedSearch:
    """Save a search; the one that had the name before is replaced and keeps its place.

    Raises:
        SettingError: the name is blank or longer than 200 characters, the query is blank or
            longer than 2,048, or 500 searches are saved already.
    """
    name, query = _name(name), _storable(query)
    if not query.strip() or len(query) > MOST_QUERY_CHARS:
        raise SettingError(f"a saved search has 1 to {MOST_QUERY_CHARS:,} characters to look for")
    others = db.execute("SELECT count(*) FROM saved_searches WHERE name <> ?", (name,)).get
    if int(others) >= MOST_SEARCHES:
        raise SettingError(f"{MOST_SEARCHES} searches are saved already; remove one first")
    db.execute(
        "INSERT INTO saved_searches(name, query, sort, saved_at_ms, filters)"
        " VALUES (?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET query = excluded.query,"
        " sort = excluded.sort, saved_at_ms = excluded.saved_at_ms, filters = excluded.filters",
        (name, query, sort, at_ms, _as_json(filters)),
    )
    return by_name(db, name)


def rename(db: apsw.Connection, old: str, new: str) -> SavedSearch:
    """Give a saved search another name; its place stays.

    Raises:
        NotFoundError: no search has the old name.
        SettingError: the new one is blank, too long, or taken.
    """
    search, name = by_name(db, old), _name(new)
    if name != search.name and any(each.name == name for each in saved(db)):
        raise SettingError(f"another search is saved as {name!r}")
    db.execute("UPDATE saved_searches SET name = ? WHERE id = ?", (name, search.id))
    return by_name(db, name)


def remove(db: apsw.Connection, name: str) -> SavedSearch:
    """Remove a saved search and return it, so that it can be put back.

    Raises:
        NotFoundError: there is none of this name.
    """
    search = by_name(db, name)
    db.execute("DELETE FROM saved_searches WHERE id = ?", (search.id,))
    return search


def put_back(db: apsw.Connection, search: SavedSearch) -> None:
    """Undo `remove`: the search is in its place again, unless its name was taken since."""
    db.execute(
        "INSERT INTO saved_searches(id, name, query, sort, saved_at_ms, filters)"
        " SELECT nullif(?1, (SELECT id FROM saved_searches WHERE id = ?1)), ?2, ?3, ?4, ?5, ?6"
        " WHERE true ON CONFLICT (name) DO NOTHING",
        (
            search.id,
            search.name,
            search.query,
            search.sort,
            search.saved_at_ms,
            _as_json(search.filters),
        ),
    )


def one_line(name: str) -> str:
    """Return a name as it is kept: blanks of every kind are single spaces."""
    return _storable(" ".join(name.split()))


def _storable(text: str) -> str:
    """Return `text` with what is half a character, as a terminal can send it, as `?`."""
    return text.encode(errors="replace").decode()


def _name(text: str) -> str:
    name = one_line(text)
    if not 1 <= len(name) <= MOST_NAME_CHARS:
        raise SettingError(f"the name of a search has 1 to {MOST_NAME_CHARS} characters")
    return name


def _as_json(filters: SavedFilters) -> str:
    values = {
        "roles": filters.roles,
        "sources": filters.sources,
        "projects": filters.projects,
        "days": filters.days,
        "since": filters.since,
        "until": filters.until,
    }
    return json.dumps({name: value for name, value in values.items() if value})


def _search(
    row: int, name: str, query: str, sort: Sort, saved_at_ms: int, filters: str
) -> SavedSearch:
    return SavedSearch(row, name, query, _filters(filters), sort, saved_at_ms)


def _filters(text: str) -> SavedFilters:
    """Return the filters in `text`; what a later version added or spoiled narrows nothing."""
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        return NO_FILTERS
    if not isinstance(values, dict):
        return NO_FILTERS
    days = values.get("days")
    return SavedFilters(
        tuple(Role(role) for role in _texts(values, "roles") if role in set(Role)),
        _texts(values, "sources"),
        _texts(values, "projects"),
        days if isinstance(days, int) and 0 < days < 100_000 else None,
        _text(values, "since"),
        _text(values, "until"),
    )


def _text(values: Mapping[str, object], name: str) -> str:
    found = values.get(name)
    return found if isinstance(found, str) else ""


def _texts(values: Mapping[str, object], name: str) -> tuple[str, ...]:
    found = values.get(name)
    if not isinstance(found, list):
        return ()
    texts = (each for each in found[:_MOST_VALUES] if isinstance(each, str) and each)
    return tuple(map(_storable, texts))
