"""What showing a text will cost, estimated before Qt lays it out.

The figures are milliseconds of layout measured with Qt 6.11 on two shared cores, rounded up.
They need only be right within a factor of two: what would take long is shown in pieces.
"""

import re
from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING

from core.graphemes import cut_at

if TYPE_CHECKING:  # markdown-it is loaded when it is first used
    from markdown_it.token import Token

PIECE_CHARS = 16_384
PIECE_MS = 60.0
_LEAST_CHARS = 256
FORMATTED_MS = 100.0

PIECE_RANGES = 1_000

_CHAR_MS = 0.0015
_LINE_MS = 0.035
_COMPLEX_MS = 0.008  # scripts that are shaped: Arabic, Indic, Thai …
_WIDE_MS = 0.07  # emoji and other characters above U+FFFF, by font fallback
_ODD_MS = 0.05  # what is shown by name, a span each
_CODE_CHAR_MS = 0.007
_BLOCK_MS = 0.07
_TABLE_MS = 0.3
_CELL_MS = 0.09
_RUN_MS = 0.012

_COMPLEX = re.compile(r"[\u0300-\u036f\u0590-\u1cff\ua800-\uabff]")
_WIDE = re.compile(r"[\U00010000-\U0010ffff]")
_ODD = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]")
_BLOCKS = frozenset({"paragraph_open", "heading_open", "list_item_open"})
_TABLES = frozenset({"hr", "fence", "code_block", "blockquote_open", "table_open"})


def of_text(text: str) -> float:
    """Return the cost of a text as one paragraph, in ms."""
    cost = len(text) * _CHAR_MS + text.count("\n") * _LINE_MS
    if not text.isascii():
        cost += len(_COMPLEX.findall(text)) * _COMPLEX_MS + len(_WIDE.findall(text)) * _WIDE_MS
    return cost + len(_ODD.findall(text)) * _ODD_MS


def of_tokens(tokens: Sequence["Token"]) -> float:
    """Return the cost of a formatted message, in ms, without what its plain text costs."""
    cost = 0.0
    quotes = 0
    for token in tokens:
        if token.type in _BLOCKS:
            cost += _BLOCK_MS
        elif token.type in _TABLES:
            # What is in a table is laid out once more for each table around it.
            cost += (_TABLE_MS + len(token.content) * _CODE_CHAR_MS) * (1 + quotes)
        elif token.type in ("td_open", "th_open"):
            cost += _CELL_MS
        elif token.children:
            cost += len(token.children) * _RUN_MS + of_text(token.content) * quotes
        quotes += (token.type == "blockquote_open") - (token.type == "blockquote_close")
    return cost


def pieces(
    text: str,
    most: int | None = None,
    ranges: Sequence[tuple[int, int]] = (),
    *,
    is_code: bool = False,
) -> list[str]:
    """Return a text in pieces that are quick to show, cut behind line ends where there are any.

    A text that is quick to show as it is comes back as one piece; '' as one empty piece. With
    `most`, only the first so many pieces are made. No piece holds more than `PIECE_RANGES` of
    `ranges`, in order; no cut goes through one of them or through what is drawn as one character.
    Code costs more than twice as much, so its pieces are half as long.
    """
    most_chars, most_ms = PIECE_CHARS, PIECE_MS
    if is_code:
        most_chars, most_ms = PIECE_CHARS // 2, PIECE_MS / 2
    is_short = len(text) <= most_chars and len(ranges) <= PIECE_RANGES
    if is_short and of_text(text) <= most_ms:
        return [text]
    result: list[str] = []
    at, size = 0, most_chars
    while at < len(text) and (most is None or len(result) < most):
        size = min(most_chars, 2 * size)
        while size > _LEAST_CHARS and (costs := of_text(text[at : at + size])) > most_ms:
            size = max(_LEAST_CHARS, int(size * 0.9 * most_ms / costs))
        end = min(len(text), at + size)
        if end < len(text):
            line_end = text.rfind("\n", at + size // 2, end)
            end = line_end + 1 if line_end >= 0 else cut_at(text, end)
        end = _before_ranges(ranges, at, end)
        result.append(text[at:end])
        at = end
    return result


def _before_ranges(ranges: Sequence[tuple[int, int]], at: int, end: int) -> int:
    """Return where to cut a piece that begins at `at` and may not go beyond `end`."""
    first = bisect_left(ranges, (at, 0))
    if first + PIECE_RANGES < len(ranges):
        end = min(end, ranges[first + PIECE_RANGES][0])
    crossing = bisect_left(ranges, (end, 0)) - 1
    if crossing >= 0 and ranges[crossing][1] > end:
        start = ranges[crossing][0]
        return start if start > at else min(ranges[crossing][1], at + PIECE_CHARS)
    return end
