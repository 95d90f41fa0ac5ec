"""Character offsets to UTF-16 offsets, and text made safe to be shown in one line.

Core counts Unicode characters; Qt counts UTF-16 units. They differ behind every character
above U+FFFF (emoji, rare ideographs).
"""

import html
from collections.abc import Iterable

Ranges = tuple[tuple[int, int], ...]

_LAST_BMP = 0xFFFF
_ODD = "\ufffd"
_PICTURES = 0x2400  # U+2400 … are pictures of the control characters U+0000 …
_BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"

_VISIBLE = {code: chr(_PICTURES + code) for code in range(0x20)}
_VISIBLE[0x7F] = "\u2421"
_VISIBLE.update(dict.fromkeys(range(0x80, 0xA0), _ODD))
_VISIBLE.update({ord(each): _ODD for each in _BIDI})
_VISIBLE.update({0x2028: "\u2424", 0x2029: "\u2424", 0xFEFF: _ODD})
_SPACED = _VISIBLE | dict.fromkeys((9, 10, 11, 12, 13, 8232, 8233), " ")


def visible(text: str) -> str:
    """Return a title with control and bidi characters as marks; offsets stay what they were."""
    return text.translate(_VISIBLE)


def one_line(text: str) -> str:
    """Return `visible(text)` with line ends and tabs as spaces; offsets stay what they were."""
    return text.translate(_SPACED)


def plain_tooltip(text: str) -> str:
    """Return untrusted text as a tooltip that Qt cannot take for markup of its own."""
    return f"<p>{html.escape(visible(text))}</p>" if text else ""


def to_utf16(text: str, ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Return character ranges of `text` as UTF-16 ranges.

    Args:
        text: what the ranges are in.
        ranges: half-open, in order, disjoint. Parts behind the end of `text` are cut off.
    """
    wide = [index for index, char in enumerate(text) if ord(char) > _LAST_BMP]
    if not wide:
        return tuple((a, min(b, len(text))) for a, b in ranges if a < len(text))
    return tuple(
        (a + _below(wide, a), min(b, len(text)) + _below(wide, min(b, len(text))))
        for a, b in ranges
        if a < len(text)
    )


def _below(wide: list[int], offset: int) -> int:
    return sum(1 for each in wide if each < offset)
