"""Which index answers for which rows, and why.

A plan parts the messages into disjoint sets of rows, one for each way of finding: so totals
add up, and a NOT holds for every row whatever index knows it. The sets are made of three
things known of a message without reading it: whether it is a tool row, whether there is CJK
in it, and which indexes hold it.

`messages_fts` glues a word to the run beside it (nginx服务 is one token), so it is exact only
for rows without CJK; those a CJK term cannot match. `messages_fts_cjk` is exact, but holds no
tool rows.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, auto

from core.search import compile as compiling
from core.search.coverage import Coverage
from core.search.scope import HAS_CJK, IS_CJK_TOOL, IS_LONG, IS_TOOL, NO_CJK, NOT_TOOL
from core.search.term import Term
from core.search.tree import And, Node, Or, assume_false
from core.store.indexes import CJK
from core.types import IndexName, SearchPath

PLAIN: IndexName = "messages_fts"
TRIGRAM: IndexName = "messages_fts_trigram"


class Check(Enum):
    """Which of a part's rows have to be read to know whether they match."""

    NONE = auto()
    EVERY = auto()


@dataclass(frozen=True, slots=True)
class Part:
    """A set of rows and the way to find what matches among them.

    `rows` is SQL over message_keys as k. With an `index`, `match` is what it is asked; without
    one the rows are scanned. `tree` is what a row must fulfil; None means that every row does.
    `whole` reads tool rows beyond what the indexes hold of them.
    """

    path: SearchPath
    rows: str
    tree: Node | None
    index: IndexName | None = None
    match: str = ""
    check: Check = Check.EVERY
    whole: bool = False


class Tools(Enum):
    """How tool rows are searched: those with CJK in them are in no index that is exact."""

    NONE = auto()  # they are no part of the scope
    WORDS = auto()  # those with CJK by such words of theirs as `messages_fts` knows
    READ = auto()  # those with CJK are read
    READ_WHOLE = auto()  # all are searched to their end


Indexes = Mapping[IndexName, Coverage]


def plan(tree: Node, indexes: Indexes, tools: Tools) -> tuple[Part, ...]:
    """Return the parts that answer `tree`, in the order of their hits, scans behind."""
    cjk, left = indexes[CJK], NOT_TOOL
    parts: list[Part] = []
    if cjk.is_usable:
        parts.append(_held_by_cjk(tree, indexes))
        left = "" if cjk.is_complete else _rows(NOT_TOOL, f"NOT {cjk.held}")
    words_do = tools is Tools.WORDS and _is_plain(tree)
    if rest := _any_rows([] if tools is Tools.NONE else [IS_TOOL], left):
        kind = f"({NO_CJK} OR {IS_TOOL})" if words_do else NO_CJK
        parts += _plain(tree, indexes, _rows(rest, kind), whole=tools is Tools.READ_WHOLE)
    if left:
        parts += _glued(tree, indexes, _rows(left, HAS_CJK))
    if tools in (Tools.READ, Tools.READ_WHOLE):
        parts.append(read_tools(tree, tools))
    elif tools is Tools.WORDS and not words_do:
        parts += _some_tools(tree, indexes)
    return with_one_scan(parts)


def read_tools(tree: Node, tools: Tools) -> Part:
    """Return the part that reads the tool rows with CJK."""
    return Part("like", IS_CJK_TOOL, tree, whole=tools is Tools.READ_WHOLE)


def substring_part(tree: Node, indexes: Indexes) -> Part | None:
    """Return the part that finds terms by trigram whatever rows hold them, None for none."""
    trigram, match = indexes[TRIGRAM], compiling.to_match(tree, compiling.trigrams)
    if not trigram.is_usable or match.expression is None:
        return None
    return Part("trigram", _rows(NOT_TOOL, trigram.held), tree, TRIGRAM, match.expression)


def _rows(*conditions: str) -> str:
    return " AND ".join(f"({each})" for each in conditions if each != "true")


def _is_plain(tree: Node) -> bool:
    """Tell whether all that `messages_fts` finds matches, in rows with CJK as well."""
    match tree:
        case Term():
            return tree.is_single_word
        case And() | Or():
            return all(_is_plain(child) for child in tree.children)
        case _:
            return False


def _held_by_cjk(tree: Node, indexes: Indexes) -> Part:
    """Return the part for what `messages_fts_cjk` holds.

    Where that is not exact, trigrams come closer: of `C++` it knows the letter alone.
    """
    rows = _rows(NOT_TOOL, indexes[CJK].held)
    match = compiling.to_match(tree, compiling.cjk_phrase)
    if match.expression is not None and match.exact:
        return Part("cjk", rows, tree, CJK, match.expression, Check.NONE)
    closer = compiling.to_match(tree, compiling.trigrams)
    if closer.expression is not None and indexes[TRIGRAM].is_complete:
        return Part("trigram", rows, tree, TRIGRAM, closer.expression)
    if match.expression is not None:
        return Part("cjk", rows, tree, CJK, match.expression)
    return Part("like", rows, tree)


def _plain(tree: Node, indexes: Indexes, rows: str, *, whole: bool) -> list[Part]:
    """Return the parts for rows in which words are not glued to runs."""
    possible = assume_false(tree, lambda term: term.has_run)
    if isinstance(possible, bool):
        return [Part("like", rows, None)] if possible else []
    parts = []
    if whole:
        long_tools = _rows(IS_TOOL, IS_LONG, NO_CJK)
        parts.append(Part("like", long_tools, possible, whole=True))
        rows = _rows(rows, f"NOT ({long_tools})")
    plain = indexes[PLAIN]
    match = compiling.to_match(possible, compiling.plain_phrase)
    if match.expression is None or not plain.is_usable:
        return [Part("like", rows, possible), *parts]
    check = Check.NONE if match.exact else Check.EVERY
    held = _rows(rows, plain.held)
    parts.insert(0, Part("fts5", held, possible, PLAIN, match.expression, check))
    if not plain.is_complete:
        parts.append(Part("like", _rows(rows, f"NOT {plain.held}"), possible))
    return parts


def _glued(tree: Node, indexes: Indexes, rows: str) -> list[Part]:
    """Return the parts for rows with CJK, none of tools, that the CJK index does not hold."""
    trigram = indexes[TRIGRAM]
    match = compiling.to_match(tree, compiling.trigrams)
    if not trigram.is_usable or match.expression is None:
        return [Part("like", rows, tree)]
    found = Part("trigram", _rows(rows, trigram.held), tree, TRIGRAM, match.expression)
    if trigram.is_complete:
        return [found]
    return [found, Part("like", _rows(rows, f"NOT {trigram.held}"), tree)]


def _some_tools(tree: Node, indexes: Indexes) -> list[Part]:
    """Return the part for those tool rows with CJK that words of theirs lead to."""
    match, plain = _some(tree), indexes[PLAIN]
    if match is None or not plain.is_usable:
        return []
    return [Part("fts5", _rows(IS_CJK_TOOL, plain.held), tree, PLAIN, match)]


def _some(node: Node) -> str | None:
    """Return an expression for some of what `node` means in rows with CJK, None for none."""
    match node:
        case Term():
            return compiling.plain_phrase(node).expression
        case And() | Or():
            found = [some for child in node.children if (some := _some(child)) is not None]
            joint = " AND " if isinstance(node, And) else " OR "
            return f"({joint.join(found)})" if found else None
        case _:
            return None


def with_one_scan(parts: Iterable[Part]) -> tuple[Part, ...]:
    """Return the parts with scans for the same put together, behind those of indexes."""
    asked: list[Part] = []
    scans: dict[tuple[Node | None, bool, SearchPath], list[str]] = {}
    for part in parts:
        if part.index is not None:
            asked.append(part)
        else:
            scans.setdefault((part.tree, part.whole, part.path), []).append(part.rows)
    merged = [
        Part(path, _any_rows(rows), tree, whole=whole)
        for (tree, whole, path), rows in scans.items()
    ]
    return (*asked, *merged)


def _any_rows(rows: Iterable[str], *others: str) -> str:
    given = [each for each in (*rows, *others) if each]
    text = " OR ".join(f"({each})" for each in given)
    return f"({text})" if len(given) > 1 else text
