"""Windows of a very long session, and the list of very many.

    python -m tests.bench.bench_sizes CORPUS STORE_FOLDER

Makes a store of its own beside the one of the other benches: 100,000 sessions of one message,
and one session of 100,000. What is measured here does not depend on how long the texts are.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

import apsw

from core.history.append import Batch, append
from core.history.sessions import list_sessions
from core.recall.window import window
from core.sources.records import MessageRecord, SessionRecord
from core.store.connection import open_reader, open_store, transaction
from core.types import Origin, Role, SessionFilter, TimeQuality
from tests.bench import vocabulary
from tests.bench.measuring import Row, library, tell, timed

SESSIONS = MESSAGES = 100_000
BATCH = 2_000
WINDOW_MS, LIST_MS = 1.0, 2.0
_LONG = "long"
_BEGINS_MS = 1_700_000_000_000


def made(folder: Path) -> Path:
    """Return the store; it is made where it is missing."""
    found = folder / "sizes"
    if not found.exists():
        print("making 100,000 sessions ...", file=sys.stderr)
        new = folder / "sizes.new"
        new.mkdir(parents=True, mode=0o700, exist_ok=True)
        for left in new.iterdir():
            left.unlink()
        db = open_store(new / "state.db", None)
        _fill(db, Random(1))
        db.close()
        new.rename(found)
    return found / "state.db"


def _fill(db: apsw.Connection, random: Random) -> None:
    with transaction(db):
        db.execute(
            "INSERT INTO sources(kind, instance, root, display_name, reader_version)"
            " VALUES ('claude-code', '', '/home/dev', 'claude-code', 1)"
        )
    names = [f"session-{number}" for number in range(SESSIONS)]
    for start in range(0, SESSIONS, BATCH):
        _store(db, random, names[start : start + BATCH])
    for _ in range(0, MESSAGES, BATCH):
        _store(db, random, [_LONG] * BATCH)


def _store(db: apsw.Connection, random: Random, sessions: list[str]) -> None:
    words = vocabulary.english()
    records, messages = [], []
    for session in sessions:
        at_ms = _BEGINS_MS + random.randrange(60_000_000_000)
        title = " ".join(words.draw(random, 5))
        records.append(SessionRecord(session, title=title, cwd="/home/dev/backend"))
        uid, text = f"{random.getrandbits(64):x}", " ".join(words.draw(random, 8))
        messages.append(
            MessageRecord(
                session, uid, Role.USER, text, Origin.HUMAN,
                created_at_ms=at_ms, time_quality=TimeQuality.EXACT,
            )
        )  # fmt: skip
    with transaction(db):
        append(db, Batch(1, records, messages))


def measured(folder: Path) -> Iterator[Row]:
    """Ask that store and tell what was seen."""
    db = open_reader(made(folder), tokenizer=library())
    session = db.execute("SELECT id FROM sessions WHERE native_id = ?", (_LONG,)).get
    anchor = db.execute(
        "SELECT message_id FROM message_placements WHERE session_id = ? ORDER BY seq"
        " LIMIT 1 OFFSET ?",
        (session, MESSAGES // 2),
    ).get
    held = len(window(db, anchor, before=20, after=20).messages)
    for name, work, budget in (
        (
            f"window ±20 in a session of {MESSAGES:,}: {held} messages",
            lambda: window(db, anchor, before=20, after=20),
            WINDOW_MS,
        ),
        (
            f"50 newest sessions of {SESSIONS:,}",
            lambda: list_sessions(db, SessionFilter(), limit=50),
            LIST_MS,
        ),
    ):
        took = timed(work)
        yield Row(name, str(took), f"≤ {budget:.0f} ms", took.median <= budget)
    db.close()


if __name__ == "__main__":
    tell(list(measured(Path(sys.argv[2]).parent)))
