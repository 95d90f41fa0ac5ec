"""What a person types, as a tree of terms and fields.

Every text has a reading: what cannot be meant as an operator or a field is text, and what was
mended is said in `Query.repairs`. NOT binds before AND, AND before OR; words side by side are
ANDed.
"""

from dataclasses import dataclass, replace
from datetime import datetime

from core.errors import QueryError
from core.search.fields import read_field
from core.search.lexer import CLOSED_BY, Lexeme, Typed, read
from core.search.term import Term, literal_term, phrase_term, word_term
from core.search.tree import Field, Leaf, Node, all_of, any_of, describe, none_of, sought_terms
from core.text import project

MAX_CHARS = 2_048
MAX_TERMS = 64
MAX_DEPTH = 16
_SAID_CHARS = 80  # of what was typed, in a repair


@dataclass(frozen=True, slots=True)
class Query:
    """A query as it was understood; `tree` is None when nothing is asked."""

    text: str
    tree: Node | None
    repairs: tuple[str, ...]

    @property
    def understood(self) -> str:
        """The query with every operator written out, '' when nothing is asked."""
        return "" if self.tree is None else describe(self.tree)

    @property
    def sought(self) -> tuple[Term, ...]:
        """The terms that a match is to show."""
        return () if self.tree is None else sought_terms(self.tree)


def parse(text: str, now: datetime | None = None) -> Query:
    """Return the reading of `text`; there is one for every text.

    A text of nothing but operators and quotes is looked for as it stands.

    Args:
        text: what was typed.
        now: the present, with a zone: ages are counted back from it. None is this moment.
    """
    repairs: list[str] = []
    if len(text) > MAX_CHARS:
        repairs.append(f"only the first {MAX_CHARS:,} characters are read")
    cut = text[:MAX_CHARS]
    lexemes, lexed = read(cut, MAX_DEPTH)
    parser = _Parser(lexemes, now or datetime.now().astimezone())
    tree = parser.query()
    mended = [*lexed, *dict.fromkeys(parser.repairs)]
    if tree is None:
        tree = literal_term(cut)
        if tree is not None:
            tree = replace(tree, shown=" ".join(project(cut).split()))
            mended = ["nothing but operators in it: looked for as it stands"]
    return Query(text, tree, (*repairs, *mended))


class _Parser:
    """Recursive descent over lexemes; groups are balanced and no deeper than MAX_DEPTH."""

    def __init__(self, lexemes: list[Lexeme], now: datetime) -> None:
        self.repairs: list[str] = []
        self._lexemes = lexemes
        self._now = now
        self._at = 0
        self._leaves: set[Leaf] = set()

    def query(self) -> Node | None:
        """Return the tree of all lexemes, None when they hold neither term nor field."""
        return self._any()

    def _next_is(self, *kinds: Typed) -> bool:
        return self._at < len(self._lexemes) and self._lexemes[self._at].kind in kinds

    def _take(self) -> Lexeme:
        self._at += 1
        return self._lexemes[self._at - 1]

    def _any(self) -> Node | None:
        branches = [self._all()]
        while self._next_is(Typed.OR):
            self._take()
            branches.append(self._all())
        found = [branch for branch in branches if branch is not None]
        if len(found) < len(branches) and len(branches) > 1:
            self.repairs.append("an OR with nothing on one side is left out")
        return any_of(found) if found else None

    def _all(self) -> Node | None:
        factors: list[Node] = []
        has_positive = is_after_and = False
        while self._at < len(self._lexemes) and not self._next_is(Typed.OR, Typed.CLOSE):
            if self._next_is(Typed.AND):
                self._take()
                if is_after_and or not factors:
                    self._dangling("AND")
                is_after_and = True
                continue
            factor, is_positive = self._factor(has_positive=has_positive)
            if factor is not None:
                factors.append(factor)
                has_positive = has_positive or is_positive
                is_after_and = False
        if is_after_and and factors:
            self._dangling("AND")
        return all_of(factors) if factors else None

    def _factor(self, *, has_positive: bool) -> tuple[Node | None, bool]:
        """Return the next operand and whether it stands without a NOT."""
        negations = 0
        while self._next_is(Typed.NOT):
            self._take()
            negations += 1
        if self._at == len(self._lexemes) or self._next_is(Typed.OR, Typed.CLOSE, Typed.AND):
            self._dangling("NOT")
            return None, False
        lexeme = self._take()
        field = self._field(lexeme) if lexeme.kind is Typed.FIELD else None
        if lexeme.minus and (has_positive or field is not None):
            negations += 1
        node: Node | None = self._counted(field)
        if field is None:
            node = self._operand(lexeme, keeps_minus=lexeme.minus and not has_positive)
        if node is None:
            return None, False
        is_negated = negations % 2 == 1
        return (none_of(node), False) if is_negated else (node, True)

    def _operand(self, lexeme: Lexeme, *, keeps_minus: bool) -> Node | None:
        if keeps_minus and lexeme.kind in (Typed.OPEN, Typed.PHRASE):
            self.repairs.append("a minus with nothing to take from is left out")
        if lexeme.kind is Typed.OPEN:
            node = self._any()
            self._take()  # its CLOSE
            if node is None:
                self.repairs.append("an empty group is left out")
            return node
        if lexeme.kind is Typed.PHRASE:
            return self._counted(phrase_term(lexeme.text, is_prefix=lexeme.star))
        text = f"-{lexeme.text}" if keeps_minus else lexeme.text
        if lexeme.kind is Typed.FIELD:  # that is none
            text = "".join(" " if char in CLOSED_BY else char for char in text)
            return self._counted(phrase_term(text) if len(text.split()) > 1 else word_term(text))
        return self._counted(word_term(text))

    def _field(self, lexeme: Lexeme) -> Field | None:
        """Return the field typed, None where it is text."""
        values = lexeme.values[:MAX_TERMS]
        if len(values) < len(lexeme.values):
            self.repairs.append(f"only the first {MAX_TERMS} alternatives of a field are read")
        try:
            return read_field(lexeme.name, values, self._now)
        except QueryError as error:
            text = lexeme.text
            said = text if len(text) <= _SAID_CHARS else f"{text[:_SAID_CHARS]}…"
            self.repairs.append(f"{said} is looked for as text: {error}")
            return None

    def _counted(self, leaf: Leaf | None) -> Leaf | None:
        if leaf is None or leaf in self._leaves:
            return leaf
        if len(self._leaves) == MAX_TERMS:
            self.repairs.append(f"only the first {MAX_TERMS} different terms are looked for")
            return None
        self._leaves.add(leaf)
        return leaf

    def _dangling(self, operator: str) -> None:
        self.repairs.append(f"{operator} with nothing to join is left out")
