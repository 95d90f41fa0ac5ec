"""What a query means, worked out the slow and obvious way.

Nothing here uses the regular expressions, the parser or the indexes of `core.search`: a text
is cut into tokens character by character, and a term is tried at each of them. The only things
shared are the projection and the two tables of characters.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby

from core.cjk_ranges import CJK_RANGES
from core.text import INDEXED_CHARS, TOOL_INDEXED_CHARS, project
from core.word_ranges import WORD_RANGES


def _is_in(code: int, ranges: Sequence[tuple[int, int]]) -> bool:
    place = bisect_right(ranges, (code, 0x110000)) - 1
    return place >= 0 and ranges[place][0] <= code <= ranges[place][1]


@cache
def kind_of(char: str) -> str:
    """Return 'run', 'word' or 'gap'."""
    if _is_in(ord(char), CJK_RANGES):
        return "run"
    return "word" if _is_in(ord(char), WORD_RANGES) else "gap"


def lowered(text: str) -> str:
    return "".join(chr(ord(c) + 32) if "A" <= c <= "Z" else c for c in text)


@cache
def searchable(text: str, *, cap: int = INDEXED_CHARS) -> str:
    return lowered(project(text)[:cap])


@cache
def tokens(text: str) -> list[tuple[str, str]]:
    """Return the runs and words of a searchable text as (kind, text)."""
    grouped = ((kind, "".join(chars)) for kind, chars in groupby(text, kind_of))
    return [(kind, chars) for kind, chars in grouped if kind != "gap"]


@dataclass(frozen=True)
class Spec:
    """A term as a test means it: words and runs in order, or a literal."""

    typed: str
    is_literal: bool = False
    is_prefix: bool = False

    def matches(self, text: str) -> bool:
        """Tell whether the searchable `text` holds the term."""
        if self.is_literal:
            return _holds_literal(searchable(self.typed), text)
        wanted = tokens(searchable(self.typed))
        found = tokens(text)
        last = len(wanted) - 1
        return any(
            all(
                _fits(piece, token, is_first=at == 0, is_last=at == last, open_=self.is_prefix)
                for at, (piece, token) in enumerate(zip(wanted, found[start:], strict=False))
            )
            for start in range(len(found) - last)
        )


def _fits(
    piece: tuple[str, str], token: tuple[str, str], *, is_first: bool, is_last: bool, open_: bool
) -> bool:
    if piece[0] != token[0]:
        return False
    sought, found = piece[1], token[1]
    if piece[0] == "word":
        return found.startswith(sought) if is_last and open_ else found == sought
    if is_first and is_last:
        return sought in found
    if is_first:
        return found.endswith(sought)
    return found.startswith(sought) if is_last else found == sought


def _holds_literal(literal: str, text: str) -> bool:
    text = " ".join(text.split())
    literal = " ".join(literal.split())
    starts = (at for at in range(len(text)) if text.startswith(literal, at))
    return any(_stands_free(text, at, at + len(literal)) for at in starts)


def _stands_free(text: str, start: int, end: int) -> bool:
    before = text[start - 1 : start]
    after = text[end : end + 1]
    return not (_is_glued(text[start], before) or _is_glued(text[end - 1], after))


def _is_glued(edge: str, beside: str) -> bool:
    """A literal's letter or digit needs a border; its symbols do not."""
    if kind_of(edge) != "word" or unicodedata.category(edge).startswith("S"):
        return False
    return bool(beside) and kind_of(beside) == "word"


@dataclass(frozen=True)
class Session:
    """What a test knows of a session; `sources` are the names of its source."""

    native_id: str = "s"
    full_names: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    kind: str = "interactive"
    title: str = ""
    project: str = ""
    model: str = ""
    is_trashed: bool = False


@dataclass(frozen=True)
class Row:
    """One message: its searchable columns, and what is known of it beside them.

    `sessions` show it, the one that owns it first. `is_whole` tells that a tool row is to be
    read to its end, `with_trash` that the trash is asked for.
    """

    content: str
    tool_name: str = ""
    tool_calls: str = ""
    is_tool: bool = False
    speaker: str = ""
    called: str = ""
    model: str = ""
    at_ms: int | None = None
    state: str = "active"
    origin: str = ""
    sessions: tuple[Session, ...] = (Session(),)
    is_whole: bool = False
    with_trash: bool = False

    @property
    def telling(self) -> tuple[Session, ...]:
        """The sessions whose names and titles tell of it: not those in the trash."""
        return tuple(each for each in self.sessions if self.with_trash or not each.is_trashed)

    @property
    def role(self) -> str:
        if self.is_tool:
            return "tool"
        return self.speaker or ("assistant" if self.tool_calls else "user")

    def columns(self) -> tuple[str, str, str]:
        content = searchable(self.content)
        if self.is_tool:
            whole = searchable(self.content, cap=len(self.content) * 4)
            content = whole if self.is_whole else whole[:TOOL_INDEXED_CHARS]
        calls = f"{self.called}\n{self.tool_calls}" if self.tool_calls else ""
        return content, lowered(self.tool_name), searchable(calls)

    def holds(self, spec: Spec) -> bool:
        return any(spec.matches(column) for column in self.columns())


@dataclass(frozen=True)
class FieldSpec:
    """A field as a test means it. Values are texts, of a title `Spec`s, of a time a moment."""

    name: str
    values: tuple[str | int | Spec, ...]

    def matches(self, row: Row) -> bool:
        return any(self._is_true(value, row) for value in self.values)

    def _is_true(self, value: str | int | Spec, row: Row) -> bool:
        owner = row.sessions[0]
        if isinstance(value, Spec):
            return any(value.matches(searchable(session.title)) for session in row.telling)
        if isinstance(value, int):
            if row.at_ms is None:
                return False
            return row.at_ms < value if self.name == "before" else row.at_ms >= value
        sought = lowered(value)
        match self.name:
            case "role":
                return row.role == sought
            case "source":
                return sought in map(lowered, (*owner.sources, owner.kind))
            case "project":
                return owner.project == value
            case "session":
                return any(
                    session.native_id.startswith(value) or value in session.full_names
                    for session in row.telling
                )
            case "tool":
                return any(sought in lowered(name) for name in (row.tool_name, row.called))
            case _:
                return sought in lowered(row.model or owner.model)
