"""Rescuing a store whose file is damaged: what can be read goes into a new one, the old is kept.

Rows are read page by page (`pages`), each message is compared with its hash, and what is lost is
taken from the newest snapshot. What is lost still is told by id and time: other pages know of it.
"""

import json
import os
import stat
from collections.abc import Generator, Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import apsw

from core import paths
from core.errors import RefusedError, StoreError
from core.history.tombstones import read_key
from core.index import backfill
from core.index.state import new_holder
from core.store import copying, creation, damage, holders, replacing, snapshots
from core.store.connection import open_writer, transaction
from core.types import Progress
from core.upkeep import operations, rescue
from core.upkeep.deleting_again import delete_again
from core.upkeep.pages import Pages
from core.upkeep_types import Actor, Report, Snapshot

_PAGES_A_STEP = 500


def preview(path: Path) -> str:
    """Return in words what a salvage would read; no file is opened.

    Raises:
        StoreError: there is no store, or no file in its place.
    """
    _require_file(path)
    newest = _snapshot(path)
    beside = "there is no snapshot"
    if newest is not None:
        when = datetime.fromtimestamp(newest.created_at_ms / 1000).astimezone()
        beside = f"what is missing is taken from the snapshot of {when:%Y-%m-%d %H:%M}"
    return f"What can be read of {path} ({path.stat().st_size:,} bytes; {beside})"


def run(path: Path, actor: Actor, *, tokenizer: Path | None = None) -> Iterator[Progress | Report]:
    """Put a new store in the place of a damaged one; yields a report of what was lost last.

    The damaged file, its log and `report.json` lie in `damaged-<time>/` beside it afterwards.
    Stopped or killed before the new store is whole it leaves everything as it was; from then on
    whoever opens the store next puts the new one in its place. Some 30 s for 100,000
    messages; the indexes are filled at its end, which the backfill goes on with when stopped.

    Raises:
        RefusedError: some program has the store open, this one perhaps.
        StoreError: there is no store, or no file in its place.
        StoreFullError: there is not enough room for the new store.
    """
    _require_file(path)
    _require_alone(path)
    copying.require_room(path.parent, path.stat().st_size + path.stat().st_size // 4)
    with replacing.staging(path.parent) as (staged, stamp):
        facts = yield from _read_into(path, staged / replacing.NEW_NAME)
        _require_alone(path)
        folder = path.parent / f"damaged-{stamp}"
        paths.ensure_private_dir(folder)
        paths.write_private_file(folder / "report.json", json.dumps(facts, indent=1).encode())
        replacing.replace(path.parent, staged, folder)
    damage.mend(str(path))
    yield from _finished(path, folder, facts, actor, tokenizer)


def _read_into(path: Path, new: Path) -> Generator[Progress, None, dict[str, Any]]:
    creation.prepare(new)
    db = open_writer(new, tokenizer=None)
    with closing(db), closing(Pages(path)) as pages:
        taken = rescue.Rescue(db)
        for number in range(1, pages.count + 1):
            taken.take(pages, number)
            if number % _PAGES_A_STEP == 0:
                taken.store()
                yield Progress(number, pages.count, "steps", "reading pages")
        taken.store()
        newest = _snapshot(path)
        if newest is not None:
            with closing(snapshots.opened_still(Path(newest.path))) as old:
                yield from taken.merge(old)
        facts = taken.finish()
        yield from _deleted_again(db, path.parent, facts)
        with transaction(db):
            rescue.begin_indexes(db)  # from the first moment they say that they hold nothing yet
        facts["messages"] = int(db.execute("SELECT count(*) FROM messages").get)
        facts["snapshot"] = None if newest is None else Path(newest.path).name
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return facts


def _deleted_again(db: apsw.Connection, profile: Path, facts: dict[str, Any]) -> Iterator[Progress]:
    """Delete what the snapshot has brought back, or tell that nobody knows what that is."""
    if db.execute("SELECT 1 FROM tombstones LIMIT 1").get is None:
        return
    try:
        key = read_key(profile)
    except StoreError as error:  # what can be read is worth more than to stop here
        facts["deletions_unknown"] = str(error)
        return
    yield from delete_again(db, key)


def _finished(
    path: Path, folder: Path, facts: dict[str, Any], actor: Actor, tokenizer: Path | None
) -> Iterator[Progress | Report]:
    outcome = _in_words(facts, folder)
    db = open_writer(path, tokenizer=tokenizer)
    with closing(db):
        with transaction(db):
            rescue.begin_indexes(db)
            claimed = operations.begin(db, "salvage", {"folder": folder.name}, actor)
            operations.finish(db, claimed, "succeeded", outcome, facts)
        yield from backfill.run_sync(db, new_holder(), now=True)
    yield Report(outcome, {**facts, "kept": str(folder)})


def _require_file(path: Path) -> None:
    if not os.path.lexists(path):
        raise StoreError(f"{path} is not there: nothing can be read")
    if not stat.S_ISREG(path.lstat().st_mode):
        raise StoreError(f"{path} is not a regular file")


def _require_alone(path: Path) -> None:
    others = holders.open_elsewhere(path, with_us=True)
    if others:
        raise RefusedError(
            f"{path} is open in {holders.in_words(others)}: end it first. Nothing was changed"
        )


def _snapshot(path: Path) -> Snapshot | None:
    """Return the newest snapshot without a known problem."""
    found = snapshots.listed(snapshots.folder_of(path.parent))
    return next((each for each in found if not each.problem), None)


def _in_words(facts: dict[str, Any], folder: Path) -> str:
    lost = facts["lost_messages"]
    told = f"{facts['messages']:,} messages are in the new store"
    if facts["from_snapshot"]:
        told += f", {facts['from_snapshot'].get('messages', 0):,} of them from the snapshot"
    told += f"; {lost:,} are lost" if lost else "; none is known to be lost"
    if facts.get("deletions_unknown") and facts["from_snapshot"]:
        told += "; what was deleted since the snapshot may be back, for its key cannot be read"
    if not facts["messages"]:
        told = "nothing could be read: import your sources again"
    return f"{told}. The damaged file is kept in {folder.name}"
