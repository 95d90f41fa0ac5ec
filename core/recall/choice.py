"""Which of the messages found are shown: one for each lineage, and not what one still knows."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import apsw

from core.recall.asked import Asked
from core.recall.kinds import automatic
from core.search.lineup import Placed
from core.search.scope import one_of
from core.search.sql import Sql, either
from core.store.keys import KIND_BITS, KIND_MASK, STATE_BITS, STATE_MASK
from core.types import MessageState, SessionKind

LINEAGES = 10
"""As many are looked for, whatever is to be shown: what comes last must not hide the others."""


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
        self._asked = asked
        self._automatic = automatic(db, asked.request.sources)
        self._spoken: list[Chosen] = []
        self._by_clock: list[Chosen] = []
        self._roots: set[int] = set()
        self._passed_over: dict[str, set[int]] = {}
        self._known = _Known()

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

    def take(self, hits: Sequence[Placed]) -> None:
        """Take hits until there is enough."""
        self._asked.families.learn(hit.session_id for hit in hits)
        for hit in hits:
            if self.is_enough:
                return
            session_id = hit.session_id
            if not self._is_new(session_id):
                self._known.add(hit, self._known.sessions)
            elif self._asked.asking.has_before_it(hit.message_id, session_id, hit.state):
                self._pass_over("current_lineage", session_id)
                is_live = self._asked.asking.is_live(session_id)
                self._known.add(hit, self._known.live if is_live else None)
            else:
                self._choose(Chosen(session_id, hit.message_id))
                self._known.add(hit, self._known.sessions)

    def known(self) -> Sql:
        """Return the condition that a hit, as a row of message_keys k, need not be taken again.

        It holds for all that were taken.
        """
        kinds = [KIND_BITS[kind] for kind in self._automatic.hidden_kinds]
        if len(self._by_clock) >= LINEAGES:
            kinds.append(KIND_BITS[SessionKind.CRON])
        return either(Sql(one_of(KIND_MASK, kinds)), *self._known.conditions())

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


class _Known:
    """What was taken already: whole sessions, what is live of some, and single messages."""

    def __init__(self) -> None:
        self.sessions: set[int] = set()
        self.live: set[int] = set()
        self._messages: set[int] = set()

    def add(self, hit: Placed, sessions: set[int] | None) -> None:
        """Note a hit, with its whole session where it is shown in the one that owns it."""
        if sessions is None or hit.session_id != hit.owner_id:
            self._messages.add(hit.message_id)
        else:
            sessions.add(hit.session_id)

    def conditions(self) -> tuple[Sql, ...]:
        """Return what is known, as conditions on a row of message_keys k."""
        is_compacted = f"(k.flags & {STATE_MASK}) = {STATE_BITS[MessageState.COMPACTED]}"
        live = _is_among("k.session_id", self.live)
        return (
            _is_among("k.session_id", self.sessions),
            _is_among("k.id", self._messages),
            Sql(f"({live.text} AND NOT {is_compacted})", live.bindings),
        )


def _is_among(column: str, ids: set[int]) -> Sql:
    return Sql(f"{column} IN (SELECT value FROM json_each(?))", (json.dumps(sorted(ids)),))
