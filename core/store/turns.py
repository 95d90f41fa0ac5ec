"""How many times a person spoke in the active segment of a session: behind its last reset.

Counted as messages come and go where nothing was reset (`history.tally`), else anew: a reset
session is rare, and its active segment is a walk along the primary key of its places.
"""

import json
from collections.abc import Collection

import apsw

from core.store.keys import (
    ORIGIN_BITS,
    ORIGIN_MASK,
    ROLE_BITS,
    ROLE_MASK,
    STATE_BITS,
    STATE_MASK,
)
from core.types import MessageState, Origin, Role

_VISIBLE = (MessageState.ACTIVE, MessageState.COMPACTED)
_STATES = ", ".join(str(STATE_BITS[state]) for state in _VISIBLE)
BEFORE_ALL = -(1 << 62)
"""Below every position there is."""

IS_RESET = "(reset_cutoff_seq <> 0 OR own_cutoff_seq IS NOT NULL)"
"""SQL that is true for a row of `sessions` of which something lies before a reset."""

ACTIVE_BEHIND = f"CASE WHEN {IS_RESET} THEN reset_cutoff_seq ELSE {BEFORE_ALL} END"
"""SQL over a row of `sessions`: the active segment is what has a `seq` above this.

Positions of some sources begin with 0, so that 0 alone does not tell that nothing was reset.
"""

_IS_SHOWN = f"(k.flags & {STATE_MASK}) IN ({_STATES})"
IS_TURN = (
    f"{_IS_SHOWN} AND (k.flags & {ROLE_MASK}) = {ROLE_BITS[Role.USER]}"
    f" AND (k.flags & {ORIGIN_MASK}) = {ORIGIN_BITS[Origin.HUMAN]}"
)
"""SQL that is true for rows of `message_keys AS k` that a person typed and that are shown."""

_RECOUNT_MESSAGES = (
    "UPDATE sessions SET message_count = (SELECT count(*) FROM message_placements AS p"
    " CROSS JOIN message_keys AS k ON k.id = p.message_id WHERE p.session_id = sessions.id"
    f" AND {_IS_SHOWN}) WHERE id IN (SELECT value FROM json_each(?))"
)
_RECOUNT = (
    "UPDATE sessions SET user_turn_count = (SELECT count(*) FROM message_placements AS p"
    " CROSS JOIN message_keys AS k ON k.id = p.message_id WHERE p.session_id = sessions.id"
    f" AND p.seq > {ACTIVE_BEHIND} AND {IS_TURN})"
    " WHERE id IN (SELECT value FROM json_each(?))"
)


def recount(db: apsw.Connection, session_ids: Collection[int]) -> None:
    """Count the prompts of these sessions anew, in the caller's transaction."""
    if session_ids:
        db.execute(_RECOUNT, (json.dumps(list(session_ids)),))


def recount_all(db: apsw.Connection, session_ids: Collection[int]) -> None:
    """Count the messages and the prompts of these sessions anew, in the caller's transaction."""
    if session_ids:
        db.execute(_RECOUNT_MESSAGES, (json.dumps(list(session_ids)),))
        recount(db, session_ids)


def recount_reset(db: apsw.Connection, session_ids: Collection[int]) -> None:
    """Count anew in those of the sessions of which something lies before a reset."""
    rows = db.execute(
        f"SELECT id FROM sessions WHERE id IN (SELECT value FROM json_each(?)) AND {IS_RESET}",
        (json.dumps(list(session_ids)),),
    )
    recount(db, [row for (row,) in rows])
