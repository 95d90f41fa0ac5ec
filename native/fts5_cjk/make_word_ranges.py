"""Write the tables of what separates words and what `unicode61` takes for a part of one.

    python native/fts5_cjk/make_word_ranges.py          writes core/word_ranges.py
    python native/fts5_cjk/make_word_ranges.py --check  exits 1 when the committed file differs

SQLite's tables are Unicode 6.1 and do not follow later versions; whatever was not assigned then
is a letter to them, so that an emoji of 2015 joins the word beside it. `SYMBOLS` says what is to
separate words nevertheless; what of it `unicode61` takes for a letter goes into its option
`separators`. Every code point is then given to SQLite's own tokenizer with all its options, as
the indexes use it: regular expressions that must agree with an index need that table and not
Python's `\\w`.

Blocks of symbols are taken whole, what is unassigned in them too, and everything else is listed,
so that the tables are the same under every Python version. Python's `unicodedata` proves that
no symbol or punctuation is missing, and no letter among them; it stops the generator otherwise.
"""

import sys
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path

import apsw

from core.unicode61 import Ranges, arguments

MODULE = Path(__file__).resolve().parents[2] / "core" / "word_ranges.py"
SURROGATES = range(0xD800, 0xE000)

UNICODE_VERSION = (17, 0, 0)
"""The version of UnicodeData.txt and Blocks.txt that `SYMBOLS` was read from."""

SYMBOLS = (
    (0x0058D, 0x0058E),  # Armenian eternity signs
    (0x0061D, 0x0061D),  # Arabic end of text mark
    (0x007FE, 0x007FF),  # N'Ko currency
    (0x00888, 0x00888),  # Arabic raised round dot
    (0x009FD, 0x009FD),  # signs of abbreviation, siddham, para
    (0x00A76, 0x00A76),
    (0x00C77, 0x00C77),
    (0x00C84, 0x00C84),
    (0x00D4F, 0x00D4F),
    (0x01B4E, 0x01B4F),  # Balinese punctuation
    (0x01B7D, 0x01B7F),
    (0x020A0, 0x020CF),  # Currency Symbols
    (0x0218A, 0x0218B),  # turned digits
    (0x02190, 0x0245F),  # Arrows to Optical Character Recognition
    (0x02500, 0x02775),  # Box Drawing to Dingbats, but for their numbers
    (0x02794, 0x02BFF),  # Dingbats to Miscellaneous Symbols and Arrows
    (0x02E00, 0x02E2E),  # Supplemental Punctuation, but for its letter
    (0x02E30, 0x02E7F),
    (0x02E80, 0x02FDF),  # CJK radicals
    (0x02FF0, 0x02FFF),  # Ideographic Description Characters
    (0x031C0, 0x031EF),  # CJK Strokes
    (0x032FF, 0x032FF),  # square era name Reiwa
    (0x0A8FC, 0x0A8FC),  # Devanagari sign siddham
    (0x0AB5B, 0x0AB5B),  # modifiers of phonetic alphabets
    (0x0AB6A, 0x0AB6B),
    (0x0FBC2, 0x0FBD2),  # Arabic symbols and ligatures of whole phrases
    (0x0FD40, 0x0FD4F),
    (0x0FD90, 0x0FD91),
    (0x0FDC8, 0x0FDCF),
    (0x0FDFE, 0x0FDFF),
    (0x1018C, 0x1018E),  # Greek signs
    (0x10190, 0x101CF),  # Ancient Symbols
    (0x1056F, 0x1056F),  # punctuation of scripts of the Supplementary Plane
    (0x10877, 0x10878),
    (0x10AC8, 0x10AC8),
    (0x10AF0, 0x10AF6),
    (0x10B99, 0x10B9C),
    (0x10D6E, 0x10D6E),
    (0x10D8E, 0x10D8F),
    (0x10EAD, 0x10EAD),
    (0x10ED0, 0x10ED8),
    (0x10F55, 0x10F59),
    (0x10F86, 0x10F89),
    (0x11174, 0x11175),
    (0x111CD, 0x111CD),
    (0x111DB, 0x111DB),
    (0x111DD, 0x111DF),
    (0x11238, 0x1123D),
    (0x112A9, 0x112A9),
    (0x113D4, 0x113D5),
    (0x113D7, 0x113D8),
    (0x1144B, 0x1144F),
    (0x1145A, 0x1145B),
    (0x1145D, 0x1145D),
    (0x114C6, 0x114C6),
    (0x115C1, 0x115D7),
    (0x11641, 0x11643),
    (0x11660, 0x1166C),
    (0x116B9, 0x116B9),
    (0x1173C, 0x1173F),
    (0x1183B, 0x1183B),
    (0x11944, 0x11946),
    (0x119E2, 0x119E2),
    (0x11A3F, 0x11A46),
    (0x11A9A, 0x11A9C),
    (0x11A9E, 0x11AA2),
    (0x11B00, 0x11B09),
    (0x11BE1, 0x11BE1),
    (0x11C41, 0x11C45),
    (0x11C70, 0x11C71),
    (0x11EF7, 0x11EF8),
    (0x11F43, 0x11F4F),
    (0x11FD5, 0x11FF1),
    (0x11FFF, 0x11FFF),
    (0x12474, 0x12474),
    (0x12FF1, 0x12FF2),
    (0x16A6E, 0x16A6F),
    (0x16AF5, 0x16AF5),
    (0x16B37, 0x16B3F),
    (0x16B44, 0x16B45),
    (0x16D6D, 0x16D6F),
    (0x16E97, 0x16E9A),
    (0x16FE2, 0x16FE2),
    (0x1BC9C, 0x1BC9C),
    (0x1BC9F, 0x1BC9F),
    (0x1CC00, 0x1CCEF),  # Symbols for Legacy Computing Supplement, but for its digits
    (0x1CCFA, 0x1CEFF),  # the rest of it, Miscellaneous Symbols Supplement
    (0x1CF50, 0x1CFCF),  # Znamenny Musical Notation behind its marks
    (0x1D000, 0x1D0FF),  # Byzantine Musical Symbols
    (0x1D1DE, 0x1D1FF),  # the end of Musical Symbols
    (0x1D300, 0x1D35F),  # Tai Xuan Jing Symbols
    (0x1D800, 0x1D9FF),  # Sutton SignWriting between its marks
    (0x1DA37, 0x1DA3A),
    (0x1DA6D, 0x1DA74),
    (0x1DA76, 0x1DA83),
    (0x1DA85, 0x1DA8B),
    (0x1E14F, 0x1E14F),
    (0x1E2FF, 0x1E2FF),
    (0x1E5FF, 0x1E5FF),
    (0x1E95E, 0x1E95F),
    (0x1ECAC, 0x1ECAC),
    (0x1ECB0, 0x1ECB0),
    (0x1ED2E, 0x1ED2E),
    (0x1F000, 0x1F0FF),  # Mahjong Tiles to Playing Cards
    (0x1F10D, 0x1FBEF),  # Enclosed Alphanumerics, emoji, Symbols for Legacy Computing
    (0x1FBFA, 0x1FFFD),  # its last symbol, and what Unicode reserves for pictographs
)
"""What separates words: symbols and punctuation newer than Unicode 6.1, whole blocks of symbols."""


def token_characters(options: list[str]) -> Iterator[int]:
    """Yield, in order, every code point that is a token of `unicode61` when it stands alone."""
    tokenize = apsw.Connection(":memory:").fts5_tokenizer("unicode61", options)
    for code in range(sys.maxunicode + 1):
        if code in SURROGATES:
            continue
        if tokenize(chr(code).encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None):
            yield code


def as_ranges(codes: Iterable[int]) -> list[tuple[int, int]]:
    """Return code points, given in order, as ranges, in order, disjoint."""
    found: list[tuple[int, int]] = []
    for code in codes:
        if found and code == found[-1][1] + 1:
            found[-1] = (found[-1][0], code)
        else:
            found.append((code, code))
    return found


def mistaken(letters: set[int], symbols: set[int]) -> list[str]:
    """Return the symbols that `SYMBOLS` forgets and the letters that it holds.

    A Unicode newer than `UNICODE_VERSION` has no say: what it adds waits for a new version of
    the indexes.
    """
    if tuple(map(int, unicodedata.unidata_version.split("."))) > UNICODE_VERSION:
        return []
    wrong = [code for code in letters - symbols if unicodedata.category(chr(code))[0] in "SP"]
    wrong += [code for code in symbols if unicodedata.category(chr(code))[0] in "LMN"]
    return [f"U+{code:04X} {unicodedata.name(chr(code))}" for code in sorted(wrong)]


def module(separators: Ranges, words: Ranges) -> str:
    """Return the text of the Python module."""
    return (
        '"""What `unicode61` must be told to separate words at, and what it then takes for one.\n\n'
        "Written by native/fts5_cjk/make_word_ranges.py from SQLite's own tokenizer; do not edit.\n"
        '"""\n\n'
        f"# fmt: off\n{_table('SEPARATOR_RANGES', separators)}# fmt: on\n"
        '"""Symbols and punctuation that `unicode61` calls letters: its option `separators`."""\n\n'
        f"# fmt: off\n{_table('WORD_RANGES', words)}# fmt: on\n"
        '"""What `unicode61` with the options of the indexes takes for a part of a word.\n\n'
        "CJK characters are among them: where words meet CJK runs, `CJK_RANGES` goes first.\n"
        "First and last code point of each range, in order, disjoint, as above.\n"
        '"""\n'
    )


def _table(name: str, ranges: Ranges) -> str:
    cells = [f"(0x{first:05X}, 0x{last:05X})," for first, last in ranges]
    rows = "".join("    " + " ".join(cells[i : i + 4]) + "\n" for i in range(0, len(cells), 4))
    return f"{name}: tuple[tuple[int, int], ...] = (\n{rows})\n"


def main(options: list[str]) -> int:
    """Write or check the module; return the exit status."""
    letters = set(token_characters(arguments(())))
    symbols = {code for first, last in SYMBOLS for code in range(first, last + 1)}
    if wrong := mistaken(letters, symbols):
        print("SYMBOLS is wrong about:", *wrong, sep="\n  ", file=sys.stderr)
        return 1
    separators = as_ranges(sorted(letters & symbols))
    text = module(separators, as_ranges(token_characters(arguments(separators))))
    if MODULE.exists() and MODULE.read_text(encoding="utf-8") == text:
        return 0
    if "--check" in options:
        print(f"{MODULE.name} differs: run make_word_ranges.py", file=sys.stderr)
        return 1
    MODULE.write_text(text, encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
