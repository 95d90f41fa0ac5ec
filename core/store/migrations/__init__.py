"""Bringing a store to the newest schema. `PRAGMA user_version` is the schema it has."""

from collections.abc import Callable

import apsw

from core.errors import SchemaTooNewError
from core.store.migrations import (
    m0001_initial,
    m0002_saved_searches,
    m0003_short_titles,
    m0004_upkeep,
    m0005_places,
)

STEPS: tuple[Callable[[apsw.Connection], None], ...] = (
    m0001_initial.upgrade,
    m0002_saved_searches.upgrade,
    m0003_short_titles.upgrade,
    m0004_upkeep.upgrade,
    m0005_places.upgrade,
)
NEWEST = len(STEPS)


def schema_version(db: apsw.Connection) -> int:
    """Return the schema the store has; 0 for a file without one."""
    return int(db.pragma("user_version"))


def upgrade(db: apsw.Connection) -> None:
    """Bring the store to `NEWEST` in the caller's transaction: wholly or not at all.

    Raises:
        SchemaTooNewError: a later version of this program wrote it; nothing was changed.
    """
    found = schema_version(db)
    if found > NEWEST:
        raise SchemaTooNewError(found, NEWEST)
    for step in STEPS[found:]:
        step(db)
    if found < NEWEST:
        db.pragma("user_version", NEWEST)
