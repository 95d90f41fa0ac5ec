"""What a list of sessions can be narrowed to: the sources and projects there really are."""

import apsw

from core.store.migrations import schema_version

# A project is where the user moved a session, else the last part of where it ran.
_PROJECTS = """
SELECT project, count(*)
FROM sessions
WHERE trashed_at_ms IS NULL AND project <> ''
GROUP BY project
ORDER BY count(*) DESC, project
"""

_CHANNELS = """
SELECT channel, count(*)
FROM sessions
WHERE trashed_at_ms IS NULL AND channel IS NOT NULL AND channel <> ''
GROUP BY channel
ORDER BY count(*) DESC, channel
"""

_CHANNELS_SINCE = 5

_SOURCES = """
SELECT sources.kind, count(*)
FROM sessions JOIN sources ON sources.id = sessions.source_id
WHERE sessions.trashed_at_ms IS NULL
GROUP BY sources.kind
ORDER BY count(*) DESC, sources.kind
"""


def projects(db: apsw.Connection) -> tuple[tuple[str, int], ...]:
    """Return every project with its number of sessions, the largest first.

    Costs one pass over the index of projects.
    """
    return tuple((str(name), int(count)) for name, count in db.execute(_PROJECTS))


def channels(db: apsw.Connection) -> tuple[tuple[str, int], ...]:
    """Return every channel that sessions were held in (`cli`, `feishu`), with their number.

    Costs one pass over the index of channels. A store of an older schema that is only read
    tells of none.
    """
    if schema_version(db) < _CHANNELS_SINCE:
        return ()
    return tuple((str(name), int(count)) for name, count in db.execute(_CHANNELS))


def sources(db: apsw.Connection) -> tuple[tuple[str, int], ...]:
    """Return every kind of source that has sessions, with their number, the largest first."""
    return tuple((str(kind), int(count)) for kind, count in db.execute(_SOURCES))
