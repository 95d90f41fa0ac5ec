"""How many messages an answer is about, and how many it leaves out."""

import apsw

from core.search.in_trash import IN_TRASH, TRASHED, Counts, trash_counts
from core.search.scope import (
    IS_ASIDE,
    IS_LONG,
    ON_REQUEST,
    Scope,
    has_role,
    one_of,
)
from core.search.sql import EVERYTHING, Sql, both
from core.store import keys
from core.store.keys import LONG_FLAG, STATE_BITS, STATE_MASK
from core.types import MessageState, Role


def counted(counts: Counts, scope: Scope) -> int:
    """Return how many messages have the scope's roles and states, wherever they are."""
    return keys.total(counts, roles=scope.roles, states=scope.states)


def searched(db: apsw.Connection, counts: Counts, scope: Scope) -> int:
    """Return how many messages are in the scope.

    Costs nothing where counters tell, the messages in the trash where that alone is left out
    and they were not counted since the last change, else a look at every message.
    """
    if not scope.is_narrowed:
        return counted(counts, scope)
    if scope.filters is EVERYTHING and scope.left_sessions == TRASHED:
        gone = trash_counts(db)
        return counted(counts, scope) - counted(gone.deleted, scope) - counted(gone.held, scope)
    if scope.filters is EVERYTHING:
        return counted(counts, scope) - count(db, scope.left_by_trash)
    return count(db, scope.where)


def count(db: apsw.Connection, where: Sql) -> int:
    """Return how many messages fulfil a condition over message_keys as k."""
    sql = f"SELECT count(*) FROM message_keys AS k WHERE {where.text}"
    return int(db.execute(sql, where.bindings).get)


def left_out(db: apsw.Connection, counts: Counts, scope: Scope) -> dict[str, int]:
    """Return how many messages, by reason, are no part of the scope though they fit it.

    Costs nothing where there are none, and otherwise as many rows as there are.
    """
    found: dict[str, int] = {}
    filters = both(Sql(has_role(scope.roles)), scope.filters)
    for name, state in ON_REQUEST.items():
        if state not in scope.states and keys.total(counts, states=frozenset({state})):
            is_state = Sql(f"(k.flags & {STATE_MASK}) = {STATE_BITS[state]}")
            found[name] = count(db, both(Sql(IS_ASIDE), is_state, filters))
    if MessageState.TRASHED not in scope.states:
        found["trashed"] = _trashed(db, counts, scope, filters)
    found["cut_tails"] = _cut_tails(db, counts, scope)
    return {name: number for name, number in found.items() if number}


def tool_rows(db: apsw.Connection, counts: Counts, scope: Scope) -> int:
    """Return how many tool rows are in the scope: none of them is searched inside words."""
    roles = scope.roles & {Role.TOOL}
    known = keys.total(counts, roles=roles, states=scope.states)
    if not scope.is_narrowed or known == 0:
        return known
    return count(db, both(Sql(has_role(roles)), scope.where))


def _trashed(db: apsw.Connection, counts: Counts, scope: Scope, filters: Sql) -> int:
    """Return how many messages are in the trash, with their sessions or alone."""
    found = 0
    if scope.left_sessions and scope.filters is EVERYTHING:
        found += counted(trash_counts(db).held, scope)
    elif scope.left_sessions:
        shown = Sql(one_of(STATE_MASK, [STATE_BITS[state] for state in scope.states]))
        found += count(db, both(IN_TRASH, shown, filters))
    if keys.total(counts, states=frozenset({MessageState.TRASHED})):
        alone = Sql(f"(k.flags & {STATE_MASK}) = {STATE_BITS[MessageState.TRASHED]}")
        found += count(db, both(Sql(IS_ASIDE), alone, filters))
    return found


def _cut_tails(db: apsw.Connection, counts: Counts, scope: Scope) -> int:
    roles = scope.roles - ({Role.TOOL} if scope.whole_tool_rows else set())
    known = keys.total(counts, roles=roles, states=scope.states, flags=LONG_FLAG)
    if not scope.is_narrowed or known == 0:
        return known
    return count(db, both(Sql(IS_LONG), Sql(has_role(roles)), scope.where))
