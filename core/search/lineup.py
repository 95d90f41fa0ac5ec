"""The hits of a search one after the other, for who wants few of very many.

Whoever looks for conversations takes one hit of each. A page of hits may be of one talkative
session alone, and paging through them would cost a search for each page; so the hits that
follow can be asked for without what is known already.
"""

import json
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import apsw

from core.search.attempts import Attempt, Attempts
from core.search.found import Found
from core.search.hits import read_hits
from core.search.scope import session_in
from core.search.sql import Sql, both
from core.store.deadline import Deadline
from core.store.keys import STATE_BITS, STATE_MASK
from core.types import Hit, MessageState

HITS_AT_ONCE = 100

_STATES = {bits: state for state, bits in STATE_BITS.items()}


class Placed(NamedTuple):
    """A hit before it is read: a message, who owns it, and the session to show it in."""

    message_id: int
    owner_id: int
    session_id: int
    state: MessageState


class Lineup:
    """What answered a request for `HITS_AT_ONCE` hits, to be asked for more of them.

    Attributes:
        goes_on: whether there are more hits than were returned last.
    """

    def __init__(
        self, db: apsw.Connection, attempts: Attempts, attempt: Attempt, where: Sql
    ) -> None:
        self._db = db
        self._attempts = attempts
        self._attempt = attempt
        self._where = where
        self._found = {each.message_id: each for each in attempt.collector.result.found}
        self.goes_on = attempts.is_complete and len(self._found) > HITS_AT_ONCE

    def first(self) -> list[Placed]:
        """Return the first hits, in the order asked for."""
        return self._placed(self._attempt.collector.result.found)

    def further(self, without: Sql) -> list[Placed]:
        """Return the first of those hits for which `without`, over message_keys k, is false.

        Costs what finding and ranking costs, whatever their number; no total is counted.
        """
        where = both(self._where, Sql(f"NOT ({without.text})", without.bindings))
        found = self._attempts.narrowed(self._attempt, where, HITS_AT_ONCE + 1)
        self._found |= {each.message_id: each for each in found}
        self.goes_on = len(found) > HITS_AT_ONCE
        return self._placed(found)

    def hits(self, message_ids: Iterable[int]) -> dict[int, Hit]:
        """Return hits that were found, as a search shows them, by their message."""
        found = [self._found[each] for each in message_ids]
        read = read_hits(self._db, found, self._attempt.sought, self._attempts.scope)
        return {hit.message_id: hit for hit in read}

    def _placed(self, found: list[Found]) -> list[Placed]:
        """Return where hits are shown; those of a session in the trash, where they are not."""
        order = {each.message_id: at for at, each in enumerate(found)}
        rows: Any = self._db.execute(
            f"SELECT k.id, k.session_id, k.flags & {STATE_MASK}, s.trashed_at_ms IS NOT NULL"
            " FROM json_each(?) AS j CROSS JOIN message_keys AS k ON k.id = j.value"
            " CROSS JOIN sessions AS s ON s.id = k.session_id",
            (json.dumps(list(order)),),
        )
        scope = self._attempts.scope
        placed = [
            Placed(
                message_id,
                owner,
                session_in(self._db, scope, message_id, owner) if is_trashed else owner,
                _STATES[state],
            )
            for message_id, owner, state, is_trashed in rows.fetchall()
        ]
        return sorted(placed, key=lambda each: order[each.message_id])


Walk = Callable[[Lineup, Deadline], None]
"""What is done with a lineup before the deadline is over; it minds an interruption itself."""
