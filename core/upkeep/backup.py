"""Snapshots of the store, each proved by restoring it: what cannot be read back is no backup."""

import os
import shutil
import stat
import tempfile
import time
from collections.abc import Generator, Iterator
from contextlib import closing
from pathlib import Path

import apsw
from msgspec import structs

from core import paths, settings
from core.errors import CoreError, RefusedError, StoreError
from core.store import copying, snapshots
from core.store.connection import open_writer
from core.store.digest import rolling_hash
from core.store.errors import core_error
from core.types import Progress
from core.upkeep import operations, tiers
from core.upkeep.beside import beside
from core.upkeep.soundness import examine
from core.upkeep_types import Actor, Report, Snapshot

PROOF_PREFIX = "proof-"
_STALE_S = 3600.0


def make(
    db: apsw.Connection, reason: str, actor: Actor, folder: Path | None = None
) -> Iterator[Progress | Snapshot]:
    """Copy the store as it is now, prove the copy by restoring it, and yield the snapshot last.

    One that fails its proof is kept and says why in `problem`. `db` is outside of a transaction
    and stays free: what others write meanwhile is not in the snapshot. Costs two copies of the
    file, on disk too while it is proved, and a pass over each.

    Args:
        db: a connection to the store that may write.
        reason: small letters and hyphens; becomes part of the name.
        actor: who has it made.
        folder: another place than the profile's own folder of snapshots.

    Raises:
        StoreFullError: there is no room for the copy.
        RefusedError: `folder` is a link or no folder.
        RunningError: the same is being made already.
    """
    profile = Path(db.filename).parent
    place = snapshots.folder_of(profile) if folder is None else folder.absolute()
    arguments = {"reason": reason} if folder is None else {"reason": reason, "folder": str(place)}
    with operations.recorded(db, "backup", arguments, actor) as claim:
        _prepare(place, is_own=folder is None)
        with copying.opened_at_one_moment(Path(db.filename)) as source:
            made = yield from _passed_on(snapshots.take(profile, source, reason, place))
        claim.receipt |= {"name": Path(made.path).name, "bytes": made.bytes}
        claim.beat(db, at_once=True)
        proved = yield from _passed_on(prove(Path(made.path)))
        claim.receipt |= {"sessions": proved.sessions, "messages": proved.messages}
        claim.outcome = f"{proved.messages:,} messages kept and proved by a restore"
        if proved.problem:
            claim.state, claim.outcome = "failed", f"kept, but not proved: {proved.problem}"
    yield proved


def prove(path: Path) -> Iterator[Progress | Snapshot]:
    """Restore a snapshot to a private folder beside it and compare; yield what is known then.

    Proved is: opened as every store is, no page wrong, and equal in counts and rolling hash to
    the store at the moment it was taken. Anything else is written down as its problem.
    """
    described = snapshots.read_description(path)
    if described is None:
        yield snapshots.snapshot_at(path)
        return
    problem = yield from _problem(path, described)
    now = time.time_ns() // 1_000_000
    found = structs.replace(described, problem=problem, proved_at_ms=None if problem else now)
    try:
        snapshots.write_description(path, found)
    except OSError as error:
        raise StoreError(f"{path} cannot be described: {error.strerror}") from error
    yield snapshots.snapshot_at(path)


def snapshots_of(profile: Path) -> tuple[Snapshot, ...]:
    """Return the snapshots of a profile, the newest first; reads their descriptions alone."""
    return snapshots.listed(snapshots.folder_of(profile))


def idle(db: apsw.Connection) -> str:
    """Return why no scheduled snapshot is needed now, empty where one is."""
    if not settings.read(db, settings.BACKUP_ON):
        return "scheduled backups are off"
    newest = next(iter(snapshots_of(Path(db.filename).parent)), None)
    described = snapshots.read_description(Path(newest.path)) if newest else None
    if described is None or not described.proved_at_ms:
        return ""
    is_same = described.mark == snapshots.change_mark(db)
    return "nothing changed since the last snapshot" if is_same else ""


def scheduled(db: apsw.Connection, actor: Actor) -> Iterator[Progress | Report]:
    """Make a snapshot, prove any that was never proved, and let those go that are too many.

    Raises:
        StoreError: the new one could not be proved; it is kept.
    """
    profile = Path(db.filename).parent
    made = yield from _passed_on(make(db, "schedule", actor))
    if made.problem:
        raise StoreError(f"{made.path} was made but not proved: {made.problem}")
    for each in snapshots_of(profile):
        if each.proved_at_ms is None and not each.problem:
            yield from (item for item in prove(Path(each.path)) if isinstance(item, Progress))
    removed = thin(profile)
    facts = {"name": Path(made.path).name, "messages": made.messages, "removed": len(removed)}
    yield Report(f"{made.messages:,} messages kept and proved by a restore", facts)


def thin(profile: Path, now_ms: int | None = None) -> tuple[Snapshot, ...]:
    """Remove the snapshots that need not be kept, and what killed processes left.

    Returns:
        Those removed.
    """
    folder = snapshots.folder_of(profile)
    now = time.time_ns() // 1_000_000 if now_ms is None else now_ms
    removed = tiers.superfluous(snapshots.listed(folder), now)
    for each in removed:
        snapshots.remove(Path(each.path))
    snapshots.sweep(folder)
    for place in folder.glob(f"{PROOF_PREFIX}*"):
        if time.time() - place.lstat().st_mtime > _STALE_S:
            shutil.rmtree(place, ignore_errors=True)
    return removed


def _problem(path: Path, described: snapshots.Description) -> Generator[Progress, None, str]:
    """Restore the snapshot elsewhere; return what is wrong with it, or nothing."""
    try:
        place = Path(tempfile.mkdtemp(prefix=PROOF_PREFIX, dir=path.parent))
    except OSError as error:
        return f"it cannot be restored beside it: {error.strerror}"
    try:
        restored = place / "restored.db"
        with closing(snapshots.opened_still(path)) as source:
            yield from copying.copy_moment(source, restored, is_lasting=False)
        with closing(open_writer(restored, tokenizer=None)) as db:
            return (yield from _difference(db, described))
    except apsw.InterruptError:
        raise
    except (CoreError, apsw.Error) as error:
        told = error if isinstance(error, CoreError) else core_error(error, path)
        if told is None:
            raise
        return str(told)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _difference(
    db: apsw.Connection, described: snapshots.Description
) -> Generator[Progress, None, str]:
    found = yield from beside(db, examine, "checking")
    if found.problems:  # a damaged index alone is made again by a restore
        return "; ".join(found.problems[:3])
    for what, told in (("sessions", described.sessions), ("messages", described.messages)):
        count = int(db.execute(f"SELECT count(*) FROM {what}").get)
        if count != told:
            return f"it holds {count:,} {what} instead of {told:,}"
    for item in rolling_hash(db):
        if isinstance(item, Progress):
            yield item
        elif item != described.rolling_hash:
            return "what it holds is not what the store held"
    return ""


def _prepare(place: Path, *, is_own: bool) -> None:
    """Make the folder where it is missing; one of the user's own is left with its modes."""
    if is_own or not os.path.lexists(place):
        paths.ensure_private_dir(place)
    elif not stat.S_ISDIR(place.lstat().st_mode):
        raise RefusedError(f"{place} is no folder; a link is not followed")


def _passed_on(steps: Iterator[Progress | Snapshot]) -> Generator[Progress, None, Snapshot]:
    """Pass progress on, and return the snapshot that comes last."""
    found: Snapshot | None = None
    for item in steps:
        if isinstance(item, Snapshot):
            found = item
        else:
            yield item
    assert found is not None, "a snapshot always comes last"
    return found
