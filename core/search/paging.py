"""Going on behind a page, so that every hit comes once however long one reads.

A token fixes what the first page was cut from: the highest id there was, which attempt
answered, down to which ids its hits are ranked, and where the page ended. By time a page ends
at a moment and an id; among the older hits, which are not ranked, at an id. Neither moves. A
place in the ranking does, because bm25 weighs with the averages of the whole index, and every
message written changes those: so the ids that a ranking has shown are remembered for a while,
and pages of it leave them out.
"""

import base64
import binascii
import hashlib
import json
from array import array
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from threading import Lock
from typing import Any

from core.errors import QueryError
from core.search.sql import EVERYTHING, Sql
from core.types import SearchRequest, Sort

_MOST_CHARS = 512
_REMEMBERED = 64  # rankings; one of 20,000 ids takes 160 kB, one of a page 160 bytes
_MOST_INT = 1 << 62


@dataclass(frozen=True, slots=True)
class InRanking:
    """Behind as many of the ranked hits as were shown."""


@dataclass(frozen=True, slots=True)
class Below:
    """Among the hits that are not ranked: below an id in the rows of one part of the plan."""

    part: int
    message_id: int


@dataclass(frozen=True, slots=True)
class Moment:
    """Behind a message in the order of time; `at_ms` is None for one without a time."""

    at_ms: int | None
    message_id: int


Position = InRanking | Below | Moment


@dataclass(frozen=True, slots=True)
class Place:
    """Where a page begins.

    Attributes:
        highest: the highest id when the first page was asked; later messages are left out.
        attempt: which attempt answered, by its place in the order they are tried.
        shown: how many hits stand before the page.
        total: how many hits there are; `is_exact` tells whether that is known for sure.
        ranked_scope: how many hits were ranked, None when all were or none.
        floors: for each part that an index answers, the lowest id that is ranked.
        weights: what the ranking was weighed with (`Collector.weights`), 0 outside of it.
        plan: the plan that answered, as a number.
        position: where in the order it begins.
    """

    highest: int
    attempt: int
    shown: int
    total: int
    is_exact: bool
    ranked_scope: int | None
    floors: tuple[int, ...]
    weights: int
    plan: int
    position: Position

    def token(self, request: SearchRequest) -> str:
        """Return the place as a text that names it, for this question alone."""
        values = [
            _question(request), self.highest, self.attempt, self.shown, self.total,
            self.is_exact, self.ranked_scope, self.floors, self.weights, self.plan,
            *_written(self.position),
        ]  # fmt: skip
        text = json.dumps(values, separators=(",", ":"))
        return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


@dataclass(frozen=True, slots=True)
class Page:
    """What part of the hits is asked for: behind `offset` of them, or from a place on.

    `shown` are the ids that the ranking showed before the place, None when that is forgotten.
    """

    offset: int
    limit: int
    place: Place | None
    shown: frozenset[int] | None

    @property
    def end(self) -> int:
        """Behind the page, among the hits that are looked for."""
        return self.offset + self.limit

    @property
    def need(self) -> int:
        """How many hits to look for: one more than are shown tells whether there are more."""
        return self.end + 1


def page_of(request: SearchRequest, store: str) -> Page:
    """Return the page that is asked for; `store` is the name of the store's file.

    Raises:
        QueryError: there is no such page.
    """
    if request.limit < 1 or request.offset < 0:
        raise QueryError(f"there is no page of {request.limit} hits from {request.offset} on")
    place = place_of(request)
    offset = request.offset if place is None else 0
    return Page(offset, request.limit, place, shown.before(store, request.after))


def place_of(request: SearchRequest) -> Place | None:
    """Return the place that the request's `after` names, None where it names none.

    Raises:
        QueryError: it is no token, or that of another question.
    """
    token = request.after
    if token is None:
        return None
    refusal = QueryError(f"{token[:80]!r} does not name a page")
    if len(token) > _MOST_CHARS:
        raise refusal
    try:
        padded = token + "=" * (-len(token) % 4)
        question, *values = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, TypeError, RecursionError) as error:
        raise refusal from error
    place = _read(values)
    if place is None:
        raise refusal
    if question != _question(request):
        raise QueryError("this page belongs to another question: ask that one, or begin anew")
    return place


def behind(place: Place | None, sort: Sort) -> Sql:
    """Return the condition that a message comes behind the place in the order of time."""
    if place is None or not isinstance(place.position, Moment):
        return EVERYTHING
    at_ms, message_id = place.position.at_ms, place.position.message_id
    later = "<" if sort == "newest" else ">"
    if at_ms is None:
        return Sql(f"k.at_ms IS NULL AND k.id {later} ?", (message_id,))
    return Sql(
        f"(k.at_ms {later} ? OR k.at_ms IS NULL OR (k.at_ms = ? AND k.id {later} ?))",
        (at_ms, at_ms, message_id),
    )


def below(place: Place | None, part: int) -> Sql:
    """Return the condition that a scanned message of a part comes behind the place."""
    if place is None or not isinstance(place.position, Below) or part > place.position.part:
        return EVERYTHING
    if part < place.position.part:
        return Sql("false")
    return Sql("k.id < ?", (place.position.message_id,))


def _written(position: Position) -> tuple[str | int | None, ...]:
    match position:
        case InRanking():
            return ("r",)
        case Below():
            return "b", position.part, position.message_id
        case Moment():
            return "m", position.at_ms, position.message_id


def _read(values: list[Any]) -> Place | None:
    """Return the place of a token's values, None where they make none."""
    position = _position(values[9:])
    match values[:9]:
        case [
            int(highest), int(attempt), int(shown), int(total), bool(is_exact),
            int() | None as ranked_scope, list(floors), int(weights), int(plan),
        ] if position is not None:  # fmt: skip
            counts = (highest, attempt, shown, total, ranked_scope or 0, *floors)
            numbers = (*counts, weights, plan, *(each for each in values[10:] if each is not None))
        case _:
            return None
    if not all(isinstance(each, int) and abs(each) <= _MOST_INT for each in numbers):
        return None
    if min(counts) < 0:
        return None
    fixed = (highest, attempt, shown, total, is_exact, ranked_scope, tuple(floors), weights, plan)
    return Place(*fixed, position)


def _position(values: list[Any]) -> Position | None:
    match values:
        case ["r"]:
            return InRanking()
        case ["b", int(part), int(message_id)] if part >= 0:
            return Below(part, message_id)
        case ["m", int() | None as at_ms, int(message_id)]:
            return Moment(at_ms, message_id)
        case _:
            return None


def _question(request: SearchRequest) -> str:
    """Return what tells one question's tokens from another's."""
    asked = (
        request.query, request.sort, request.roles, request.sources, request.projects,
        request.sessions, request.since_ms, request.until_ms, sorted(request.include),
        request.inside_words, request.everything,
    )  # fmt: skip
    return hashlib.blake2b(repr(asked).encode(errors="surrogatepass"), digest_size=6).hexdigest()


class Shown:
    """Remembers which ids the pages of a ranking showed, by the token of the page behind them.

    Shared by the connections of a process; the rankings asked for last are kept.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: OrderedDict[tuple[str, str], array[int]] = OrderedDict()

    def before(self, store: str, token: str | None) -> frozenset[int] | None:
        """Return the ids shown before the page of `token`, None when they are forgotten."""
        if token is None:
            return frozenset()
        with self._lock:
            found = self._kept.get((store, token))
            if found is None:
                return None
            self._kept.move_to_end((store, token))
            return frozenset(found)

    def note(self, store: str, token: str, ids: Iterable[int]) -> None:
        """Keep the ids shown before the page of `token`."""
        with self._lock:
            self._kept[store, token] = array("q", ids)
            while len(self._kept) > _REMEMBERED:
                self._kept.popitem(last=False)


shown = Shown()
