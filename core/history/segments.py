"""The active segment of a session: what was said since it was last reset. All of it, if never."""

import apsw

from core.history.messages import number_of
from core.store.turns import ACTIVE_BEHIND, BEFORE_ALL


def active_behind(db: apsw.Connection, session_id: int) -> int | None:
    """Return the `seq` that the active segment begins behind; None where nothing was reset."""
    sql = f"SELECT {ACTIVE_BEHIND} FROM sessions WHERE id = ?"
    found = db.execute(sql, (session_id,)).get
    return None if found in (None, BEFORE_ALL) else int(found)


def active_from(db: apsw.Connection, session_id: int) -> int:
    """Return the number of the first message of the active segment, or of the next to come.

    Costs a walk over the narrow rows before it.
    """
    behind = active_behind(db, session_id)
    return 1 if behind is None else number_of(db, session_id, behind + 1, 0)
