"""What was worked on last, a conversation with all its continuations as one."""

from collections.abc import Iterator
from typing import Any

import apsw

from core.history.messages import IS_VISIBLE
from core.history.sessions import session_by_id
from core.recall.asked import Asked
from core.recall.kinds import automatic
from core.recall.link import link
from core.search.named import of_places
from core.search.scope import has_role
from core.search.snippet import make_snippet
from core.search.sql import EVERYTHING, Sql, both
from core.store.deadline import Deadline
from core.store.keys import ORIGIN_BITS, ORIGIN_MASK
from core.types import Origin, RecallRequest, RecallResult, Role, Session

PREVIEW_CHARS = 60
AHEAD = 15
"""So many sessions more than are wanted are looked at in one go."""

LEAST_CANDIDATES, MOST_CANDIDATES = 128, 2_048

_LISTED = "s.trashed_at_ms IS NULL AND s.archived_at_ms IS NULL AND s.message_count > 0"
_IS_PERSON = f"(k.flags & {ORIGIN_MASK}) = {ORIGIN_BITS[Origin.HUMAN]}"
_FIRST = (
    "SELECT substr(m.content, 1, 1000) FROM message_placements AS p"
    " CROSS JOIN message_keys AS k ON k.id = p.message_id"
    " CROSS JOIN messages AS m ON m.id = p.message_id"
    f" WHERE p.session_id = ? AND {IS_VISIBLE} AND {has_role(frozenset({Role.USER}))}"
    f" AND {{origin}} AND m.content <> '' ORDER BY p.seq, p.message_id LIMIT 1"
)


class Browsing:
    """A walk over the sessions, the last active first.

    Attributes:
        results: what was found so far; meant to be looked at after an interruption too.
    """

    def __init__(self, db: apsw.Connection, asked: Asked) -> None:
        self.results: list[RecallResult] = []
        self._left_out: dict[str, set[int]] = {}
        self._db = db
        self._asked = asked
        self._automatic = automatic(db, asked.request.sources)
        self._seen: set[int] = set()

    @property
    def left_out(self) -> dict[str, int]:
        """How many lineages were passed over, by reason."""
        shown = {self._asked.families.root(result.session.id) for result in self.results}
        found = {reason: len(roots - shown) for reason, roots in self._left_out.items()}
        return {reason: n for reason, n in found.items() if n}

    def run(self, limit: Deadline) -> bool:
        """Find as many sessions as are wanted, or all there are among the candidates.

        Returns:
            Whether there was time for it; `results` holds what there is.
        """
        for candidate in self._candidates():
            if len(self.results) == self._asked.request.limit:
                return True
            if limit.remaining_s <= 0:
                return False
            shown = self._shown(candidate)
            if shown is not None:
                self.results.append(self._result(shown))
        return limit.remaining_s > 0

    def _candidates(self) -> Iterator[int]:
        """Yield the rows of sessions one may see, the last active first, at most so many.

        They are read by the page, so that no statement is left under way between two.
        """
        request = self._asked.request
        most = min(max(LEAST_CANDIDATES, 8 * request.limit), MOST_CANDIDATES)
        places = of_places(self._db, request.sources, request.projects)
        # A condition that SQLite sees to be false would leave it no use for the index.
        placed = Sql(f"CASE WHEN {places.text} THEN true ELSE false END", places.bindings)
        fits = both(Sql(_LISTED), _within_times(request), placed)
        for start in range(0, most, request.limit + AHEAD):
            rows: Any = self._db.execute(
                "SELECT s.id FROM sessions AS s INDEXED BY sessions_by_activity"
                f" WHERE {fits.text} ORDER BY s.last_active_at_ms DESC, s.id DESC"
                " LIMIT ? OFFSET ?",
                (*fits.bindings, request.limit + AHEAD, start),
            ).fetchall()
            ids = [row for (row,) in rows]
            self._asked.families.learn(ids)
            yield from ids
            if len(ids) < request.limit + AHEAD:
                return

    def _shown(self, session_id: int) -> Session | None:
        """Return the session that stands for a candidate's conversation, if it is to be shown."""
        families, asking = self._asked.families, self._asked.asking
        beginning = families.beginning(session_id)
        root, reason = families.root(session_id), ""
        if beginning in self._seen:
            return None
        if root in self._asked.excluded:
            reason = "excluded"
        elif self._is_hidden(session_id):
            reason = "hidden_kind"
        elif beginning == asking.beginning:
            reason = "current_lineage"
        if reason:
            self._left_out.setdefault(reason, set()).add(root)
            return None
        self._seen.add(beginning)
        tip = session_by_id(self._db, families.tip(session_id))
        is_listed = tip.archived_at_ms is None and tip.message_count > 0
        if is_listed and not self._is_hidden(tip.id):
            return tip
        return session_by_id(self._db, session_id)

    def _is_hidden(self, session_id: int) -> bool:
        kin = self._asked.families.kin(session_id)
        return self._automatic.is_hidden(kin.kind, kin.source_id)

    def _result(self, session: Session) -> RecallResult:
        return RecallResult(
            session=session,
            lineage=self._asked.root_ref(session),
            link=link(session),
            preview=preview(self._db, session),
        )


def preview(db: apsw.Connection, session: Session) -> str:
    """Return how a session begins, on one line: what a person asked first, else anything."""
    for origin in (_IS_PERSON, "true"):
        found = db.execute(_FIRST.format(origin=origin), (session.id,)).get
        if found is not None:
            line = make_snippet((), [found]).text
            return line if len(line) <= PREVIEW_CHARS else f"{line[: PREVIEW_CHARS - 1]}…"
    return ""


def _within_times(request: RecallRequest) -> Sql:
    since, until = request.since_ms, request.until_ms
    return both(
        EVERYTHING if since is None else Sql("s.last_active_at_ms >= ?", (since,)),
        EVERYTHING if until is None else Sql("s.last_active_at_ms < ?", (until,)),
    )
