"""What came of the calls that messages make, where a record of its own tells it."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import apsw

from core.history.bodies import read_calls
from core.types import Message, Role, ToolCall, ToolStatus

_NEAR = 8
"""How many messages beyond the number of its calls are looked at behind a message."""


def with_outcomes(
    db: apsw.Connection, session_id: int, messages: Iterable[Message]
) -> tuple[Message, ...]:
    """Return messages of a session, in order, whose calls have the outcome that results tell.

    A source that keeps a result as a record of its own tells there how a call ended, and the
    call itself is of unknown outcome. Results that are not among the messages are looked for
    right behind them; a call that has none stays as it is. Ids are used again in some sources,
    so the first result behind a call is its own.

    Cost: some 30 µs for each message with calls whose results are not among the messages.
    """
    found = list(messages)
    for n, each in enumerate(found):
        open_ids = {call.id for call in each.tool_calls if _is_open(call.status) and call.id}
        if not open_ids:
            continue
        told = _told(found[n + 1 :], open_ids)
        if open_ids - told.keys():
            told = _told_behind(db, session_id, each, open_ids) | told
        calls = (
            replace(call, status=told[call.id])
            if call.id in told and _is_open(call.status)
            else call
            for call in each.tool_calls
        )
        found[n] = replace(each, tool_calls=tuple(calls))
    return tuple(found)


def _is_open(status: ToolStatus) -> bool:
    return status in (ToolStatus.UNKNOWN, ToolStatus.PENDING)


def _told(behind: Iterable[Message], ids: set[str]) -> dict[str, ToolStatus]:
    steps = (
        (each.tool_calls, each.tool_call_id, each.tool_status if each.role is Role.TOOL else None)
        for each in behind
    )
    return _first(steps, ids)


def _told_behind(
    db: apsw.Connection, session_id: int, message: Message, ids: set[str]
) -> dict[str, ToolStatus]:
    rows: list[Any] = db.execute(
        "SELECT m.tool_calls, m.tool_call_id, CASE m.role WHEN 'tool' THEN m.tool_status END FROM"
        " (SELECT message_id FROM message_placements WHERE session_id = ?1 AND seq > ?2"
        " ORDER BY seq LIMIT ?3) AS p CROSS JOIN messages AS m ON m.id = p.message_id",
        (session_id, message.seq, len(message.tool_calls) + _NEAR),
    ).fetchall()
    steps = ((read_calls(calls), of, ToolStatus(how) if how else None) for calls, of, how in rows)
    return _first(steps, ids)


def _first(
    steps: Iterable[tuple[tuple[ToolCall, ...], str | None, ToolStatus | None]], ids: set[str]
) -> dict[str, ToolStatus]:
    """Return the first outcome of each call, up to where another call has its id."""
    told: dict[str, ToolStatus] = {}
    wanted = set(ids)
    for calls, of, how in steps:
        wanted -= {call.id for call in calls if call.id}
        if of in wanted and how is not None:
            told[of] = how
            wanted.discard(of)
        if not wanted:
            break
    return told
