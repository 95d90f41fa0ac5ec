"""How fast searches answer, against SQL's LIKE of the same term on the same store.

    python -m tests.bench.bench_search CORPUS STORE_FOLDER

The store is the one that the import bench left. LIKE is what a program without an index asks: the
newest 20 messages that hold the term in their text or their tool calls. The search also ranks,
counts, and makes snippets with marks.
"""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw

from core.history.sessions import list_sessions
from core.recall.window import window
from core.search.run import search
from core.store.connection import open_reader, snapshot
from core.types import SearchRequest, SearchResult, SessionFilter
from tests.bench import vocabulary
from tests.bench.measuring import Row, library, tell, timed

LIKE_RUNS = 5
FASTER_THAN_LIKE = 50
TWO_CHARACTERS_MS, COMMON_MS, ONE_CHARACTER_MS = 5.0, 60.0, 20.0
WINDOW_MS, LIST_MS = 1.0, 2.0
LIKE = """
SELECT id, session_id, role, created_at_ms, content FROM messages
WHERE state IN ('active', 'compacted', 'off_branch')
  AND (coalesce(search_text, content) LIKE ?1 OR tool_name LIKE ?1 OR tool_calls_text LIKE ?1)
ORDER BY created_at_ms DESC LIMIT 20
"""


def cjk_terms(db: apsw.Connection) -> dict[str, str]:
    """Choose two-character words of the corpus by how many messages hold them."""
    words = [word for word in vocabulary.chinese().words if len(word) == 2]
    sampled = [*words[:60], *words[60::97]]
    return _by_count(sampled, lambda word: _hits(db, "messages_fts_cjk", word))


def latin_terms(db: apsw.Connection) -> dict[str, str]:
    """Choose Latin words of the corpus by how many messages hold them."""
    words = [word for word in vocabulary.english().words if len(word) > 4]
    sampled = [*words[:60], *words[60::97]]
    chosen = _by_count(sampled, lambda word: _hits(db, "messages_fts", word))
    return {name: chosen[name] for name in ("common", "rare")}


def _by_count(words: list[str], count: Callable[[str], int]) -> dict[str, str]:
    counts = {word: hits for word in words if (hits := count(word))}
    most = max(counts.values())
    wanted = {"common": most, "medium": most // 12, "rare": 10}
    return {
        name: min(counts, key=lambda word: (abs(counts[word] - target), word))
        for name, target in wanted.items()
    }


def _hits(db: apsw.Connection, index: str, word: str) -> int:
    return int(
        db.execute(f"SELECT count(*) FROM {index} WHERE {index} MATCH ?", (f'"{word}"',)).get
    )


class Bench:
    """Asks one store. A search is what a person waits for: 20 hits with their texts."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db

    def ask(self, term: str, **more: object) -> SearchResult:
        """Search inside one snapshot, as the program does."""
        with snapshot(self._db):
            return search(self._db, SearchRequest(term, **more))  # type: ignore[arg-type]

    def against_like(self, name: str, term: str) -> Row:
        """Compare a two-character term with LIKE; a common one also has a time to keep."""
        median, slow = timed(lambda: self.ask(term))
        found = self.ask(term)
        like, _ = timed(lambda: list(self._db.execute(LIKE, (f"%{term}%",))), LIKE_RUNS)
        ratio = like / median
        is_fast = ratio >= FASTER_THAN_LIKE and median <= TWO_CHARACTERS_MS
        budget = f"≥ {FASTER_THAN_LIKE} × faster"
        if name == "common":
            is_fast, budget = median <= COMMON_MS, f"≤ {COMMON_MS:.0f} ms"
        return Row(
            f"{name} {term}: {found.total_hits:,} hits, {found.search_path}",
            f"{median:.2f} ms (p95 {slow:.2f}), LIKE {like:.0f} ms, {ratio:.0f} × faster",
            budget,
            is_fast and bool(found.hits),
        )

    def within(self, name: str, term: str, budget_ms: float, **more: object) -> Row:
        """Hold a search against a number of milliseconds."""
        median, slow = timed(lambda: self.ask(term, **more))
        found = self.ask(term, **more)
        exact = "" if found.total_is_exact else "at most "
        return Row(
            f"{name} {term}: {exact}{found.total_hits:,} hits, {found.search_path}",
            f"{median:.2f} ms (p95 {slow:.2f})",
            f"≤ {budget_ms:.0f} ms",
            median <= budget_ms and bool(found.hits),
        )

    def rest(self) -> Iterator[Row]:
        """The window around a message in the middle, and the first page of sessions."""
        anchor = self._db.execute("SELECT max(id) / 2 FROM messages").get
        median, slow = timed(lambda: window(self._db, anchor, before=20, after=20))
        held = len(window(self._db, anchor, before=20, after=20).messages)
        yield Row(
            f"window ±20, {held} messages",
            f"{median:.2f} ms (p95 {slow:.2f})",
            f"≤ {WINDOW_MS:.0f} ms",
            median <= WINDOW_MS,
        )
        median, slow = timed(lambda: list_sessions(self._db, SessionFilter(), limit=50))
        yield Row(
            "50 newest sessions",
            f"{median:.2f} ms (p95 {slow:.2f})",
            f"≤ {LIST_MS:.0f} ms",
            median <= LIST_MS,
        )


def measured(folder: Path) -> Iterator[Row]:
    """Ask the store below `folder` and tell what was seen."""
    db = open_reader(folder / "state.db", tokenizer=library())
    bench = Bench(db)
    for name, term in cjk_terms(db).items():
        yield bench.against_like(name, term)
    yield bench.within("one character", "检", ONE_CHARACTER_MS)
    for name, term in latin_terms(db).items():
        yield bench.within(name, term, COMMON_MS if name == "common" else TWO_CHARACTERS_MS)
        if name == "common":
            yield bench.within("common, newest first", term, 250.0, sort="newest")
    yield from bench.rest()
    db.close()


if __name__ == "__main__":
    tell(list(measured(Path(sys.argv[2]))))
