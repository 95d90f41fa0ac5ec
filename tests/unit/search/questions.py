"""Random questions: what is typed, and what it means row by row."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from random import Random

from tests.unit.search import texts
from tests.unit.search.oracle import FieldSpec, Row, Spec, kind_of

Shape = tuple[object, ...]
"""What is asked: ('leaf', spec), ('and', shape, shape), ('or', shape, shape), ('not', shape)."""


@dataclass(frozen=True)
class Question:
    typed: str
    holds: Callable[[Row], bool]
    shape: Shape

    @property
    def is_leaf(self) -> bool:
        return self.shape[0] == "leaf"

    @property
    def reads_whole(self) -> bool:
        """Whether tool rows are asked for, and so read to their end."""
        specs = (shape[1] for shape in _conjuncts(self.shape) if shape[0] == "leaf")
        return any(
            isinstance(spec, FieldSpec) and spec.name == "role" and "tool" in spec.values
            for spec in specs
        )


def _conjuncts(shape: Shape) -> list[Shape]:
    """The shapes all of which have to hold; what is said twice counts once."""
    match shape:
        case ("and", left, right):
            return [*_conjuncts(left), *_conjuncts(right)]
        case ("not", ("not", inner)):
            return _conjuncts(inner)
        case ("or", _, _):
            said = list(dict.fromkeys(map(_plain, _disjuncts(shape))))
            return _conjuncts(said[0]) if len(said) == 1 else [shape]
        case _:
            return [shape]


def _disjuncts(shape: Shape) -> list[Shape]:
    match shape:
        case ("or", left, right):
            return [*_disjuncts(left), *_disjuncts(right)]
        case ("not", ("not", inner)):
            return _disjuncts(inner)
        case _:
            return [shape]


def _plain(shape: Shape) -> Shape:
    """A conjunction of one thing said twice is that thing."""
    found = list(dict.fromkeys(_conjuncts(shape))) if shape[0] == "and" else [shape]
    return found[0] if len(found) == 1 else shape


def _of(spec: Spec | FieldSpec, typed: str) -> Question:
    if isinstance(spec, Spec):
        return Question(typed, lambda row: row.holds(spec), ("leaf", spec))
    return Question(typed, spec.matches, ("leaf", spec))


def term(random: Random, rows: list[Row]) -> Question:
    spec = texts.term(random, rows)
    return _of(spec, spec.typed + "*" * spec.is_prefix)


def phrase(random: Random, rows: list[Row]) -> Question:
    opening, closing = random.choice(['""', "“”", "＂＂"])
    if random.random() < 0.3:
        spec = Spec(f"{random.choice(texts.WORDS)} {random.choice(['de', 'x', 'ngin'])}",
                    is_prefix=True)  # fmt: skip
        return _of(spec, f"{opening}{spec.typed}{closing}*")
    words = [texts.run(random, 2), random.choice(texts.WORDS)]
    spec = Spec(" ".join(random.sample(words, 2)))
    return _of(spec, f"{opening}{spec.typed}{closing}")


def field(random: Random, rows: list[Row]) -> Question:
    """A field with one or two values, most of them of some row."""
    name, values = random.choice(_FIELDS)
    chosen = [values(random, random.choice(rows)) for _ in range(random.choice([1, 1, 1, 2]))]
    typed = random.choice([",", ",", "，"]).join(text for text, _ in chosen)
    spec = FieldSpec(name, tuple(value for _, value in chosen))
    return _of(spec, f"{name}{random.choice('::：')}{typed}")


Value = tuple[str, str | int | Spec]


def _text(random: Random, value: str) -> Value:
    """The value in quotes where it has to be, and now and then where not."""
    is_quoted = " " in value or random.random() < 0.1
    return (random.choice(['"{}"', "“{}”"]).format(value) if is_quoted else value), value


def _role(random: Random, row: Row) -> Value:
    role = random.choice([row.role, "user", "tool"])
    return (role.upper() if random.random() < 0.1 else role), role


def _source(random: Random, row: Row) -> Value:
    value = random.choice([*row.sessions[0].sources, "nowhere", "cron", "subagent"])
    return _text(random, (value.upper() if random.random() < 0.2 else value) or "codex")


def _project(random: Random, row: Row) -> Value:
    return _text(random, random.choice([row.sessions[0].project, "nowhere"]) or "site")


def _session(random: Random, row: Row) -> Value:
    shown_in = random.choice(row.sessions)
    value = random.choice([shown_in.native_id, shown_in.native_id[:1], *shown_in.full_names, "zz"])
    return value, value


def _title(random: Random, row: Row) -> Value:
    words = random.choice(row.sessions).title.split()
    if not words or random.random() < 0.2:
        words = [random.choice(texts.WORDS), texts.run(random, 2)]
    at = random.randrange(len(words))
    word = words[at]
    if word in texts.LITERALS:
        return word, Spec(word, is_literal=True)
    kind = random.random()
    if kind < 0.2 and len(words) > at + 1 and words[at + 1] not in texts.LITERALS:
        both = f"{word} {words[at + 1]}"
        return f'"{both}"', Spec(both)
    if kind < 0.4 and word.isascii() and word.isalnum():
        start = word[: random.randint(1, len(word))]
        return f"{start}*", Spec(start, is_prefix=True)
    if kind < 0.6 and all(char in texts.CJK for char in word):
        word = word[random.randrange(len(word)) :]
    return word, Spec(word)


def _tool(random: Random, row: Row) -> Value:
    value = random.choice([row.tool_name, row.called, "LOOK", "订阅", "_", "%"]) or "deploy"
    return _text(random, value[random.randint(0, 1) :] or value)


def _model(random: Random, row: Row) -> Value:
    value = random.choice([row.model, row.sessions[0].model, "OPUS", "-4"]) or "sonnet"
    return _text(random, value[: random.randint(1, len(value))].strip())


def _moment(random: Random, row: Row) -> Value:
    return texts.moment(random)


_FIELDS: list[tuple[str, Callable[[Random, Row], Value]]] = [
    ("role", _role),
    ("role", _role),
    ("source", _source),
    ("project", _project),
    ("session", _session),
    ("title", _title),
    ("title", _title),
    ("tool", _tool),
    ("model", _model),
    ("before", _moment),
    ("after", _moment),
]


def leaf(random: Random, rows: list[Row], *, fields: bool) -> Question:
    kind = random.random()
    if fields and kind < 0.35:
        return field(random, rows)
    return phrase(random, rows) if kind < 0.45 else term(random, rows)


def question(random: Random, rows: list[Row], depth: int = 2, *, fields: bool = False) -> Question:
    kind = random.random()
    if depth == 0 or kind < 0.35:
        return leaf(random, rows, fields=fields)
    left, right = (question(random, rows, depth - 1, fields=fields) for _ in range(2))
    if kind < 0.6:
        return Question(
            _joined(random, left, right, ["{} {}", "{} AND {}"], "({}) ({})"),
            lambda row: left.holds(row) and right.holds(row),
            ("and", left.shape, right.shape),
        )
    if kind < 0.8:
        return Question(
            _joined(random, left, right, ["{} OR {}"], "({}) OR ({})"),
            lambda row: left.holds(row) or right.holds(row),
            ("or", left.shape, right.shape),
        )
    if kind < 0.95:
        minus = ["{} -{}"] if _can_be_excluded(right) else []
        return Question(
            _joined(random, left, right, ["{} NOT {}", *minus], "({}) NOT ({})"),
            lambda row: left.holds(row) and not right.holds(row),
            ("and", left.shape, ("not", right.shape)),
        )
    is_field = left.is_leaf and isinstance(left.shape[1], FieldSpec)
    return Question(
        f"-{left.typed}" if is_field and random.random() < 0.5 else f"NOT ({left.typed})",
        lambda row: not left.holds(row),
        ("not", left.shape),
    )


def _joined(
    random: Random, left: Question, right: Question, bare: Iterable[str], grouped: str
) -> str:
    """Leaves need no brackets; what is larger does."""
    is_bare = left.is_leaf and right.is_leaf and random.random() < 0.7
    form = random.choice(list(bare)) if is_bare else grouped
    return form.format(left.typed, right.typed)


def _can_be_excluded(right: Question) -> bool:
    return right.typed[0] in '"“＂' or kind_of(right.typed[0]) != "gap"
