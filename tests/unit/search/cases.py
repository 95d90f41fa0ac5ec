"""The recorded cases as stores and questions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import apsw

from core.sources.records import MessageRecord, SessionRecord
from core.store.connection import transaction
from core.types import MessageState, Role, SearchRequest, SessionKind, TitleSource, ToolCall
from tests.unit.store.making import add_source, message, store_messages

FOLDER = Path(__file__).parents[2] / "data" / "cases"


def read(name: str) -> dict[str, dict[str, Any]]:
    lines = (FOLDER / name).read_text().splitlines()
    return {case["id"]: case for case in map(json.loads, lines)}


def store_texts(db: apsw.Connection, texts: dict[str, str]) -> None:
    """One message per entry, all in one session."""
    store_messages(db, *(message(uid, text) for uid, text in texts.items()))


def store_case(db: apsw.Connection, case: dict[str, Any]) -> None:
    """The messages of a peer's case, each with its place in the case as its id."""
    for at, told in enumerate(case["messages"]):
        source = add_source(db, "jsonl", told["source"])
        sessions = (_session(told),)
        store_messages(db, _record(at, told), sessions=sessions, source=source)
    for step in case.get("steps", ()):
        with transaction(db):
            _take(db, step)


def _session(told: dict[str, Any]) -> SessionRecord:
    kind = SessionKind.CRON if told["source"] == "cron" else SessionKind.INTERACTIVE
    started = told.get("started_at")
    return SessionRecord(
        told["session"],
        kind=kind,
        title=told.get("title"),
        title_source=TitleSource.MODEL if "title" in told else TitleSource.NONE,
        started_at_ms=None if started is None else started * 1000,
        updated_at_ms=None if started is None else started * 1000,
    )


def _record(at: int, told: dict[str, Any]) -> MessageRecord:
    calls = tuple(
        ToolCall(call["id"], call["function"]["name"], call["function"]["arguments"])
        for call in told.get("tool_calls", ())
    )
    started = told.get("started_at")
    return message(
        f"m{at}",
        told["content"],
        session=told["session"],
        role=Role(told["role"]),
        tool_name=told.get("tool_name"),
        tool_calls=calls,
        created_at_ms=None if started is None else started * 1000,
    )


def _take(db: apsw.Connection, step: dict[str, Any]) -> None:
    match step:
        case {"delete_session": session}:
            inside = "(SELECT id FROM sessions WHERE native_id = ?)"
            sql = f"DELETE FROM message_placements WHERE session_id IN {inside}"
            db.execute(sql, (session,))
            db.execute(f"DELETE FROM messages WHERE session_id IN {inside}", (session,))
        case {"sql_update": column, "value": value, "message": at}:
            db.execute(f"UPDATE messages SET {column} = ? WHERE uid = ?", (value, f"m{at}"))
        case {"set_flags": {"message": at, "compacted": compacted}}:
            state = MessageState.COMPACTED if compacted else MessageState.REWOUND
            db.execute("UPDATE messages SET state = ? WHERE uid = ?", (state, f"m{at}"))
        case _:
            raise AssertionError(step)


def query_of(case: dict[str, Any]) -> str:
    """The case's query; long ones are described by what they repeat."""
    if "generate" in case:
        return "".join(text * count for text, count in case["generate"]["repeat"])
    return str(case["query"])


def request_of(case: dict[str, Any]) -> SearchRequest:
    filters = case.get("filters", {})
    sources = tuple(filters.get("source_filter", ()))
    if "exclude_sources" in filters:
        told = {each["source"] for each in case["messages"]}
        sources = tuple(sorted(told - set(filters["exclude_sources"])))
    include = frozenset({"rewound"}) if filters.get("include_inactive") else frozenset[str]()
    return SearchRequest(
        query_of(case),
        limit=100,
        sources=sources,
        roles=tuple(Role(role) for role in filters.get("role_filter", ())),
        include=include,
    )
