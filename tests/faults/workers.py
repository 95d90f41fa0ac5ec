"""What child processes do until they are killed. Each tells over a pipe what it was told is stored.

They are started by a fork server that has imported this module already: a child then takes some
milliseconds, and a thousand of them a minute.
"""

import os
import signal
from multiprocessing.connection import Connection
from pathlib import Path

import apsw

from core.index import backfill
from core.index.state import new_holder
from core.sources import ingest
from core.store.connection import open_store
from core.types import Role
from tests.unit.store.making import message, store_messages

READY = b"ready"
EACH = 3
"""Messages of one commit of `write`."""


def write(acks: Connection, path: Path, tokenizer: Path, first: int) -> None:
    """Store commits of three messages, numbered from `first`, without end."""
    db = open_store(path, tokenizer)
    acks.send_bytes(READY)
    number = first
    while True:
        store_messages(db, *said(number))
        acks.send_bytes(str(number).encode())
        number += 1


def said(number: int) -> list:
    """The messages of one commit."""
    roles = (Role.USER, Role.ASSISTANT, Role.TOOL)
    return [
        message(
            f"{number}-{each}",
            f"第{number}次订阅 kestrel word{number} " * (1 + number % 40),
            role=roles[each],
            session=f"s{number % 5}",
        )
        for each in range(EACH)
    ]


def fill(acks: Connection, path: Path, tokenizer: Path) -> None:
    """Run the backfill to its end."""
    db = open_store(path, tokenizer)
    acks.send_bytes(READY)
    for progress in backfill.run_sync(db, new_holder()):
        acks.send_bytes(f"{progress.what} {progress.done}".encode())
    db.close()


def take_in(acks: Connection, path: Path, tokenizer: Path, folder: Path) -> None:
    """Import a folder to its end."""
    db = open_store(path, tokenizer)
    acks.send_bytes(READY)
    for progress in ingest.run_sync(db, ingest.Import([folder])):
        acks.send_bytes(str(progress.messages or 0).encode())
    db.close()


def open_and_die(acks: Connection, path: Path, tokenizer: Path, at: int) -> None:
    """Open the store, which migrates it, and be killed before statement `at` (0: never)."""
    seen = 0

    def count(cursor: object, sql: str, bindings: object) -> bool:
        nonlocal seen
        seen += 1
        if seen == at:
            os.kill(os.getpid(), signal.SIGKILL)
        return True

    apsw.connection_hooks.append(lambda db: setattr(db, "exec_trace", count))
    acks.send_bytes(READY)
    open_store(path, tokenizer).close()
    acks.send_bytes(str(seen).encode())
