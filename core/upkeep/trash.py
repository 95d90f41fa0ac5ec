"""The trash: what was thrown away, for some days within reach, then deleted.

What moves into it at once carries the number of its operation, so it comes back at once.
"""

import json
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import apsw

from core import settings
from core.errors import NotFoundError, RefusedError
from core.history import cleared, derived_titles, tombstones
from core.history.bodies import VISIBLE
from core.history.sessions import sessions_by_id
from core.store import clock, turns
from core.store.connection import transaction
from core.types import MessageState, Origin, Progress, Role
from core.upkeep import emptying, operations
from core.upkeep.trashed import IN_TRASH
from core.upkeep.trashed import contents as contents
from core.upkeep.trashed import message_in_trash as message_in_trash
from core.upkeep.trashed import session_in_trash as session_in_trash
from core.upkeep.wording import counted
from core.upkeep_types import Actor, Operation, Report

_AMONG = "IN (SELECT value FROM json_each(?))"

_NAMES_KEPT = 20

# Sessions of subagents and tools have no life of their own: they go where their parent goes.
_WITH_SUBAGENTS = """
WITH RECURSIVE family(id) AS (
  SELECT value FROM json_each(?)
  UNION
  SELECT c.id FROM family AS f CROSS JOIN sessions AS p ON p.id = f.id
  CROSS JOIN sessions AS c ON c.source_id = p.source_id AND c.parent_native_id = p.native_id
  WHERE c.kind IN ('subagent', 'tool') OR c.relation = 'subagent')
SELECT id FROM family
"""


def trash_sessions(db: apsw.Connection, session_ids: Collection[int], actor: Actor) -> Operation:
    """Move sessions to the trash, in the caller's transaction, and with them their subagents'.

    They are found nowhere from then on, unless the trash is asked for. `undo` takes back all
    of it at once.

    Raises:
        NotFoundError: one of them is not in the store, or already in the trash.
    """
    chosen = sorted(set(session_ids))
    there = db.execute(
        f"SELECT count(*) FROM sessions WHERE trashed_at_ms IS NULL AND id {_AMONG}",
        (json.dumps(chosen),),
    ).get
    if not chosen or there != len(chosen):
        raise NotFoundError("a session to delete is no longer in the store")
    operation = operations.begin(db, "trash.sessions", {"sessions": chosen}, actor)
    every = [row for (row,) in db.execute(_WITH_SUBAGENTS, (json.dumps(chosen),))]
    receipt: dict[str, object] = dict(move(db, every, operation.id))
    named = sessions_by_id(db, chosen[:_NAMES_KEPT])
    receipt["names"] = [named[row].ref for row in chosen[:_NAMES_KEPT]]
    moved = counted(int(str(receipt["sessions"])), "session")
    messages = counted(int(str(receipt["messages"])), "message")
    outcome = f"{moved} with {messages} moved to the trash"
    operations.finish(db, operation, "succeeded", outcome, receipt)
    clock.observe(db)
    return operations.get(db, operation.id)


def move(db: apsw.Connection, session_ids: Collection[int], operation_id: int) -> dict[str, int]:
    """Move sessions to the trash for an operation under way; return how much was moved."""
    listed = json.dumps(list(session_ids))
    rows: list[Any] = db.execute(
        "UPDATE sessions SET trashed_at_ms = ?, trashed_by = ?"
        f" WHERE trashed_at_ms IS NULL AND id {_AMONG} RETURNING message_count",
        (clock.now_ms(), operation_id, listed),
    ).fetchall()
    return {"sessions": len(rows), "messages": sum(count for (count,) in rows)}


def trash_message(db: apsw.Connection, message_id: int, actor: Actor) -> Operation:
    """Move one message to the trash, in the caller's transaction, wherever it is shown.

    A session whose title was made from it gets one from what is left.

    Raises:
        NotFoundError: it is not in the store, already in the trash, or an earlier text.
    """
    gone = (MessageState.TRASHED, MessageState.SUPERSEDED)
    row = db.execute(
        "SELECT m.uid, m.session_id, m.state FROM messages AS m WHERE m.id = ?", (message_id,)
    ).get
    if row is None or row[2] in gone:
        raise NotFoundError("this message is no longer in the store")
    uid, session_id, state = row
    operation = operations.begin(db, "trash.message", {"message": message_id}, actor)
    shown_in = _count_in_sessions(db, message_id, MessageState(state), -1)
    db.execute("UPDATE messages SET state = 'trashed' WHERE id = ?", (message_id,))
    db.execute(
        "INSERT INTO trashed_messages(message_id, session_id, state, trashed_at_ms, trashed_by)"
        " VALUES (?, ?, ?, ?, ?)",
        (message_id, session_id, state, clock.now_ms(), operation.id),
    )
    derived_titles.hide(db, message_id)
    outcome = f"1 message, shown in {counted(shown_in, 'session')}, moved to the trash"
    receipt = {"sessions": 0, "messages": 1, "shown_in": shown_in, "names": [uid]}
    operations.finish(db, operation, "succeeded", outcome, receipt)
    clock.observe(db)
    return operations.get(db, operation.id)


def restore_sessions(db: apsw.Connection, session_ids: Collection[int], actor: Actor) -> Operation:
    """Bring sessions back, in the caller's transaction, with the subagents' that went with them.

    Raises:
        NotFoundError: one of them is not in the trash.
    """
    chosen = sorted(set(session_ids))
    there: list[Any] = db.execute(
        f"SELECT id, trashed_by FROM sessions WHERE {IN_TRASH} AND id {_AMONG}",
        (json.dumps(chosen),),
    ).fetchall()
    if not chosen or len(there) != len(chosen):
        raise NotFoundError("a session to restore is not in the trash")
    operation = operations.begin(db, "trash.restore", {"sessions": chosen}, actor)
    every = [row for (row,) in db.execute(_WITH_SUBAGENTS, (json.dumps(chosen),))]
    moved_by = json.dumps(sorted({by for _, by in there if by is not None}))
    back = db.execute(
        "UPDATE sessions SET trashed_at_ms = NULL, trashed_by = NULL"
        f" WHERE {IN_TRASH} AND id {_AMONG} AND (id {_AMONG} OR trashed_by {_AMONG}) RETURNING id",
        (json.dumps(every), json.dumps(chosen), moved_by),
    ).fetchall()
    return _restored(db, operation, len(back), 0)


def restore_message(db: apsw.Connection, message_id: int, actor: Actor) -> Operation:
    """Bring one message back, in the caller's transaction.

    Raises:
        NotFoundError: it is not in the trash.
    """
    operation = operations.begin(db, "trash.restore", {"message": message_id}, actor)
    if not _bring_back(db, "message_id = ?", message_id):
        raise NotFoundError("this message is not in the trash")
    return _restored(db, operation, 0, 1)


def undo(db: apsw.Connection, operation_id: int, actor: Actor) -> Operation:
    """Bring back, in the caller's transaction, what an operation moved, as far as it is there.

    Raises:
        NotFoundError: there is no such operation, or nothing of it is in the trash any more.
    """
    done = operations.get(db, operation_id)
    operation = operations.begin(db, "trash.restore", {"operation": operation_id}, actor)
    back = db.execute(
        "UPDATE sessions SET trashed_at_ms = NULL, trashed_by = NULL"
        f" WHERE {IN_TRASH} AND trashed_by = ? RETURNING id",
        (operation_id,),
    ).fetchall()
    messages = _bring_back(db, "trashed_by = ?", operation_id)
    messages += _uncleared(db, done)
    if not back and not messages:
        raise NotFoundError(f"nothing of operation {operation_id} is in the trash any more")
    return _restored(db, operation, len(back), messages)


def empty(
    db: apsw.Connection,
    actor: Actor,
    before_ms: int | None = None,
    sessions: Collection[int] | None = None,
    messages: Collection[int] | None = None,
) -> Iterator[Progress | Report]:
    """Delete what the trash holds, in batches; nothing of it comes back, by no import either.

    All of it, or what was moved there before `before_ms`, or the sessions and messages named.
    A session goes whole or not at all. The bytes in the store's files go with the next purge.
    Yields after every transaction, and last a report.

    Raises:
        RunningError: it is being emptied already.
        StoreError: the key that keeps deleted things away is damaged, or missing though there
            was one; nothing was deleted.
    """
    key = tombstones.key_to_delete_with(db)
    bounds: dict[str, object] = {"before_ms": before_ms}
    if sessions is not None or messages is not None:
        bounds |= {"sessions": sorted(sessions or ()), "messages": sorted(messages or ())}
    with operations.recorded(db, "trash.empty", bounds, actor) as claim:
        run = emptying.Emptying(db, key, before_ms, sessions, messages)
        for step in run.batches():
            claim.receipt = run.receipt()
            claim.beat(db)
            yield step
        claim.outcome, claim.receipt = run.outcome(), run.receipt()
    yield Report(run.outcome(), run.receipt())


def expire(db: apsw.Connection, actor: Actor) -> Iterator[Progress | Report]:
    """Delete what has been in the trash for longer than it may stay there; else as `empty`.

    Raises:
        RefusedError: the machine's clock jumped.
    """
    now = clock.now_ms()
    if doubt := clock.doubt(db, now):
        with transaction(db):
            clock.observe(db, now)  # from now on the day counts after which it is believed
        raise RefusedError(doubt)
    before_ms = now - settings.read(db, settings.TRASH_DAYS) * clock.DAY_MS
    if not emptying.is_any(db, before_ms):
        yield Report("Nothing in the trash is old enough to be deleted", {"sessions": 0})
        return
    yield from empty(db, actor, before_ms)


def forget(db: apsw.Connection, session: str, actor: Actor) -> Operation:
    """Let a deleted session come back by import, in the caller's transaction.

    Nothing comes back by itself: the next import of its source reads the files again. Messages
    that were deleted alone stay away.

    Raises:
        NotFoundError: no session of this name was deleted.
        StoreError: the key that deleted things are known by is missing or damaged.
    """
    key = tombstones.read_key(Path(db.filename).parent)
    operation = operations.begin(db, "trash.forget", {"session": session}, actor)
    if not tombstones.forget(db, key, session):
        raise NotFoundError(f"no session named {session} was deleted")
    outcome = f"{session} can be imported again"
    operations.finish(db, operation, "succeeded", outcome, {"names": [session]})
    return operations.get(db, operation.id)


def _restored(db: apsw.Connection, operation: Operation, sessions: int, messages: int) -> Operation:
    parts = [
        counted(number, noun)
        for number, noun in ((sessions, "session"), (messages, "message"))
        if number
    ]
    outcome = f"{' and '.join(parts)} brought back from the trash"
    receipt = {"sessions": sessions, "messages": messages}
    operations.finish(db, operation, "succeeded", outcome, receipt)
    return operations.get(db, operation.id)


def _bring_back(db: apsw.Connection, condition: str, value: int) -> int:
    """Give messages of the trash the state they had; return how many."""
    rows: list[Any] = db.execute(
        f"SELECT message_id, state FROM trashed_messages WHERE {condition}", (value,)
    ).fetchall()
    for message_id, state in rows:
        db.execute("UPDATE messages SET state = ? WHERE id = ?", (state, message_id))
        db.execute("DELETE FROM trashed_messages WHERE message_id = ?", (message_id,))
        _count_in_sessions(db, message_id, MessageState(state), 1)
        derived_titles.show(db, message_id)
    return len(rows)


def _uncleared(db: apsw.Connection, done: Operation) -> int:
    """Let sessions that an operation cleared be as before; return how many places are back."""
    before = done.receipt.get("before")
    if done.kind != "sessions.clear" or not isinstance(before, list):
        return 0
    places = cleared.show_again(db, done.id)
    for session_id, own, told, cleared_at_ms in before:
        cleared.restore(db, session_id, own, told, cleared_at_ms)
    return places


def _count_in_sessions(db: apsw.Connection, message_id: int, state: MessageState, sign: int) -> int:
    """Let the sessions that show a message count it, or no longer; return how many they are."""
    shown: list[Any] = db.execute(
        "SELECT session_id FROM message_placements WHERE message_id = ?", (message_id,)
    ).fetchall()
    if state in VISIBLE:
        role, origin = db.execute(
            "SELECT role, origin FROM messages WHERE id = ?", (message_id,)
        ).get
        is_turn = role == Role.USER and origin == Origin.HUMAN
        db.executemany(
            "UPDATE sessions SET message_count = message_count + ?1, user_turn_count ="
            " user_turn_count + ?2 * EXISTS (SELECT 1 FROM message_placements AS p"
            f" WHERE p.message_id = ?3 AND p.session_id = ?4 AND p.seq > {turns.ACTIVE_BEHIND})"
            " WHERE id = ?4",
            [(sign, sign * is_turn, message_id, session) for (session,) in shown],
        )
    return len(shown)
