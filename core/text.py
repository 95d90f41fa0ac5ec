"""From verbatim text to searchable text, and from marks in it back to the verbatim one.

`project` is the one definition of what is searchable: it runs at write over every message
and over every query, so that index, scan and pattern compare the same characters. It folds
what people do not type (accents, case beyond ASCII, widths, points, invisible characters)
and leaves everything else as it is. ASCII keeps its case: the indexes and the patterns
ignore that themselves.

`unicode61` folds case as well. Whatever survives `project` it must leave alone, or an index
would hold words that no pattern finds; tests/unit/test_text.py asks it about every character.
"""

from __future__ import annotations  # array[int], in Python 3.11

import json
import re
import unicodedata
from array import array
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from core.cjk_ranges import CJK_RANGES
from core.types import ToolCall
from core.word_ranges import WORD_RANGES

INDEXED_CHARS = 262_144
"""How many characters of a projected text the indexes hold."""

TOOL_INDEXED_CHARS = 8_192
"""The same for the text of a tool row."""

MEDIA_WORD = "media"
"""What stands in a projected text for a run of base64."""

MEDIA_RUN_CHARS = 4_096
"""A run of base64 is replaced when it is longer than this."""

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
_INERT: Ranges = (  # most of what zh and en texts hold; `_NOTABLE` is everything else
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


def char_class(ranges: Ranges) -> str:
    """Return the inside of a regular expression's character class that holds ``ranges``."""
    return "".join(f"{_escaped(first)}-{_escaped(last)}" for first, last in ranges)


def _escaped(code: int) -> str:
    return f"\\U{code:08X}"


CJK_CLASS = char_class(CJK_RANGES)
"""The inside of a character class: what forms CJK runs."""

WORD_CLASS = char_class(WORD_RANGES)
"""The inside of a character class: what `unicode61` takes for part of a word, CJK included."""

_HAS_CJK = re.compile(f"[{CJK_CLASS}]")
_NOTABLE = re.compile(f"[^{char_class(_INERT)}]")
_ESCAPE_PATTERN = (
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]"  # control sequence: colours, cursor
    r"|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)"  # strings: links, titles, clipboard
    r"|[ -/]*[0-~])?"  # two characters, or what is left of a broken one
)
_ESCAPE = re.compile(_ESCAPE_PATTERN)
_MEDIA_CHARS = r"A-Za-z0-9+/=_\-"
_MEDIA_WINDOW = re.compile(rf"[{_MEDIA_CHARS}\r\n]{{64}}")
_MEDIA_RUN = re.compile(rf"[{_MEDIA_CHARS}]{{60,}}(?:\r?\n[{_MEDIA_CHARS}]{{60,}})*")

_APOSTROPHES = "\N{LEFT SINGLE QUOTATION MARK}\N{RIGHT SINGLE QUOTATION MARK}\u201b\u02bc"
_MANY_CHANGES = 64
_WITHOUT_DECOMPOSITION = str.maketrans("đøłħı", "dolhi")


def has_cjk(text: str) -> bool:
    """Tell whether ``text`` holds a character that forms CJK runs."""
    return not text.isascii() and _HAS_CJK.search(text) is not None


def project(text: str) -> str:
    """Return the searchable form of ``text``; ``text`` itself when nothing differs.

    Projecting again changes nothing. Canonically equal texts have equal projections, but for a
    letter that an escape takes.
    Lone surrogates become U+FFFD, so that the result can always be stored. The result may be
    shorter than ``text`` or as long; it is longer only by a media word.

    Costs some 5 ns per character where nothing changes, 50 where every letter does.
    """
    return _without_media(_folded(text))


def project_with_map(text: str) -> tuple[str, array[int]]:
    """Return ``project(text)`` and where each of its characters comes from.

    The array has one offset into ``text`` for each projected character and ``len(text)`` at
    its end; it never decreases. A mark ``[a, b)`` of the projection is ``[map[a], map[b])``
    of ``text``: marks, points and invisible characters behind a letter belong to it.
    """
    folded = _folded(text)
    offsets = array("I", range(len(text) + 1)) if folded is text else _offsets(text)
    return _without_media_mapped(folded, offsets)


def tool_calls_text(calls: Sequence[ToolCall]) -> str:
    """Return what is searchable of ``calls``: names and argument values, one to a line.

    Arguments that are JSON give their strings and numbers, unescaped, in order, without the
    keys (every call of a tool has those) and without true, false and null. Any other argument
    text is taken as it is. The whole is projected and cut at `INDEXED_CHARS`.
    """
    lines: list[str] = []
    for call in calls:
        lines.append(call.name)
        lines.extend(_argument_values(call.arguments))
    return project("\n".join(lines))[:INDEXED_CHARS]


def _argument_values(arguments: str) -> Iterator[str]:
    try:
        value = json.loads(arguments, parse_int=str, parse_float=str, parse_constant=str)
    except (ValueError, RecursionError):
        yield arguments
        return
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            waiting.extend(reversed(value))
        elif isinstance(value, dict):
            waiting.extend(reversed(value.values()))


def _folded(text: str) -> str:
    """Return ``text`` folded, base64 still in it; ``text`` itself when nothing differs."""
    if text.isascii():
        if "\x1b" in text:
            text = _ESCAPE.sub("", text)
        return text.replace("\0", " ") if "\0" in text else text
    if _NOTABLE.search(text) is None:
        return text
    folded = _ESCAPE.sub("", text) if "\x1b" in text else text
    folded = unicodedata.normalize("NFC", folded)
    folded = _folded_chars(folded)
    folded = unicodedata.normalize("NFC", folded)  # a joiner gone, two parts may meet
    return text if folded == text else folded


class _Folds(dict[int, str]):
    """What each character folds to, worked out when it is first met."""

    def __missing__(self, code: int) -> str:
        folded = self[code] = _folded_char(chr(code))
        return folded


_FOLDS = _Folds()
_DIACRITICS = frozenset(code for first, last in _COMBINING for code in range(first, last + 1))
_DROPPED = _DIACRITICS.union(
    code for first, last in (*_POINTS, *_INVISIBLE) for code in range(first, last + 1)
)


def _folded_chars(text: str) -> str:
    """Return ``text`` with each character folded.

    Replacing one kind of character at a time is some three times faster than translating,
    while they are few; no character folds to another that folds.
    """
    changes = {char: fold for char in set(text) if (fold := _FOLDS[ord(char)]) != char}
    if len(changes) > _MANY_CHANGES:
        return text.translate(_FOLDS)
    for char, fold in changes.items():
        text = text.replace(char, fold)
    return text


def _folded_char(char: str) -> str:
    """Return what a composed character folds to: '' when it is dropped."""
    code = ord(char)
    if char.isascii():
        return " " if char == "\0" else char
    if code in _DROPPED:
        return ""
    if char in _APOSTROPHES:
        return "'"
    if 0xD800 <= code < 0xE000:
        return "\ufffd"
    category = unicodedata.category(char)
    if category[0] not in "LN":
        return char
    width, _, plain = unicodedata.decomposition(char).partition(" ")
    if width in ("<wide>", "<narrow>"):
        return chr(int(plain, 16))
    if has_cjk(char):
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


def _without_media(text: str) -> str:
    """Return ``text`` with each long run of base64 as the media word."""
    if not _may_hold_media(text):
        return text
    return _MEDIA_RUN.sub(lambda m: MEDIA_WORD if _is_media(m) else m[0], text)


def _may_hold_media(text: str) -> bool:
    """Tell whether some stretch looks like base64, by a look every 2,048 characters."""
    if len(text) <= MEDIA_RUN_CHARS:
        return False
    places = range(0, len(text), MEDIA_RUN_CHARS // 2)
    return any(_MEDIA_WINDOW.match(text, place) for place in places)


def _is_media(run: re.Match[str]) -> bool:
    return run.end() - run.start() > MEDIA_RUN_CHARS


def _without_media_mapped(text: str, offsets: array[int]) -> tuple[str, array[int]]:
    """Do as `_without_media`; the letters of a media word all come from its run's start."""
    if not _may_hold_media(text):
        return text, offsets
    kept: list[str] = []
    kept_offsets = array("I")
    done = 0
    for run in filter(_is_media, _MEDIA_RUN.finditer(text)):
        kept += text[done : run.start()], MEDIA_WORD
        kept_offsets += offsets[done : run.start()]
        kept_offsets.extend([offsets[run.start()]] * len(MEDIA_WORD))
        done = run.end()
    kept.append(text[done:])
    kept_offsets += offsets[done:]
    return "".join(kept), kept_offsets


def _offsets(text: str) -> array[int]:
    """Return the map of ``_folded(text)``, by folding each cluster of ``text`` for itself."""
    offsets = array("I")
    for cluster in _clusters().finditer(text):
        if cluster["plain"]:
            offsets.extend(range(cluster.start(), cluster.end()))
        else:
            offsets.extend([cluster.start()] * len(_folded(cluster[0])))
    offsets.append(len(text))
    return offsets


@cache
def _clusters() -> re.Pattern[str]:
    """Return the pattern that cuts a text where folding cannot reach across.

    A cluster is a character and whatever may join it: marks, dropped characters, escapes,
    second parts of compositions. Stretches without any such are matched at once as ``plain``.
    """
    joining = f"(?:[{char_class(_joining())}]|{_ESCAPE_PATTERN})"
    plain = f"(?P<plain>[{char_class(_INERT)}]+(?!{joining}))"
    return re.compile(f"{plain}|(?:{_ESCAPE_PATTERN}|(?s:.)){joining}*")


def _joining() -> Iterator[tuple[int, int]]:
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
