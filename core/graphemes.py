"""Where a text may be cut or marked without breaking what is drawn as one character."""

import unicodedata

_LONGEST = 64  # a longer one is no character that people know
_JOINER = "\u200d"
_EXTENDING = frozenset("\u200c\u200d\u0e33\u0eb3")  # Thai and Lao AM are drawn on what precedes
_HANGUL_LEADING = range(0x1100, 0x1160)
_HANGUL_FOLLOWING = range(0x1160, 0x1200)
_SKIN_TONES = range(0x1F3FB, 0x1F400)
_TAGS = range(0xE0020, 0xE0080)
_FLAG_LETTERS = range(0x1F1E6, 0x1F200)


def may_cut(text: str, at: int) -> bool:
    """Tell whether `text[:at]` and `text[at:]` are whole characters as people see them.

    The rules of Unicode's annex 29 that matter here: marks, joiners, emoji modifiers, flags,
    Hangul syllables spelled by letter, CR LF.
    """
    if at <= 0 or at >= len(text):
        return True
    before, after = text[at - 1], text[at]
    if after < "\u0300":
        return not (before == "\r" and after == "\n")
    if _extends(after):
        return False
    code = ord(after)
    if before == _JOINER:
        return unicodedata.category(after) not in ("So", "Cn")
    if code in _FLAG_LETTERS:
        return _flag_letters_before(text, at) % 2 == 0
    if code in _HANGUL_LEADING:
        return ord(before) not in _HANGUL_LEADING
    return True


def start_of(text: str, at: int) -> int:
    """Return the start of the character that `at` is in."""
    while not may_cut(text, at):
        at -= 1
    return at


def end_of(text: str, at: int) -> int:
    """Return the first end of a character that is not before `at`."""
    while not may_cut(text, at):
        at += 1
    return at


def cut_at(text: str, at: int) -> int:
    """Return where to cut a text at or before `at`; no more than 64 characters before it."""
    for end in range(at, max(0, at - _LONGEST), -1):
        if may_cut(text, end):
            return end
    return at


def _extends(char: str) -> bool:
    code = ord(char)
    if code in _HANGUL_FOLLOWING or code in _SKIN_TONES or code in _TAGS or char in _EXTENDING:
        return True
    return unicodedata.category(char) in ("Mn", "Me", "Mc")


def _flag_letters_before(text: str, at: int) -> int:
    count = 0
    while at > count and ord(text[at - count - 1]) in _FLAG_LETTERS:
        count += 1
    return count
