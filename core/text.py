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
from core.folding import FOLDS, INERT, joining
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
_NOTABLE = re.compile(f"[^{char_class(INERT)}]")
_ESCAPE_PATTERN = (
    r"\ue200[^\ue201\n]*\ue201|"  # ChatGPT's citation marks: no text of the answer
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]"  # control sequence: colours, cursor
    r"|[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)"  # strings: links, titles, clipboard
    r"|[ -/]*[0-~])?"  # two characters, or what is left of a broken one
)
_ESCAPE = re.compile(_ESCAPE_PATTERN)
_MEDIA_CHARS = r"A-Za-z0-9+/=_\-"
_MEDIA_WINDOW = re.compile(rf"[{_MEDIA_CHARS}\r\n]{{64}}")
_MEDIA_RUN = re.compile(rf"[{_MEDIA_CHARS}]{{60,}}(?:\r?\n[{_MEDIA_CHARS}]{{60,}})*")

_MANY_CHANGES = 64

_ARGUMENTS = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)


def has_cjk(text: str) -> bool:
    """Tell whether ``text`` holds a character that forms CJK runs."""
    return not text.isascii() and _HAS_CJK.search(text) is not None


def project(text: str) -> str:
    """Return the searchable form of ``text``; ``text`` itself when nothing differs.

    Projecting again changes nothing. Canonically equal texts have equal projections, but for a
    letter that an escape takes. Lone surrogates become U+FFFD, so that the result can always be
    stored. It is longer than ``text`` only where NFC takes a character apart.

    Costs some 5 ns per character where nothing changes, 50 where letters fold.
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
    """Return what is searchable of ``calls``: names, argument values, results, one to a line.

    Arguments that are JSON give their strings and numbers, unescaped, in order, without the
    keys (every call of a tool has those) and without true, false and null. Any other argument
    text is taken as it is. The whole is projected and cut at `INDEXED_CHARS`.
    """
    lines: list[str] = []
    for call in calls:
        lines.append(call.name)
        lines.extend(argument_values(call.arguments))
        if call.result:
            lines.append(call.result)
    return project("\n".join(lines))[:INDEXED_CHARS]


def argument_values(arguments: str) -> Iterator[str]:
    """Yield the values of a call's arguments in order, the argument text if it is no JSON."""
    try:
        value = _ARGUMENTS.decode(arguments)
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
        text = _without_escapes(text)
        return text.replace("\0", " ") if "\0" in text else text
    if _NOTABLE.search(text) is None:
        return text
    folded = _without_escapes(text)
    folded = unicodedata.normalize("NFC", folded)
    folded = _folded_chars(folded)
    folded = unicodedata.normalize("NFC", folded)  # a joiner gone, two parts may meet
    return text if folded == text else folded


def _without_escapes(text: str) -> str:
    """Return ``text`` without terminal escapes and citation marks."""
    return _ESCAPE.sub("", text) if "\x1b" in text or "\ue200" in text else text


def _folded_chars(text: str) -> str:
    """Return ``text`` with each character folded.

    Replacing one kind of character at a time is some three times faster than translating,
    while they are few; no character folds to another that folds.
    """
    changes = {char: fold for char in set(text) if (fold := FOLDS[ord(char)]) != char}
    if len(changes) > _MANY_CHANGES:
        return text.translate(FOLDS)
    for char, fold in changes.items():
        text = text.replace(char, fold)
    return text


def _without_media(text: str) -> str:
    """Return ``text`` with each long run of base64 as the media word."""
    if not _may_hold_media(text):
        return text
    without = _MEDIA_RUN.sub(lambda run: MEDIA_WORD if _is_media(run) else run[0], text)
    return text if len(without) == len(text) else without


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
    joins = f"(?:[{char_class(joining())}]|{_ESCAPE_PATTERN})"
    plain = f"(?P<plain>[{char_class(INERT)}]+(?!{joins}))"
    return re.compile(f"{plain}|(?:{_ESCAPE_PATTERN}|(?s:.)){joins}*")
