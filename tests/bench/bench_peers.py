"""The same questions to hermes-agent's own store, on the same texts in the same run.

    python -m tests.bench.bench_peers CORPUS STORE_FOLDER

`make bench-peers` puts that package into an environment of its own, where `peer.py` asks it.
The store is the one that the import bench left of the same corpus.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw

from core.history.sessions import list_sessions
from core.recall.window import window
from core.search.run import search
from core.store.connection import open_reader, snapshot
from core.types import SearchRequest, SessionFilter
from tests.bench import terms
from tests.bench.measuring import ROOT, Row, library, tell, timed

PEER = ROOT / "build" / "peers" / "bin" / "python"
MOST_MESSAGES = 100_000  # the peer's import takes minutes for more
RUNS = 11
COMMON, TWO_CHARACTERS, SLOWER_MS = 2.0, 10.0, 1.0


def measured(corpus: Path, folder: Path) -> Iterator[Row]:
    """Ask both and tell what was seen; where the peer is not there, say so."""
    if not PEER.exists():
        yield Row("hermes-agent", "not installed: make bench-peers")
        return
    db = open_reader(folder / "state.db", tokenizer=library())
    messages = db.execute("SELECT count(*) FROM message_keys").get
    if messages > MOST_MESSAGES:
        yield Row("hermes-agent", f"compared at {MOST_MESSAGES:,} messages")
        db.close()
        return
    cjk, latin = terms.cjk_terms(db), terms.latin_terms(db)
    asked = {
        f"common {latin['common']}": (latin["common"], COMMON),
        f"rare {latin['rare']}": (latin["rare"], 0.0),
        f"four characters {terms.long_cjk_term(db)}": (terms.long_cjk_term(db), 0.0),
        f"common {cjk['common']}": (cjk["common"], TWO_CHARACTERS),
        f"medium {cjk['medium']}": (cjk["medium"], TWO_CHARACTERS),
        f"rare {cjk['rare']}": (cjk["rare"], TWO_CHARACTERS),
    }
    session = _a_session(db)
    ours = {term: timed(lambda term=term: _search(db, term), RUNS)[0] for term, _ in asked.values()}
    anchor = _anchor(db, session)
    ours_window = timed(lambda: window(db, anchor, before=20, after=20), RUNS)[0]
    ours_list = timed(lambda: list_sessions(db, SessionFilter(), limit=50), RUNS)[0]
    db.close()
    theirs = _asked_there(corpus, folder, [term for term, _ in asked.values()], session)
    version = theirs["version"]
    for name, (term, factor) in asked.items():
        peer_ms, _, hits = theirs["searches"][term]
        yield _row(f"{name}, hermes-agent {version}: {hits:.0f} hits shown", ours[term], peer_ms,
                   factor)  # fmt: skip
    yield _row(f"window ±20, hermes-agent {version}", ours_window, theirs["window"][0], 0.0)
    yield _row(f"50 newest sessions, hermes-agent {version}", ours_list, theirs["list"][0], 0.0)


def _row(name: str, ours_ms: float, theirs_ms: float, factor: float) -> Row:
    ratio = theirs_ms / ours_ms
    budget = f"≥ {factor:.0f} × faster" if factor else f"≤ {SLOWER_MS:.0f} ms slower"
    is_fast = ratio >= factor and ours_ms - theirs_ms <= SLOWER_MS
    seen = f"{ours_ms:.2f} ms, there {theirs_ms:.2f}, {ratio:.1f} × faster"
    return Row(name, seen, budget, is_fast)


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


def _asked_there(corpus: Path, folder: Path, words: list[str], session: str) -> dict[str, Any]:
    questions = json.dumps({"searches": words, "runs": RUNS, "window": session})
    place = folder.with_name(f"{folder.name}-peer-{corpus.name}")
    done = subprocess.run(
        [PEER, "-I", ROOT / "tests" / "bench" / "peer.py", corpus, place],
        input=questions, text=True, stdout=subprocess.PIPE, check=True, cwd=place.parent,
        env={"HERMES_HOME": str(place), "HOME": str(place), "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


if __name__ == "__main__":
    tell(list(measured(Path(sys.argv[1]), Path(sys.argv[2]))))
