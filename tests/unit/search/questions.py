"""Random questions: what is typed, and what it means row by row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from tests.unit.search import texts
from tests.unit.search.oracle import Row, Spec


@dataclass(frozen=True)
class Question:
    typed: str
    holds: Callable[[Row], bool]


def term(random: Random, rows: list[Row]) -> Question:
    spec = texts.term(random, rows)
    typed = spec.typed + "*" * spec.is_prefix
    return Question(typed, lambda row, spec=spec: row.holds(spec))


def phrase(random: Random, rows: list[Row]) -> Question:
    words = [texts.run(random, 2), random.choice(texts.WORDS)]
    spec = Spec(" ".join(random.sample(words, 2)))
    return Question(f'"{spec.typed}"', lambda row, spec=spec: row.holds(spec))


def question(random: Random, rows: list[Row], depth: int = 2) -> Question:
    kind = random.random()
    if depth == 0 or kind < 0.4:
        return phrase(random, rows) if kind < 0.05 else term(random, rows)
    left, right = (question(random, rows, depth - 1) for _ in range(2))
    if kind < 0.6:
        return Question(
            f"({left.typed}) ({right.typed})", lambda row: left.holds(row) and right.holds(row)
        )
    if kind < 0.8:
        return Question(
            f"({left.typed}) OR ({right.typed})", lambda row: left.holds(row) or right.holds(row)
        )
    if kind < 0.95:
        return Question(
            f"({left.typed}) NOT ({right.typed})",
            lambda row: left.holds(row) and not right.holds(row),
        )
    return Question(f"NOT ({left.typed})", lambda row: not left.holds(row))
