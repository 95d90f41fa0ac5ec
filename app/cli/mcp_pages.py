"""An answer in pages that a model can take in: no page is larger than it may be, nothing is lost.

A page is a JSON document like the whole answer. The first has everything but the results that
found no room, the following ones go on where the one before was cut: a result marked `continued`
adds to the last result of the page before, message by message. `cursor` asks for the next page.
"""

import base64
import binascii
import hashlib
import struct
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from app.cli.documents import Document
from app.cli.output import json_text
from core.errors import QueryError

PAYLOAD_CHARS = 16_000
"""The most characters of a page."""

SECTIONS = ("opening", "messages", "resolution")

# What an answer or a result may take beside its messages, in characters of JSON: so little that
# the head of an answer and that of a result always fit on one page.
_HEAD_CHARS = 250
_LONGER = {
    "query": 600,
    "understood": 600,
    "why": 600,
    "session": 500,
    "lineage": 500,
    "parent": 500,
    "message": 500,
    "link": 1_200,
    "snippet": 1_200,
}
_HEAD_ITEMS = 6  # of a list that an answer has beside its results
_MARKS = 100

LAST_MS = 253_402_214_400_000
"""A day before the end of the year 9999, in whichever zone."""

_FORMAT = struct.Struct(">B8s8sQI")
_VERSION = 1
_CHECK_BYTES = 6
_CURSOR_CHARS = 4 * (_FORMAT.size + _CHECK_BYTES + 2) // 3


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where an answer goes on: which one, as of when, and how many of its pieces were given.

    `request` and `answer` are digests; `now_ms` is the moment that ages like 7d count back from.
    """

    request: bytes
    answer: bytes
    now_ms: int
    position: int


def digest(value: object) -> bytes:
    """Return eight bytes that stand for a JSON value."""
    return hashlib.blake2b(json_text(value).encode(), digest_size=8).digest()


def cursor_text(cursor: Cursor) -> str:
    """Return a cursor as the text that a client passes back."""
    packed = _FORMAT.pack(_VERSION, cursor.request, cursor.answer, cursor.now_ms, cursor.position)
    return base64.urlsafe_b64encode(packed + _check(packed)).decode().rstrip("=")


def read_cursor(text: str) -> Cursor:
    """Return the cursor of a text.

    Raises:
        QueryError: the text is no cursor, or not as it was given.
    """
    try:
        raw = base64.urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
        packed = raw[:-_CHECK_BYTES]
        version, *fields = _FORMAT.unpack(packed)
    except (binascii.Error, struct.error, UnicodeEncodeError):
        raise QueryError("the cursor is none that was given: ask again without one") from None
    cursor = Cursor(*fields)
    is_ours = version == _VERSION and raw[-_CHECK_BYTES:] == _check(packed)
    # base64 has several spellings of the same bytes, and the calendar has an end.
    if not is_ours or cursor_text(cursor) != text or cursor.now_ms > LAST_MS:
        raise QueryError("the cursor is not as it was given: ask again without one")
    return cursor


def _check(packed: bytes) -> bytes:
    """Return what shows that a cursor was changed; a forged one only names another place."""
    return hashlib.blake2b(packed, digest_size=_CHECK_BYTES, person=b"page").digest()


class Page(NamedTuple):
    """A page, and how many pieces of the answer were given with it; None when it is the last."""

    document: Document
    end: int | None


class _Piece(NamedTuple):
    """The smallest thing that a page holds: a result without its messages, or a message."""

    result: int
    section: str | None
    document: Document


def bounded(answer: Document) -> Document:
    """Return an answer whose text beside the messages is short enough for one page.

    Only what is unusually long is cut, and then ends with an ellipsis: titles, names, the
    query that is echoed. Everything else is as it was.
    """
    head = {key: _cut(key, value) for key, value in answer.items() if key != "results"}
    return {**head, "results": [_bounded_result(result) for result in answer["results"]]}


def page_of(answer: Document, position: int, most: int = PAYLOAD_CHARS) -> Page:
    """Return the page of a `bounded` answer that begins behind its first `position` pieces.

    With the cursor that is to be added to it the page has at most `most` characters as JSON,
    and at least one piece. A message that alone is larger than a page is cut to fit.

    Raises:
        QueryError: the answer has no such place.
    """
    pieces = list(_pieces(answer))
    if not 0 <= position <= len(pieces) or (position and position == len(pieces)):
        raise QueryError("the cursor names a place behind the end: ask again without one")
    if position == 0:
        document = {key: value for key, value in answer.items() if key != "results"}
    else:
        document = {"mode": answer["mode"]}
    page = _Filling(document, most)
    at = position
    while at < len(pieces) and page.add(pieces[at], answer["results"]):
        at += 1
    return Page(page.document, None if at == len(pieces) else at)


def fitting(text: str, room: int) -> str:
    """Return as much of a text as takes at most `room` characters in JSON, but one at least."""
    if len(text) <= room and len(json_text(text)) - 2 <= room:
        return text
    lengths = range(1, min(len(text), room) + 1)
    count = bisect_right(lengths, room, key=lambda n: len(json_text(text[:n])) - 2)
    return text[: max(1, count)]


def _pieces(answer: Document) -> Iterator[_Piece]:
    for number, result in enumerate(answer["results"]):
        yield _Piece(number, None, {**result, **{section: [] for section in SECTIONS}})
        for section in SECTIONS:
            for message in result[section]:
                yield _Piece(number, section, message)


class _Filling:
    """A page that takes pieces in while there is room."""

    def __init__(self, document: Document, most: int) -> None:
        self.document = {**document, "cursor": None, "results": []}
        # What is there as it stands; the cursor takes the place of null.
        self._left = most - len(json_text(self.document)) - _CURSOR_CHARS
        self._last: int | None = None
        self._is_empty = True

    def add(self, piece: _Piece, results: Sequence[Document]) -> bool:
        """Put a piece on the page if there is room, or if the page has none yet."""
        if piece.section is None:
            return self._add_result(piece)
        stub = self._stub(piece, results)
        cost = len(json_text(piece.document)) + 1 + stub
        message = piece.document
        if cost > self._left:
            if not self._is_empty:
                return False
            message = _cut_message(message, self._left - stub - 1)
            cost = len(json_text(message)) + 1 + stub
        if stub and self._last != piece.result:
            name = results[piece.result]["session"]
            self.document["results"].append({"session": name, "continued": True})
        self.document["results"][-1].setdefault(piece.section, []).append(message)
        self._took(piece.result, cost)
        return True

    def _add_result(self, piece: _Piece) -> bool:
        cost = len(json_text(piece.document)) + 1
        if cost > self._left and not self._is_empty:
            return False
        self.document["results"].append(piece.document)
        self._took(piece.result, cost)
        return True

    def _stub(self, piece: _Piece, results: Sequence[Document]) -> int:
        """Return what must be written around a message before it can stand on the page."""
        section = len(json_text({piece.section: []})) - 1
        if self._last != piece.result:
            name = results[piece.result]["session"]
            return len(json_text({"session": name, "continued": True})) + 1 + section
        return 0 if piece.section in self.document["results"][-1] else section

    def _took(self, result: int, cost: int) -> None:
        self._left -= cost
        self._last = result
        self._is_empty = False


def _cut_message(message: Document, room: int) -> Document:
    """Return a message that takes at most `room` characters as JSON, its content cut first.

    `truncated` and `next_offset` say where `read_message` reads on.
    """
    short = {key: _cut(key, value) for key, value in message.items() if key != "content"}
    short |= {"content": "", "truncated": True, "next_offset": 10**9}
    if len(json_text(short)) + _HEAD_CHARS > room:
        for key in ("tool_calls", "media_refs", "reasoning"):
            short.pop(key, None)
        if calls := len(message.get("tool_calls", ())):
            short["more_tool_calls"] = calls + message.get("more_tool_calls", 0)
        if "reasoning" in message:
            short["reasoning_length"] = message.get("reasoning_length", len(message["reasoning"]))
    content = message["content"]
    shown = fitting(content, room - len(json_text(short))) if content else ""
    short["content"] = shown
    if len(shown) == message["content_length"]:
        short["truncated"] = False
        del short["next_offset"]
    else:
        short["next_offset"] = len(shown)
    return {key: short[key] for key in (*message, *short) if key in short}


def _bounded_result(result: Document) -> Document:
    short = {key: value if key in SECTIONS else _cut(key, value) for key, value in result.items()}
    length = len(short["snippet"])
    short["marks"] = [mark for mark in short["marks"] if mark[1] <= length]
    return short


def _cut(key: str, value: object) -> object:
    """Return a value beside the messages, its texts and lists cut to what is usual."""
    if isinstance(value, str):
        most = _LONGER.get(key, _HEAD_CHARS)
        return value if len(json_text(value)) <= most else fitting(value, most - 3) + "…"
    if isinstance(value, list):
        return [_cut("", item) for item in value[: _MARKS if key == "marks" else _HEAD_ITEMS]]
    if isinstance(value, dict):
        return {name: _cut(name, each) for name, each in value.items()}
    return value
