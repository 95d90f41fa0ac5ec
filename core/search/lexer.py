"""Cutting a typed query into words, phrases, fields, operators and balanced groups."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto

from core.search.fields import Value
from core.search.term import EXCLUDES, FIELD_NAMES

CLOSED_BY = {'"': '"＂', "＂": '"＂', "“": "”“‟", "”": "”", "„": "“”‟", "‟": "”‟“"}
_OPERATORS = frozenset(("AND", "OR", "NOT"))
BLANK = re.compile(r"[\s\0]+")

FIELD = re.compile(f"({'|'.join(FIELD_NAMES)})[:：](?![:：])")  # std::vector, role::user
COMMAS = frozenset(",，")


class Typed(Enum):
    """What a lexeme is."""

    WORD = auto()
    PHRASE = auto()
    FIELD = auto()
    OPEN = auto()
    CLOSE = auto()
    AND = auto()
    OR = auto()
    NOT = auto()


@dataclass(frozen=True, slots=True)
class Lexeme:
    """A part of a query. `minus`: a minus stood before it; `star`: a star stood behind.

    A field has its `name` and at least one of `values`; its `text` is all of it as typed.
    """

    kind: Typed
    text: str = ""
    minus: bool = False
    star: bool = False
    name: str = ""
    values: tuple[Value, ...] = ()


def read(text: str, max_depth: int) -> tuple[list[Lexeme], tuple[str, ...]]:
    """Return the lexemes of `text` and what had to be mended.

    Every OPEN has its CLOSE, and they nest no deeper than `max_depth`.
    """
    lexer = _Lexer(text, max_depth)
    lexer.run()
    return lexer.lexemes, tuple(dict.fromkeys(lexer.repairs))


class _Lexer:
    def __init__(self, text: str, max_depth: int) -> None:
        self.lexemes: list[Lexeme] = []
        self.repairs: list[str] = []
        self._text = text
        self._at = 0
        self._max_depth = max_depth
        self._open: list[bool] = []  # for each group left to close: has it a lexeme?

    def run(self) -> None:
        while self._skip_blank():
            minus = EXCLUDES.match(self._text, self._at) is not None
            self._at += minus
            char = self._text[self._at]
            if char == "(":
                self._enter(minus=minus)
            elif char == ")":
                self._leave()
            elif char in CLOSED_BY:
                self._phrase(char, minus=minus)
            elif not self._field(minus=minus):
                self._word(minus=minus)
        if self._open:
            self.repairs.append("a group left open is closed at the end")
        while self._open:
            self._close()

    def _skip_blank(self) -> bool:
        blank = BLANK.match(self._text, self._at)
        self._at = blank.end() if blank else self._at
        return self._at < len(self._text)

    def _enter(self, *, minus: bool) -> None:
        self._at += 1
        is_entered = len(self._open) < self._max_depth
        self._open.append(is_entered)
        if is_entered:
            self.lexemes.append(Lexeme(Typed.OPEN, minus=minus))
        else:
            self.repairs.append(f"groups are read {self._max_depth} deep")

    def _leave(self) -> None:
        self._at += 1
        if self._open:
            self._close()
        else:
            self.repairs.append("a bracket without its pair is left out")

    def _close(self) -> None:
        if self._open.pop():
            self.lexemes.append(Lexeme(Typed.CLOSE))

    def _phrase(self, opening: str, *, minus: bool) -> None:
        """Read a quoted text; without a closing quote the quote alone is passed over."""
        found = self._quoted(opening)
        if found is None:
            self.repairs.append("a quote without its pair is left out")
            self._at += 1
        elif not found.text.strip():
            self.repairs.append("empty quotes are left out")
        else:
            self.lexemes.append(Lexeme(Typed.PHRASE, found.text, minus, found.star))

    def _quoted(self, opening: str) -> Value | None:
        """Read to behind the closing quote, and its star; without one nothing is read."""
        start = self._at + 1
        ends = [at for char in CLOSED_BY[opening] if (at := self._text.find(char, start)) >= 0]
        if not ends:
            return None
        end = min(ends)
        star = self._text.startswith("*", end + 1)
        self._at = end + 1 + star
        return Value(self._text[start:end], is_quoted=True, star=star)

    def _field(self, *, minus: bool) -> bool:
        """Read a field; one without a value is none, and nothing is read."""
        name = FIELD.match(self._text, self._at)
        if name is None:
            return False
        start, repairs = self._at, len(self.repairs)
        self._at = name.end()
        values = tuple(self._values())
        if values:
            text = self._text[start : self._at]
            self.lexemes.append(Lexeme(Typed.FIELD, text, minus, name=name[1], values=values))
            return True
        self._at = start
        del self.repairs[repairs:]
        return False

    def _values(self) -> Iterator[Value]:
        """Yield the alternatives behind a field's name, those that are blank left out."""
        while True:
            value = self._value()
            if value.text.replace("\0", " ").strip():
                yield value
            if self._text[self._at : self._at + 1] not in COMMAS:
                return
            self._at += 1

    def _value(self) -> Value:
        opening = self._text[self._at : self._at + 1]
        if opening in CLOSED_BY:
            found = self._quoted(opening)
            if found is not None:
                return found
            self.repairs.append("a quote without its pair is left out")
            self._at += 1
        return Value(self._stretch(COMMAS))

    def _word(self, *, minus: bool) -> None:
        word = self._stretch(frozenset())
        if word in _OPERATORS and not minus:
            self.lexemes.append(Lexeme(Typed[word]))
        else:
            self.lexemes.append(Lexeme(Typed.WORD, word, minus))

    def _stretch(self, stops: frozenset[str]) -> str:
        """Read to the next blank, to one of `stops`, or to the bracket that closes a group."""
        start, inner = self._at, 0
        while self._at < len(self._text) and not BLANK.match(self._text, self._at):
            char = self._text[self._at]
            if char in stops:
                break
            if char == "(":
                inner += 1
            elif char == ")":
                if self._open and not inner:
                    break
                inner -= 1
            self._at += 1
        return self._text[start : self._at]
