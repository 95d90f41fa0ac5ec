"""How the indexes have `unicode61` cut words, as options and as SQL.

Three things it is told. Diacritics stay, because `core.text.project` has folded them. Marks
(`M*`) belong to words: without them it cuts Hindi, Tamil and Bengali words at every vowel sign.
Symbols that are newer than its tables separate words: emoji stand right beside them.
"""

from collections.abc import Iterable, Sequence

Ranges = Iterable[tuple[int, int]]


def arguments(separators: Ranges) -> list[str]:
    """Return the arguments of `unicode61` and of whatever passes them on to it.

    `separators` are what it would take for letters, as ranges in order. They go to it from the
    last to the first: in that order it sorts them in an eighth of the time.
    """
    chars = "".join(chr(code) for first, last in separators for code in range(first, last + 1))
    options = ["remove_diacritics", "0", "categories", "L* N* Co M*"]
    return [*options, "separators", chars[::-1]] if chars else options


def tokenize_option(tokenizer: Sequence[str]) -> str:
    """Return FTS5's option `tokenize` for a tokenizer's name and its arguments."""
    parts = " ".join(f"'{part}'" for part in tokenizer)
    return f'tokenize = "{parts}"'
