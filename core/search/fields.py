"""The fields of the language: their names, and what can be typed behind one.

A field is a condition on what is known of a message beside its text. What it comes to in a
store is told by `core.search.resolve`.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple, cast

from core.errors import QueryError
from core.history.bodies import clean
from core.search.term import Term, ascii_lower, phrase_term, quoted, word_term
from core.search.times import parse_time
from core.search.tree import Field, FieldName
from core.types import Role

SESSION_FIELDS: frozenset[FieldName] = frozenset(
    ("source", "project", "session", "title", "before", "after")
)
"""What can be asked of a session found by its title too: of itself, or of when it was used."""

_OPEN_ENDED = frozenset(("session", "tool", "model"))  # a star at the end adds nothing to them
_NEEDS_QUOTES = frozenset(' ,，*"＂“”„‟()')


class Value(NamedTuple):
    """One of the alternatives typed behind a field's name; `star`: a star stood behind quotes."""

    text: str
    is_quoted: bool = False
    star: bool = False


def read_field(name: str, values: Sequence[Value], now: datetime) -> Field:
    """Return the field that was typed; `values` are one or more, none of them blank.

    Raises:
        QueryError: a role or a time is none, or nothing is left of a title.
    """
    field_name = cast(FieldName, name)
    if name == "title":
        return _title(values)
    texts = [_cleaned(value, name) for value in values]
    if name == "role":
        texts = [_role(text) for text in texts]
    distinct = tuple(dict.fromkeys(text for text in texts if text))
    if not distinct:
        raise QueryError("there is nothing behind the colon")
    at_ms = None
    if name in ("before", "after"):
        moments = [parse_time(text, now=now) for text in distinct]
        at_ms = max(moments) if name == "before" else min(moments)
    return Field(field_name, distinct, at_ms=at_ms, shown=_shown(name, map(value_typed, distinct)))


def value_typed(text: str) -> str:
    """Return `text` so that it can be typed behind a colon, in quotes where it needs them."""
    return quoted(text) if text.startswith((":", "：")) or _NEEDS_QUOTES & set(text) else text


def _title(values: Sequence[Value]) -> Field:
    terms = [term for value in values if (term := _title_term(value)) is not None]
    if not terms:
        raise QueryError("there is nothing behind the colon")
    distinct = tuple(dict.fromkeys(terms))
    texts = tuple(term.shown for term in distinct)
    return Field("title", texts, terms=distinct, shown=_shown("title", map(_term_typed, distinct)))


def _title_term(value: Value) -> Term | None:
    if value.is_quoted:
        return phrase_term(value.text, is_prefix=value.star)
    return word_term(value.text) if value.text.strip("*") else None


def _term_typed(term: Term) -> str:
    """Return a title's term so that it can be typed behind the colon."""
    if term.literal is None or term.shown.startswith(('"', "“", "„")):
        return term.shown
    bare = term.shown.removesuffix("*") if term.is_prefix else term.shown
    return value_typed(bare) + "*" * term.is_prefix


def _cleaned(value: Value, name: str) -> str:
    text = clean(value.text).replace("\0", " ").strip()
    if name in _OPEN_ENDED and not value.is_quoted:
        return text.rstrip("*")
    return text


def _role(text: str) -> str:
    role = ascii_lower(text)
    if role not in tuple(Role):
        raise QueryError(f"roles are {', '.join(Role)}")
    return role


def _shown(name: str, values: Iterable[str]) -> str:
    return f"{name}:{','.join(values)}"
