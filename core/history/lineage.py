"""How sessions descend from one another: continued, branched, forked, compacted."""

from dataclasses import dataclass
from typing import Any

import apsw

from core.history.sessions import session_by_id
from core.types import Session

_DEEPEST = 100


@dataclass(frozen=True, slots=True)
class Lineage:
    """The family of a session: its ancestors, the oldest first, and its children, likewise."""

    ancestors: tuple[Session, ...]
    children: tuple[Session, ...]


def lineage(db: apsw.Connection, session_id: int) -> Lineage:
    """Return the family of a session as far as it is stored.

    Parents are named by the source's own ids, so one that arrives later is found from then
    on. A circle of parents, which only a broken source has, is followed once.

    Raises:
        NotFoundError: there is no such session.
    """
    session_by_id(db, session_id)
    ancestors: Any = db.execute(
        "WITH RECURSIVE line(id, depth) AS ("
        " SELECT ?, 0 UNION"
        " SELECT parent.id, depth + 1 FROM line JOIN sessions AS child ON child.id = line.id"
        " JOIN sessions AS parent ON parent.source_id = child.source_id"
        " AND parent.native_id = child.parent_native_id AND parent.trashed_at_ms IS NULL"
        " WHERE depth < ?)"
        " SELECT id, min(depth) AS nearest FROM line GROUP BY id ORDER BY nearest DESC",
        (session_id, _DEEPEST),
    ).fetchall()
    children: Any = db.execute(
        "SELECT child.id FROM sessions AS parent JOIN sessions AS child"
        " ON child.source_id = parent.source_id AND child.parent_native_id = parent.native_id"
        " WHERE parent.id = ? AND child.id <> parent.id AND child.trashed_at_ms IS NULL"
        " ORDER BY child.started_at_ms, child.id",
        (session_id,),
    ).fetchall()
    return Lineage(
        tuple(session_by_id(db, row) for row, _ in ancestors if row != session_id),
        tuple(session_by_id(db, row) for (row,) in children),
    )
