"""Getting rid of the bytes of what was deleted, in every file of the profile.

Deleted text stays in the pages of the full-text indexes until their segments are merged, in
gaps of other pages until the file is written anew, in the log until it is cut to nothing, and
in copies of the store until they are gone. All of it is done here, or the purge is pending.
"""

import shutil
import time
from collections.abc import Generator, Iterator
from pathlib import Path

import apsw

from core.errors import RefusedError, StoreFullError, StoreReadOnlyError
from core.index import settle
from core.store import (
    aside,
    attachment,
    copying,
    damage,
    holders,
    indexes,
    leftovers,
    recipe,
    snapshots,
)
from core.store.connection import tokenizer_fingerprint, transaction
from core.store.indexes import CJK, INDEXES
from core.store.waiting import wait_for_locks
from core.types import Progress
from core.upkeep import backup, beside_store, erasure, operations, optimize
from core.upkeep.sizes import compact_needs_bytes
from core.upkeep.wording import counted
from core.upkeep_types import Actor, Erasure, PurgePreview, Report

DROPPED = "it was dropped by a purge, and is filled again by a program with the CJK tokenizer"
_EVERY_MS = 24 * 3600 * 1000
_QUEUED_AT_ONCE = 200
_BLOCKS_AT_ONCE = 500
_TRIES, _TRY_MS, _BETWEEN_S = 10, 250, 0.1
_VACUUM_BYTES_S = 130_000_000  # 4 GB in some 30 s


def preview(db: apsw.Connection) -> PurgePreview:
    """Return what a purge would do now; reads a few rows and the names of files."""
    path = Path(db.filename)
    needed, folders = compact_needs_bytes(db), beside_store.copies(path.parent)
    return PurgePreview(
        waiting=erasure.waiting(db),
        snapshots=backup.snapshots_of(path.parent),
        folders=tuple(folder.name for folder in folders),
        folder_bytes=sum(map(beside_store.folder_bytes, folders)),
        needed_bytes=needed,
        free_bytes=shutil.disk_usage(path.parent).free,
        lock_s=1 + int(needed / _VACUUM_BYTES_S),
        others=holders.open_elsewhere(path),
        not_now=idle(db),
    )


def idle(db: apsw.Connection) -> str:
    """Return why no purge is needed or due now, empty where one is."""
    if erasure.waiting(db).since_at_ms is None:
        return "nothing waits to be erased"
    last = db.execute(
        "SELECT max(ended_at_ms) FROM operations WHERE kind = 'purge' AND state = 'succeeded'"
    ).get
    age_ms = time.time_ns() // 1_000_000 - (last or 0)
    if 0 <= age_ms < _EVERY_MS:
        return f"the last purge was {counted(age_ms // 3_600_000, 'hour')} ago; one a day is made"
    return ""


def run(db: apsw.Connection, actor: Actor, now: bool = False) -> Iterator[Progress | Report]:
    """Erase what was deleted from the store's files, delete old copies, and make a new snapshot.

    Snapshots, damaged and replaced stores of this profile are deleted: they hold the text. Until
    the file is written anew it can be stopped at any step and nothing is lost; others write in
    between. Where a reader keeps the old state, or a copy of it may be in use, the report is
    `pending`, and a later purge does the rest.

    Args:
        db: a connection to the store that may write, outside of a transaction.
        actor: who has it done.
        now: also when nothing is known to wait, or a purge was made within a day.

    Raises:
        RefusedError: there is nothing to do now (`idle`).
        StoreFullError: 2.2 times the file must be free; nothing was done.
        StoreReadOnlyError: the file is damaged, and nothing is written to it.
    """
    if told := damage.broken(db.filename):
        raise StoreReadOnlyError(told)
    if not now and (reason := idle(db)):
        raise RefusedError(reason)
    path = Path(db.filename)
    with operations.recorded(db, "purge", {}, actor) as claim:
        copying.require_room(path.parent, compact_needs_bytes(db))
        waiting = erasure.waiting(db)
        blocked = _copied_meanwhile(path.parent) or (yield from _rewritten(db, claim))
        if blocked:
            claim.state, claim.outcome = "pending", f"erase pending: {blocked}"
            with transaction(db):
                erasure.block(db, blocked)
        else:
            yield from _without_copies(db, actor, claim)
            with transaction(db):
                erasure.done(db, waiting)
            claim.receipt |= {"messages": waiting.messages, "bytes": waiting.bytes}
            claim.outcome = _outcome(waiting, claim.receipt)
    yield Report(claim.outcome, claim.receipt, "pending" if blocked else "succeeded")


def _copied_meanwhile(profile: Path) -> str:
    """Return which copy of the store is in the way, empty for none: it may be in use."""
    names = ", ".join(each.name for each in beside_store.under_way(profile))
    return names and (
        f"{names} is a copy that a check, a restore or a salvage is making, or left behind less"
        " than an hour ago"
    )


def _rewritten(db: apsw.Connection, claim: operations.Claim) -> Generator[Progress, None, str]:
    """Have no deleted text in the store's file and its log; return what is in the way, if any."""
    for step in _steps_before(db):
        claim.beat(db)
        yield step
    blocked = yield from _log_cut(db)
    if blocked:
        return blocked
    yield Progress(0, None, "steps", "writing the store anew")
    _write_anew(db)
    yield Progress(1, None, "steps", "shortening the log")
    return (yield from _log_cut(db))


def _steps_before(db: apsw.Connection) -> Iterator[Progress]:
    """Drain what is queued, and merge every index to one segment, in short transactions."""
    yield from _without_queue(db)
    yield from _without_leftovers(db)
    for index in INDEXES.values():
        if indexes.table_exists(db, index):
            yield from settle.settle(db, index.name)
    yield from optimize.merged_titles(db)


def _without_queue(db: apsw.Connection) -> Iterator[Progress]:
    """Take deleted texts out of the queue of the CJK index, by way of the index or with it."""
    index = INDEXES[CJK]
    with transaction(db):  # without the tokenizer the index is detached by it
        pass
    state, built_by = db.execute(
        "SELECT state, fingerprint FROM index_state WHERE name = ?", (CJK,)
    ).get
    if state not in ("detached", "stale") or not indexes.table_exists(db, index):
        return
    if state == "detached" and built_by is not None and built_by == tokenizer_fingerprint(db):
        done = 0
        while True:
            with transaction(db):
                drained = attachment.drain(db, index, _QUEUED_AT_ONCE)
                if not drained:
                    attachment.resume(db, index)
                    return
            done += drained
            yield Progress(done, None, "rows", "taking in what was queued")
    held = "SELECT 1 FROM index_queue WHERE index_name = ? AND was_indexed LIMIT 1"
    if state == "stale" or db.execute(held, (CJK,)).get is not None:
        with transaction(db):
            leftovers.set_aside(db, index)
            db.execute("DELETE FROM index_queue WHERE index_name = ?", (CJK,))
            db.execute(
                "UPDATE index_state SET state = 'detached', reason = ?, fingerprint = NULL,"
                " cursor = 0, unsettled_rows = 0 WHERE name = ?",
                (DROPPED, CJK),
            )


def _without_leftovers(db: apsw.Connection) -> Iterator[Progress]:
    done = 0
    for index in INDEXES.values():
        for name in leftovers.names(db, index):
            is_gone = False
            while not is_gone:
                with transaction(db):
                    is_gone = leftovers.drop_piece(db, name, _BLOCKS_AT_ONCE)
                done += 1
                yield Progress(done, None, "steps", "dropping an old index")


def _write_anew(db: apsw.Connection) -> None:
    """Write every row to new pages: gaps between cells of old ones may hold what was there."""
    with transaction(db):
        aside.drop_set_aside(db)
    db.execute("VACUUM")


def _log_cut(db: apsw.Connection) -> Generator[Progress, None, str]:
    """Cut the log to nothing; return who is in the way where that did not do.

    Writers wait for a quarter of a second at a time, and can go in between.
    """
    for tried in range(_TRIES):
        if _is_log_cut(db):
            return ""
        yield Progress(tried, _TRIES, "steps", "waiting for readers")
        time.sleep(_BETWEEN_S)
    others = holders.in_words(holders.open_elsewhere(Path(db.filename)))
    return f"the store is being read by {others or 'a search or a copy of this program'}"


def _is_log_cut(db: apsw.Connection) -> bool:
    """Try once to cut it; whoever else uses the connection between two steps waits as always."""
    wait_for_locks(db, _TRY_MS)
    try:
        busy, *_ = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").get
    finally:
        wait_for_locks(db, recipe.BUSY_TIMEOUT_MS)
    return not busy


def _without_copies(
    db: apsw.Connection, actor: Actor, claim: operations.Claim
) -> Iterator[Progress]:
    """Delete every copy of the store that is older than the purge, and make a new snapshot.

    The new one comes first, so that there is always one, unless that is more than the disk has.
    """
    profile = Path(db.filename).parent
    old = backup.snapshots_of(profile)
    try:
        yield from (item for item in _new_snapshot(db, actor, claim))
    except StoreFullError:
        claim.receipt["snapshots"] = _removed(profile, [Path(each.path) for each in old])
        old = ()
        try:
            yield from _new_snapshot(db, actor, claim)
        except StoreFullError as error:
            claim.receipt["no_snapshot"] = str(error)
    removed = _removed(profile, [Path(each.path) for each in old])
    claim.receipt["snapshots"] = claim.receipt.get("snapshots", 0) + removed
    folders = beside_store.copies(profile)
    for folder in folders:
        beside_store.remove_folder(folder)
    claim.receipt["folders"] = len(folders)


def _new_snapshot(db: apsw.Connection, actor: Actor, claim: operations.Claim) -> Iterator[Progress]:
    for item in backup.make(db, "after-purge", actor):
        if isinstance(item, Progress):
            claim.beat(db)
            yield item
        elif item.problem:
            claim.receipt["unproved"] = item.problem


def _removed(profile: Path, old: list[Path]) -> int:
    """Remove snapshots, and whatever unfinished or restored copies lie beside them."""
    for path in old:
        snapshots.remove(path)
    beside_store.sweep_snapshots(profile, old)
    return len(old)


def _outcome(waiting: Erasure, receipt: dict[str, object]) -> str:
    gone = f"{counted(waiting.messages, 'deleted message')} erased from every file"
    parts = [
        counted(int(str(receipt[key])), noun)
        for key, noun in (("snapshots", "old snapshot"), ("folders", "damaged or replaced store"))
        if receipt.get(key)
    ]
    with_them = f", with them {' and '.join(parts)}" if parts else ""
    if told := receipt.get("no_snapshot") or receipt.get("unproved"):
        return f"{gone}{with_them}; no new snapshot: {told}"
    return f"{gone}{with_them}; a new snapshot was made and proved"
