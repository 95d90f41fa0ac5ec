"""Damaging stores that nobody has open, and what must be true of them afterwards."""

import random
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw

from core.store.connection import open_reader, open_writer
from core.types import Role
from tests.unit.store.making import library, message, path_at, store_at, store_messages

PAGE = 4096
WORDS = ("kestrel", "osprey", "harrier", "merlin", "goshawk")


def filled(folder: Path, messages: int = 300, sessions: int = 6) -> Path:
    """A closed store whose texts hold a word each that no other has, and one of `WORDS`."""
    with closing(store_at(folder)) as db:
        records = [
            message(
                f"m{n}",
                f"{WORDS[n % 5]} row{n}x 电影订阅 {n}号 " + f"filler{n % 17} text {n} " * 30,
                session=f"s{n % sessions}",
                role=Role.TOOL if n % 11 == 10 else Role.USER,
                created_at_ms=1_700_000_000_000 + n * 1000,
            )
            for n in range(messages)
        ]
        for at in range(0, messages, 50):
            store_messages(db, *records[at : at + 50])
    return path_at(folder)


def pages_of(path: Path, *tables: str) -> list[int]:
    """The pages of some tables, in order; the store is opened for it and closed again."""
    with closing(open_reader(path, tokenizer=None)) as db:
        marks = ", ".join("?" * len(tables))
        sql = f"SELECT pageno FROM dbstat WHERE name IN ({marks}) ORDER BY pageno"
        return [int(page) for (page,) in db.execute(sql, tables)]


def leaves_of(path: Path, table: str) -> list[int]:
    with closing(open_reader(path, tokenizer=None)) as db:
        sql = "SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY pageno"
        return [int(page) for (page,) in db.execute(sql, (table,))]


def overwrite(path: Path, page: int, content: bytes) -> None:
    """Write over the file from the beginning of a page on. Nobody may have it open."""
    with path.open("r+b") as file:
        file.seek((page - 1) * PAGE)
        file.write(content)


def noise(seed: int, size: int = PAGE) -> bytes:
    return random.Random(seed).randbytes(size)


@contextmanager
def opened(path: Path) -> Iterator[apsw.Connection]:
    db = open_writer(path, tokenizer=library())
    try:
        yield db
    finally:
        db.close()
