"""The same questions to hermes-agent's own store, on the same texts in the same run.

    python -m tests.bench.bench_peers CORPUS STORE_FOLDER

`make bench-peers` puts that package into an environment of its own, where `peer.py` asks it.
The store is the one that the import bench left of the same corpus.
"""

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw

from core.history.sessions import list_sessions
from core.recall.window import window
from core.search.run import search
from core.store.connection import open_reader, snapshot
from core.types import SearchRequest, SessionFilter
from tests.bench import terms
from tests.bench.measuring import ROOT, Row, library, tell

PEER = ROOT / "build" / "peers" / "bin" / "python"
MOST_MESSAGES = 100_000  # the peer's import takes minutes for more
RUNS = 11
COMMON, TWO_CHARACTERS, SLOWER_MS = 2.0, 10.0, 1.0


def measured(corpus: Path, folder: Path) -> Iterator[Row]:
    """Ask both in turn and tell what was seen; where the peer is not there, say so."""
    if not PEER.exists():
        yield Row("hermes-agent", "not installed: make bench-peers")
        return
    db = open_reader(folder / "state.db", tokenizer=library())
    if db.execute("SELECT count(*) FROM message_keys").get > MOST_MESSAGES:
        yield Row("hermes-agent", f"compared at {MOST_MESSAGES:,} messages")
    else:
        with Peer(corpus, folder) as peer:
            yield from _compared(db, peer)
    db.close()


class Peer:
    """The other program's process: it is asked a line and answers one."""

    def __init__(self, corpus: Path, folder: Path) -> None:
        place = folder.with_name(f"{folder.name}-peer-{corpus.name}")
        self._process = subprocess.Popen(
            [PEER, "-I", ROOT / "tests" / "bench" / "peer.py", corpus, place],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=folder.parent,
            env={"HERMES_HOME": str(place), "HOME": str(place), "PATH": "/usr/bin:/bin"},
        )  # fmt: skip
        self.version = self._line()

    def __enter__(self) -> "Peer":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def ask(self, *question: str) -> tuple[float, int]:
        """Return the milliseconds that its answer took, and how many came."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        milliseconds, count = self._line()
        return float(milliseconds), int(count)

    def _line(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("hermes-agent gave no answer")
        return json.loads(line)


def _compared(db: apsw.Connection, peer: Peer) -> Iterator[Row]:
    cjk, latin = terms.cjk_terms(db), terms.latin_terms(db)
    for name, term, factor in (
        ("common", latin["common"], COMMON),
        ("common", "function", COMMON),
        ("common", "error", COMMON),
        ("rare", latin["rare"], 0.0),
        ("four characters", terms.long_cjk_term(db), 0.0),
        ("common", cjk["common"], TWO_CHARACTERS),
        ("medium", cjk["medium"], TWO_CHARACTERS),
        ("rare", cjk["rare"], TWO_CHARACTERS),
    ):
        hits = terms.hits(
            db, "messages_fts_cjk" if factor == TWO_CHARACTERS else "messages_fts", term
        )
        about = f" of {hits:,} messages" if name != "four characters" else ""
        yield _row(f"{name} {term}{about}", peer, ("search", term), factor,
                   lambda term=term: _search(db, term))  # fmt: skip
    session = _a_session(db)
    anchor = _anchor(db, session)
    yield _row(
        "window ±20", peer, ("window", session), 0.0,
        lambda: window(db, anchor, before=20, after=20),
    )  # fmt: skip
    yield _row(
        "50 newest sessions", peer, ("list",), 0.0,
        lambda: list_sessions(db, SessionFilter(), limit=50),
    )  # fmt: skip


def _row(
    name: str, peer: Peer, question: tuple[str, ...], factor: float, ours: Callable[[], Any]
) -> Row:
    """Ask both in turn, so that what else the machine does slows both alike."""
    own, other = [], []
    for _ in range(RUNS + 2):
        began = time.perf_counter()
        ours()
        own.append((time.perf_counter() - began) * 1000)
        other.append(peer.ask(*question)[0])
    ours_ms, theirs_ms = statistics.median(own[2:]), statistics.median(other[2:])
    ratio = theirs_ms / ours_ms
    budget = f"≥ {factor:.0f} × faster" if factor else f"≤ {SLOWER_MS:.0f} ms slower"
    is_fast = ratio >= factor and ours_ms - theirs_ms <= SLOWER_MS
    seen = f"{ours_ms:.2f} ms, there {theirs_ms:.2f}, {ratio:.1f} × faster"
    return Row(f"hermes-agent {peer.version}: {name}", seen, budget, is_fast)


def _search(db: apsw.Connection, term: str) -> None:
    with snapshot(db):
        search(db, SearchRequest(term))


def _a_session(db: apsw.Connection) -> str:
    sql = (
        "SELECT native_id FROM sessions WHERE message_count BETWEEN 150 AND 400 ORDER BY id LIMIT 1"
    )
    return str(db.execute(sql).get)


def _anchor(db: apsw.Connection, session: str) -> int:
    sql = (
        "SELECT p.message_id FROM message_placements AS p JOIN sessions AS s ON s.id = p.session_id"
        " WHERE s.native_id = ? ORDER BY p.seq LIMIT 1 OFFSET 75"
    )
    return int(db.execute(sql, (session,)).get)


if __name__ == "__main__":
    tell(list(measured(Path(sys.argv[1]), Path(sys.argv[2]))))
