"""Which sessions are too old to stay, lineage by lineage: reading alone, in one pass."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import apsw

RUNNING_MS = 86_400_000
"""A session that no source says has ended is running while it was active within this time."""


Row = tuple[int, int | None, int, int, int]
"""A session: its row, when it was last active, messages, whether it is pinned, has no end.

A bare tuple as SQLite returns it: naming the fields of 100,000 of them costs 0.1 s.
"""


@dataclass(slots=True)
class Sorted:
    """Sessions by what becomes of them. Those that are young are in none of the counts."""

    going: list[Row] = field(default_factory=list)
    kept_pinned: int = 0
    kept_running: int = 0
    kept_by_lineage: int = 0
    kept_without_time: int = 0


class _Family:
    """What keeps a lineage: a member that is pinned, running, young or without a time."""

    __slots__ = ("is_pinned", "is_running", "is_young")

    def __init__(self) -> None:
        self.is_pinned = self.is_running = self.is_young = False


def live_rows(db: apsw.Connection, source_ids: Sequence[int]) -> list[Row]:
    """Return the sessions of these sources that are not in the trash, in the order of rows."""
    among = ", ".join(map(str, source_ids))
    rows: list[Any] = db.execute(
        "SELECT id, last_active_at_ms, message_count, pinned_at_ms IS NOT NULL,"
        f" end_reason IS NULL FROM sessions WHERE trashed_at_ms IS NULL AND source_id IN ({among})"
        " ORDER BY id"
    ).fetchall()
    return rows


def families(db: apsw.Connection, source_ids: Sequence[int]) -> dict[int, int]:
    """Return the lineage of each session that has relatives: a number that those share.

    Whoever names the same parent is related, be the parent stored, in the trash or deleted.
    """
    among = ", ".join(map(str, source_ids))
    pairs: Iterable[Any] = db.execute(
        "SELECT c.id, p.id, c.source_id, CASE WHEN p.id IS NULL THEN c.parent_native_id END"
        " FROM sessions AS c LEFT JOIN sessions AS p ON p.source_id = c.source_id"
        " AND p.native_id = c.parent_native_id"
        f" WHERE c.parent_native_id IS NOT NULL AND c.source_id IN ({among})"
    )
    parents: dict[int, int] = {}
    missing: dict[tuple[int, str], int] = {}
    for child, parent, source_id, name in pairs:
        if parent is None:
            parent = missing.setdefault((source_id, name), -1 - len(missing))
        _join(parents, child, parent)
    return {row: _root(parents, row) for row in parents if row > 0}


def sort(rows: Sequence[Row], related: dict[int, int], cutoff_ms: int, now_ms: int) -> Sorted:
    """Tell which sessions go: older than `cutoff_ms` to the last member of their lineage.

    A lineage with a member that is pinned, running, or of unknown age stays whole.
    """
    running_since = now_ms - RUNNING_MS
    kept = _families_kept(rows, related, cutoff_ms, running_since) if related else {}
    found = Sorted()
    for row in rows:
        session_id, last_ms, _, is_pinned, is_open = row
        if last_ms is None:
            found.kept_without_time += 1
            continue
        if last_ms >= cutoff_ms:
            continue
        facts = kept[related[session_id]] if session_id in related else None
        if is_pinned or (facts and facts.is_pinned):
            found.kept_pinned += 1
        elif (is_open and last_ms >= running_since) or (facts and facts.is_running):
            found.kept_running += 1
        elif facts and facts.is_young:
            found.kept_by_lineage += 1
        else:
            found.going.append(row)
    return found


def _families_kept(
    rows: Sequence[Row], related: dict[int, int], cutoff_ms: int, running_since: int
) -> dict[int, _Family]:
    """Return what keeps each lineage."""
    kept: dict[int, _Family] = {}
    for session_id, last_ms, _, is_pinned, is_open in rows:
        family = related.get(session_id)
        if family is None:
            continue
        member = kept.get(family)
        if member is None:
            member = kept[family] = _Family()
        if is_pinned:
            member.is_pinned = True
        if last_ms is None or last_ms >= cutoff_ms:
            member.is_young = True
        if is_open and last_ms is not None and last_ms >= running_since:
            member.is_running = True
    return kept


def messages_of(rows: Iterable[Row]) -> int:
    """Return how many messages the sessions have together."""
    return sum([row[2] for row in rows])


def _join(parents: dict[int, int], one: int, other: int) -> None:
    one, other = _root(parents, one), _root(parents, other)
    if one != other:
        parents[one] = other


def _root(parents: dict[int, int], row: int) -> int:
    root = row
    while (above := parents.setdefault(root, root)) != root:
        root = above
    while parents[row] != root:
        parents[row], row = root, parents[row]
    return root
