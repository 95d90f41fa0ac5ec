"""Untrusted text made fit to show: terminal codes, control marks, endless runs, one line.

Everything here keeps text as text: what cannot be drawn is named, nothing is acted upon.
"""

import re
import unicodedata
from urllib.parse import urlsplit

# Names of what we put between the text, as the `title` of a span; copying restores the text.
BREAK = "break"  # nothing: a break opportunity, space within a badge
GAP = "gap"  # a space
RUN_CHARS = 5_000
_STEP_CHARS = 500

_NAMES = {
    0x00AD: "SHY",
    0x061C: "ALM",
    0x200B: "ZWSP",
    0x200C: "ZWNJ",
    0x200D: "ZWJ",
    0x200E: "LRM",
    0x200F: "RLM",
    0x2028: "LS",
    0x2029: "PS",
    0x202A: "LRE",
    0x202B: "RLE",
    0x202C: "PDF",
    0x202D: "LRO",
    0x202E: "RLO",
    0x2060: "WJ",
    0x2066: "LRI",
    0x2067: "RLI",
    0x2068: "FSI",
    0x2069: "PDI",
    0xFEFF: "BOM",
}
# What QTextDocument takes for structure, and what would disorder a line or end it.
_ALWAYS = (
    r"\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\ufdd0-\ufdef\ufff9-\ufffc\ufffe\uffff"
    r"\ud800-\udfff"
)
_IN_CODE = r"\u00ad\u061c\u200b-\u200f\u2060\u2066-\u2069\ufeff"
ODD_IN_PROSE = re.compile(f"[{_ALWAYS}]")
ODD_IN_CODE = re.compile(f"[{_ALWAYS}{_IN_CODE}]")
# CSI, OSC (ended by BEL or ST), the other string controls, two-character escapes; and C1 forms.
_OSC = re.compile(
    r"(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]{0,4096}(?:\x07|\x1b\\|\x9c)?"
)
_CSI = re.compile(r"(?:\x1b\[|\x9b)[0-?]{0,64}[ -/]{0,16}[@-~]?")
_ESC = re.compile(r"\x1b[ -/]{0,16}[0-~]?")
_UNBROKEN = re.compile(rf"\S{{{RUN_CHARS + 1},}}")
_SPACES = re.compile(r"\s+")


def mark(char: str) -> tuple[str, str]:
    """Return how an odd character is shown, and its name `U+202E`, from which it comes back."""
    code = ord(char)
    name = f"U+{code:04X}"
    if code < 0x20:
        return chr(0x2400 + code), name
    if code == 0x7F:
        return "\u2421", name
    return f"\u27e8{_NAMES.get(code, name)}\u27e9", name


def original(name: str) -> str | None:
    """Return the text that a `title` of ours stands for; None when it is none of ours."""
    if name in (BREAK, GAP):
        return "" if name == BREAK else " "
    if not name.startswith("U+"):
        return None
    try:
        return chr(int(name.partition("+")[2], 16))
    except ValueError:
        return None


def without_terminal_codes(text: str) -> str:
    """Return what a terminal would have left standing on each line.

    Colours, cursor moves and link addresses go; of a line overwritten by carriage returns
    the last writing stays.
    """
    if "\x1b" in text or any("\x80" <= char <= "\x9f" for char in text):
        text = _ESC.sub("", _CSI.sub("", _OSC.sub("", text)))
    if "\r" not in text:
        return text
    lines = text.replace("\r\n", "\n").split("\n")
    return "\n".join(_last_writing(line) for line in lines)


def _last_writing(line: str) -> str:
    written = [part for part in line.split("\r") if part]
    return written[-1] if written else ""


def break_points(text: str) -> list[int]:
    """Return where a break is offered inside runs of more than 5,000 characters, in order.

    Qt looks for the end of a word at every line it fills: one run of 100,000 characters
    took 2.6 s, the same with breaks 30 ms.
    """
    return [
        point
        for run in _UNBROKEN.finditer(text)
        for point in range(run.start() + _STEP_CHARS, run.end(), _STEP_CHARS)
    ]


def one_line(text: str, limit: int = 400) -> str:
    """Return the beginning of `text` as one line of at most `limit` characters."""
    head = text[: limit * 4]
    flat = _SPACES.sub(" ", head).strip()
    cut = len(flat) > limit or len(text) > len(head)
    return flat[: limit - 1].rstrip() + "…" if cut else flat


def fit(text: str, width_px: float, em_px: float, *, mono: bool = False) -> str:
    """Return `text`, one line, cut with an ellipsis so that it should fit `width_px`.

    Widths are estimated from the kind of each character; the font is never asked.
    """
    room = width_px
    fits = 0  # characters that leave room for the ellipsis
    for index, char in enumerate(text):
        room -= _advance(char, mono) * em_px
        if room >= em_px:
            fits = index + 1
        elif room < 0:
            return text[:fits].rstrip() + "…"
    return text


def _advance(char: str, mono: bool) -> float:
    """Return the estimated advance of a character in em."""
    if char > "\u02ff":
        if unicodedata.combining(char):
            return 0.0
        return 1.0 if unicodedata.east_asian_width(char) in "WFA" else 0.62
    if mono:
        return 0.6
    if char in "iljtfrI.,:;'|!()[] ":
        return 0.34
    return 0.86 if char in "mwMW@%" else 0.66 if char.isupper() else 0.575


def place(target: str) -> str:
    """Return where a picture is, in short: its host, its kind or its file name."""
    if target.startswith("data:"):
        return target[5:60].split(";")[0].split(",")[0] or "data"
    try:
        host = urlsplit(target).hostname
    except ValueError:
        host = None
    return host or re.split(r"[\\/]", target.rstrip("/\\"))[-1][:80]
