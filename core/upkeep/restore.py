"""Going back to a snapshot: the old store or the restored one is there at every moment.

What was deleted since the snapshot was taken is deleted from it again before anybody sees it.
"""

import os
import stat
import time
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import apsw

from core import paths
from core.errors import (
    RefusedError,
    SchemaTooNewError,
    StoreCorruptError,
    StoreError,
)
from core.index import health, tokenizer
from core.store import aside, copying, damage, holders, migrations, recipe, replacing, snapshots
from core.store.connection import open_writer, tokenizer_fingerprint, transaction
from core.store.errors import translated
from core.store.indexes import CJK
from core.types import Progress
from core.upkeep import erasure, operations
from core.upkeep.beside import beside
from core.upkeep.deleting_again import Tombstone, bury, delete_again, tombstones
from core.upkeep.soundness import examine
from core.upkeep.wording import counted
from core.upkeep_types import Actor, Erasure, Report, Snapshot

_BUSY_MS = 2_000
KEY_BYTES = 32


class _Old(NamedTuple):
    """What a store that is replaced leaves behind: it is read before it goes."""

    tombstones: list[Tombstone]
    waiting: Erasure


def look(path: Path) -> Snapshot:
    """Return what a file that is to be restored holds, from the file itself.

    Raises:
        RefusedError: it is a link or no file, or its last changes are in a log beside it.
        NotAStoreError: it is no store of ours.
        SchemaTooNewError: a later version of this program wrote it.
    """
    with translated(path), closing(snapshots.opened_still(path)) as db:
        schema = _known_schema(db)
        counted_rows = [
            int(db.execute(f"SELECT count(*) FROM {what}").get) for what in ("sessions", "messages")
        ]
    told = snapshots.snapshot_at(path)
    return Snapshot(
        path=told.path,
        reason=told.reason,
        created_at_ms=told.created_at_ms,
        bytes=told.bytes,
        schema=schema,
        sessions=counted_rows[0],
        messages=counted_rows[1],
        rolling_hash=told.rolling_hash,
        proved_at_ms=told.proved_at_ms,
        problem=told.problem,
    )


def restore(profile: Path, snapshot: Path, actor: Actor) -> Iterator[Progress | Report]:
    """Put a copy of `snapshot` in the place of the profile's store, and yield a report last.

    The old files go to a folder `replaced-<time>` together. Nobody may have the store open, not
    this process either. Closed or killed at any moment it leaves the old store, or the restored
    one if the exchange had begun. Costs a copy of the snapshot, a check of every page, and a
    pass over the indexes: some 20 s for 100,000 messages.

    Raises:
        RefusedError: the store is open somewhere, `snapshot` is no finished file or the store
            itself, or both stores have deletions that were noted under different keys.
        NotAStoreError, SchemaTooNewError, StoreCorruptError: `snapshot` cannot be used.
        StoreFullError: there is no room for a copy.
    """
    paths.ensure_private_dir(profile)
    store = paths.store_path(profile)
    if store.exists() and snapshot.exists() and snapshot.samefile(store):
        raise RefusedError(f"{snapshot} is the store itself, not a snapshot of it")
    recipe.spill_beside(store)
    with replacing.staging(profile) as (staged, stamp):
        _refuse_open(paths.store_path(profile))
        report = yield from _restored(profile, snapshot, actor, staged, stamp)
    damage.mend(str(paths.store_path(profile)))
    yield report


def _restored(
    profile: Path, snapshot: Path, actor: Actor, staged: Path, stamp: str
) -> Generator[Progress, None, Report]:
    began = time.monotonic()
    path = staged / replacing.NEW_NAME
    aside = profile / f"{replacing.ASIDE_PREFIX}{stamp}"
    with closing(snapshots.opened_still(snapshot)) as source:
        _known_schema(source)
        yield from copying.copy_moment(source, path)
    with translated(path), _locked(paths.store_path(profile)) as old_db:
        old = _left_behind(old_db)
        with closing(open_writer(path, tokenizer=tokenizer.locate())) as db:
            damaged = yield from _checked(db, snapshot)
            key = _key_for(profile, snapshot, db, old)
            with recipe.immediate(db):
                migrations.upgrade(db)
                _stop_what_ran(db, snapshots.snapshot_at(snapshot).reason)
            receipt = yield from _made_current(db, key, old, damaged)
            receipt |= {
                "snapshot": snapshot.name,
                "replaced": aside.name if paths.store_path(profile).exists() else None,
                "seconds": round(time.monotonic() - began, 1),
            }
            outcome = _outcome(receipt, old)
            _record(db, actor, snapshot, outcome, receipt)
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        if old_db is not None:
            _let_go(old_db)
        replacing.replace(profile, staged, aside)
    return Report(outcome, receipt)


def _known_schema(db: apsw.Connection) -> int:
    found = migrations.schema_version(db)
    if found > migrations.NEWEST:
        raise SchemaTooNewError(found, migrations.NEWEST, "it cannot be restored by this version")
    return found


def _refuse_open(path: Path) -> None:
    others = holders.open_elsewhere(path, with_us=True)
    if others:
        who = "this program itself" if all(each.is_us for each in others) else ""
        raise RefusedError(
            f"{path} is open in {who or holders.in_words(others)}; close it, then restore"
        )


@contextmanager
def _locked(path: Path) -> Iterator[apsw.Connection | None]:
    """Give the old store, which nobody else can open meanwhile; None where it cannot be read."""
    if not path.exists():
        yield None
        return
    db = _claimed(path)
    try:
        yield db
    finally:
        if db is not None:
            db.close()


def _claimed(path: Path) -> apsw.Connection | None:
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    db.set_busy_timeout(_BUSY_MS)
    try:
        db.pragma("locking_mode", "exclusive")
        db.execute("BEGIN IMMEDIATE")
        db.execute("COMMIT")
    except (apsw.BusyError, apsw.LockedError) as error:
        db.close()
        _refuse_open(path)
        raise RefusedError(f"{path} is open in another program; close it, then restore") from error
    except apsw.Error:  # too damaged to be opened: why it is replaced
        db.close()
        return None
    return db


def _let_go(db: apsw.Connection) -> None:
    """Make the old store ready to be moved, still locked.

    Its log goes aside with it, so it must not be looked for by name when this is closed.
    """
    with suppress(apsw.CorruptError):
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    if os.name != "posix":  # an open file cannot be renamed there
        db.close()


def _left_behind(db: apsw.Connection | None) -> _Old | None:
    """Return what the old store knows of deletions, None where it cannot be read."""
    if db is None:
        return None
    try:
        return _Old(tombstones(db), erasure.waiting(db))
    except (apsw.CorruptError, apsw.SQLError, apsw.NotADBError):
        return None


def _checked(db: apsw.Connection, snapshot: Path) -> Generator[Progress, None, tuple[str, ...]]:
    """Check every page of the copy; return the indexes that are damaged.

    Raises:
        StoreCorruptError: something else is.
    """
    found = yield from beside(db, examine, "checking")
    if found.problems:
        raise StoreCorruptError(
            f"{snapshot} is damaged and cannot be restored: {found.problems[0]}"
        )
    return found.indexes


def _key_for(profile: Path, snapshot: Path, db: apsw.Connection, old: _Old | None) -> bytes | None:
    """Return the key of both stores' tombstones, and see that it is the profile's.

    Raises:
        RefusedError: each has its own.
    """
    own, theirs = _key(profile / paths.TOMBSTONE_KEY_NAME), _key(snapshot.with_suffix(".key"))
    if theirs is None or own == theirs:
        return own
    if own is not None and tombstones(db) and (old is None or old.tombstones):
        raise RefusedError(
            f"what was deleted from the store and from {snapshot} was noted under different keys,"
            " so not all of it would stay deleted; restore into an empty --data-dir instead"
        )
    if own is None or tombstones(db):
        paths.write_private_file(profile / paths.TOMBSTONE_KEY_NAME, theirs)
        return theirs
    return own


def _key(path: Path) -> bytes | None:
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return None
        key = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}") from error
    if len(key) != KEY_BYTES:
        raise StoreError(f"{path} is damaged: it has {len(key)} bytes instead of {KEY_BYTES}")
    return key


def _made_current(
    db: apsw.Connection, key: bytes | None, old: _Old | None, damaged: tuple[str, ...]
) -> Generator[Progress, None, dict[str, object]]:
    """Delete from the copy what was deleted from the old store, and see to its indexes."""
    fingerprint = tokenizer_fingerprint(db)
    with transaction(db):
        if old is not None:
            bury(db, old.tombstones)
            if old.waiting.since_at_ms is not None:  # the replaced files hold those texts
                erasure.add(db, old.waiting.messages, old.waiting.bytes)
        if damaged:
            aside.set_aside(db, damaged, fingerprint)
    deleted = 0
    if key is not None:
        for step in delete_again(db, key):
            deleted += step.messages
            yield step
    yield Progress(0, None, "steps", "verifying the indexes")
    wrong = [
        each.name
        for each in health.check(db)
        if not each.ok and (each.name != CJK or fingerprint is not None)
    ]
    with transaction(db):
        aside.set_aside(db, wrong, fingerprint)
    return {
        "sessions": int(db.execute("SELECT count(*) FROM sessions").get),
        "messages": int(db.execute("SELECT count(*) FROM messages").get),
        "deleted_again": deleted,
        "indexes": sorted({*damaged, *wrong}),
    }


def _stop_what_ran(db: apsw.Connection, reason: str) -> None:
    """Say of whatever ran when the snapshot was taken that it does not run here.

    One of it is the backup that took the snapshot, for this reason.
    """
    db.execute(
        "UPDATE operations SET state = 'succeeded', outcome = 'it made the snapshot that was"
        " restored', ended_at_ms = started_at_ms, holder = NULL, heartbeat_at_ms = NULL WHERE id ="
        " (SELECT max(id) FROM operations WHERE state = 'running' AND kind = 'backup'"
        " AND arguments ->> 'reason' = ?)",
        (reason,),
    )
    db.execute(
        "UPDATE operations SET state = 'failed', outcome = 'it was running when the snapshot that"
        " was restored was taken', holder = NULL, heartbeat_at_ms = NULL WHERE state = 'running'"
    )
    db.execute(
        "UPDATE jobs SET state = 'scheduled', holder = NULL, heartbeat_at_ms = NULL"
        " WHERE state = 'running'"
    )
    db.execute("UPDATE index_state SET holder = NULL, heartbeat_at_ms = NULL")


def _record(
    db: apsw.Connection, actor: Actor, snapshot: Path, outcome: str, receipt: dict[str, object]
) -> None:
    with transaction(db):
        claimed = operations.begin(db, "restore", {"snapshot": snapshot.name}, actor)
        operations.finish(db, claimed, "succeeded", outcome, receipt)


def _outcome(receipt: dict[str, object], old: _Old | None) -> str:
    parts = [f"{counted(int(str(receipt['messages'])), 'message')} restored"]
    if again := int(str(receipt["deleted_again"])):
        parts.append(f"{counted(again, 'message')} deleted again")
    if receipt["replaced"]:
        parts.append(f"the store before is in {receipt['replaced']}")
        if old is None:
            parts.append("what was deleted from it could not be read and may be back")
    return "; ".join(parts)
