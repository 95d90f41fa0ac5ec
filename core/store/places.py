"""The project of a session in SQL, the same as `Session.project`."""


def in_projects(session: str, count: int) -> str:
    """Return SQL that is true for sessions of one of `count` projects, bound as names.

    Args:
        session: the alias of a row of `sessions`.
        count: how many names are bound; each takes its place once.
    """
    place = f"coalesce(nullif({session}.git_repo_root, ''), {session}.cwd, '')"
    path = f"rtrim(replace({place}, '\\', '/'), '/')"
    # What follows the last slash: a path without its trailing non-slashes is its folder.
    name = f"substr({path}, length(rtrim({path}, replace({path}, '/', ''))) + 1)"
    return f"{name} IN ({', '.join('?' * count)})"
