"""Write the table of CJK characters for the tokenizer (C) and for the core (Python).

    python native/fts5_cjk/make_ranges.py          writes both files
    python native/fts5_cjk/make_ranges.py --check  exits 1 when a committed file differs

The table is made of whole Unicode blocks, less their punctuation. Taking blocks, and the
two ideographic planes whole, keeps it the same under every Python version: what Unicode adds
to a block later is already in it. Python's `unicodedata` has the last word on punctuation and
proves that no character of these scripts was forgotten; it stops the generator otherwise.
"""

import sys
import unicodedata
from pathlib import Path

HERE = Path(__file__).resolve().parent
HEADER = HERE / "fts5_cjk_ranges.h"
MODULE = HERE.parents[1] / "core" / "cjk_ranges.py"

UNICODE_VERSION = "17.0"
"""The version of Blocks.txt that `BLOCKS` was read from."""

BLOCKS = (
    (0x0E00, 0x0EFF, "Thai, Lao"),
    (0x1000, 0x109F, "Burmese"),
    (0x1100, 0x11FF, "Hangul Jamo"),
    (0x1780, 0x17FF, "Khmer"),
    (0x3005, 0x3007, "iteration mark, closing mark, zero"),
    (0x3021, 0x302F, "Hangzhou numerals, tone marks"),
    (0x3031, 0x3035, "vertical kana repeat marks"),
    (0x3038, 0x303B, "Hangzhou numerals, vertical iteration mark"),
    (0x3041, 0x309F, "Hiragana with voiced sound and iteration marks"),
    (0x30A0, 0x30FF, "Katakana with prolonged sound and iteration marks"),
    (0x3100, 0x312F, "Bopomofo"),
    (0x3130, 0x318F, "Hangul Compatibility Jamo"),
    (0x31A0, 0x31BF, "Bopomofo Extended"),
    (0x31F0, 0x31FF, "Katakana Phonetic Extensions"),
    (0x3400, 0x4DBF, "ideographs, Extension A"),
    (0x4E00, 0x9FFF, "ideographs"),
    (0xA960, 0xA97F, "Hangul Jamo Extended-A"),
    (0xAC00, 0xD7AF, "Hangul syllables"),
    (0xD7B0, 0xD7FF, "Hangul Jamo Extended-B"),
    (0xF900, 0xFAFF, "compatibility ideographs"),
    (0xFF66, 0xFF9F, "half-width Katakana"),
    (0xFFA0, 0xFFDC, "half-width Hangul"),
    (0x16FE3, 0x16FE3, "Old Chinese iteration mark"),
    (0x1AFF0, 0x1AFFF, "Kana Extended-B"),
    (0x1B000, 0x1B12F, "Kana Supplement and Extended-A"),
    (0x1B130, 0x1B16F, "Small Kana Extension"),
    (0x20000, 0x2FFFD, "the Supplementary Ideographic Plane"),
    (0x30000, 0x3FFFD, "the Tertiary Ideographic Plane"),
)

WITHOUT_SPACES = range(0x0E00, 0x1800)
"""Scripts in which even a punctuation sign may stand inside a word (Thai paiyannoi, Khmer
lek too): their blocks are taken whole."""

NAMES = (
    "BOPOMOFO LETTER",
    "CJK COMPATIBILITY IDEOGRAPH",
    "CJK UNIFIED IDEOGRAPH",
    "COMBINING KATAKANA-HIRAGANA",
    "HALFWIDTH HANGUL",
    "HALFWIDTH KATAKANA",
    "HANGUL",
    "HANGZHOU NUMERAL",
    "HENTAIGANA",
    "HIRAGANA",
    "IDEOGRAPHIC ITERATION MARK",
    "IDEOGRAPHIC NUMBER ZERO",
    "KATAKANA",
    "KATAKANA-HIRAGANA",
    "KHMER",
    "LAO",
    "THAI",
    "VERTICAL IDEOGRAPHIC ITERATION MARK",
)
"""How the names of the characters that must be in the table begin."""

Ranges = list[tuple[int, int, str]]


def is_separator(code: int) -> bool:
    """Tell whether a character of a block is punctuation, such as the Katakana middle dot."""
    return code not in WITHOUT_SPACES and unicodedata.category(chr(code)).startswith("P")


def cut() -> Ranges:
    """Return the blocks in order, less their separators."""
    ranges: Ranges = []
    for first, last, what in BLOCKS:
        start = first
        for code in range(first, last + 2):
            if code <= last and not is_separator(code):
                continue
            if start < code:
                ranges.append((start, code - 1, what))
            start = code + 1
    return ranges


def forgotten(ranges: Ranges) -> list[str]:
    """Return the letters, marks and numbers of these scripts that no range holds."""
    held = {code for first, last, _ in ranges for code in range(first, last + 1)}
    return [
        f"U+{code:04X} {unicodedata.name(chr(code))}"
        for code in range(sys.maxunicode + 1)
        if code not in held
        and unicodedata.category(chr(code))[0] in "LMN"
        and unicodedata.name(chr(code), "").startswith(NAMES)
    ]


def header(ranges: Ranges) -> str:
    """Return the text of the C header."""
    rows = "".join(f"  {{0x{a:05X}, 0x{b:05X}}}, /* {what} */\n" for a, b, what in ranges)
    return (
        "/*\n"
        f"** The characters that form CJK runs: blocks of Unicode {UNICODE_VERSION}, in order,\n"
        "** disjoint. Written by make_ranges.py together with core/cjk_ranges.py; do not edit.\n"
        "*/\n"
        f'#define CJK_UNICODE_VERSION "{UNICODE_VERSION}"\n\n'
        "static const struct CjkRange {\n"
        "  unsigned int iFirst;\n"
        "  unsigned int iLast;\n"
        f"}} aCjkRange[] = {{\n{rows}}};\n"
    )


def module(ranges: Ranges) -> str:
    """Return the text of the Python module."""
    rows = "".join(f"    (0x{a:05X}, 0x{b:05X}),  # {what}\n" for a, b, what in ranges)
    return (
        f'"""The characters that form CJK runs: blocks of Unicode {UNICODE_VERSION}.\n\n'
        "Written by native/fts5_cjk/make_ranges.py together with fts5_cjk_ranges.h, so that the\n"
        "tokenizer, the router and `core.text` cannot disagree; do not edit.\n"
        '"""\n\n'
        f"CJK_RANGES: tuple[tuple[int, int], ...] = (\n{rows})\n"
        '"""First and last code point of each range, in order, disjoint."""\n'
    )


def main(arguments: list[str]) -> int:
    """Write or check both files; return the exit status."""
    ranges = cut()
    if missing := forgotten(ranges):
        print("no range holds:", *missing, sep="\n  ", file=sys.stderr)
        return 1
    texts = {HEADER: header(ranges), MODULE: module(ranges)}
    stale = [
        path
        for path, text in texts.items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    if "--check" in arguments:
        for path in stale:
            print(f"{path.name} differs: run make_ranges.py", file=sys.stderr)
        return 1 if stale else 0
    for path in stale:
        path.write_text(texts[path], encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
