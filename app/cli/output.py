"""The one place that prints.

Stored text is hostile to a terminal: escape sequences can move the cursor, set the title or
the clipboard. Everything printed here has its control and bidi characters shown as marks, and
JSON has them escaped.
"""

import json
import re
import sys
from dataclasses import dataclass
from typing import Any, TextIO

# C0 except tab and line feed, DEL, C1, the bidi and invisible format characters that can reorder
# or hide what stands beside them, and half characters, which no encoding has
# (reliability.md, threat model: "Message text in CLI").
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
_MARK_ON, _MARK_OFF = "\x1b[1;33m", "\x1b[0m"


def printable(text: str) -> str:
    r"""Return `text` with every unsafe character written as `\xNN` or `\uNNNN`."""
    return _UNSAFE.sub(_escape, text)


def one_line(text: str) -> str:
    """Return `text` on a single line, safe to print."""
    return printable(" ".join(text.split()))


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def _json_escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code > 0xFFFF:
        code -= 0x10000
        return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
    return f"\\u{code:04x}"


def json_text(value: Any) -> str:
    """Return a document as JSON on one line, its unsafe characters escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return _UNSAFE.sub(_json_escape, text)


@dataclass(frozen=True)
class Output:
    """Where a command writes: one JSON document, or lines for people."""

    as_json: bool
    quiet: bool
    out: TextIO
    err: TextIO

    def document(self, value: dict[str, Any]) -> None:
        """Print `value` as the one JSON document of this run."""
        self.out.write(json_text(value) + "\n")

    def line(self, text: str = "") -> None:
        """Print one line or paragraph of stored or own text."""
        self.out.write(printable(text) + "\n")

    def marked(self, before: str, text: str, marks: tuple[tuple[int, int], ...]) -> None:
        """Print `text` behind `before`, on one line, its marks coloured on a terminal."""
        parts, at = [_flat(before)], 0
        colour = self.out.isatty()
        for start, end in marks:
            parts.append(_flat(text[at:start]))
            found = _flat(text[start:end])
            parts.append(f"{_MARK_ON}{found}{_MARK_OFF}" if colour else found)
            at = end
        parts.append(_flat(text[at:]))
        self.out.write("".join(parts).rstrip() + "\n")

    def note(self, text: str) -> None:
        """Print a remark to standard error, unless told to be quiet."""
        if not self.quiet:
            self.err.write(printable(text) + "\n")

    def progress(self, text: str) -> None:
        """Show how far long work is, in place; only on a terminal."""
        if not self.quiet and self.err.isatty():
            self.err.write(f"\r\x1b[K{one_line(text)}")
            self.err.flush()

    def progress_done(self) -> None:
        """Clear the line that `progress` wrote."""
        if not self.quiet and self.err.isatty():
            self.err.write("\r\x1b[K")
            self.err.flush()


def _flat(text: str) -> str:
    return printable(re.sub(r"\s", " ", text))


def standard(*, as_json: bool, quiet: bool) -> Output:
    """Return the output of this process; stdout is UTF-8 whatever the locale says."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    return Output(as_json, quiet, sys.stdout, sys.stderr)
