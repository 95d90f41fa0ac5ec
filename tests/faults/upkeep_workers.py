"""Upkeep in child processes until they are killed. Each begins as the program does: it recovers."""

from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import apsw

from core.store import snapshots
from core.store.connection import open_store, snapshot, transaction
from core.upkeep import backup, compact, operations, purge, restore, retention, trash
from core.upkeep_types import RetentionRule
from tests.faults.workers import READY

RULE = RetentionRule(days=365)


def _all(
    acks: Connection, path: Path, tokenizer: Path, work: Callable[[apsw.Connection], Iterator[Any]]
) -> None:
    db = open_store(path, tokenizer)
    with transaction(db):
        operations.recover(db)
    acks.send_bytes(READY)
    for step in work(db):
        acks.send_bytes(type(step).__name__.encode())
    db.close()


def move_to_trash(acks: Connection, path: Path, tokenizer: Path) -> None:
    """Apply the rule to what it is for now."""
    _all(acks, path, tokenizer, _moving)


def _moving(db: apsw.Connection) -> Iterator[Any]:
    with snapshot(db):
        found = retention.preview(db, RULE)
    if found.sessions:
        yield from retention.apply(db, found.token, "command", confirmed=True)


def empty_trash(acks: Connection, path: Path, tokenizer: Path) -> None:
    """Delete all that is in the trash."""
    _all(acks, path, tokenizer, lambda db: trash.empty(db, "command"))


def erase(acks: Connection, path: Path, tokenizer: Path) -> None:
    """Purge now."""
    _all(acks, path, tokenizer, lambda db: purge.run(db, "command", now=True))


def back_up(acks: Connection, path: Path, tokenizer: Path) -> None:
    """Make a snapshot and prove it."""
    _all(acks, path, tokenizer, lambda db: backup.make(db, "faults", "command"))


def go_back(acks: Connection, path: Path, tokenizer: Path) -> None:
    """Restore the snapshot that there is, as a program that has the store not open."""
    del tokenizer
    (kept,) = snapshots.listed(snapshots.folder_of(path.parent))
    acks.send_bytes(READY)
    for step in restore.restore(path.parent, Path(kept.path), "command"):
        acks.send_bytes(type(step).__name__.encode())


def shrink(acks: Connection, path: Path, tokenizer: Path) -> None:
    """Write the file anew."""
    _all(acks, path, tokenizer, lambda db: compact.run(db, "command"))
