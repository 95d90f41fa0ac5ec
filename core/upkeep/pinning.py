"""Pinning sessions, with a line in the ledger."""

from collections.abc import Collection

import apsw

from core.history.sessions import set_pinned
from core.upkeep import operations
from core.upkeep.wording import counted
from core.upkeep_types import Actor, Operation


def pin(db: apsw.Connection, session_ids: Collection[int], pinned: bool, actor: Actor) -> Operation:
    """Pin sessions, or let them loose, in the caller's transaction; never goes by age what is.

    Raises:
        NotFoundError: one of them is gone, or in the trash.
    """
    chosen = sorted(set(session_ids))
    arguments = {"sessions": chosen, "pinned": pinned}
    operation = operations.begin(db, "sessions.pin", arguments, actor)
    for session_id in chosen:
        set_pinned(db, session_id, pinned)
    outcome = f"{counted(len(chosen), 'session')} {'pinned' if pinned else 'no longer pinned'}"
    operations.finish(db, operation, "succeeded", outcome, {"sessions": len(chosen)})
    return operations.get(db, operation.id)
