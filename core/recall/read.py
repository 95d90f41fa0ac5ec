"""Reading a session from its start: its first messages and its last ones."""

import apsw

from core.history.segments import active_behind
from core.history.sessions import session_by_ref
from core.recall.asked import Asked
from core.recall.caps import capped
from core.recall.link import link
from core.recall.window import opening
from core.types import RecallResult

FIRST, LAST = 20, 10
"""How many messages are shown from each end."""


def read(db: apsw.Connection, asked: Asked, ref: str) -> RecallResult:
    """Return how a session begins and how it ends, what was compacted included.

    Where the active segment is asked for, how that begins and ends.

    Raises:
        NotFoundError: no session has this name.
        AmbiguousError: several have.
    """
    session = session_by_ref(db, ref)
    behind = active_behind(db, session.id) if asked.request.active else None
    ends = opening(db, session.id, FIRST, LAST, behind=behind)
    first, last = (tuple(map(capped, side)) for side in (ends.opening, ends.resolution))
    return RecallResult(
        session=session,
        lineage=asked.root_ref(session),
        link=link(session),
        opening=first,
        resolution=last,
        before=session.message_count - ends.total,
        after=ends.total - len(first) - len(last),
        is_whole=True,
    )
