"""Values that tests of models and views are built from."""

from core.types import (
    INDEX_NAMES,
    Hit,
    IndexStatus,
    MessageState,
    Origin,
    Role,
    SearchPath,
    SearchResult,
    Session,
    SessionKind,
    TitleSource,
)

DAY_MS = 86_400_000
NOON_MS = 1_764_417_600_000  # 29 Nov 2025, 12:00 UTC


def session(row: int, *, days_ago: int = 0, title: str = "", **changes) -> Session:
    """A session whose last message is `days_ago` days before 29 Nov 2025, noon."""
    at_ms = NOON_MS - days_ago * DAY_MS
    values = {
        "id": row,
        "ref": f"s{row}",
        "source": "codex",
        "native_id": f"s{row}",
        "kind": SessionKind.INTERACTIVE,
        "title": title or f"Conversation {row}",
        "title_source": TitleSource.USER,
        "model": "gpt-5-codex",
        "cwd": "/home/dev/feed-reader",
        "git_repo_root": None,
        "git_branch": None,
        "started_at_ms": at_ms - 3_600_000,
        "last_active_at_ms": at_ms,
        "message_count": 4,
        "user_turn_count": 2,
    }
    return Session(**(values | changes))


def hit(row: int, snippet: str, *marks: tuple[int, int], session_id: int = 1) -> Hit:
    """A hit of the user in session `session_id`."""
    return Hit(
        row,
        session_id,
        f"m{row}",
        f"s{session_id}",
        "codex",
        Role.USER,
        MessageState.ACTIVE,
        Origin.HUMAN,
        NOON_MS,
        "",
        snippet,
        marks,
        None,
        "cjk",
    )


def result(path: SearchPath = "cjk", **changes) -> SearchResult:
    """An answer without hits over 1,204 messages, every index whole."""
    whole = {name: IndexStatus(name, "ready", 1.0, 1204, 0, 0, None, "") for name in INDEX_NAMES}
    values = {
        "query": "电影退订",
        "understood": "电影退订",
        "repairs": (),
        "search_path": path,
        "why": "the CJK index holds every row",
        "elapsed_ms": 1.42,
        "complete": True,
        "reason": None,
        "total_hits": 0,
        "total_is_exact": True,
        "ranked_scope": None,
        "messages_searched": 1204,
        "not_searched": {},
        "index_status": whole,
        "hits": (),
    }
    return SearchResult(**(values | changes))
