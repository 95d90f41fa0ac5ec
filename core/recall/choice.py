"""Which of the messages found are shown: one for each lineage, and not what one still knows."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import apsw

from core.recall.asked import Asked
from core.recall.kinds import automatic
from core.store.keys import STATE_BITS, STATE_MASK
from core.types import MessageState

LINEAGES = 10
"""As many are looked for, whatever is to be shown: what comes last must not hide the others."""

_STATES = {bits: state for state, bits in STATE_BITS.items()}


@dataclass(frozen=True, slots=True)
class Chosen:
    """What stands for a lineage: a message of a session, or the session for its title's sake."""

    session_id: int
    message_id: int | None


class Choice:
    """Chooses among hits, in their order, until there are enough lineages.

    What nobody but a clock asked for comes last and does not count.
    """

    def __init__(self, db: apsw.Connection, asked: Asked) -> None:
        self._db = db
        self._asked = asked
        self._automatic = automatic(db, asked.request.sources)
        self._spoken: list[Chosen] = []
        self._by_clock: list[Chosen] = []
        self._roots: set[int] = set()
        self._passed_over: dict[str, set[int]] = {}

    @property
    def is_enough(self) -> bool:
        """True when no more is looked for."""
        return len(self._spoken) >= LINEAGES

    @property
    def chosen(self) -> list[Chosen]:
        """What is to be shown, in order."""
        return [*self._spoken, *self._by_clock][: self._asked.request.limit]

    def left_out(self) -> dict[str, int]:
        """Return how many lineages were found but are not shown, by reason."""
        found = {reason: len(roots - self._roots) for reason, roots in self._passed_over.items()}
        beyond = len(self._spoken) + len(self._by_clock) - len(self.chosen)
        return {reason: n for reason, n in {**found, "beyond_limit": beyond}.items() if n}

    def take(self, hits: Iterable[tuple[int, int]]) -> None:
        """Take hits, as message and the session that shows it, until there is enough."""
        rows = list(hits)
        self._asked.families.learn(session for _, session in rows)
        states = self._states([message for message, _ in rows])
        for message_id, session_id in rows:
            if self.is_enough:
                return
            if message_id in states and self._is_new(session_id):
                state = states[message_id]
                if self._asked.asking.has_before_it(message_id, session_id, state):
                    self._pass_over("current_lineage", session_id)
                else:
                    self._choose(Chosen(session_id, message_id))

    def take_titled(self, session_ids: Iterable[int], most: int = LINEAGES) -> None:
        """Take sessions for their title's sake, at most so many."""
        for session_id in session_ids:
            if most == 0 or self.is_enough:
                return
            if not self._is_new(session_id):
                continue
            if self._asked.asking.is_live(session_id):
                self._pass_over("current_lineage", session_id)
            else:
                self._choose(Chosen(session_id, None))
                most -= 1

    def _is_new(self, session_id: int) -> bool:
        """Tell whether a session may stand for a lineage that has none yet."""
        root = self._asked.families.root(session_id)
        if root in self._roots:
            return False
        kin = self._asked.families.kin(session_id)
        if root in self._asked.excluded:
            self._pass_over("excluded", session_id)
            return False
        if self._automatic.is_hidden(kin.kind, kin.source_id):
            self._pass_over("hidden_kind", session_id)
            return False
        return True

    def _pass_over(self, reason: str, session_id: int) -> None:
        self._passed_over.setdefault(reason, set()).add(self._asked.families.root(session_id))

    def _choose(self, chosen: Chosen) -> None:
        kin = self._asked.families.kin(chosen.session_id)
        is_cron = self._automatic.is_cron(kin.kind, kin.source_id)
        (self._by_clock if is_cron else self._spoken).append(chosen)
        self._roots.add(self._asked.families.root(chosen.session_id))

    def _states(self, ids: list[int]) -> dict[int, MessageState]:
        rows: Any = self._db.execute(
            f"SELECT id, flags & {STATE_MASK} FROM message_keys"
            " WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(ids),),
        )
        return {row: _STATES[state] for row, state in rows}
