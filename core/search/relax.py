"""Other queries to try when one finds nothing."""

from dataclasses import replace
from itertools import combinations

from core.search.term import Term
from core.search.tree import (
    And,
    Field,
    Node,
    Not,
    Or,
    all_of,
    any_of,
    none_of,
    sought_terms,
    terms,
    words_of,
)

_LEAST_CHARS = 3
_FILLERS = frozenset(("and", "or", "not"))  # typed small they are words, but hardly meant
_MOST_WORDS = (12, 8)  # for leaving one out, two out: the number of queries grows with them


def inside_words(tree: Node) -> Node | None:
    """Return `tree` with its words found within longer words too.

    None where that is not offered: CJK is found inside runs anyway, and shorter terms than
    three characters are inside nearly everything. Fields stay as they are.
    """
    if not sought_terms(tree):
        return None
    for term in terms(tree):
        if term.has_run or sum(map(len, term.needles)) < _LEAST_CHARS:
            return None
    return _inside(tree)


def inside_any(tree: Node) -> Node:
    """Return `tree` with its words found within longer words too, however short they are."""
    return _inside(tree)


def _inside(node: Node) -> Node:
    match node:
        case Term():
            return replace(node, is_inside=True)
        case Not() | Field():
            return node
        case And():
            return all_of([_inside(child) for child in node.children])
        case Or():
            return any_of([_inside(child) for child in node.children])


def with_words_left_out(tree: Node) -> list[Node]:
    """Return what to look for when no message has every word, the closest first.

    All words but one, then all but two, then any; each without what the one before it finds,
    so that the hits of all are disjoint. Nothing for one word, or for a query with operators.
    What looks like an operator typed small is left out from the start.
    """
    typed = words_of(tree)
    if typed is None or len(typed) < 2:
        return []
    words = [word for word in typed if word.shown not in _FILLERS] or list(typed)
    levels: list[Node] = [all_of([*words])] if 1 < len(words) < len(typed) else []
    for left_out, most in enumerate(_MOST_WORDS, start=1):
        if left_out + 1 < len(words) <= most:
            kept = combinations(words, len(words) - left_out)
            levels.append(any_of([all_of(list(some)) for some in kept]))
    levels.append(any_of([*words]))
    return [
        level if at == 0 else all_of([level, none_of(levels[at - 1])])
        for at, level in enumerate(levels)
    ]
