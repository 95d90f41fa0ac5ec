"""Which index answers for which rows, and why.

A plan parts the messages into disjoint sets of rows, one for each way of finding: so totals
add up, and a NOT holds for every row whatever index knows it. The sets are made of three
things known of a message without reading it: whether it is a tool row, whether there is CJK
in it, and which indexes hold it.

`messages_fts` glues a word to the run beside it (nginx服务 is one token), so it is exact only
for rows without CJK; those a CJK term cannot match. `messages_fts_cjk` is exact, and holds all
but tool rows without CJK: together they answer for every row.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum, auto

from core.search import compile as compiling
from core.search.check import Texts
from core.search.coverage import Coverage
from core.search.scope import (
    HAS_CJK,
    IS_CJK_TOOL,
    IS_LONG,
    IS_PLAIN_TOOL,
    IS_TOOL,
    NO_CJK,
    NOT_PLAIN_TOOL,
    NOT_TOOL,
)
from core.search.tree import Node, all_of, assume_false, none_of
from core.store.indexes import CJK
from core.types import IndexName, SearchPath

PLAIN: IndexName = "messages_fts"
TRIGRAM: IndexName = "messages_fts_trigram"

_LONG_TOOL = f"({IS_TOOL}) AND ({IS_LONG})"


class Check(Enum):
    """Which of a part's rows have to be read to know whether they match."""

    NONE = auto()
    EVERY = auto()


@dataclass(frozen=True, slots=True)
class Part:
    """A set of rows and the way to find what matches among them.

    `rows` is SQL over message_keys as k. With an `index`, `match` is what it is asked; without
    one the rows are scanned. `tree` is what a row must fulfil; None means that every row does.
    `texts` is how much of a row is read. With `is_whole` these are all the rows that the index
    holds, so that whoever counts them need not look at them. `but` is what the CJK index is
    asked for rows that do not match.
    """

    path: SearchPath
    rows: str
    tree: Node | None
    index: IndexName | None = None
    match: str = ""
    check: Check = Check.EVERY
    texts: Texts = Texts.INDEXED
    is_whole: bool = False
    but: str = ""


class Tools(Enum):
    """How far tool rows are searched."""

    NONE = auto()  # they are no part of the scope
    CUT = auto()  # as far as indexes hold them
    WHOLE = auto()  # to their end


Indexes = Mapping[IndexName, Coverage]


def plan(tree: Node | None, indexes: Indexes, tools: Tools) -> tuple[Part, ...]:
    """Return the parts that answer `tree`, in the order of their hits, scans behind.

    Without a tree every message of the scope is an answer.
    """
    if tree is None:
        return (Part("like", "true", None),)
    cjk, has_tools = indexes[CJK], tools is not Tools.NONE
    among = {Tools.NONE: NOT_TOOL, Tools.CUT: "true", Tools.WHOLE: f"NOT ({_LONG_TOOL})"}[tools]
    parts: list[Part] = []
    if cjk.is_usable:
        parts += _held_by_cjk(tree, indexes, among, has_tools=has_tools)
    if not cjk.is_complete:
        left = _rows(among, f"NOT {cjk.held}" if cjk.is_usable else "true")
        parts += _plain(tree, indexes, _rows(left, NO_CJK))
        parts += _glued(tree, indexes, _rows(left, HAS_CJK), has_tools=has_tools)
    elif has_tools:
        parts += _plain(tree, indexes, _rows(among, IS_PLAIN_TOOL))
    if tools is Tools.WHOLE:
        parts += _long_tools(tree)
    return with_one_scan(parts)


def scan_of_everything(tree: Node | None) -> Part:
    """Return the part that reads every message of the scope to its end, reasoning too."""
    return Part("like", "true", tree, texts=Texts.EVERYTHING)


def substring_part(tree: Node, indexes: Indexes) -> Part | None:
    """Return the part that finds terms by trigram whatever rows hold them, None for none.

    While that index is damaged the rows are read: what it found before is found still.
    """
    trigram, match = indexes[TRIGRAM], compiling.to_match(tree, compiling.trigrams)
    if trigram.is_damaged and match.expression is not None:
        return Part("like", NOT_TOOL, tree)
    if not trigram.is_usable or match.expression is None:
        return None
    return Part("trigram", _rows(NOT_TOOL, trigram.held), tree, TRIGRAM, match.expression)


def tool_rows(tree: Node) -> Part:
    """Return the part that reads every tool row of the scope: the trigram index holds none."""
    return Part("like", IS_TOOL, tree, texts=Texts.WHOLE_TOOL_ROWS)


def further_part(tree: Node, inside: Node, indexes: Indexes) -> Part | None:
    """Return the part for what only `inside`, which finds words inside words, finds.

    What the CJK index knows to fulfil `tree` need not be read. None where no index finds it.
    """
    if indexes[TRIGRAM].is_damaged:
        return None
    part = substring_part(all_of([inside, none_of(tree)]), indexes)
    match = compiling.to_match(tree, compiling.cjk_phrase)
    if part is None or not indexes[CJK].is_complete or match.expression is None or not match.exact:
        return part
    return replace(part, but=match.expression)


def _rows(*conditions: str) -> str:
    return " AND ".join(f"({each})" for each in conditions if each != "true") or "true"


def _held_by_cjk(tree: Node, indexes: Indexes, among: str, *, has_tools: bool) -> list[Part]:
    """Return the parts for what `messages_fts_cjk` holds.

    Where that is not exact, trigrams come closer: of `C++` it knows the letter alone.
    """
    rows = _rows(among, NOT_PLAIN_TOOL if has_tools else "true", indexes[CJK].held)
    match = compiling.to_match(tree, compiling.cjk_phrase)
    if match.expression is not None and match.exact:
        is_whole = has_tools and among == "true" and indexes[CJK].is_complete
        exact = Part("cjk", rows, tree, CJK, match.expression, Check.NONE, is_whole=is_whole)
        return [exact]
    parts: list[Part] = []
    closer = compiling.to_match(tree, compiling.trigrams)
    if closer.expression is not None and indexes[TRIGRAM].is_complete:
        spoken = _rows(among, NOT_TOOL, indexes[CJK].held)
        parts.append(Part("trigram", spoken, tree, TRIGRAM, closer.expression))
        if not has_tools:
            return parts
        rows = _rows(among, IS_CJK_TOOL, indexes[CJK].held)
    if match.expression is not None:
        return [*parts, Part("cjk", rows, tree, CJK, match.expression)]
    return [*parts, Part("like", rows, tree)]


def _plain(tree: Node, indexes: Indexes, rows: str) -> list[Part]:
    """Return the parts for rows in which words are not glued to runs."""
    possible = assume_false(tree, lambda term: term.has_run)
    if isinstance(possible, bool):
        return [Part("like", rows, None)] if possible else []
    plain = indexes[PLAIN]
    match = compiling.to_match(possible, compiling.plain_phrase)
    if match.expression is None or not plain.is_usable:
        return [Part("like", rows, possible)]
    check = Check.NONE if match.exact else Check.EVERY
    parts = [Part("fts5", _rows(rows, plain.held), possible, PLAIN, match.expression, check)]
    if not plain.is_complete:
        parts.append(Part("like", _rows(rows, f"NOT {plain.held}"), possible))
    return parts


def _glued(tree: Node, indexes: Indexes, rows: str, *, has_tools: bool) -> list[Part]:
    """Return the parts for rows with CJK that the CJK index does not hold."""
    trigram = indexes[TRIGRAM]
    match = compiling.to_match(tree, compiling.trigrams)
    if not trigram.is_usable or match.expression is None:
        return [Part("like", rows, tree)]
    spoken = _rows(rows, NOT_TOOL)
    parts = [Part("trigram", _rows(spoken, trigram.held), tree, TRIGRAM, match.expression)]
    if not trigram.is_complete:
        parts.append(Part("like", _rows(spoken, f"NOT {trigram.held}"), tree))
    if has_tools:
        parts.append(Part("like", _rows(rows, IS_CJK_TOOL), tree))
    return parts


def _long_tools(tree: Node) -> list[Part]:
    """Return the parts that read tool rows of which the indexes hold the beginning alone."""
    possible = assume_false(tree, lambda term: term.has_run)
    if possible == tree:
        return [Part("like", _LONG_TOOL, tree, texts=Texts.WHOLE_TOOL_ROWS)]
    parts = [Part("like", _rows(_LONG_TOOL, HAS_CJK), tree, texts=Texts.WHOLE_TOOL_ROWS)]
    if possible is True:
        parts.append(Part("like", _rows(_LONG_TOOL, NO_CJK), None))
    elif possible is not False:
        rows = _rows(_LONG_TOOL, NO_CJK)
        parts.append(Part("like", rows, possible, texts=Texts.WHOLE_TOOL_ROWS))
    return parts


def with_one_scan(parts: Iterable[Part]) -> tuple[Part, ...]:
    """Return the parts with scans for the same put together, behind those of indexes."""
    asked: list[Part] = []
    scans: dict[tuple[Node | None, Texts, SearchPath], list[str]] = {}
    for part in parts:
        if part.index is not None:
            asked.append(part)
        else:
            scans.setdefault((part.tree, part.texts, part.path), []).append(part.rows)
    merged = [
        Part(path, _any_rows(rows), tree, texts=texts)
        for (tree, texts, path), rows in scans.items()
    ]
    return (*asked, *merged)


def _any_rows(rows: list[str]) -> str:
    text = " OR ".join(f"({each})" for each in rows)
    return f"({text})" if len(rows) > 1 else text
