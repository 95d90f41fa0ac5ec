"""From a tree to what SQLite can look up: MATCH expressions and LIKE conditions.

A compiled expression finds every row that the tree means, and maybe more; `exact` tells that
it finds no more. The user's text is in it only as quoted strings, made of nothing but word
and CJK characters, and as bound patterns.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from core.search.sql import EVERYTHING, Sql, both, either
from core.search.term import Piece, Term
from core.search.tree import And, Field, Node, Not, Or, Predicate, terms

TRIGRAM = 3
_MOST_TRIGRAMS = 12
_LIKE_CHARS = 80  # a pattern's length is limited, and a part of a text is in every text it is in
_LIKE_NEEDLES = 3


@dataclass(frozen=True, slots=True)
class Match:
    """A MATCH expression; None restricts nothing, and then no index can be asked."""

    expression: str | None
    exact: bool


ANYTHING = Match(None, exact=False)

Phrase = Callable[[Term], Match]


def to_match(node: Node, phrase: Phrase) -> Match:
    """Return the expression for `node` whose terms `phrase` compiles.

    FTS5 has NOT only between two operands: under an Or or alone it restricts nothing here.
    """
    match node:
        case Term():
            return phrase(node)
        case Field() | Not():
            return ANYTHING
        case Or():
            branches = [to_match(child, phrase) for child in node.children]
            return _joined(" OR ", branches, all(branch.exact for branch in branches))
        case And():
            return _all_of(node, phrase)


def _all_of(node: And, phrase: Phrase) -> Match:
    kept = [to_match(child, phrase) for child in node.children if not isinstance(child, Not)]
    found = [match for match in kept if match.expression is not None]
    if not found:
        return ANYTHING
    excluded = [to_match(child.child, phrase) for child in node.children if isinstance(child, Not)]
    exact = all(match.exact for match in (*kept, *excluded))
    positive = _joined(" AND ", found, exact).expression
    negative = _joined(" OR ", [match for match in excluded if match.exact], exact).expression
    if negative is None:
        return Match(positive, exact)
    return Match(f"({positive} NOT {negative})", exact)


def _joined(operator: str, matches: list[Match], exact: bool) -> Match:
    texts = [match.expression for match in matches if match.expression is not None]
    if len(texts) < len(matches) or not texts:
        return ANYTHING
    return Match(f"({operator.join(texts)})" if len(texts) > 1 else texts[0], exact)


def cjk_phrase(term: Term) -> Match:
    """Return the expression for a term in `messages_fts_cjk`, exact but for literals.

    A last run of one character is asked for as a prefix: every character of a document
    starts some token, but only a run's last one is a token by itself.
    """
    return _phrase(term, term.pieces)


def plain_phrase(term: Term) -> Match:
    """Return the expression for a term in `messages_fts`, for rows without CJK characters.

    unicode61 glues a word to the run beside it, so in other rows it finds too few.
    """
    if any(piece.is_run for piece in term.pieces):
        return ANYTHING
    return _phrase(term, term.pieces)


def _phrase(term: Term, pieces: tuple[Piece, ...]) -> Match:
    if not pieces:
        return ANYTHING
    last = pieces[-1]
    is_open = len(last.text) == 1 if last.is_run else term.is_prefix and _ends(term, last)
    return Match(_quoted(" ".join(p.text for p in pieces), is_open), term.literal is None)


def _ends(term: Term, piece: Piece) -> bool:
    return term.literal is None or term.literal.endswith(piece.text)


def trigrams(term: Term) -> Match:
    """Return the expression for candidates of a term in `messages_fts_trigram`.

    That index keeps no positions, so every trigram is a term of its own, and the text between
    them is to be checked. A term without three characters in a row finds no candidates.
    """
    needles = [needle for needle in term.needles if len(needle) >= TRIGRAM]
    found = dict.fromkeys(trigram for needle in needles for trigram in _trigrams(needle))
    if not found:
        return ANYTHING
    step = -(-len(found) // _MOST_TRIGRAMS)
    chosen = [_quoted(trigram, is_open=False) for trigram in list(found)[::step]]
    return Match(f"({' AND '.join(chosen)})" if len(chosen) > 1 else chosen[0], exact=False)


def _trigrams(text: str) -> Iterable[str]:
    return (text[at : at + TRIGRAM] for at in range(len(text) - TRIGRAM + 1))


def _quoted(text: str, is_open: bool) -> str:
    return '"{}"{}'.format(text.replace('"', '""'), " *" * is_open)


MESSAGE_TEXTS = ("coalesce(m.search_text, m.content)", "m.tool_name", "m.tool_calls_text")


def _row(known: Predicate) -> Sql | None:
    return known.row


def to_like(
    node: Node,
    texts: tuple[str, ...] = MESSAGE_TEXTS,
    of: Callable[[Predicate], Sql | None] = _row,
) -> Sql:
    """Return a condition that every row whose `texts` fulfil `node` fulfils.

    LIKE ignores the case of ASCII letters and of no others, as terms do. What it cannot
    express it lets through. What of the tree is made of fields alone is exact; `of` says
    which of their conditions is about such rows.
    """
    if not terms(node):
        return of_fields(node, of)
    match node:
        case Field():
            return EVERYTHING
        case Term():
            longest = sorted(node.needles, key=len, reverse=True)[:_LIKE_NEEDLES]
            return both(*(_like(needle, texts) for needle in longest))
        case Not():
            return EVERYTHING
        case And():
            return both(*(to_like(child, texts, of) for child in node.children))
        case Or():
            branches = [to_like(child, texts, of) for child in node.children]
            return EVERYTHING if EVERYTHING in branches else either(*branches)


def of_fields(node: Node, of: Callable[[Predicate], Sql | None]) -> Sql:
    """Return the exact condition for a tree of fields alone, whatever row `of` it is about."""
    match node:
        case Field():
            condition = of(node.predicate)
            if condition is None:
                raise ValueError(f"{node.shown} is nothing that such a row has")
            return condition
        case Not():
            inner = of_fields(node.child, of)
            return Sql(f"NOT ({inner.text})", inner.bindings)
        case And():
            return both(*(of_fields(child, of) for child in node.children))
        case Or():
            return either(*(of_fields(child, of) for child in node.children))
        case Term():
            raise ValueError(f"{node.shown} is no field")


def _like(needle: str, texts: tuple[str, ...]) -> Sql:
    escaped = "".join(f"\\{c}" if c in "\\%_" else c for c in needle[:_LIKE_CHARS])
    conditions = " OR ".join(f"{text} LIKE ? ESCAPE '\\'" for text in texts)
    return Sql(f"({conditions})", (f"%{escaped}%",) * len(texts))
