"""The project of a session in SQL, the same as `Session.project`."""

_PLACE = "coalesce(nullif(git_repo_root, ''), cwd, '')"
_PATH = f"rtrim(replace({_PLACE}, '\\', '/'), '/')"

# Stripping a path of every character that is not a slash from its end leaves its folder.
PROJECT = f"substr({_PATH}, length(rtrim({_PATH}, replace({_PATH}, '/', ''))) + 1)"
"""The last part of where a session ran."""

OWN_OR_PROJECT = f"coalesce(nullif(own_project, ''), nullif(told_project, ''), {PROJECT})"
"""The expression of the generated column `sessions.project`: where the user moved it, if so.

Else where its source filed it, else where it ran.
"""


def in_projects(session: str, count: int) -> str:
    """Return SQL that is true for sessions of one of `count` projects, bound as names.

    Args:
        session: the alias of a row of `sessions`.
        count: how many names are bound; each takes its place once.
    """
    return f"{session}.project IN ({', '.join('?' * count)})"
