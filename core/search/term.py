"""What one term means, whatever finds it.

A term is looked for in *searchable text*: `core.text.project()` of a message, cut where the
indexes cut it. Its meaning is one regular expression, `pattern(term)`. Indexes and scans only
find candidates faster: an index that is exact for a term may answer alone, anything else is
checked with that expression.

A term is a list of pieces, CJK runs and words, with only separators between them. A run is a
substring of a run; a word is whole, and a border to CJK is a border of words. Where symbols
matter (`C++`, `.NET`, `->`) the term is a *literal*: its text as it stands.
"""

import re
import unicodedata
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise

from core.cjk_ranges import CJK_RANGES
from core.text import CJK_CLASS, WORD_CLASS, Ranges, char_class, project
from core.word_ranges import WORD_RANGES


def _without(ranges: Ranges, others: Ranges) -> Ranges:
    """Return `ranges` without what `others` cover; both in order and disjoint."""
    left = []
    for start, last in ranges:
        first = start
        for other_first, other_last in others:
            if other_last < first or last < other_first:
                continue
            if first < other_first:
                left.append((first, other_first - 1))
            first = other_last + 1
        if first <= last:
            left.append((first, last))
    return left


LATIN_CLASS = char_class(_without(WORD_RANGES, CJK_RANGES))
"""The inside of a character class: the word characters of every script without runs."""

GAP = f"[^{WORD_CLASS}{CJK_CLASS}]"
"""A separator: what no index has a token for."""

_RUN_CHAR = re.compile(f"[{CJK_CLASS}]")
_WORD_CHAR = re.compile(f"[{LATIN_CLASS}]")
_PIECE = re.compile(f"(?P<run>[{CJK_CLASS}]+)|[{LATIN_CLASS}]+")
_LEAD = re.compile(r"((?<!\.)\.|-+|__)$")  # .NET, --force, __init__

_MEANT = frozenset("+#%$")
_NOT_MEANT = frozenset("<>=|~^`´¨＜＞＝｜～＾｀￣")  # symbols by category, of prose and markup
_EMOJI_PLANE = 0x1F000


@dataclass(frozen=True, slots=True)
class Piece:
    """A CJK run or a word, projected, its ASCII letters small."""

    text: str
    is_run: bool


@dataclass(frozen=True, slots=True)
class Term:
    """A word, a phrase or a literal of a query.

    `pieces` of a literal are those that are whole tokens wherever the literal stands; there
    may be none. `is_prefix` leaves the last word open at its end, `is_inside` leaves the whole
    term without borders: it then is found inside words. `shown` is for people.
    """

    pieces: tuple[Piece, ...]
    literal: str | None = None
    is_prefix: bool = False
    is_inside: bool = False
    shown: str = field(default="", compare=False)

    @property
    def has_run(self) -> bool:
        """True when only a text with CJK in it can match."""
        if self.literal is not None:
            return _RUN_CHAR.search(self.literal) is not None
        return any(piece.is_run for piece in self.pieces)

    @property
    def is_single_word(self) -> bool:
        """True for one word alone, whole or open at its end."""
        return self.literal is None and len(self.pieces) == 1 and not self.pieces[0].is_run

    @property
    def needles(self) -> tuple[str, ...]:
        """Texts without white space that every match contains, ASCII case aside."""
        if self.literal is not None:
            return tuple(self.literal.split())
        return tuple(piece.text for piece in self.pieces)


def ascii_lower(text: str) -> str:
    """Return `text` with small ASCII letters, everything else as it is."""
    return text.lower() if text.isascii() else text.encode().lower().decode()


def word_term(typed: str) -> Term | None:
    """Return the term for characters typed without white space, None when none are left.

    Punctuation around it is left out, a star behind a word opens it, and punctuation inside
    separates its pieces; unless a symbol in it matters.
    """
    as_typed = _spaced(typed)
    text = ascii_lower(as_typed)
    bare = text.rstrip("*")
    is_prefix = bare != text and _WORD_CHAR.match(bare[-1:]) is not None and text[0] != "*"
    if is_prefix:
        text = bare
    kept = [at for at, char in enumerate(text) if _PIECE.match(char) or _is_meant(text, at)]
    if not _PIECE.search(text):
        return literal_term(typed)
    lead = _leading_symbol(text, kept[0])
    start, end = kept[0] - len(lead), kept[-1] + 1
    if lead == "__" and text.startswith("__", end):
        end += 2
    core = text[start:end]
    shown = as_typed[start:end] + "*" * is_prefix
    if start < kept[0] or any(_is_meant(core, at) for at in range(len(core))):
        return Term(_whole_pieces(core, is_prefix), core, is_prefix, shown=shown)
    return Term(_pieces(core), None, is_prefix, shown=shown)


def phrase_term(typed: str, *, is_prefix: bool = False) -> Term | None:
    """Return the term for a text typed in quotes, None when nothing is left of it.

    A symbol that matters in any of its words makes the whole a literal.
    """
    as_typed = _spaced(typed)
    text = ascii_lower(as_typed)
    words = [word_term(word) for word in text.split()]
    if not _PIECE.search(text) or any(word and word.literal and word.pieces for word in words):
        return literal_term(typed, is_prefix=is_prefix)
    if any(_is_meant(text, at) for at in range(len(text))):
        return literal_term(typed, is_prefix=is_prefix)
    pieces = _pieces(text)
    is_prefix = is_prefix and not pieces[-1].is_run
    return Term(pieces, None, is_prefix, shown=f'"{as_typed}"' + "*" * is_prefix)


def literal_term(typed: str, *, is_prefix: bool = False) -> Term | None:
    """Return the term for `typed` as it stands, white space aside; None for nothing."""
    as_typed = _spaced(typed)
    if not as_typed:
        return None
    text = ascii_lower(as_typed)
    is_prefix = is_prefix and _WORD_CHAR.match(text[-1]) is not None
    shown = f'"{as_typed}"' if " " in text else as_typed
    shown += "*" * is_prefix
    return Term(_whole_pieces(text, is_prefix), text, is_prefix, shown=shown)


@lru_cache(maxsize=512)
def pattern(term: Term) -> re.Pattern[str]:
    """Return the term's meaning: it matches in `ascii_lower` of searchable text.

    The expression begins with plain characters wherever it can, because `re` then skips to
    them; borders stand behind what they precede. Linear in the text for every term: a gap
    holds no character that a piece could begin with.
    """
    if term.literal is not None:
        return re.compile(_literal_source(term, term.literal))
    first = term.pieces[0]
    source = _bordered(first.text, left=not first.is_run and not term.is_inside)
    for before, piece in pairwise(term.pieces):
        glued = before.is_run != piece.is_run  # 服务nginx: no separator needed
        source += GAP + ("*" if glued else "+") + re.escape(piece.text)
    is_open = term.is_prefix or term.is_inside or term.pieces[-1].is_run
    return re.compile(source if is_open else f"{source}(?![{LATIN_CLASS}])")


def _spaced(typed: str) -> str:
    return " ".join(project(typed).split())


def _pieces(text: str) -> tuple[Piece, ...]:
    return tuple(Piece(m[0], m["run"] is not None) for m in _PIECE.finditer(text))


def _whole_pieces(literal: str, is_prefix: bool) -> tuple[Piece, ...]:
    """Return the pieces of `literal` that are whole tokens in every text that holds it.

    A symbol that unicode61 takes for a letter (emoji newer than its tables) may be glued to
    what stands before or behind the literal, so a piece that begins or ends with one at the
    literal's edge is no use. With `is_prefix` the last piece may be open at its end.
    """
    found = list(_PIECE.finditer(literal))
    if found and found[0].start() == 0 and not _has_border(literal[0]):
        del found[0]
    is_open = not is_prefix and not _has_border(literal[-1])
    if found and found[-1].end() == len(literal) and is_open:
        del found[-1]
    return tuple(Piece(m[0], m["run"] is not None) for m in found)


def _has_border(char: str) -> bool:
    """Tell whether a literal that ends with `char` is bordered there, or needs no border."""
    return not (_WORD_CHAR.match(char) and _is_symbol(char))


def _leading_symbol(text: str, start: int) -> str:
    """Return what matters of the punctuation before the first character kept."""
    found = _LEAD.search(text[:start])
    if found is None:
        return ""
    is_letter = text[start].isalpha() and _WORD_CHAR.match(text[start]) is not None
    return found[0] if found[0].startswith("-") or is_letter else ""


def _is_meant(text: str, at: int) -> bool:
    """Tell whether the symbol at `at` is part of what is looked for (the # of #123 is not)."""
    char = text[at]
    if char == "#":
        return not text[at + 1 : at + 2].isdigit()
    return char in _MEANT or (char not in _NOT_MEANT and _is_symbol(char))


def _is_symbol(char: str) -> bool:
    category = unicodedata.category(char)
    return category[0] == "S" or (category == "Cn" and ord(char) >= _EMOJI_PLANE)


def _literal_source(term: Term, literal: str) -> str:
    first, *others = literal.split(" ")
    source = _bordered(first, left=_needs_border(first[0]) and not term.is_inside)
    source += "".join(r"\s+" + re.escape(other) for other in others)
    is_open = term.is_prefix or term.is_inside or not _needs_border(literal[-1])
    return source if is_open else f"{source}(?![{LATIN_CLASS}])"


def _needs_border(char: str) -> bool:
    return _WORD_CHAR.match(char) is not None and not _is_symbol(char)


def _bordered(text: str, *, left: bool) -> str:
    """Return an expression for `text`, with no word character before it if `left`."""
    source = re.escape(text)
    return f"{source}(?<![{LATIN_CLASS}]{source})" if left else source
