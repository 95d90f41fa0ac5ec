"""The life of a session in the ledger: each step one transaction, and each can be undone.

The ledger keeps which values were replaced, by row: times, places of a reset, names of projects.
A title is nobody's receipt; the session itself remembers what it was called before.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any

import apsw

from core.errors import NotFoundError, RefusedError
from core.history import cleared, lifecycle
from core.history.lifecycle import Change, Column
from core.history.sessions import sessions_by_id
from core.store import clock
from core.upkeep import operations, trash
from core.upkeep.wording import counted
from core.upkeep_types import Actor, Operation

COLUMNS: Mapping[str, Column] = {
    "sessions.pin": "pinned_at_ms",
    "sessions.archive": "archived_at_ms",
    "sessions.unarchive": "archived_at_ms",
    "sessions.move": "own_project",
    "sessions.reset": "own_cutoff_seq",
}
RENAME, CLEAR, UNDO = "sessions.rename", "sessions.clear", "sessions.undo"
IN_TRASH = ("trash.sessions", "trash.message", "retention.apply", CLEAR)
"""Kinds whose way back is out of the trash."""

_NAMES_KEPT = 20
_One = Callable[[int], Change | None]


def pin(db: apsw.Connection, session_ids: Collection[int], pinned: bool, actor: Actor) -> Operation:
    """Pin sessions, or let them loose, in the caller's transaction; never goes by age what is.

    Raises:
        NotFoundError: one of them is gone, or in the trash.
    """
    words = "pinned" if pinned else "no longer pinned"
    return _each(
        db,
        ("sessions.pin", {"pinned": pinned}),
        session_ids,
        lambda row: lifecycle.set_pinned(db, row, pinned),
        words,
        actor,
    )


def archive(
    db: apsw.Connection, session_ids: Collection[int], archived: bool, actor: Actor
) -> Operation:
    """Put sessions away, or bring them back, in the caller's transaction.

    Raises:
        NotFoundError: one of them is gone, or in the trash.
    """
    kind, words = ("archive", "archived") if archived else ("unarchive", "no longer archived")
    return _each(
        db,
        (f"sessions.{kind}", {}),
        session_ids,
        lambda row: lifecycle.set_archived(db, row, archived),
        words,
        actor,
    )


def move(
    db: apsw.Connection, session_ids: Collection[int], project: str, actor: Actor
) -> Operation:
    """Move sessions to a project, in the caller's transaction; '' where their sources have them.

    Raises:
        NotFoundError: one of them is gone, or in the trash.
        SettingError: the name is too long.
    """
    name = lifecycle.project_name(project)
    words = f"moved to the project {name}" if name else "back in the project of the source"
    return _each(
        db,
        ("sessions.move", {"project": name}),
        session_ids,
        lambda row: lifecycle.move(db, row, name),
        words,
        actor,
    )


def reset(db: apsw.Connection, session_ids: Collection[int], actor: Actor) -> Operation:
    """Begin sessions anew, in the caller's transaction: nothing is deleted, all stays readable.

    Raises:
        NotFoundError: one of them is gone, or in the trash.
    """
    return _each(
        db,
        ("sessions.reset", {}),
        session_ids,
        lambda row: lifecycle.reset(db, row),
        "begun anew: what was said before stays readable",
        actor,
    )


def rename(db: apsw.Connection, session_id: int, title: str, actor: Actor) -> Operation:
    """Call a session otherwise, in the caller's transaction; '' as its source calls it.

    Raises:
        NotFoundError: it is gone, or in the trash.
        SettingError: the title is too long.
    """
    operation = operations.begin(db, RENAME, {"sessions": [session_id]}, actor)
    has_changed = lifecycle.rename(db, session_id, title, operation.id)
    words = "1 session renamed" if has_changed else "1 session was called so already"
    if has_changed and not lifecycle.one_line(title):
        words = "1 session is called as its source calls it"
    return _done(db, operation, [session_id], words, {"sessions": int(has_changed)})


def clear(db: apsw.Connection, session_ids: Collection[int], actor: Actor) -> Operation:
    """Move every message of sessions to the trash, in the caller's transaction; they stay.

    No import brings the messages back; new ones join as ever. What other sessions show as well
    stays there. Costs some 0.2 ms for each message.

    Raises:
        NotFoundError: one of them is gone, or in the trash.
    """
    chosen = sorted(set(session_ids))
    operation = operations.begin(db, CLEAR, {"sessions": chosen}, actor)
    before, messages = list[tuple[Any, ...]](), 0
    for session_id in chosen:
        row = db.execute(
            "SELECT id, own_cutoff_seq, told_cutoff_seq, cleared_at_ms, message_count"
            " FROM sessions WHERE id = ? AND trashed_at_ms IS NULL",
            (session_id,),
        ).get
        if row is None:
            raise NotFoundError("this session is no longer in the store")
        before.append(row[:-1])
        messages += row[-1]
        cleared.clear(db, session_id, operation.id, clock.now_ms())
    moved = counted(messages, "message")
    words = f"{counted(len(chosen), 'session')} cleared: {moved} moved to the trash"
    receipt = {"sessions": 0, "messages": messages, "before": before}
    clock.observe(db)
    return _done(db, operation, chosen, words, receipt)


def undo(db: apsw.Connection, operation_id: int, actor: Actor) -> Operation:
    """Take back, in the caller's transaction, what an operation changed of sessions.

    What was changed again since stays as it is now.

    Raises:
        NotFoundError: there is no such operation, or nothing of it is left to take back.
        RefusedError: an operation of its kind cannot be taken back.
    """
    done = operations.get(db, operation_id)
    if done.kind in IN_TRASH:
        return trash.undo(db, operation_id, actor)
    if done.kind not in COLUMNS and done.kind != RENAME:
        raise RefusedError(f"operation {operation_id} ({done.kind}) cannot be undone")
    operation = operations.begin(db, UNDO, {"operation": operation_id}, actor)
    if done.kind == RENAME:
        back = int(lifecycle.take_back_title(db, operation_id))
    else:
        column = COLUMNS[done.kind]
        changes = [Change(*each) for each in _listed(done.receipt.get("changed"))]
        back = sum(lifecycle.take_back(db, column, each) for each in changes)
    if not back:
        raise NotFoundError(f"nothing of operation {operation_id} is left to take back")
    words = f"{counted(back, 'session')} as before operation {operation_id} ({done.kind})"
    operations.finish(db, operation, "succeeded", words, {"sessions": back})
    return operations.get(db, operation.id)


def _each(
    db: apsw.Connection,
    kind: tuple[str, dict[str, object]],
    session_ids: Collection[int],
    one: _One,
    words: str,
    actor: Actor,
) -> Operation:
    """Do one thing to each session, and note what it replaced."""
    chosen = sorted(set(session_ids))
    name, arguments = kind
    operation = operations.begin(db, name, {"sessions": chosen, **arguments}, actor)
    changed = [change for row in chosen if (change := one(row)) is not None]
    told = f"{counted(len(changed), 'session')} {words}"
    if len(changed) < len(chosen):
        told += f"; {counted(len(chosen) - len(changed), 'session')} already so"
    receipt = {"sessions": len(changed), "changed": changed}
    return _done(db, operation, chosen, told, receipt)


def _done(
    db: apsw.Connection,
    operation: Operation,
    session_ids: list[int],
    words: str,
    receipt: Mapping[str, object],
) -> Operation:
    named = sessions_by_id(db, session_ids[:_NAMES_KEPT])
    names = [named[row].ref for row in session_ids[:_NAMES_KEPT] if row in named]
    operations.finish(db, operation, "succeeded", words, {**receipt, "names": names})
    return operations.get(db, operation.id)


def _listed(found: object) -> list[Any]:
    return found if isinstance(found, list) else []
