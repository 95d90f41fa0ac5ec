"""What a list of sessions can be narrowed to: the sources and projects there really are."""

from collections import Counter
from collections.abc import Iterable

import apsw

# A project is the last part of the repository, else of the folder, a session ran in.
_PLACES = """
SELECT coalesce(nullif(git_repo_root, ''), cwd) AS place, count(*)
FROM sessions
WHERE trashed_at_ms IS NULL AND place <> ''
GROUP BY place
"""

_SOURCES = """
SELECT sources.kind, count(*)
FROM sessions JOIN sources ON sources.id = sessions.source_id
WHERE sessions.trashed_at_ms IS NULL
GROUP BY sources.kind
ORDER BY count(*) DESC, sources.kind
"""


def projects(db: apsw.Connection) -> tuple[tuple[str, int], ...]:
    """Return every project with its number of sessions, the largest first.

    Costs one pass over `sessions`.
    """
    rows: Iterable[tuple[str, int]] = db.execute(_PLACES)
    counts: Counter[str] = Counter()
    for place, count in rows:
        name = place.rstrip("/\\").replace("\\", "/").rsplit("/", 1)[-1]
        if name:
            counts[name] += count
    return tuple(sorted(counts.items(), key=lambda each: (-each[1], each[0])))


def sources(db: apsw.Connection) -> tuple[tuple[str, int], ...]:
    """Return every kind of source that has sessions, with their number, the largest first."""
    return tuple((str(kind), int(count)) for kind, count in db.execute(_SOURCES))
