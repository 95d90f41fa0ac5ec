"""Titles that hold a word of one or two characters, found without reading them all.

Everything typed begins so. The trigram index cannot be asked for less than three characters,
but its vocabulary is in order: trigrams that begin with the word are a stretch of it.
"""

import apsw

from core.history.sessions import SEARCHED_TITLE
from core.search.sql import Sql, both, either
from core.search.term import Term
from core.search.tree import And, Node, Or
from core.store import damage
from core.text import has_cjk

_LAST = "\U0010ffff"

_ENDING = "SELECT e.id FROM sessions AS e WHERE"
_LAST_TWO, _LAST_ONE = (
    f"lower(substr(coalesce(e.search_title, e.title), -{count}))" for count in (2, 1)
)

# What may stand behind a whole word of ASCII: everything but its letters and digits.
_BEHIND = (("", "0"), (":", "a"), ("{", _LAST))


def short_title(db: apsw.Connection, tree: Node) -> Sql | None:
    """Return a condition on a session s that every title which fulfils `tree` fulfils.

    It is found by indexes. None where no word that all such titles hold is short enough, and
    for a store of an earlier schema, which can only be read.
    """
    return _of_node(tree) if has_terms(db) else None


def has_terms(db: apsw.Connection) -> bool:
    """Tell whether the vocabulary of the titles can be asked; it came with a schema."""
    sql = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'sessions_fts_terms')"
    return bool(db.execute(sql).get) and damage.titles_usable(db)


def _of_node(node: Node) -> Sql | None:
    match node:
        case Term():
            return _of_term(node)
        case And():
            found = [sql for child in node.children if (sql := _of_node(child)) is not None]
            return found[0] if found else None
        case Or():
            branches = [_of_node(child) for child in node.children]
            known = [sql for sql in branches if sql is not None]
            return either(*known) if len(known) == len(branches) else None
        case _:
            return None


def _of_term(term: Term) -> Sql | None:
    short = [each for each in term.needles if len(each) <= 2 and _has_one_case(each)]
    if not short:
        return None
    needle = max(short, key=len)
    is_word = needle.isalnum() and needle.isascii() and not (term.is_inside or term.is_prefix)
    behind = _BEHIND if is_word else (("", _LAST),)
    starts = [
        Sql(
            "SELECT doc FROM sessions_fts_terms WHERE term >= ? AND term < ?",
            (needle + first, needle + last),
        )
        for first, last in behind
    ]
    every = [*starts, *_ends(needle)]
    listed = Sql(
        f"s.id IN ({' UNION ALL '.join(each.text for each in every)})",
        tuple(value for each in every for value in each.bindings),
    )
    return both(listed, _bordered(needle)) if is_word else listed


def _has_one_case(text: str) -> bool:
    """Tell whether the index of titles writes a text as terms do: it folds more than ASCII."""
    return all(char.isascii() or has_cjk(char) for char in text)


def _ends(needle: str) -> list[Sql]:
    """Return what finds titles whose last two characters hold `needle`."""
    if len(needle) == 2:
        return [Sql(f"{_ENDING} {_LAST_TWO} = ?", (needle,))]
    return [
        Sql(f"{_ENDING} {_LAST_TWO} >= ? AND {_LAST_TWO} < ?", (needle, needle + _LAST)),
        Sql(f"{_ENDING} {_LAST_ONE} = ?", (needle,)),
    ]


def _bordered(word: str) -> Sql:
    """Return the condition that a word of ASCII stands in a title with no other beside it."""
    letters = "".join(f"[{char}{char.upper()}]" if char.isalpha() else char for char in word)
    return Sql(f"' ' || {SEARCHED_TITLE} || ' ' GLOB ?", (f"*[^a-zA-Z0-9]{letters}[^a-zA-Z0-9]*",))
