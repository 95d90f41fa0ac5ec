"""What child processes do until they are killed. Each tells over a pipe what it was told is stored.

They are started by a fork server that has imported this module already: a child then takes some
milliseconds, and a thousand of them a minute.
"""

import os
import signal
import time
from multiprocessing.connection import Connection
from pathlib import Path

import apsw

from core.index import backfill
from core.index.state import new_holder
from core.sources import ingest
from core.store import attachment
from core.store.connection import open_store, transaction
from core.store.indexes import INDEXES
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


def write_some(acks: Connection, path: Path, tokenizer: Path, name: int, commits: int) -> None:
    """Store single messages as fast as others let it; tell last how long each commit took."""
    db = open_store(path, tokenizer)
    acks.send_bytes(READY)
    seconds = []
    for number in range(commits):
        text = f"第{number}次订阅 live{number} " * 5
        began = time.perf_counter()
        store_messages(db, message(f"{name}:{number}", text, session=f"w{name}"))
        seconds.append(time.perf_counter() - began)
    db.close()
    acks.send_bytes(" ".join(map(str, seconds)).encode())


def fill_again(acks: Connection, path: Path, tokenizer: Path) -> None:
    """Empty two indexes and fill them, as considerately as the window does."""
    db = open_store(path, tokenizer)
    with transaction(db):
        for name in ("messages_fts", "messages_fts_trigram"):
            attachment.rebuild(db, INDEXES[name], None)
    acks.send_bytes(READY)
    for _ in backfill.run_sync(db, new_holder(), is_busy=lambda: True):
        pass
    db.close()


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
