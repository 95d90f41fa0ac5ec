"""The power goes out: a store is used once, and the disk is rebuilt as it was at any moment.

What was written but not yet synced is lost, or a random part of it is there, or parts of it are
torn at sectors of 512 bytes. Each such disk is opened as usual and held against what the program
had been told was stored (https://www.sqlite.org/testing.html, "Crash testing").
"""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

import apsw

from core.errors import CoreError
from core.index import backfill
from core.index.backfill import Pace
from core.index.state import new_holder, release
from core.sources.records import MessageRecord
from core.store import attachment, recipe
from core.store.connection import (
    open_store,
    open_writer,
    tokenizer_fingerprint,
    transaction,
)
from core.store.indexes import CJK, INDEXES
from core.types import INDEX_NAMES, MessageState, Role
from tests.faults import truth
from tests.faults.disks import Disk, Op, through
from tests.unit.store.making import library, message, path_at, store_at, store_messages

SECTOR = 512
Damage = Literal["lost", "subset", "torn"]
DAMAGES: tuple[Damage, ...] = ("lost", "subset", "torn")


@dataclass
class Recording:
    """What a store's disk was asked to do, and what the store held after each commit."""

    base: dict[str, bytes]
    log: list[Op]
    states: list[str] = field(default_factory=list)

    @property
    def moments(self) -> list[int]:
        """The places in the log after which the power may go."""
        return [at for at, op in enumerate(self.log, 1) if op.call != "ack"]

    @property
    def syncs(self) -> int:
        """How often the program waited for the disk."""
        return sum(op.call == "sync" for op in self.log)


class Image(NamedTuple):
    """The files as they are when the power is back, and what was acknowledged before."""

    files: dict[str, bytearray]
    acked: int
    damage: Damage
    moment: int


@contextmanager
def synchronous(value: str, read_back: int) -> Iterator[None]:
    """Have every connection made within the block wait for the disk like this."""
    usual = recipe.RECIPE
    changed = recipe.Pragma("synchronous", value, read_back)
    recipe.RECIPE = tuple(changed if p.name == "synchronous" else p for p in usual)
    try:
        yield
    finally:
        recipe.RECIPE = usual


def record(folder: Path, commits: int, seed: int = 1) -> Recording:
    """Use a real store: messages come, change and go, checkpoints, and a backfill beside it."""
    store_at(folder).close()
    path = path_at(folder)
    base = {each.name: each.read_bytes() for each in path.parent.glob("state.db*")}
    log: list[Op] = []
    disk, rng = Disk(log), random.Random(seed)
    with through(disk):
        db = open_writer(path, tokenizer=library())
        found = Recording(base, log, [truth.digest(db)])
        pace, holder = Pace(text_bytes=2_000), new_holder()
        for number in range(1, commits + 1):
            if number == commits // 3:
                _empty(db)
            _change(db, rng, number)
            found.states.append(truth.digest(db))
            disk.ack(number)
            if number > commits // 3:
                _fill_on(db, pace, holder)
            if number % 9 == 0:
                db.pragma("wal_checkpoint", "TRUNCATE" if number % 2 else "PASSIVE")
        db.close()
    return found


def _change(db: apsw.Connection, rng: random.Random, number: int) -> None:
    """One commit of the kind that follows from its number."""
    known = [uid for (uid,) in db.execute("SELECT uid FROM messages WHERE state = 'active'")]
    match number % 6:
        case 3 if known:
            uid = rng.choice(known)
            text = f"第{number}次订阅 rewritten{number} " * rng.randrange(1, 9)
            store_messages(db, message(uid, text), rewrites=True)
        case 4 if known:
            store_messages(db, message(rng.choice(known), state=MessageState.REWOUND))
        case 5 if known:
            with transaction(db):
                sql = "SELECT max(id) FROM messages WHERE uid = ?"
                gone = db.execute(sql, (rng.choice(known),)).get
                db.execute("DELETE FROM message_placements WHERE message_id = ?", (gone,))
                db.execute("DELETE FROM messages WHERE id = ?", (gone,))
                db.execute(_RECOUNT)
        case _:
            store_messages(db, *(_said(rng, f"{number}-{each}") for each in range(3)))


_RECOUNT = f"""
UPDATE sessions SET (message_count, user_turn_count) = (
  SELECT count(*), coalesce(sum(m.role = 'user' AND m.origin = 'human'), 0)
    FROM message_placements AS p JOIN messages AS m ON m.id = p.message_id
   WHERE p.session_id = sessions.id AND m.state IN {truth.VISIBLE})
"""


def _said(rng: random.Random, uid: str) -> MessageRecord:
    words = ("kestrel", "电影订阅成功", "naïve", "nginx服务", "ответ", "日本語のテスト")
    text = " ".join(rng.choice(words) for _ in range(rng.randrange(3, 120)))
    role = rng.choice((Role.USER, Role.ASSISTANT, Role.TOOL))
    return message(uid, f"{text} {uid}", role=role, session=f"s{rng.randrange(4)}")


def _empty(db: apsw.Connection) -> None:
    with transaction(db):
        for name in INDEX_NAMES:
            own = tokenizer_fingerprint(db) if name == CJK else None
            attachment.rebuild(db, INDEXES[name], own)


def _fill_on(db: apsw.Connection, pace: Pace, holder: str) -> None:
    for name in INDEX_NAMES:
        pace.text_bytes = 2_000
        with transaction(db):
            backfill.step(db, name, pace, holder)
    with transaction(db):
        release(db, holder)


def images(found: Recording, moments: list[int], seed: int = 1) -> Iterator[Image]:
    """Yield the disk after each of these moments, once in each kind of damage."""
    rng = random.Random(seed)
    durable = {name: bytearray(content) for name, content in found.base.items()}
    pending: dict[str, list[Op]] = {}
    acked, wanted = 0, set(moments)
    for moment, op in enumerate(found.log, 1):
        match op.call:
            case "ack":
                acked = op.at
            case "sync":
                for waiting in pending.pop(op.file, ()):
                    _apply(durable.setdefault(op.file, bytearray()), waiting)
            case "delete":
                durable.pop(op.file, None)
                pending.pop(op.file, None)
            case _:
                durable.setdefault(op.file, bytearray())
                pending.setdefault(op.file, []).append(op)
        if moment in wanted:
            for damage in DAMAGES:
                files = {name: bytearray(content) for name, content in durable.items()}
                if damage != "lost":
                    _reach_the_disk(files, pending, damage, rng)
                yield Image(files, acked, damage, moment)


def _reach_the_disk(
    files: dict[str, bytearray], pending: dict[str, list[Op]], damage: Damage, rng: random.Random
) -> None:
    """Apply a random part of what was not synced, in order."""
    for name, ops in pending.items():
        for op in ops:
            if rng.random() < 0.5:
                continue
            if damage == "torn" and op.call == "write" and len(op.content) > SECTOR:
                sectors = rng.randrange(1, -(-len(op.content) // SECTOR))
                op = op._replace(content=op.content[: sectors * SECTOR])
            _apply(files[name], op)


def _apply(content: bytearray, op: Op) -> None:
    if op.call == "truncate":
        if op.at < len(content):
            del content[op.at :]
        else:
            content.extend(bytes(op.at - len(content)))
        return
    if len(content) < op.at:
        content.extend(bytes(op.at - len(content)))
    content[op.at : op.at + len(op.content)] = op.content


def verdict(folder: Path, image: Image, states: list[str], *, to_the_end: bool) -> str | None:
    """Open the image as usual; return what is wrong with it, or None.

    `to_the_end` opens it as the program does at its start and lets the backfill finish.
    """
    path = _written(folder, image)
    try:
        opening = open_store if to_the_end else open_writer
        db = opening(path, tokenizer=library())
    except (CoreError, apsw.Error) as error:
        return f"does not open: {error}"
    try:
        if wrong := truth.problems(db):
            return f"damaged: {wrong[0]}"
        here = truth.digest(db)
        reached = [at for at, state in enumerate(states) if state == here]
        if not reached:
            return "is in no state that it ever was in: a hole"
        if reached[-1] < image.acked:
            return f"lost {image.acked - reached[-1]} acknowledged commits"
        if to_the_end and (wrong := truth.finish(db)):
            return f"does not finish: {wrong[0]}"
    except (CoreError, apsw.Error) as error:
        return f"damaged: {error}"
    finally:
        db.close()
    return None


def _written(folder: Path, image: Image) -> Path:
    """Write the image's files; nobody has them open."""
    folder.mkdir(mode=0o700, exist_ok=True)
    for each in folder.glob("state.db*"):
        each.unlink()
    for name, content in image.files.items():
        if not name.endswith("-shm"):
            (folder / name).touch(mode=0o600)
            (folder / name).write_bytes(content)
    return folder / "state.db"
