"""What one term means, whatever finds it.

A term is looked for in *searchable text*: `core.text.project()` of a message, cut where the
indexes cut it. Its meaning is `occurrences(term, text)`. Indexes and scans only find candidates
faster: an index that is exact for a term may answer alone, anything else is checked with that.

A term is a list of pieces, CJK runs and words, with only separators between them. A run is a
substring of a run; a word is whole, and a border to CJK is a border of words. Where symbols
matter (`C++`, `.NET`, `->`) the term is a *literal*: its text as it stands.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from core.cjk_ranges import CJK_RANGES
from core.text import CJK_CLASS, WORD_CLASS, Ranges, char_class, project
from core.word_ranges import WORD_RANGES

FIELD_NAMES = (
    "role", "source", "project", "session", "title", "tool", "model", "before", "after",
)  # fmt: skip
"""The names of fields: a word that begins with one and a colon is no text."""


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

_RUN_CHAR = re.compile(f"[{CJK_CLASS}]")
_WORD_CHAR = re.compile(f"[{LATIN_CLASS}]")
_GAPS = re.compile(f"[^{WORD_CLASS}{CJK_CLASS}]+")  # what no index has a token for
_BLANKS = re.compile(r"\s+")
_PIECE = re.compile(f"(?P<run>[{CJK_CLASS}]+)|[{LATIN_CLASS}]+")
_LEAD = re.compile(r"((?<!\.)\.|-+|__)$")  # .NET, --force, __init__

_MEANT = frozenset("+#%$")
_NOT_MEANT = frozenset("<>=|~^`´¨＜＞＝｜～＾｀￣")  # symbols by category, of prose and markup
_EMOJI_PLANE = 0x1F000
_OPENING = '("＂“”„‟'
_READ_OTHERWISE = re.compile(
    rf"-?[{_OPENING}]|.* |(?:AND|OR|NOT)$|-?(?:{'|'.join(FIELD_NAMES)})[:：]"
)  # as a group, a phrase, several words, an operator or a field
EXCLUDES = re.compile(f"-(?=[{LATIN_CLASS}{CJK_CLASS}{_OPENING}])")
"""A minus that means NOT where it stands behind something positive."""
_QUOTES = (('"', '"', '"＂'), ("“", "”", "”“‟"), ("„", "”", "”“"))  # as the lexer reads them


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
    shown = _shown(as_typed[start:end], is_prefix)
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
        return _as_phrase(literal_term(typed, is_prefix=is_prefix), as_typed)
    if any(_is_meant(text, at) for at in range(len(text))):
        return _as_phrase(literal_term(typed, is_prefix=is_prefix), as_typed)
    pieces = _pieces(text)
    is_prefix = is_prefix and not pieces[-1].is_run
    return Term(pieces, None, is_prefix, shown=quoted(as_typed) + "*" * is_prefix)


def literal_term(typed: str, *, is_prefix: bool = False) -> Term | None:
    """Return the term for `typed` as it stands, white space aside; None for nothing."""
    as_typed = _spaced(typed)
    if not as_typed:
        return None
    text = ascii_lower(as_typed)
    is_prefix = is_prefix and _WORD_CHAR.match(text[-1]) is not None
    shown = _shown(as_typed, is_prefix)
    return Term(_whole_pieces(text, is_prefix), text, is_prefix, shown=shown)


def _as_phrase(literal: Term | None, as_typed: str) -> Term | None:
    """Return the literal shown in quotes where it would be another term without."""
    if literal is None or " " in as_typed or word_term(literal.shown) == literal:
        return literal
    return replace(literal, shown=quoted(as_typed) + "*" * literal.is_prefix)


def _shown(text: str, is_prefix: bool) -> str:
    """Return `text` so that it is read as one operand, in quotes where it needs them."""
    is_plain = not _READ_OTHERWISE.match(text) and _closes_no_group(text)
    return (text if is_plain else quoted(text)) + "*" * is_prefix


def _closes_no_group(text: str) -> bool:
    depth = 0
    for char in text:
        depth += (char == "(") - (char == ")")
        if depth < 0:
            return False
    return True


def quoted(text: str) -> str:
    """Return `text` in quotes that it does not close itself; as it is if there are none.

    What was typed in quotes has some, and so has all that a store has, but for the oddest.
    """
    for opening, closing, closers in _QUOTES:
        if not any(char in text for char in closers):
            return f"{opening}{text}{closing}"
    return text


def is_in(term: Term, text: str) -> bool:
    """Tell whether `text`, `ascii_lower` of searchable text, holds the term."""
    return next(occurrences(term, text), None) is not None


def occurrences(term: Term, text: str) -> Iterator[tuple[int, int]]:
    """Yield where `text`, `ascii_lower` of searchable text, holds the term; none overlap.

    This is the term's meaning, as a regular expression would be: its pieces in order, between
    them a gap, and borders where it needs them. It is not compiled to one, because `re` takes
    20 ms for a class of all word characters, and one is needed at every border. Linear in the
    text: no gap holds what a piece begins with, so none is crossed twice.
    """
    texts, least_gaps, gap, starts_free, ends_free = _shape(term)
    start = text.find(texts[0])
    while start >= 0:
        end = _end(texts, least_gaps, gap, text, start)
        is_bordered = end > 0 and (
            (starts_free or start == 0 or not _WORD_CHAR.match(text, start - 1))
            and (ends_free or not _WORD_CHAR.match(text, end))
        )
        if is_bordered:
            yield start, end
        start = text.find(texts[0], end if is_bordered else start + 1)


class _Shape(NamedTuple):
    """What a term looks for: texts with gaps between them, and no border where it is free."""

    texts: tuple[str, ...]
    least_gaps: tuple[int, ...]
    gap: re.Pattern[str]
    starts_free: bool
    ends_free: bool


@lru_cache(maxsize=512)
def _shape(term: Term) -> _Shape:
    if term.literal is not None:
        texts = tuple(term.literal.split())
        starts_free = term.is_inside or not _needs_border(texts[0][0])
        ends_free = term.is_inside or term.is_prefix or not _needs_border(texts[-1][-1])
        return _Shape(texts, (1,) * (len(texts) - 1), _BLANKS, starts_free, ends_free)
    first, last = term.pieces[0], term.pieces[-1]
    return _Shape(
        tuple(piece.text for piece in term.pieces),
        tuple(int(a.is_run == b.is_run) for a, b in pairwise(term.pieces)),  # 服务nginx: none
        _GAPS,
        first.is_run or term.is_inside,
        last.is_run or term.is_inside or term.is_prefix,
    )


def _end(
    texts: tuple[str, ...],
    least_gaps: tuple[int, ...],
    gap: re.Pattern[str],
    text: str,
    start: int,
) -> int:
    """Return the end of `texts` that begin at `start`, -1 when they are not there."""
    end = start + len(texts[0])
    for sought, least in zip(texts[1:], least_gaps, strict=True):
        found = gap.match(text, end)
        behind = end if found is None else found.end()
        if behind - end < least or not text.startswith(sought, behind):
            return -1
        end = behind + len(sought)
    return end


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


def _needs_border(char: str) -> bool:
    return _WORD_CHAR.match(char) is not None and not _is_symbol(char)
