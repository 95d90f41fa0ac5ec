"""Sources and projects by the names that people give them."""

from collections.abc import Sequence
from typing import NamedTuple

import apsw

from core.search.sql import EVERYTHING, Sql, both, either, places
from core.search.term import ascii_lower
from core.store.places import in_projects
from core.types import SessionKind

NOTHING = Sql("false")

_SAID_CHARS = 80


class Named(NamedTuple):
    """The condition that a session s is of one of those named, and the names of none."""

    condition: Sql
    unknown: tuple[str, ...]


def of_sources(db: apsw.Connection, names: Sequence[str]) -> Named:
    """Look up sources by kind, instance or display name, or kinds of session, in any case."""
    ids: list[int] = []
    unknown: list[str] = []
    kinds = tuple(kind for kind in SessionKind if kind in map(ascii_lower, names))
    for name in names:
        found = [
            int(row)
            for (row,) in db.execute(
                "SELECT id FROM sources WHERE kind = ?1 COLLATE NOCASE"
                " OR instance = ?1 COLLATE NOCASE OR display_name = ?1 COLLATE NOCASE",
                (name,),
            )
        ]
        if not found and ascii_lower(name) not in kinds:
            unknown.append(name)
        ids += found
    conditions = [
        Sql(f"s.{column} IN {among.text}", among.bindings)
        for column, among in (
            ("source_id", places(tuple(dict.fromkeys(ids)))),
            ("kind", places(kinds)),
        )
        if among.bindings
    ]
    return Named(either(*conditions) if conditions else NOTHING, tuple(unknown))


def of_projects(db: apsw.Connection, names: Sequence[str]) -> Named:
    """Look up projects by their whole names."""
    known = tuple(name for name in names if _has_project(db, name))
    unknown = tuple(name for name in names if name not in known)
    return Named(Sql(in_projects("s", len(known)), known) if known else NOTHING, unknown)


def of_places(db: apsw.Connection, sources: Sequence[str], projects: Sequence[str]) -> Sql:
    """Return the condition that a session s is of these sources and projects; empty means any."""
    return both(
        of_sources(db, sources).condition if sources else EVERYTHING,
        of_projects(db, projects).condition if projects else EVERYTHING,
    )


def unknown_places(
    db: apsw.Connection, sources: Sequence[str], projects: Sequence[str]
) -> tuple[str, ...]:
    """Return a sentence for each name of a source or a project that the store does not have."""
    return (
        *map(unknown_source, of_sources(db, sources).unknown),
        *map(unknown_project, of_projects(db, projects).unknown),
    )


def unknown_source(name: str) -> str:
    """Return what is said of a name that no source has."""
    return f"no source is named {said(name)}"


def unknown_project(name: str) -> str:
    """Return what is said of a name that no project has."""
    return f"no project is named {said(name)}"


def said(name: str) -> str:
    """Return a name short enough for a sentence."""
    return name if len(name) <= _SAID_CHARS else f"{name[:_SAID_CHARS]}…"


def _has_project(db: apsw.Connection, name: str) -> bool:
    """Tell whether a session ran there; those in the trash have an index of their own."""
    return any(
        db.execute(
            f"SELECT EXISTS (SELECT 1 FROM sessions WHERE project = ? AND trashed_at_ms {trashed})",
            (name,),
        ).get
        for trashed in ("IS NULL", "IS NOT NULL")
    )
