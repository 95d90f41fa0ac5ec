"""Words of the generated history to look for, chosen by how many messages hold them."""

from collections.abc import Callable

import apsw

from tests.bench import vocabulary


def cjk_terms(db: apsw.Connection) -> dict[str, str]:
    """Return a common, a medium and a rare Chinese word of two characters."""
    words = [word for word in vocabulary.chinese().words if len(word) == 2]
    return _by_count(_some(words), lambda word: hits(db, "messages_fts_cjk", word))


def latin_terms(db: apsw.Connection) -> dict[str, str]:
    """Return a common and a rare English word."""
    words = [word for word in vocabulary.english().words if len(word) > 4]
    chosen = _by_count(_some(words), lambda word: hits(db, "messages_fts", word))
    return {name: chosen[name] for name in ("common", "rare")}


def long_cjk_term(db: apsw.Connection) -> str:
    """Return a Chinese text of four characters that some messages hold."""
    words = [word for word in vocabulary.chinese().words if len(word) == 2][:40]
    pairs = [one + other for one in words for other in words[:10] if one != other]
    counts = {pair: hits(db, "messages_fts_cjk", pair) for pair in pairs[:120]}
    return max(counts, key=lambda pair: (counts[pair], pair))


def common_words(count: int) -> list[str]:
    """Return the most common English words of more than two letters."""
    return [word for word in vocabulary.english().words if len(word) > 2][:count]


def hits(db: apsw.Connection, index: str, word: str) -> int:
    """Return how many rows of an index hold the word."""
    sql = f"SELECT count(*) FROM {index} WHERE {index} MATCH ?"
    return int(db.execute(sql, (f'"{word}"',)).get)


def _some(words: list[str]) -> list[str]:
    return [*words[:60], *words[60::97]]


def _by_count(words: list[str], count: Callable[[str], int]) -> dict[str, str]:
    counts = {word: number for word in words if (number := count(word))}
    most = max(counts.values())
    wanted = {"common": most, "medium": most // 12, "rare": 10}
    return {
        name: min(counts, key=lambda word: (abs(counts[word] - target), word))
        for name, target in wanted.items()
    }
