"""How fast searches answer, against SQL's LIKE of the same term on the same store.

    python -m tests.bench.bench_search CORPUS STORE_FOLDER

The store is the one that the import bench left. LIKE is what a program without an index asks: the
newest 20 messages that hold the term in their text or their tool calls. The search also ranks,
counts, and makes snippets with marks.
"""

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from unittest.mock import patch

import apsw

from core.search import run
from core.store.connection import open_reader, snapshot
from core.types import SearchRequest, SearchResult
from tests.bench import terms
from tests.bench.measuring import Row, library, tell, timed

LIKE_RUNS = 5
MILLION = 1_000_000
FASTER_THAN_LIKE = 100  # in a million messages; LIKE's time grows with them, ours hardly does
FASTER_IN_FEWER = 50
TWO_CHARACTERS_MS, COMMON_MS, COMMON_P95_MS = 5.0, 60.0, 150.0
INSIDE_MS = 50.0
TOTAL_MS, BY_TIME_MS, ONE_CHARACTER_MS, ONE_CHARACTER_TOTAL_MS = 100.0, 250.0, 20.0, 150.0
ONE_CHARACTER = "检"
LIKE = """
SELECT id, session_id, role, created_at_ms, content FROM messages
WHERE state IN ('active', 'compacted', 'off_branch')
  AND (coalesce(search_text, content) LIKE ?1 OR tool_name LIKE ?1 OR tool_calls_text LIKE ?1)
ORDER BY created_at_ms DESC LIMIT 20
"""


class Bench:
    """Asks one store. A search is what a person waits for: 20 hits with their texts."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db
        messages = db.execute("SELECT count(*) FROM message_keys").get
        self._faster = FASTER_THAN_LIKE if messages >= MILLION else FASTER_IN_FEWER

    def ask(self, term: str, **more: object) -> SearchResult:
        """Search inside one snapshot, as the program does."""
        with snapshot(self._db):
            return run.search(self._db, SearchRequest(term, **more))  # type: ignore[arg-type]

    def page(self, term: str) -> SearchResult:
        """Search without counting to the end what the page does not need."""
        spared = ("COUNT_S", "CHARACTER_COUNT_S", "BOUND_S", "INSIDE_S")
        with ExitStack() as spares:
            for name in spared:
                spares.enter_context(patch.object(run, name, 0.0))
            return self.ask(term)

    def against_like(self, name: str, term: str) -> Row:
        """Compare a two-character term with LIKE; a common one also has a time to keep."""
        took = timed(lambda: self.ask(term))
        found = self.ask(term)
        like = timed(lambda: list(self._db.execute(LIKE, (f"%{term}%",))), LIKE_RUNS)
        ratio = like.median / took.median
        is_fast = ratio >= self._faster and took.median <= TWO_CHARACTERS_MS
        budget = f"≥ {self._faster} × faster, ≤ {TWO_CHARACTERS_MS:.0f} ms"
        if name == "common":
            is_fast, budget = took.median <= COMMON_MS, f"≤ {COMMON_MS:.0f} ms"
        return Row(
            f"{name} {term}: {_told(found)}",
            f"{took}, LIKE {like.median:.0f} ms, {ratio:.0f} × faster",
            budget,
            is_fast and bool(found.hits),
        )

    def within(self, name: str, term: str, budget_ms: float, **more: object) -> Row:
        """Hold a search against a number of milliseconds."""
        took = timed(lambda: self.ask(term, **more))
        found = self.ask(term, **more)
        return Row(
            f"{name} {term}: {_told(found)}",
            str(took),
            f"≤ {budget_ms:.0f} ms",
            took.median <= budget_ms and bool(found.hits),
        )

    def page_and_total(
        self, name: str, term: str, page_ms: float, slow_ms: float, total_ms: float
    ) -> Iterator[Row]:
        """Hold a first page, and what its exact total takes more, against milliseconds."""
        page = timed(lambda: self.page(term))
        found = self.ask(term)
        yield Row(
            f"{name} {term}: {_told(found)}",
            str(page),
            f"≤ {page_ms:.0f} ms, p95 ≤ {slow_ms:.0f}",
            page.median <= page_ms and page.slow <= slow_ms and bool(found.hits),
        )
        whole = timed(lambda: self.ask(term))
        more, work = max(0.0, whole.median - page.median), max(0.0, whole.cpu - page.cpu)
        yield Row(
            "  its exact total, and what stands inside words",
            f"{more:.2f} ms more (CPU {work:.2f})",
            f"≤ {total_ms:.0f} ms more",
            more <= total_ms and found.total_is_exact,
        )


def _told(found: SearchResult) -> str:
    exact = "" if found.total_is_exact else "at most "
    ranked = f", {found.ranked_scope:,} ranked" if found.ranked_scope else ""
    return f"{exact}{found.total_hits:,} hits, {found.search_path}{ranked}"


def measured(folder: Path) -> Iterator[Row]:
    """Ask the store below `folder` and tell what was seen."""
    db = open_reader(folder / "state.db", tokenizer=library())
    bench = Bench(db)
    for name, term in terms.cjk_terms(db).items():
        yield bench.against_like(name, term)
    yield from bench.page_and_total(
        "one character", ONE_CHARACTER, ONE_CHARACTER_MS, COMMON_P95_MS, ONE_CHARACTER_TOTAL_MS
    )
    words = terms.latin_terms(db)
    yield from bench.page_and_total("common", words["common"], COMMON_MS, COMMON_P95_MS, TOTAL_MS)
    for sort in ("newest", "oldest"):
        yield bench.within(f"common, {sort} first", words["common"], BY_TIME_MS, sort=sort)
    yield from bench.page_and_total(
        "rare", words["rare"], TWO_CHARACTERS_MS, COMMON_P95_MS, INSIDE_MS
    )
    yield from bench.page_and_total(
        "the commonest character", "的", ONE_CHARACTER_MS, COMMON_P95_MS, ONE_CHARACTER_TOTAL_MS
    )
    both = f"{words['common']} {words['rare']}{words['rare']}"
    yield bench.within("no message has all of", both, COMMON_P95_MS)
    db.close()


if __name__ == "__main__":
    tell(list(measured(Path(sys.argv[2]))))
