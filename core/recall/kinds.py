"""Sessions that nobody held: which of them recall leaves out, and which come last."""

from dataclasses import dataclass

import apsw

from core.types import SessionKind

HIDDEN_KINDS = (SessionKind.SUBAGENT, SessionKind.TOOL, SessionKind.KANBAN)
"""Left out unless they are named among the sources."""


@dataclass(frozen=True, slots=True)
class Automatic:
    """What of a store no person held, by the kind of a session or the name of its source.

    `hidden_kinds` and `hidden_sources` (rows of `sources`) are left out.
    """

    hidden_kinds: tuple[SessionKind, ...]
    hidden_sources: frozenset[int]
    cron_sources: frozenset[int]

    def is_hidden(self, kind: SessionKind, source_id: int) -> bool:
        """Tell whether sessions of this kind and source are left out."""
        return kind in self.hidden_kinds or source_id in self.hidden_sources

    def is_cron(self, kind: SessionKind, source_id: int) -> bool:
        """Tell whether nobody but a clock started sessions of this kind and source."""
        return kind == SessionKind.CRON or source_id in self.cron_sources


def automatic(db: apsw.Connection, names: tuple[str, ...]) -> Automatic:
    """Return what is left out of a store; `names` are the sources asked for.

    A name is that of a kind of session, or of a source: its kind, instance or display name.
    """
    hidden, cron = set[int](), set[int]()
    for row, *called in db.execute("SELECT id, kind, instance, display_name FROM sources"):
        if set(called).isdisjoint(names) and not set(called).isdisjoint(HIDDEN_KINDS):
            hidden.add(row)
        if SessionKind.CRON in called:
            cron.add(row)
    kinds = tuple(kind for kind in HIDDEN_KINDS if kind not in names)
    return Automatic(kinds, frozenset(hidden), frozenset(cron))
