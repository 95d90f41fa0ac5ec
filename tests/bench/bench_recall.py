"""What recall costs beyond the search it makes, and what reading on costs.

    python -m tests.bench.bench_recall CORPUS STORE_FOLDER

The store is the one that the import bench left. A search and a discovery of the same words are
asked in turn, and told in processor time: what else the machine does would hide the difference.
"""

import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw

from core.recall.recall import recall
from core.search.run import search
from core.store.connection import open_reader, snapshot
from core.types import RecallAnswer, RecallRequest, Role, SearchRequest, SearchResult
from tests.bench import terms
from tests.bench.measuring import RUNS, Row, library, tell, timed

BEYOND_MS, READ_MS, BROWSE_MS = 8.0, 5.0, 20.0
SPOKEN = (Role.USER, Role.ASSISTANT)


class Bench:
    """Asks one store, each question inside one snapshot, as the program does."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db

    def recall(self, request: RecallRequest) -> RecallAnswer:
        """Recall."""
        with snapshot(self._db):
            return recall(self._db, request)

    def search(self, query: str) -> SearchResult:
        """Search as a discovery does: for what persons and models said."""
        with snapshot(self._db):
            return search(self._db, SearchRequest(query, roles=SPOKEN))

    def discovery(self, name: str, query: str) -> Row:
        """Hold what a discovery takes beyond its search against its budget."""
        took: tuple[list[float], list[float]] = ([], [])
        for run in range(RUNS + 2):
            for times, work in zip(
                took,
                (lambda: self.search(query), lambda: self.recall(RecallRequest(query))),
                strict=True,
            ):
                times.extend([_ms(work)] if run > 1 else [])
        searched, discovered = map(statistics.median, took)
        answer = self.recall(RecallRequest(query))
        beyond = discovered - searched
        return Row(
            f"discover {name} {query}: {len(answer.results)} conversations",
            f"{discovered:.2f} ms, {beyond:+.2f} ms to its search of {searched:.2f} ms",
            f"≤ {BEYOND_MS:.0f} ms beyond",
            beyond <= BEYOND_MS and bool(answer.results),
        )

    def place(self, name: str, budget_ms: float, request: RecallRequest) -> Row:
        """Hold an answer that searches nothing against its budget."""
        median, slow, _ = timed(lambda: self.recall(request))
        return Row(
            name,
            f"{median:.2f} ms (p95 {slow:.2f})",
            f"≤ {budget_ms:.0f} ms",
            median <= budget_ms,
        )


def _ms(work: Callable[[], Any]) -> float:
    began = time.thread_time()
    work()
    return (time.thread_time() - began) * 1000


def measure(store: Path) -> Iterator[Row]:
    """Yield the rows of the table."""
    db = open_reader(store, tokenizer=library())
    bench = Bench(db)
    for name, query in terms.cjk_terms(db).items():
        yield bench.discovery(name, query)
    for name, query in terms.latin_terms(db).items():
        yield bench.discovery(name, query)
    longest = db.execute("SELECT native_id FROM sessions ORDER BY message_count DESC LIMIT 1").get
    middle = db.execute(
        "SELECT m.uid FROM message_placements AS p JOIN messages AS m ON m.id = p.message_id"
        " JOIN sessions AS s ON s.id = p.session_id"
        " WHERE s.native_id = ? ORDER BY p.seq LIMIT 1 OFFSET 40",
        (longest,),
    ).get
    yield bench.place("read the longest session's ends", READ_MS, RecallRequest(session=longest))
    around = RecallRequest(session=longest, around=middle, window=20)
    yield bench.place("scroll to 20 messages on each side", READ_MS, around)
    yield bench.place("browse the last 10 conversations", BROWSE_MS, RecallRequest(limit=10))
    db.close()


if __name__ == "__main__":
    tell(list(measure(Path(sys.argv[-1]) / "state.db")))
