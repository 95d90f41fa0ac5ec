"""Write the table of what `unicode61` takes for a token character.

    python native/fts5_cjk/make_word_ranges.py          writes core/word_ranges.py
    python native/fts5_cjk/make_word_ranges.py --check  exits 1 when the committed file differs

Every code point is given to SQLite's own tokenizer, as the indexes use it. SQLite's tables
are Unicode 6.1 and do not follow later versions; among other things they hold whatever was
not assigned then for token characters, so an emoji of 2015 joins the word beside it. Regular
expressions that must agree with an index need this table and not Python's `\\w`.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import apsw

MODULE = Path(__file__).resolve().parents[2] / "core" / "word_ranges.py"
SURROGATES = range(0xD800, 0xE000)


def token_characters() -> Iterator[int]:
    """Yield, in order, every code point that is a token when it stands alone."""
    db = apsw.Connection(":memory:")
    tokenize = db.fts5_tokenizer("unicode61", ["remove_diacritics", "0"])
    for code in range(sys.maxunicode + 1):
        if code in SURROGATES:
            continue
        if tokenize(chr(code).encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None):
            yield code


def ranges() -> list[tuple[int, int]]:
    """Return the token characters as ranges, in order, disjoint."""
    found: list[tuple[int, int]] = []
    for code in token_characters():
        if found and code == found[-1][1] + 1:
            found[-1] = (found[-1][0], code)
        else:
            found.append((code, code))
    return found


def module() -> str:
    """Return the text of the Python module."""
    cells = [f"(0x{first:05X}, 0x{last:05X})," for first, last in ranges()]
    rows = "".join("    " + " ".join(cells[i : i + 4]) + "\n" for i in range(0, len(cells), 4))
    return (
        '"""What `unicode61 remove_diacritics 0` takes for a token character.\n\n'
        "Written by native/fts5_cjk/make_word_ranges.py from SQLite's own tokenizer; do not edit.\n"
        "CJK characters are among them: where words meet CJK runs, `CJK_RANGES` goes first.\n"
        '"""\n\n'
        f"# fmt: off\nWORD_RANGES: tuple[tuple[int, int], ...] = (\n{rows})\n# fmt: on\n"
        '"""First and last code point of each range, in order, disjoint."""\n'
    )


def main(arguments: list[str]) -> int:
    """Write or check the module; return the exit status."""
    text = module()
    if MODULE.exists() and MODULE.read_text(encoding="utf-8") == text:
        return 0
    if "--check" in arguments:
        print(f"{MODULE.name} differs: run make_word_ranges.py", file=sys.stderr)
        return 1
    MODULE.write_text(text, encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
