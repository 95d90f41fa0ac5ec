"""How a query could go on at the cursor: names of fields, and values that the store has."""

import re
from datetime import datetime
from typing import NamedTuple

import apsw

from core.history.bodies import clean
from core.search.choices import choices
from core.search.fields import value_typed
from core.search.language import MAX_CHARS
from core.search.lexer import BLANK, CLOSED_BY, COMMAS, FIELD
from core.search.term import FIELD_NAMES
from core.store import damage
from core.types import Choice, Completion

MOST_CHOICES = 12

_NAME = re.compile(r"[a-z]+")
_REST_OF_NAME = re.compile(r"[a-z]*[:：]?")
_SKIPPED = frozenset("()-")


class _Place(NamedTuple):
    """What stands at the cursor: the part of a field's name, or of one of its values.

    `field` is empty for a name. `start` to `end` is what a choice replaces, `typed` what of it
    stands before the cursor, without a quote.
    """

    field: str
    start: int
    end: int
    typed: str


def complete(
    db: apsw.Connection, text: str, cursor: int, now: datetime | None = None
) -> Completion | None:
    """Return what the text at the cursor could become, None where nothing is to be offered.

    Nothing is offered in a phrase, behind a blank, or where the only choice is what stands
    there. At most `MOST_CHOICES`; values that hold blanks or commas come in quotes. Costs a few
    milliseconds at any size of the store: see `core.search.choices`.

    Args:
        db: a connection to a store.
        text: what was typed so far.
        cursor: where the cursor stands, in characters of `text`.
        now: the present, with a zone; None is this moment.
    """
    return damage.answered(db, lambda: _complete(db, text, cursor, now))


def _complete(
    db: apsw.Connection, text: str, cursor: int, now: datetime | None
) -> Completion | None:
    text = clean(text)
    place = _place(text, max(0, min(cursor, len(text))))
    if place is None:
        return None
    if place.field:
        offered = choices(db, place.field, place.typed, now or datetime.now().astimezone())
        items = [Choice(value_typed(c.text), c.shown, c.count) for c in offered]
    else:
        names = (name for name in FIELD_NAMES if name.startswith(place.typed))
        items = [Choice(f"{name}:", f"{name}:") for name in names]
    standing = text[place.start : place.end]
    items = [item for item in items if item.text != standing][:MOST_CHOICES]
    return Completion(place.start, place.end, tuple(items)) if items else None


def _place(text: str, cursor: int) -> _Place | None:
    """Return what stands at the cursor; reads up to there as the lexer does."""
    if cursor > MAX_CHARS:
        return None
    at = 0
    while at < cursor:
        blank = BLANK.match(text, at)
        if blank is not None or text[at] in _SKIPPED:
            at = at + 1 if blank is None else blank.end()
            continue
        field = FIELD.match(text, at)
        if field is not None and field.end() <= cursor:
            found = _value(text, field[1], field.end(), cursor)
            if isinstance(found, _Place):
                return found
            at = found
        elif text[at] in CLOSED_BY:
            behind = _behind_quotes(text, at)
            if behind is None:
                return None
            at = behind
        else:
            end = _end(text, at, frozenset())
            if end >= cursor:
                return _name(text, at, cursor)
            at = end
    return None


def _name(text: str, start: int, cursor: int) -> _Place | None:
    typed = text[start:cursor]
    rest = _REST_OF_NAME.match(text, cursor)
    if not _NAME.fullmatch(typed) or rest is None:
        return None
    return _Place("", start, rest.end(), typed)


def _value(text: str, field: str, at: int, cursor: int) -> _Place | int:
    """Return the value at the cursor, or where the field ends that it stands behind."""
    while True:
        if text[at : at + 1] in CLOSED_BY:
            end = _behind_quotes(text, at)
            if end is None or cursor < end:
                end = _end(text, cursor, COMMAS) if end is None else end
                return _Place(field, at, end, text[at + 1 : cursor])
        else:
            end = _end(text, at, COMMAS)
            if cursor <= end:
                return _Place(field, at, end, text[at:cursor])
        if text[end : end + 1] not in COMMAS:
            return end
        at = end + 1


def _behind_quotes(text: str, at: int) -> int | None:
    """Return where a quoted text ends, None while it is still open."""
    ends = [end for char in CLOSED_BY[text[at]] if (end := text.find(char, at + 1)) >= 0]
    return min(ends) + 1 if ends else None


def _end(text: str, at: int, stops: frozenset[str]) -> int:
    while at < len(text) and text[at] != ")" and text[at] not in stops:
        if BLANK.match(text, at):
            break
        at += 1
    return at
