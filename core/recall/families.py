"""Which sessions are one lineage, and what of it is still before the session that asks.

A lineage is a session with all that continues, branches, forks or was delegated from it. A
reset begins a new one: a new conversation in the same chat, without what was said before.
Sessions in the trash are of no family: it is as if they were deleted.
"""

import json
from collections.abc import Callable, Iterable
from typing import NamedTuple

import apsw

from core.store.keys import STATE_BITS, STATE_MASK
from core.types import MessageState, Relation, SessionKind

MOST_HOPS = 1_000
"""So far a line of parents is followed; what is further up counts as another lineage."""

_ENDED = frozenset(  # the session was left behind: compacted, or started anew (Hermes' words)
    {
        "compression",
        "daily",
        "idle",
        "new_session",
        "resume_pending_expired",
        "session_reset",
        "session_switch",
        "suspended",
    }
)
_LEFT_BEHIND = (Relation.CONTINUATION, Relation.RESET)

_KIN = (
    "SELECT c.id, p.id, c.relation, c.end_reason, c.kind, c.source_id"
    " FROM json_each(?) AS j CROSS JOIN sessions AS c ON c.id = j.value"
    " LEFT JOIN sessions AS p ON p.source_id = c.source_id"
    " AND p.native_id = c.parent_native_id AND p.trashed_at_ms IS NULL"
)
_CHILDREN = (
    "SELECT c.id FROM sessions AS s CROSS JOIN sessions AS c"
    " ON c.source_id = s.source_id AND c.parent_native_id = s.native_id"
    " WHERE s.id = ? AND c.relation IN ({relations}) AND c.trashed_at_ms IS NULL"
    " ORDER BY c.started_at_ms DESC, c.id DESC"
)


class Kin(NamedTuple):
    """What a session's row says of its family."""

    parent: int | None
    relation: str | None
    end_reason: str | None
    kind: SessionKind
    source_id: int


class Families:
    """The families of one store while it stays as it is; each session is looked up once."""

    def __init__(self, db: apsw.Connection) -> None:
        self.db = db
        self._kin: dict[int, Kin] = {}
        self._roots: dict[int, int] = {}
        self._left_behind: dict[int, bool] = {}

    def learn(self, ids: Iterable[int]) -> None:
        """Look up these sessions and all above them, a statement for each generation."""
        unknown = {each for each in ids if each not in self._kin}
        for _ in range(MOST_HOPS):
            if not unknown:
                return
            rows = self.db.execute(_KIN, (json.dumps(sorted(unknown)),))
            for row, parent, relation, end_reason, kind, source_id in rows:
                self._kin[row] = Kin(parent, relation, end_reason, SessionKind(kind), source_id)
            found = (self._kin[row].parent for row in unknown if row in self._kin)
            unknown = {row for row in found if row is not None and row not in self._kin}

    def kin(self, session_id: int) -> Kin:
        """Return what is known of a session of the store."""
        self.learn([session_id])
        return self._kin[session_id]

    def root(self, session_id: int) -> int:
        """Return the session that a lineage is known by: its oldest, or one of a circle."""
        found = self._roots.get(session_id)
        if found is None:
            line = self._line(session_id, lambda relation: relation != Relation.RESET)
            found = self._roots[session_id] = line
        return found

    def beginning(self, session_id: int) -> int:
        """Return where a conversation begins: up along what each session continues."""
        return self._line(session_id, lambda relation: relation == Relation.CONTINUATION)

    def tip(self, session_id: int) -> int:
        """Return where a conversation stands now: down along what continues it, the newest."""
        seen = {session_id}
        while len(seen) < MOST_HOPS:
            following = [
                child
                for child in self._children(session_id, (Relation.CONTINUATION,))
                if child not in seen
            ]
            if not following:
                break
            session_id = following[0]
            seen.add(session_id)
        return session_id

    def is_left_behind(self, session_id: int) -> bool:
        """Tell whether a session's text is before nobody any more: compacted away, or reset."""
        found = self._left_behind.get(session_id)
        if found is None:
            is_ended = self.kin(session_id).end_reason in _ENDED
            found = is_ended or bool(self._children(session_id, _LEFT_BEHIND))
            self._left_behind[session_id] = found
        return found

    def _children(self, session_id: int, relations: tuple[Relation, ...]) -> list[int]:
        sql = _CHILDREN.format(relations=", ".join("?" * len(relations)))
        return [row[0] for row in self.db.execute(sql, (session_id, *relations))]

    def _line(self, session_id: int, follows: Callable[[str | None], bool]) -> int:
        """Return the end of the line up from a session; of a circle its lowest row."""
        self.learn([session_id])
        passed = {session_id: 0}
        while len(passed) <= MOST_HOPS:
            kin = self._kin.get(session_id)
            if kin is None or kin.parent is None or not follows(kin.relation):
                break
            session_id = kin.parent
            if session_id in passed:
                return min(row for row, at in passed.items() if at >= passed[session_id])
            passed[session_id] = len(passed)
        return session_id


class Asking:
    """The session that asks, and so what must not be told to it again."""

    def __init__(self, db: apsw.Connection, families: Families, session_id: int | None) -> None:
        self._db = db
        self._families = families
        self.session_id = session_id
        self.root = None if session_id is None else families.root(session_id)
        self.beginning = None if session_id is None else families.beginning(session_id)

    def is_kin(self, session_id: int) -> bool:
        """Tell whether a session is of the lineage that asks."""
        return self.root is not None and self._families.root(session_id) == self.root

    def is_live(self, session_id: int) -> bool:
        """Tell whether a session as a whole is taken to be before the one that asks.

        So are itself, what it branched from or was delegated by, and what it delegated or
        branched off; not what was compacted away or reset.
        """
        if not self.is_kin(session_id):
            return False
        return session_id == self.session_id or not self._families.is_left_behind(session_id)

    def has_before_it(self, message_id: int, session_id: int, state: MessageState) -> bool:
        """Tell whether a message of a session is taken to be before the one that asks."""
        if not self.is_kin(session_id) or state == MessageState.COMPACTED:
            return False
        return self.is_live(session_id) or self._is_copied(message_id)

    def _is_copied(self, message_id: int) -> bool:
        """Tell whether the session that asks shows the message itself: a branch copies."""
        found = self._db.execute(
            "SELECT EXISTS (SELECT 1 FROM message_placements AS p JOIN message_keys AS k"
            " ON k.id = p.message_id WHERE p.message_id = ? AND p.session_id = ?"
            f" AND (k.flags & {STATE_MASK}) = {STATE_BITS[MessageState.ACTIVE]})",
            (message_id, self.session_id),
        ).get
        return bool(found)
