"""Marks in stored texts, and the short stretch of one that shows why it was found."""

import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple

from core.graphemes import end_of, start_of
from core.search.language import Query
from core.search.term import Term, ascii_lower, occurrences
from core.text import project, project_with_map

SNIPPET_COLUMNS = 200  # an ideograph takes two
LEAD_COLUMNS = 40
MARKS_PER_TERM = 64
_REACH_CHARS = 120  # marks this near each other are shown together

_ESCAPES = r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-~])?"
_ESCAPE = re.compile(_ESCAPES)
_BLANK = re.compile(r"[\s\x00-\x1f\x7f-\x9f]")
_BLANKS = _BLANK.pattern
_GAP = re.compile(rf"(?:{_ESCAPES}|(?! ){_BLANKS}|{_BLANKS}{{2}})(?:{_ESCAPES}|{_BLANKS})*")
_UNEVEN = re.compile(r"[^\S ]|[\x00-\x1f\x7f-\x9f]|  ")  # where there may be a gap
_INVISIBLE_END = re.compile(rf"(?:{_ESCAPES}|[\x00-\x20\x7f-\xa0\u00ad\u061c\u180e\u200b-\u200f"
                            r"\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb])+\Z")  # fmt: skip

_NARROW = "\u10ff"  # nearly all that is drawn two columns wide comes after it
_WORD_START = re.compile(r"\s\S")

Range = tuple[int, int]


class Mark(NamedTuple):
    """A stretch of a text that a term matches; `term` is the term's place in the query."""

    start: int
    end: int
    term: int


class Snippet(NamedTuple):
    """A stretch of a text on one line, and the marks in it, in order and disjoint."""

    text: str
    marks: tuple[Range, ...]


def find_marks(query: Query, content: str) -> list[Range]:
    """Return what of `content` the query's terms match, in characters of `content`.

    In order, disjoint, whole characters as people see them. Terms under a NOT have no marks.
    Costs as much as projecting the text.
    """
    return _merged(marks_of(query.sought, content))


def marks_of(terms: Sequence[Term], content: str, *, per_term: int | None = None) -> list[Mark]:
    """Return the marks of `terms` in `content`, in order; those of two terms may overlap."""
    projected, offsets = _projected(content)
    lowered = ascii_lower(projected)
    marks = [
        Mark(*in_content(content, offsets, start, end), order)
        for order, term in enumerate(terms)
        for start, end in islice(occurrences(term, lowered), per_term)
    ]
    return sorted(marks)


def make_snippet(terms: Sequence[Term], texts: Sequence[str]) -> Snippet:
    """Return the stretch of one of `texts` that shows most of `terms`, with its marks.

    Of equally telling texts the first is taken. White space becomes single spaces, escape
    sequences vanish, an ellipsis says where the text goes on. Without any match it is the
    first text's beginning.
    """
    best, marks = texts[0], marks_of(terms, texts[0], per_term=MARKS_PER_TERM)
    for text in texts[1:]:
        if len({mark.term for mark in marks}) == len(terms):
            break
        others = marks_of(terms, text, per_term=MARKS_PER_TERM)
        if len({mark.term for mark in others}) > len({mark.term for mark in marks}):
            best, marks = text, others
    first = _densest(marks)
    start = 0 if first is None else _cut_before(best, first.start)
    end = _cut_behind(best, start, 0 if first is None else first.end)
    inside = [(m.start, min(m.end, end)) for m in marks if start <= m.start < end]
    return _on_one_line(best, start, end, _merged(inside))


def _projected(content: str) -> tuple[str, Sequence[int]]:
    projected = project(content)
    if projected == content:
        return content, range(len(content) + 1)
    return project_with_map(content)


def in_content(content: str, offsets: Sequence[int], start: int, end: int) -> Range:
    """Return where a stretch of the projected text comes from."""
    first, last, after = offsets[start], offsets[end - 1], offsets[end]
    tail = _INVISIBLE_END.search(content, last + 1, after)
    begin, stop = start_of(content, first), tail.start() if tail else after
    return begin, end_of(content, max(stop, first))


def _merged(marks: Iterable[tuple[int, ...]]) -> list[Range]:
    merged: list[Range] = []
    for start, end, *_ in sorted(marks):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        elif start < end:
            merged.append((start, end))
    return merged


def _densest(marks: Sequence[Mark]) -> Mark | None:
    """Return the first mark of the stretch that shows the most different terms."""
    best, most = None, 0
    possible = len({mark.term for mark in marks})
    for at, mark in enumerate(marks):
        near = (m.term for m in islice(marks, at, at + 64) if m.end - mark.start <= _REACH_CHARS)
        count = len({mark.term, *near}) if possible > 1 else 1
        if count > most:
            best, most = mark, count
        if most == possible:
            break
    return best


def _cut_before(content: str, at: int) -> int:
    """Return where a snippet begins so that `at` is in it, behind a space where one is near."""
    start, columns = at, 0
    while start > 0 and columns < LEAD_COLUMNS:
        start -= 1
        columns += 2 if content[start] > _NARROW else 1
    if start == 0:
        return 0
    space = _WORD_START.search(content, start - 1, start + (at - start) // 2)
    return start_of(content, start) if space is None else space.start() + 1


def _cut_behind(content: str, start: int, reached: int) -> int:
    """Return where a snippet ends that begins at `start` and has `reached` in it."""
    left, end = SNIPPET_COLUMNS, start
    while left > 0 and end < len(content):
        next_ones = content[end : end + left]
        if not next_ones.isascii():
            next_ones = next_ones[: max(1, left // 2)]  # no more than fit if all are wide
            left -= sum(map(_NARROW.__lt__, next_ones))
        left -= len(next_ones)
        end += len(next_ones)
    return end_of(content, max(end, reached))


def _as_it_is(content: str, start: int, end: int, marks: Sequence[Range]) -> Snippet:
    lead, tail = "… " if start > 0 else "", "…" if end < len(content) else ""
    shift = len(lead) - start
    moved = tuple((first + shift, last + shift) for first, last in marks)
    return Snippet(f"{lead}{content[start:end]}{tail}", moved)


def _on_one_line(content: str, start: int, end: int, marks: Sequence[Range]) -> Snippet:
    if _UNEVEN.search(content, start, end) is None:
        return _as_it_is(content, start, end, marks)
    kept = ["… "] if start > 0 else []
    length = sum(map(len, kept))
    moved = {}  # from each edge of a mark to its place in the snippet
    edges = sorted({edge for mark in marks for edge in mark})
    at = start
    for gap in (*_GAP.finditer(content, start, end), None):
        stop, behind = (end, end) if gap is None else gap.span()
        while edges and edges[0] <= stop:
            edge = edges.pop(0)
            moved[edge] = length + edge - at
        if at < stop:
            kept.append(content[at:stop])
        length += stop - at
        while edges and edges[0] < behind:
            moved[edges.pop(0)] = length
        is_blank = gap is not None and _BLANK.search(_ESCAPE.sub("", gap[0])) is not None
        if is_blank and kept and not kept[-1].endswith(" "):
            kept.append(" ")
            length += 1
        at = behind
    kept.append("…" if end < len(content) else "")
    ranges = [(moved[first], moved[last]) for first, last in marks]
    return Snippet("".join(kept), tuple(_merged(ranges)))
