"""Finding forks that nothing tells of: sessions that begin with another's messages."""

from collections.abc import Iterable

import apsw

from core.types import Relation, SessionKind


def link_forks(db: apsw.Connection, source_id: int, native_ids: Iterable[str]) -> int:
    """Name the parent of sessions that share messages with another and have some of their own.

    For sources whose forks copy messages, ids and all, without a word of where from. A session
    that names a parent, or is no main one, stays as it is. Of two sessions the one is the fork
    whose own messages begin later.

    Returns:
        How many sessions were linked. Costs a few µs for each of their messages.
    """
    linked = 0
    for native_id in native_ids:
        child = db.execute(
            "SELECT id FROM sessions WHERE source_id = ? AND native_id = ?"
            " AND parent_native_id IS NULL AND kind = ?",
            (source_id, native_id, SessionKind.INTERACTIVE),
        ).get
        owner = None if child is None else _owner_of_most(db, child)
        if owner is None or not _has_own(db, child):
            continue
        parent, fork = (
            (owner, child) if _begins(db, owner) <= _begins(db, child) else (child, owner)
        )
        db.execute(
            "UPDATE sessions SET relation = ?, evidence = 'heuristic', parent_native_id ="
            " (SELECT native_id FROM sessions WHERE id = ?)"
            " WHERE id = ? AND parent_native_id IS NULL",
            (Relation.FORK, parent, fork),
        )
        linked += db.changes()
    return linked


def _owner_of_most(db: apsw.Connection, session_id: int) -> int | None:
    """The other session that most of a session's shared messages belong to."""
    found: int | None = db.execute(
        "SELECT k.session_id FROM message_placements AS p"
        " JOIN message_keys AS k ON k.id = p.message_id"
        " JOIN sessions AS s ON s.id = k.session_id AND s.kind = ?"
        " WHERE p.session_id = ? AND k.session_id <> p.session_id"
        " GROUP BY k.session_id ORDER BY count(*) DESC, k.session_id LIMIT 1",
        (SessionKind.INTERACTIVE, session_id),
    ).get
    return found


def _has_own(db: apsw.Connection, session_id: int) -> bool:
    found = db.execute(
        "SELECT 1 FROM message_placements AS p JOIN message_keys AS k ON k.id = p.message_id"
        " WHERE p.session_id = ? AND k.session_id = p.session_id LIMIT 1",
        (session_id,),
    ).get
    return found is not None


def _begins(db: apsw.Connection, session_id: int) -> int:
    """The time of the first message that only this session shows; 0 if it has none."""
    found: int | None = db.execute(
        "SELECT min(k.at_ms) FROM message_placements AS p"
        " JOIN message_keys AS k ON k.id = p.message_id"
        " WHERE p.session_id = ? AND (SELECT count(*) FROM message_placements AS o"
        " WHERE o.message_id = p.message_id) = 1",
        (session_id,),
    ).get
    return found or 0
