"""Which messages a request is about, as conditions over message_keys, and what it leaves out.

Conditions name message_keys as k and never touch `messages`: joining that for every hit of a
common word costs six times as much (docs/decisions, facts of the prototypes).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import apsw

from core.errors import NotFoundError
from core.history.messages import IS_VISIBLE
from core.search.compile import of_fields
from core.search.in_trash import HALF_DELETED, HAS_LIVE_PLACE, TRASHED, shared_known
from core.search.named import of_places
from core.search.sql import EVERYTHING, Sql, both, places
from core.search.tree import Field, Node, Not
from core.store import keys
from core.store.keys import (
    HAS_CJK_FLAG,
    LONG_FLAG,
    ORIGIN_BITS,
    ORIGIN_MASK,
    ROLE_BITS,
    ROLE_MASK,
    STATE_BITS,
    STATE_MASK,
)
from core.types import MessageState, Origin, Role, SearchRequest

IS_TOOL = f"(k.flags & {ROLE_MASK}) = {ROLE_BITS[Role.TOOL]}"
NOT_TOOL = f"(k.flags & {ROLE_MASK}) <> {ROLE_BITS[Role.TOOL]}"
HAS_CJK = f"(k.flags & {HAS_CJK_FLAG}) <> 0"
NO_CJK = f"(k.flags & {HAS_CJK_FLAG}) = 0"
IS_PLAIN_TOOL = f"(k.flags & {HAS_CJK_FLAG | ROLE_MASK}) = {ROLE_BITS[Role.TOOL]}"
NOT_PLAIN_TOOL = f"(k.flags & {HAS_CJK_FLAG | ROLE_MASK}) <> {ROLE_BITS[Role.TOOL]}"

# These three are the conditions of partial indexes, and have to be written as they are there.
IS_ASIDE = f"(k.flags & {STATE_MASK}) > {STATE_BITS[MessageState.COMPACTED]}"
IS_LONG = f"(k.flags & {LONG_FLAG}) <> 0"
IS_CJK_TOOL = f"(k.flags & {HAS_CJK_FLAG | ROLE_MASK}) = {HAS_CJK_FLAG | ROLE_BITS[Role.TOOL]}"

TIER = (
    f"CASE WHEN (k.flags & {STATE_MASK}) IN"
    f" ({STATE_BITS[MessageState.REWOUND]}, {STATE_BITS[MessageState.HIDDEN]}) THEN 3"
    f" WHEN (k.flags & {ORIGIN_MASK}) IN"
    f" ({ORIGIN_BITS[Origin.INJECTED]}, {ORIGIN_BITS[Origin.SYNTHETIC]}) THEN 2"
    f" WHEN (k.flags & {STATE_MASK}) = {STATE_BITS[MessageState.OFF_BRANCH]} THEN 1 ELSE 0 END"
)
"""SQL for where a hit stands among the hits: spoken, off the branch, injected, taken back."""

_SHOWN = frozenset({MessageState.ACTIVE, MessageState.COMPACTED, MessageState.OFF_BRANCH})
ON_REQUEST = {"rewound": MessageState.REWOUND, "hidden": MessageState.HIDDEN}
"""States that are searched when a request includes them by these names."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What a request is about.

    `where` is the whole condition; `filters` is what of it the user chose: sessions, projects,
    sources, times and fields. `session_ids` are the sessions named, none when all are meant.
    `whole_tool_rows` tells that tool rows are searched to their end. `left_sessions` is SQL
    for the sessions that are out of it, those in the trash; '' where there are none.
    """

    where: Sql
    filters: Sql
    session_ids: tuple[int, ...]
    roles: frozenset[Role]
    states: frozenset[MessageState]
    left_sessions: str
    whole_tool_rows: bool

    @property
    def left_by_trash(self) -> Sql:
        """Return the condition that a message would be in it, were its sessions not left out."""
        states = [STATE_BITS[state] for state in self.states]
        inside = f"k.session_id IN ({self.left_sessions})"
        live = HAS_LIVE_PLACE.format(left=self.left_sessions)
        kept = Sql(f"{one_of(STATE_MASK, states)} AND {has_role(self.roles)}")
        return both(Sql(inside), kept, self.filters, Sql(f"NOT {live}"))

    @property
    def is_narrowed(self) -> bool:
        """True when counters alone do not tell how many messages there are in it."""
        return self.filters is not EVERYTHING or bool(self.left_sessions)

    def holds_for_all(self, counts: Mapping[int, int]) -> bool:
        """Tell whether every message but those superseded is in it; `counts` as keys has them."""
        shown = frozenset(MessageState) - {MessageState.SUPERSEDED}
        is_open = not self.is_narrowed and len(self.roles) == len(Role)
        return is_open and not keys.total(counts, states=shown - self.states)


def scope_of(db: apsw.Connection, request: SearchRequest, fields: tuple[Node, ...] = ()) -> Scope:
    """Return the scope of a request.

    `fields` are trees of nothing but fields that were looked up; all of them are to hold.

    Raises:
        NotFoundError: a session it names is not in the store.
    """
    roles = frozenset(request.roles) or frozenset(Role)
    asked_roles = [role for role in map(_role_of, fields) if role is not None]
    roles = roles.intersection(*asked_roles)
    others = [node for node in fields if _role_of(node) is None]
    asked = frozenset(ON_REQUEST[name] for name in request.include if name in ON_REQUEST)
    states = _SHOWN | asked
    if request.everything:
        states = frozenset(MessageState) - {MessageState.SUPERSEDED}
    with_trash = request.everything or "trash" in request.include
    if with_trash:
        states |= {MessageState.TRASHED}
    left_sessions = HALF_DELETED if with_trash else TRASHED
    if not db.execute(f"SELECT EXISTS ({left_sessions})").get:
        left_sessions = ""
    session_ids = _named(db, request.sessions, left_sessions)
    filters = both(
        _within(session_ids),
        _in_places(db, request),
        _at_times(request.since_ms, request.until_ms),
        *map(_narrowing, others),
    )
    where = both(
        Sql(one_of(STATE_MASK, [STATE_BITS[state] for state in states])),
        EVERYTHING if len(roles) == len(Role) else Sql(has_role(roles)),
        _not_in(db, left_sessions) if left_sessions else EVERYTHING,
        filters,
    )
    whole_tool_rows = (
        Role.TOOL in request.roles
        or "tool" in request.include
        or any(_names_tool_rows(node) for node in fields)
    )
    session_ids = _shown(session_ids, fields)
    return Scope(where, filters, session_ids, roles, states, left_sessions, whole_tool_rows)


def _role_of(node: Node) -> frozenset[Role] | None:
    """Return the roles that a tree of fields asks for, None where it asks for something else."""
    match node:
        case Field(name="role"):
            return frozenset(map(Role, node.values))
        case Not(child=Field(name="role") as field):
            return frozenset(Role) - frozenset(map(Role, field.values))
        case _:
            return None


def _names_tool_rows(node: Node) -> bool:
    return isinstance(node, Field) and node.name == "role" and Role.TOOL in node.values


def _narrowing(node: Node) -> Sql:
    """Return the condition of one of several that all have to hold: a lone field may be NULL."""
    if isinstance(node, Field):
        return node.predicate.narrowing
    return of_fields(node, lambda known: known.row)


def _shown(session_ids: tuple[int, ...], fields: tuple[Node, ...]) -> tuple[int, ...]:
    """Return the sessions to show hits in: of those named the ones that the fields name too."""
    for field in fields:
        if isinstance(field, Field) and field.predicate.sessions:
            named = field.predicate.sessions
            kept = tuple(row for row in session_ids if row in named)
            session_ids = kept or session_ids or named
    return session_ids


def session_in(db: apsw.Connection, scope: Scope, message_id: int, owner: int) -> int:
    """Return the session to show a message in: its owner, or one in the scope that has it."""
    if not scope.session_ids and not scope.left_sessions:
        return owner
    named = places(scope.session_ids)
    is_named = f"p.session_id IN {named.text}" if scope.session_ids else "true"
    is_kept = f"p.session_id NOT IN ({scope.left_sessions})" if scope.left_sessions else "true"
    found = db.execute(
        "SELECT p.session_id FROM message_placements AS p"
        f" WHERE p.message_id = ? AND {is_named} AND {is_kept}"
        " ORDER BY p.session_id <> ?, p.session_id LIMIT 1",
        (message_id, *named.bindings, owner),
    ).get
    return owner if found is None else int(found)


def one_of(mask: int, values: list[int]) -> str:
    """Return SQL that is true for messages whose bits under `mask` are one of `values`."""
    return f"(k.flags & {mask}) IN ({', '.join(map(str, sorted(values)))})"


def has_role(roles: frozenset[Role]) -> str:
    """Return SQL that is true for messages of these roles."""
    return one_of(ROLE_MASK, [ROLE_BITS[role] for role in roles])


def _at_times(since_ms: int | None, until_ms: int | None) -> Sql:
    since = EVERYTHING if since_ms is None else Sql("k.at_ms >= ?", (since_ms,))
    until = EVERYTHING if until_ms is None else Sql("k.at_ms < ?", (until_ms,))
    return both(since, until)


def _not_in(db: apsw.Connection, left_sessions: str) -> Sql:
    """Return the condition that a session beside those left out shows a message.

    Where it is known which few messages such a session shows that belong to one left out, no
    hit in the trash is looked up.
    """
    shared = shared_known(db) if left_sessions == TRASHED else None
    if shared is None:
        live = HAS_LIVE_PLACE.format(left=left_sessions)
    else:
        live = f"k.id IN ({', '.join(map(str, shared))})"
    return Sql(f"(k.session_id NOT IN ({left_sessions}) OR {live})")


def _named(db: apsw.Connection, refs: tuple[str, ...], left_sessions: str) -> tuple[int, ...]:
    left: set[int] = set()
    if left_sessions:
        left = {int(row) for (row,) in db.execute(left_sessions)}
    ids: list[int] = []
    for ref in refs:
        found = [int(row[0]) for row in db.execute(_BY_REF, (ref,)) if row[0] not in left]
        if not found:
            raise NotFoundError(f"no session is named {ref}")
        ids += found
    return tuple(ids)


def _within(session_ids: tuple[int, ...]) -> Sql:
    """Return the condition that a message is shown in one of these sessions."""
    if not session_ids:
        return EVERYTHING
    inside = places(session_ids)
    return Sql(
        f"k.id IN (SELECT message_id FROM message_placements WHERE session_id IN {inside.text})",
        inside.bindings,
    )


_BY_REF = (
    "WITH prefixes(source_id, text) AS (SELECT id, kind || '/' FROM sources"
    " UNION ALL SELECT id, kind || '#' || id || '/' FROM sources)"
    " SELECT id FROM sessions WHERE native_id = ?1 UNION SELECT s.id FROM prefixes AS p"
    " CROSS JOIN sessions AS s ON s.source_id = p.source_id"
    " AND s.native_id = substr(?1, length(p.text) + 1)"
    " WHERE substr(?1, 1, length(p.text)) = p.text"
)


def _in_places(db: apsw.Connection, request: SearchRequest) -> Sql:
    """Return the condition that the owning session is of a source and project asked for."""
    fits = of_places(db, request.sources, request.projects)
    if fits is EVERYTHING:
        return EVERYTHING
    return Sql(
        f"EXISTS (SELECT 1 FROM sessions AS s WHERE s.id = k.session_id AND {fits.text})",
        fits.bindings,
    )


def has_message_at(since_ms: int | None, until_ms: int | None) -> Sql:
    """Return the condition that a session s shows something said in a stretch of time."""
    if since_ms is None and until_ms is None:
        return EVERYTHING
    times = _at_times(since_ms, until_ms)
    return Sql(
        "EXISTS (SELECT 1 FROM message_placements AS p CROSS JOIN message_keys AS k"
        f" ON k.id = p.message_id WHERE p.session_id = s.id AND {IS_VISIBLE} AND {times.text})",
        times.bindings,
    )
