"""What importing costs at the least: parse, one table, three indexes, and nothing else.

No identity, no sessions, no searchable form, no states, no triggers, nothing that another import
could go on from. SQLite's own work is the same: the tokenizers and rows of the real indexes,
batches of 2,000 rows, WAL, every commit synced. The peer that the import is held against.
"""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw

from core.store import recipe
from core.store.indexes import INDEXES
from core.unicode61 import tokenize_option
from tests.bench.measuring import library

BATCH_ROWS = 2_000

Row = tuple[str, str, str, int]


def load(corpus: Path, folder: Path) -> float:
    """Load the corpus into a bare store below `folder` and return the seconds."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "bare.db"
    for name in (path, path.with_name("bare.db-wal"), path.with_name("bare.db-shm")):
        name.unlink(missing_ok=True)
    db = apsw.Connection(str(path))
    db.pragma("journal_mode", "WAL")
    db.pragma("synchronous", "FULL")
    db.pragma("cache_size", recipe.WRITER_CACHE.value)
    recipe.load_tokenizer(db, library())
    db.execute("CREATE TABLE m(id INTEGER PRIMARY KEY, role TEXT, text TEXT, calls TEXT, cjk INT)")
    for index in INDEXES.values():
        db.execute(
            f"CREATE VIRTUAL TABLE {index.name} USING fts5(text, calls, content = 'm',"
            f" content_rowid = 'id', {tokenize_option(index.tokenizer)}, detail = {index.detail})"
        )
    started = time.perf_counter()
    rows: list[Row] = []
    for row in _rows(corpus):
        rows.append(row)
        if len(rows) == BATCH_ROWS:
            _store(db, rows)
            rows.clear()
    _store(db, rows)
    for name in INDEXES:
        _settle(db, name)
    seconds = time.perf_counter() - started
    db.close()
    path.unlink()
    return seconds


def _rows(corpus: Path) -> Iterator[Row]:
    for path in corpus.rglob("*.jsonl"):
        with path.open("rb") as lines:
            for line in lines:
                yield _row(json.loads(line)["message"])


def _row(message: dict[str, Any]) -> Row:
    content, role = message["content"], message["role"]
    texts: list[str] = [content] if isinstance(content, str) else []
    calls = ""
    for block in content if isinstance(content, list) else ():
        match block["type"]:
            case "text":
                texts.append(block["text"])
            case "tool_result":
                role = "tool"
                texts.append(block["content"])
            case _:
                calls = "\n".join((block["name"], *block["input"].values()))
    text = "\n".join(texts)
    return role, text, calls, not text.isascii()


def _store(db: apsw.Connection, rows: list[Row]) -> None:
    db.execute("BEGIN IMMEDIATE")
    first = int(db.execute("SELECT coalesce(max(id), 0) FROM m").get) + 1
    db.executemany("INSERT INTO m(role, text, calls, cjk) VALUES (?, ?, ?, ?)", rows)
    for index in INDEXES.values():
        held = {"all": "1", "with cjk": "(role <> 'tool' OR cjk)", "none": "role <> 'tool'"}
        db.execute(
            f"INSERT INTO {index.name}(rowid, text, calls) SELECT id, text, calls FROM m"
            f" WHERE id >= ? AND {held[index.tool_rows]}",
            (first,),
        )
    db.execute("COMMIT")


def _settle(db: apsw.Connection, name: str) -> None:
    pages = -100
    while True:
        before = db.total_changes()
        db.execute(f"INSERT INTO {name}({name}, rank) VALUES ('merge', ?)", (pages,))
        if db.total_changes() - before < 2:
            return
        pages = 100
