"""Which sessions a list shows by default, counted as they come and go.

Counting 100,000 sessions for every page of a list costs more than the page.
"""

import apsw

from core.types import SessionKind

LISTED_KINDS = (SessionKind.INTERACTIVE, SessionKind.CRON)
"""What lists show unless all kinds are asked for."""


_SINCE_SCHEMA = 5


def has_something(session: str, schema: int) -> str:
    """Return SQL that is true for sessions worth a line: with messages, or cleared by the user."""
    if schema < _SINCE_SCHEMA:
        return f"{session}.message_count > 0"
    return f"({session}.message_count > 0 OR {session}.cleared_at_ms IS NOT NULL)"


def is_listed(session: str, schema: int = _SINCE_SCHEMA) -> str:
    """Return SQL that is true for sessions shown by default; `session` is a row's alias."""
    kinds = ", ".join(f"'{kind}'" for kind in LISTED_KINDS)
    return (
        f"({session}.trashed_at_ms IS NULL AND {session}.archived_at_ms IS NULL"
        f" AND {session}.kind IN ({kinds}) AND {has_something(session, schema)})"
    )


_MORE = (
    "INSERT INTO session_counts(source_id, listed) VALUES (new.source_id, 1)"
    " ON CONFLICT(source_id) DO UPDATE SET listed = listed + 1"
)
_LESS = "UPDATE session_counts SET listed = listed - 1 WHERE source_id = old.source_id"


def _triggers(schema: int) -> str:
    new, old = is_listed("new", schema), is_listed("old", schema)
    return f"""
CREATE TRIGGER session_counts_ai AFTER INSERT ON sessions WHEN {new}
BEGIN {_MORE}; END;
CREATE TRIGGER session_counts_ad AFTER DELETE ON sessions WHEN {old}
BEGIN {_LESS}; END;
CREATE TRIGGER session_counts_shown AFTER UPDATE ON sessions
  WHEN {new} AND NOT {old}
BEGIN {_MORE}; END;
CREATE TRIGGER session_counts_gone AFTER UPDATE ON sessions
  WHEN {old} AND NOT {new}
BEGIN {_LESS}; END;
"""


TRIGGERS = _triggers(1)
"""As they were first made, before a session could be cleared."""

TRIGGERS_WITH_CLEARED = "".join(
    f"DROP TRIGGER session_counts_{name};\n" for name in ("ai", "ad", "shown", "gone")
) + _triggers(_SINCE_SCHEMA)
"""Makes them anew for a schema that knows of cleared sessions."""


def listed_count(db: apsw.Connection, kinds: tuple[str, ...] = ()) -> int:
    """Return how many sessions are shown by default, of sources of these kinds if any."""
    only = f"kind IN ({', '.join('?' * len(kinds))})" if kinds else "true"
    return int(
        db.execute(
            "SELECT coalesce(sum(listed), 0) FROM session_counts"
            f" WHERE source_id IN (SELECT id FROM sources WHERE {only})",
            kinds,
        ).get
    )


def count_anew(db: apsw.Connection) -> None:
    """Make `session_counts` anew from the sessions, in the caller's transaction."""
    db.execute("DELETE FROM session_counts")
    db.execute(
        "INSERT INTO session_counts(source_id, listed)"
        f" SELECT source_id, count(*) FROM sessions AS s WHERE {is_listed('s')} GROUP BY source_id"
    )
