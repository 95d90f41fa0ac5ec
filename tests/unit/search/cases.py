"""The recorded cases as stores and questions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import apsw

from core.history.tombstones import mac, make_key
from core.sources.records import MessageRecord, SessionRecord
from core.store.connection import transaction
from core.types import (
    MessageState,
    Origin,
    Relation,
    Role,
    SearchRequest,
    SessionKind,
    TitleSource,
    ToolCall,
)
from tests.unit.store.making import add_source, message, store_messages

NOW_MS = 1_795_000_000_000
"""The present of the cases that tell how old a session is."""

FOLDER = Path(__file__).parents[2] / "data" / "cases"


def read(name: str) -> dict[str, dict[str, Any]]:
    lines = (FOLDER / name).read_text().splitlines()
    return {case["id"]: case for case in map(json.loads, lines)}


def store_texts(db: apsw.Connection, texts: dict[str, str]) -> None:
    """One message per entry, all in one session."""
    store_messages(db, *(message(uid, text) for uid, text in texts.items()))


def store_case(db: apsw.Connection, case: dict[str, Any]) -> None:
    """The messages of a peer's case, each with its place in the case as its id."""
    told_of = {told["session"]: told for told in case["messages"]}
    for at, told in enumerate(case["messages"]):
        source = add_source(db, "jsonl", told["source"])
        sessions = (_session(told, told_of),)
        store_messages(db, _record(at, told), sessions=sessions, source=source)
    for step in case.get("steps", ()):
        _take(db, step)


def _session(told: dict[str, Any], told_of: dict[str, dict[str, Any]]) -> SessionRecord:
    at_ms = _time(told)
    source = told["source"]
    return SessionRecord(
        told["session"],
        kind=SessionKind(source) if source in set(SessionKind) else SessionKind.INTERACTIVE,
        parent_native_id=told.get("parent"),
        relation=_relation(told_of[told["parent"]]) if "parent" in told else None,
        title=told.get("title"),
        title_source=TitleSource.MODEL if "title" in told else TitleSource.NONE,
        started_at_ms=at_ms,
        updated_at_ms=at_ms,
        end_reason=told.get("end_reason"),
    )


def _relation(parent: dict[str, Any]) -> Relation:
    """What a child without marks of its own is: that hangs on how its parent ended."""
    match parent.get("end_reason"):
        case "compression":
            return Relation.CONTINUATION
        case None:
            return Relation.SUBAGENT
        case _:
            return Relation.RESET


def _time(told: dict[str, Any]) -> int | None:
    if "age" in told:
        return NOW_MS - told["age"] * 1000
    return told["started_at"] * 1000 if "started_at" in told else None


def _record(at: int, told: dict[str, Any]) -> MessageRecord:
    calls = tuple(
        ToolCall(call["id"], call["function"]["name"], call["function"]["arguments"])
        for call in told.get("tool_calls", ())
    )
    return message(
        f"m{at}",
        told["content"],
        session=told["session"],
        role=Role(told["role"]),
        tool_name=told.get("tool_name"),
        tool_calls=calls,
        created_at_ms=_time(told),
    )


def _take(db: apsw.Connection, step: dict[str, Any]) -> None:
    match step:
        case {"delete_session": session}:
            _delete(db, session)
        case {"append": told}:
            store_messages(db, _record(99, told), source=add_source(db, "jsonl", told["source"]))
        case {"sql_update": column, "value": value, "message": at}:
            with transaction(db):
                db.execute(f"UPDATE messages SET {column} = ? WHERE uid = ?", (value, f"m{at}"))
        case {"set_flags": {"message": at, "compacted": compacted}}:
            state = MessageState.COMPACTED if compacted else MessageState.REWOUND
            set_state(db, state, "uid = ?", f"m{at}")
        case {"compact": session, "summary": texts}:
            inside = "session_id IN (SELECT id FROM sessions WHERE native_id = ?)"
            set_state(db, MessageState.COMPACTED, inside, session)
            source = db.execute(
                "SELECT source_id FROM sessions WHERE native_id = ?", (session,)
            ).get
            for n, text in enumerate(texts):
                role = Role.ASSISTANT if n % 2 else Role.USER
                record = message(
                    f"summary{n}", text, session=session, role=role, origin=Origin.SYNTHETIC
                )
                store_messages(db, record, source=source)
        case _:
            raise AssertionError(step)


def _delete(db: apsw.Connection, session: str) -> None:
    """Delete a session as the trash does: its rows go, and a tombstone keeps them away."""
    key = make_key(Path(db.filename).parent)
    inside = "(SELECT id FROM sessions WHERE native_id = ?)"
    with transaction(db):
        db.execute(
            "INSERT INTO tombstones(session_mac) VALUES (?)", (mac(key, "jsonl", "cli", session),)
        )
        db.execute(f"DELETE FROM message_placements WHERE session_id IN {inside}", (session,))
        db.execute(f"DELETE FROM messages WHERE session_id IN {inside}", (session,))
        db.execute("DELETE FROM sessions WHERE native_id = ?", (session,))


def set_state(db: apsw.Connection, state: MessageState, where: str, *bindings: str) -> None:
    """Give messages another state, and their sessions the counts that follow from it."""
    with transaction(db):
        db.execute(f"UPDATE messages SET state = ? WHERE {where}", (state, *bindings))
        db.execute(
            "UPDATE sessions SET message_count = (SELECT count(*) FROM message_placements AS p"
            " JOIN messages AS m ON m.id = p.message_id WHERE p.session_id = sessions.id"
            " AND m.state IN ('active', 'compacted'))"
        )


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
