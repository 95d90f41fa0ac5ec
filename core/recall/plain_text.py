"""What plain text means when it is looked for in a conversation, as a browser looks for it.

A message is read as it is seen: folded as `core.text.project` folds, the case of ASCII letters
ignored, every run of white space one space, and without what formatting hides: the signs of
emphasis and of inline code (unless one stands between two ASCII letters or digits) and the
targets of links. What holds such a sign itself is looked for with those signs left in.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from core.search.snippet import Range, in_content
from core.search.term import ascii_lower
from core.text import project, project_with_map

MAX_CHARS = 1_000
"""So many characters are looked for; what is beyond them is left out."""

CHUNK_CHARS = 131_072
"""Longer texts are read in such stretches, so that none holds the interpreter for long."""

_SIGNS = "*`~"
_TARGET_SIGN = "/"
_EMPHASIS = re.compile(r"(?<![0-9A-Za-z*`~])[*`~]++|[*`~]++(?![0-9A-Za-z])")
_LINK = re.compile(r"!?\[([^\[\]\n]{0,1000})\]\([^()\s]{0,2000}\)")
_UNEVEN = re.compile(r"[^\S ]|  ")
_BLANKS = re.compile(r"\s+")
_INSIDE = re.compile(r"(?<=\w)(?=\w)")
_LEAST_LINE = 1_024
_LETTERS = re.compile(r"[0-9A-Za-z]+|\S")


@dataclass(frozen=True, slots=True)
class Sought:
    """A text to look for. `text` is folded, without edges of white space, never empty."""

    text: str
    keeps_signs: bool
    keeps_targets: bool

    @property
    def like(self) -> str:
        """A pattern of LIKE, with the escape character backslash, for texts that may hold it."""
        parts = [
            "".join(f"\\{char}" if char in "\\%_" else char for char in found[0])
            for found in _LETTERS.finditer(self.text)
        ]
        return f"%{'%'.join(parts)}%"


def sought(typed: str) -> Sought | None:
    """Return what is looked for when this was typed, None for nothing but white space."""
    text = " ".join(ascii_lower(project(typed[:MAX_CHARS])).split())
    if not text:
        return None
    return Sought(text, any(sign in text for sign in _SIGNS), _TARGET_SIGN in text)


def count(wanted: Sought, folded: Iterable[str]) -> int:
    """Return how often `folded`, a projected text in stretches, holds it; none overlap.

    Linear in the text. The stretches must end where `stretches` lets them end.
    """
    return sum(1 for _ in _starts(wanted, folded))


def count_in(wanted: Sought, folded: str) -> int:
    """Do as `count` for a text of one stretch."""
    return _seen(wanted, ascii_lower(folded)).count(wanted.text)


def find_ranges(wanted: Sought, content: str) -> list[Range]:
    """Return where a stored text holds it, in characters of the text, as `count` counts.

    Every range covers whole characters as people see them.
    """
    if wanted.text not in _seen(wanted, ascii_lower(project(content))):
        return []
    projected, offsets = project_with_map(content)
    seen, places = _seen_with_places(wanted, ascii_lower(projected))
    found: list[Range] = []
    at = seen.find(wanted.text)
    while at >= 0:
        end = at + len(wanted.text)
        found.append(in_content(content, offsets, places[at], places[end - 1] + 1))
        at = seen.find(wanted.text, end)
    return found


def nth_start(wanted: Sought, folded: Iterable[str], number: int) -> int | None:
    """Return where the match `number`, from 0, begins in a projected text; None if it does not."""
    for at, start in enumerate(_starts(wanted, folded, places=True)):
        if at == number:
            return start
    return None


def stretches(text: str) -> Iterator[str]:
    """Yield a text in stretches of some `CHUNK_CHARS`, cut behind line ends where there are any."""
    at = 0
    while at < len(text):
        end = cut_behind(text, at + CHUNK_CHARS)
        yield text[at:end]
        at = end


def cut_behind(text: str, at: int) -> int:
    """Return where a text is cut at or before `at`: behind a line end, else within a word."""
    if at >= len(text):
        return len(text)
    line_end = text.rfind("\n", at // 2, at)
    if line_end >= 0:
        return line_end + 1
    inside = _INSIDE.search(text, max(1, at - _LEAST_LINE), at)
    return at if inside is None else inside.start()


def _starts(wanted: Sought, folded: Iterable[str], *, places: bool = False) -> Iterator[int]:
    """Yield where matches begin in the projected text, or 0s when no `places` are wanted.

    What is left over of a stretch is looked through together with the next.
    """
    needle, kept, kept_places = wanted.text, "", list[int]()
    base = 0
    for stretch in folded:
        lowered = ascii_lower(stretch)
        if places:
            seen, own = _seen_with_places(wanted, lowered)
            fresh_places = [base + place for place in own]
        else:
            seen, fresh_places = _seen(wanted, lowered), []
        base += len(stretch)
        if kept.endswith(" ") and seen.startswith(" "):
            seen, fresh_places = seen[1:], fresh_places[1:]
        kept, kept_places = kept + seen, kept_places + fresh_places
        at, done = kept.find(needle), 0
        while at >= 0:
            yield kept_places[at] if places else 0
            done = at + len(needle)
            at = kept.find(needle, done)
        done = max(done, len(kept) - len(needle) + 1)
        kept, kept_places = kept[done:], kept_places[done:]


def _seen(wanted: Sought, text: str) -> str:
    """Return a folded text as it is seen."""
    if not wanted.keeps_targets and "](" in text:
        text = _LINK.sub(r"\1", text)
    if not wanted.keeps_signs and any(sign in text for sign in _SIGNS):
        text = _EMPHASIS.sub("", text)
    if " " in wanted.text and _UNEVEN.search(text):
        text = _BLANKS.sub(" ", text)
    return text


def _seen_with_places(wanted: Sought, text: str) -> tuple[str, Sequence[int]]:
    """Do as `_seen`; and return where each character comes from."""
    seen = text
    places: Sequence[int] = range(len(text))
    if not wanted.keeps_targets and "](" in seen:
        seen, places = _without(seen, places, _LINK, lambda found: found.span(1))
    if not wanted.keeps_signs and any(sign in seen for sign in _SIGNS):
        seen, places = _without(seen, places, _EMPHASIS, lambda found: (found.end(),) * 2)
    if " " in wanted.text and _UNEVEN.search(seen):
        seen, places = _without(
            seen, places, _BLANKS, lambda found: (found.start(), found.start() + 1)
        )
        seen = _BLANKS.sub(" ", seen)
    return seen, places


def _without(
    text: str,
    places: Sequence[int],
    pattern: re.Pattern[str],
    kept_of: Callable[[re.Match[str]], tuple[int, int]],
) -> tuple[str, Sequence[int]]:
    """Return `text` with only `kept_of` each match of `pattern` left of it, and its places."""
    parts: list[str] = []
    kept: list[int] = []
    at = 0
    for found in pattern.finditer(text):
        for start, end in ((at, found.start()), kept_of(found)):
            parts.append(text[start:end])
            kept += places[start:end]
        at = found.end()
    parts.append(text[at:])
    kept += places[at:]
    return "".join(parts), kept
