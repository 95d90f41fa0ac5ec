"""Headlines made from what was said, for sessions whose source gives no title."""

import re
import unicodedata

TITLE_CHARS = 80
_WRAPPERS = re.compile(
    r"<(system-reminder|ide_opened_file|ide_selection|ide_diagnostics)>.*?</\1>", re.DOTALL
)
_JOINS = {"\u200d", "\ufe0e", "\ufe0f"}  # zero-width joiner, variation selectors


def unwrapped(text: str) -> str:
    """Return the text without the blocks that a program put around a person's words."""
    if "<system-reminder>" in text or "<ide_" in text:
        text = _WRAPPERS.sub("", text)
    return text.strip()


def derived_title(text: str) -> str | None:
    """Return the start of the text as one line of at most 80 characters, or None if it is blank.

    A longer text ends in an ellipsis, after a word where there is one in the last third, and
    never inside a character that is made of several.
    """
    # 40 times what is shown: white space is folded, and a prompt may be megabytes long.
    line = " ".join(unwrapped(text)[: TITLE_CHARS * 40].replace("\0", " ").split())
    if len(line) <= TITLE_CHARS:
        return line or None
    end = TITLE_CHARS - 1
    space = line.rfind(" ", TITLE_CHARS * 2 // 3, end + 1)
    if space > 0:
        return line[:space].rstrip() + "…"
    while end > 1 and _continues(line[end], line[end - 1]):
        end -= 1
    return line[:end] + "…"


def _continues(char: str, before: str) -> bool:
    """Whether `char` belongs to the character before it."""
    skin_tone = "\U0001f3fb" <= char <= "\U0001f3ff"
    return bool(unicodedata.combining(char)) or char in _JOINS or before == "\u200d" or skin_tone
