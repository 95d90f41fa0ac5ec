"""Which sessions a list shows by default, counted as they come and go.

Counting 100,000 sessions for every page of a list costs more than the page.
"""

import apsw

from core.types import SessionKind

LISTED_KINDS = (SessionKind.INTERACTIVE, SessionKind.CRON)
"""What lists show unless all kinds are asked for."""


def is_listed(session: str) -> str:
    """Return SQL that is true for sessions shown by default; `session` is a row's alias."""
    kinds = ", ".join(f"'{kind}'" for kind in LISTED_KINDS)
    return (
        f"({session}.trashed_at_ms IS NULL AND {session}.archived_at_ms IS NULL"
        f" AND {session}.kind IN ({kinds}) AND {session}.message_count > 0)"
    )


_MORE = (
    "INSERT INTO session_counts(source_id, listed) VALUES (new.source_id, 1)"
    " ON CONFLICT(source_id) DO UPDATE SET listed = listed + 1"
)
_LESS = "UPDATE session_counts SET listed = listed - 1 WHERE source_id = old.source_id"

TRIGGERS = f"""
CREATE TRIGGER session_counts_ai AFTER INSERT ON sessions WHEN {is_listed("new")}
BEGIN {_MORE}; END;
CREATE TRIGGER session_counts_ad AFTER DELETE ON sessions WHEN {is_listed("old")}
BEGIN {_LESS}; END;
CREATE TRIGGER session_counts_shown AFTER UPDATE ON sessions
  WHEN {is_listed("new")} AND NOT {is_listed("old")}
BEGIN {_MORE}; END;
CREATE TRIGGER session_counts_gone AFTER UPDATE ON sessions
  WHEN {is_listed("old")} AND NOT {is_listed("new")}
BEGIN {_LESS}; END;
"""


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
