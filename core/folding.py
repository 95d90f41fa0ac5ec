"""What each character folds to in a searchable text, and which characters never fold.

Unicode's own data (`unicodedata`) decides about case, decomposition and width; the tables here
say which marks are left out. `core.text` applies this to texts.
"""

import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator

from core.cjk_ranges import CJK_RANGES

Ranges = Iterable[tuple[int, int]]

_COMBINING: Ranges = (  # marks that only decorate a letter, in scripts that can do without
    (0x0300, 0x036F),
    (0x0483, 0x0489),
    (0x1AB0, 0x1AFF),
    (0x1DC0, 0x1DFF),
    (0x20D0, 0x20FF),
    (0x2DE0, 0x2DFF),
    (0xA66F, 0xA672),
    (0xA674, 0xA67D),
    (0xA69E, 0xA69F),
    (0xFE20, 0xFE2F),
)
_POINTS: Ranges = (  # Hebrew, Arabic
    (0x0591, 0x05BD),
    (0x05BF, 0x05BF),
    (0x05C1, 0x05C2),
    (0x05C4, 0x05C5),
    (0x05C7, 0x05C7),
    (0xFB1E, 0xFB1E),
    (0x0610, 0x061A),
    (0x064B, 0x065F),
    (0x0670, 0x0670),
    (0x06D6, 0x06DC),
    (0x06DF, 0x06E4),
    (0x06E7, 0x06E8),
    (0x06EA, 0x06ED),
    (0x0897, 0x089F),
    (0x08CA, 0x08E1),
    (0x08E3, 0x08FF),
    (0x10EFA, 0x10EFF),
)
_INVISIBLE: Ranges = (  # joiners, bidi and zero-width marks, variation selectors, tags
    (0x00AD, 0x00AD),
    (0x061C, 0x061C),
    (0x180B, 0x180F),
    (0x200B, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x206F),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFF9, 0xFFFB),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
)
INERT: Ranges = (  # most of what zh and en texts hold: never folds, never joins
    (0x0001, 0x001A),
    (0x001C, 0x00AC),
    (0x00AE, 0x00B4),
    (0x00B6, 0x00BF),
    (0x00D7, 0x00D7),
    (0x00F7, 0x00F7),
    (0x2010, 0x2017),
    (0x201C, 0x2029),
    (0x202F, 0x205F),
    (0x20A0, 0x20CF),
    (0x2190, 0x2328),
    (0x232B, 0x24B5),
    (0x2500, 0x2ADB),
    (0x2ADD, 0x2BFF),
    (0x2E80, 0x3029),
    (0x3030, 0x3098),
    (0x309B, 0xA63F),
    (0xAC00, 0xD7A3),
    (0xFE10, 0xFE1F),
    (0xFE30, 0xFE6F),
    (0xFF01, 0xFF0F),
    (0xFF1A, 0xFF20),
    (0xFF3B, 0xFF40),
    (0xFF5B, 0xFF65),
    (0xFFE0, 0xFFE6),
    (0x1F000, 0x1FBEF),
    (0x20000, 0x2F7FF),
    (0x30000, 0x3FFFF),
)

_APOSTROPHES = "\N{LEFT SINGLE QUOTATION MARK}\N{RIGHT SINGLE QUOTATION MARK}\u201b\u02bc"
_WITHOUT_DECOMPOSITION = str.maketrans("đøłħı", "dolhi")
_SURROGATES = range(0xD800, 0xE000)


class Folds(dict[int, str]):
    """What each character folds to, worked out when it is first met."""

    def __missing__(self, code: int) -> str:
        folded = self[code] = _folded_char(chr(code))
        return folded


FOLDS = Folds()
"""The one table of folds; it grows with the characters that are met."""

_DIACRITICS = frozenset(code for first, last in _COMBINING for code in range(first, last + 1))
_DROPPED = _DIACRITICS.union(
    code for first, last in (*_POINTS, *_INVISIBLE) for code in range(first, last + 1)
)


def _folded_char(char: str) -> str:
    """Return what a composed character folds to: '' when it is dropped."""
    code = ord(char)
    if char.isascii():
        return " " if char == "\0" else char
    if code in _DROPPED:
        return ""
    if char in _APOSTROPHES:
        return "'"
    if code in _SURROGATES:
        return "\ufffd"
    category = unicodedata.category(char)
    if category[0] not in "LN":
        return char
    width, _, plain = unicodedata.decomposition(char).partition(" ")
    if width in ("<wide>", "<narrow>"):
        return chr(int(plain, 16))
    if _is_cjk(code):
        return char
    return _folded_letter(char)


def _folded_letter(char: str) -> str:
    """Return a letter or number in lower case and without its diacritics.

    Simple case folding, as in `unicode61`: one character for one, Cherokee to its capitals.
    An Arabic letter keeps the hamza or madda it is written with: another letter, not a point.
    """
    folded = char.casefold()
    if len(folded) > 1:
        folded = char.lower()
    parts = unicodedata.normalize("NFD", folded)
    bare = "".join(part for part in parts if ord(part) not in _DIACRITICS)
    return unicodedata.normalize("NFC", bare).translate(_WITHOUT_DECOMPOSITION)


def _is_cjk(code: int) -> bool:
    place = bisect_right(CJK_RANGES, code, key=lambda pair: pair[0]) - 1
    return place >= 0 and code <= CJK_RANGES[place][1]


def joining() -> Iterator[tuple[int, int]]:
    """Yield the characters that may join the one before them, as ranges.

    Above the first two planes that is only what is dropped.
    """
    yield 0x1160, 0x11FF  # Hangul vowels and finals
    yield 0xFF9E, 0xFF9F  # half-width voiced sound marks, which become combining ones
    yield from (*_COMBINING, *_POINTS, *_INVISIBLE)
    for code in range(0xA0, 0x20000):
        char = chr(code)
        first, _, second = unicodedata.decomposition(char).partition(" ")
        if first and not first.startswith("<"):
            char = unicodedata.normalize("NFD", char)[0]
            if second:
                yield int(second, 16), int(second, 16)
        if unicodedata.combining(char):
            yield code, code
