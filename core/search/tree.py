"""A query as a tree of terms and fields, and what holds for it whatever index is asked."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from core.search.sql import Sql
from core.search.term import EXCLUDES, Term, quoted

FieldName = Literal[
    "role", "source", "project", "session", "title", "tool", "model", "before", "after"
]


@dataclass(frozen=True, slots=True)
class Predicate:
    """What a field comes to in one store, as SQL that is true or false and never NULL.

    `row` is about message_keys as k. `narrowing` says the same where it is one of several
    conditions that all have to hold; there it may be NULL for false, and be found by an index.
    `session` is about a row of sessions as s, None for what a session does not have;
    `sessions` are the sessions meant where they are few.
    """

    row: Sql
    narrowing: Sql
    session: Sql | None = None
    sessions: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Field:
    """A condition on what is known of a message beside its text; any of `values` will do.

    `terms` are the values of a title, `at_ms` the moment that a time names. `known` is what a
    store knows of the values, None before it was asked. `shown` is for people.
    """

    name: FieldName
    values: tuple[str, ...]
    terms: tuple[Term, ...] = ()
    at_ms: int | None = None
    shown: str = field(default="", compare=False)
    known: Predicate | None = field(default=None, compare=False, repr=False)

    @property
    def predicate(self) -> Predicate:
        """The predicate of a field that was looked up."""
        if self.known is None:
            raise ValueError(f"{self.shown} was not looked up")
        return self.known


@dataclass(frozen=True, slots=True)
class And:
    """All of `children`; two or more, none of them an And."""

    children: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Any of `children`; two or more, none of them an Or."""

    children: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Not:
    """Not `child`, which is no Not itself."""

    child: "Node"


Leaf = Term | Field
Node = Leaf | And | Or | Not


def all_of(children: list[Node]) -> Node:
    """Return the And of one or more children, flat and without repetitions."""
    flat = dict.fromkeys(_spread(children, And))
    return And(tuple(flat)) if len(flat) > 1 else next(iter(flat))


def any_of(children: list[Node]) -> Node:
    """Return the Or of one or more children, flat and without repetitions."""
    flat = dict.fromkeys(_spread(children, Or))
    return Or(tuple(flat)) if len(flat) > 1 else next(iter(flat))


def none_of(child: Node) -> Node:
    """Return the Not of `child`."""
    return child.child if isinstance(child, Not) else Not(child)


def _spread(children: list[Node], kind: type[And] | type[Or]) -> Iterator[Node]:
    for child in children:
        if isinstance(child, kind):
            yield from child.children
        else:
            yield child


def holds(node: Node, is_true: Callable[[Leaf], bool]) -> bool:
    """Tell whether `node` is true where `is_true` says which terms and fields are."""
    match node:
        case And():
            return all(holds(child, is_true) for child in node.children)
        case Or():
            return any(holds(child, is_true) for child in node.children)
        case Not():
            return not holds(node.child, is_true)
        case Term() | Field():
            return is_true(node)


def assume_false(node: Node, is_false: Callable[[Term], bool]) -> Node | bool:
    """Return `node` without the terms known to be false, or what it comes to without them."""
    match node:
        case Term():
            return False if is_false(node) else node
        case Field():
            return node
        case Not():
            child = assume_false(node.child, is_false)
            return not child if isinstance(child, bool) else none_of(child)
        case And() | Or():
            decided = isinstance(node, Or)  # the value that decides the whole
            left = [assume_false(child, is_false) for child in node.children]
            if decided in (child for child in left if isinstance(child, bool)):
                return decided
            open_ = [child for child in left if not isinstance(child, bool)]
            if not open_:
                return not decided
            return any_of(open_) if decided else all_of(open_)


def terms(node: Node) -> tuple[Term, ...]:
    """Return the distinct terms of `node`, in the order typed; those of fields are none."""
    found = (leaf for leaf in _leaves(node, excluded=True) if isinstance(leaf, Term))
    return tuple(dict.fromkeys(found))


def sought_terms(node: Node) -> tuple[Term, ...]:
    """Return the distinct terms that a match is to show: those not under a Not."""
    found = (leaf for leaf in _leaves(node, excluded=False) if isinstance(leaf, Term))
    return tuple(dict.fromkeys(found))


def fields(node: Node) -> tuple[Field, ...]:
    """Return the distinct fields of `node`, in the order typed."""
    found = (leaf for leaf in _leaves(node, excluded=True) if isinstance(leaf, Field))
    return tuple(dict.fromkeys(found))


def _leaves(node: Node, *, excluded: bool) -> Iterator[Leaf]:
    match node:
        case Term() | Field():
            yield node
        case Not():
            if excluded:
                yield from _leaves(node.child, excluded=True)
        case And() | Or():
            for child in node.children:
                yield from _leaves(child, excluded=excluded)


def parted(node: Node) -> tuple[Node | None, tuple[Node, ...]]:
    """Return what of `node` asks for words, and what asks for fields alone.

    `node` holds where the first does (None: everywhere) and all of the second do. Fields that
    stand beside words under an OR or a NOT stay in the first.
    """
    conjuncts = node.children if isinstance(node, And) else (node,)
    wordy = [child for child in conjuncts if terms(child)]
    rest = tuple(child for child in conjuncts if not terms(child))
    return (all_of(wordy) if wordy else None), rest


def replaced(node: Node, leaf: Callable[[Leaf], Leaf | None]) -> Node | None:
    """Return `node` with what `leaf` makes of its leaves; where that is None, without them."""
    match node:
        case Term() | Field():
            return leaf(node)
        case Not():
            child = replaced(node.child, leaf)
            return None if child is None else none_of(child)
        case And() | Or():
            made = [replaced(child, leaf) for child in node.children]
            left = [child for child in made if child is not None]
            if not left:
                return None
            return all_of(left) if isinstance(node, And) else any_of(left)


def words_of(node: Node) -> tuple[Term, ...] | None:
    """Return the terms of a plain list of words or phrases, None for any other query."""
    if isinstance(node, Term):
        return (node,)
    if isinstance(node, And) and all(isinstance(child, Term) for child in node.children):
        return tuple(child for child in node.children if isinstance(child, Term))
    return None


def describe(node: Node) -> str:
    """Return `node` as one would type it with every operator written out."""
    return _described(node, nested=False, first=True)


def _described(node: Node, *, nested: bool, first: bool) -> str:
    """Return `node` as an operand; `first` tells that nothing stands before it in its group."""
    match node:
        case Term():
            is_not = not first and EXCLUDES.match(node.shown) is not None
            return quoted(node.shown) if is_not else node.shown
        case Field():
            return node.shown
        case Not():
            return f"NOT {_described(node.child, nested=True, first=False)}"
        case And() | Or():
            text = _joined(node)
            return f"({text})" if nested else text


def _joined(node: And | Or) -> str:
    if isinstance(node, Or):
        return " OR ".join(_described(child, nested=True, first=True) for child in node.children)
    ordered = sorted(node.children, key=lambda child: isinstance(child, Not))
    text = _described(ordered[0], nested=True, first=True)
    for child in ordered[1:]:
        joint = " " if isinstance(child, Not) else " AND "
        text += joint + _described(child, nested=True, first=False)
    return text
