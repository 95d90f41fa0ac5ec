"""A query as a tree of terms, and what holds for such trees whatever index is asked."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from core.search.term import Term


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


Node = Term | And | Or | Not


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


def holds(node: Node, is_true: Callable[[Term], bool]) -> bool:
    """Tell whether `node` is true where `is_true` says which terms are."""
    match node:
        case And():
            return all(holds(child, is_true) for child in node.children)
        case Or():
            return any(holds(child, is_true) for child in node.children)
        case Not():
            return not holds(node.child, is_true)
        case Term():
            return is_true(node)


def assume_false(node: Node, is_false: Callable[[Term], bool]) -> Node | bool:
    """Return `node` without the terms known to be false, or what it comes to without them."""
    match node:
        case Term():
            return False if is_false(node) else node
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
    """Return the distinct terms of `node`, in the order typed."""
    return tuple(dict.fromkeys(_terms(node, excluded=True)))


def sought_terms(node: Node) -> tuple[Term, ...]:
    """Return the distinct terms that a match is to show: those not under a Not."""
    return tuple(dict.fromkeys(_terms(node, excluded=False)))


def _terms(node: Node, *, excluded: bool) -> Iterator[Term]:
    match node:
        case Term():
            yield node
        case Not():
            if excluded:
                yield from _terms(node.child, excluded=True)
        case And() | Or():
            for child in node.children:
                yield from _terms(child, excluded=excluded)


def words_of(node: Node) -> tuple[Term, ...] | None:
    """Return the terms of a plain list of words or phrases, None for any other query."""
    if isinstance(node, Term):
        return (node,)
    if isinstance(node, And) and all(isinstance(child, Term) for child in node.children):
        return tuple(child for child in node.children if isinstance(child, Term))
    return None


def describe(node: Node) -> str:
    """Return `node` as one would type it with every operator written out."""
    return _described(node, nested=False)


def _described(node: Node, *, nested: bool) -> str:
    match node:
        case Term():
            return node.shown
        case Not():
            return f"NOT {_described(node.child, nested=True)}"
        case And() | Or():
            text = _joined(node)
            return f"({text})" if nested else text


def _joined(node: And | Or) -> str:
    described = [(child, _described(child, nested=True)) for child in node.children]
    if isinstance(node, Or):
        return " OR ".join(text for _, text in described)
    kept = " AND ".join(text for child, text in described if not isinstance(child, Not))
    excluded = " ".join(text for child, text in described if isinstance(child, Not))
    return f"{kept} {excluded}".strip()
