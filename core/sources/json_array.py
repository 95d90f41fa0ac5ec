r"""The objects of one large JSON array, one after the other, damage counted.

Exports are arrays of conversations, hundreds of megabytes on one line. Each object is decoded
by itself, so memory is bounded by the largest one, and a broken object costs only itself: the
next begins behind its closing brace. (A parser of the whole stream stops at the first error,
and yajl makes a lone ``\ud83d`` a question mark.)
"""

import codecs
import json
import re
from collections.abc import Iterator

from core.sources.lines import (
    LINE_BYTES,
    MAX_DEPTH,
    Envelope,
    JsonObject,
    Line,
    Readable,
    recover,
    too_deep,
)
from core.sources.records import BadSourceRecord, Remark

CHUNK_BYTES = 4 << 20

_MOST_FAILURES = 200  # while seeking; each may cost a look at all that is held

_BETWEEN = re.compile(r"[\s,\[\]\ufeff]*")
_OTHER_VALUE = re.compile(r'(?:"(?:[^"\\]|\\.)*+"|[^\s,{\[\]]+)', re.DOTALL)
_BRACE = re.compile(r'(?:[^"{}]++|"[^"\\]*+(?:\\.[^"\\]*+)*+")*+([{}])', re.DOTALL)
_HALF_PAIR = re.compile(
    r"\\u[dD][89abAB]..(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB]..)\\u[dD][c-fC-F]"
)
_decode = json.JSONDecoder(strict=False).raw_decode


def elements(
    stream: Readable,
    known: Envelope,
    *,
    limit: int = LINE_BYTES,
    deepest: int = MAX_DEPTH,
) -> Iterator[JsonObject | BadSourceRecord | Remark]:
    """Yield the objects of an array, or the one object that stands instead of an array.

    Args:
        stream: UTF-8, with or without a byte order mark.
        known: tells a record from a part of one, for what stands behind damage.
        limit: how many characters are held to find the end of an object.
        deepest: an object that nests deeper is a bad record, as a line is: what decodes may
            not be encoded again so deep.

    `line` is the place in the array, from 1; `offset` and `length` are bytes of the stream.
    Cost: about 200 MB/s.
    """
    window = _Window(stream)
    number = 0
    while window.find_next():
        number += 1
        if not window.at_object():
            yield BadSourceRecord(number, "not a JSON object")
            window.skip_value()
            continue
        value, text, closed = window.decode(limit)
        size = _size(text)
        if closed and _is_too_deep(text, deepest):
            yield BadSourceRecord(number, f"nested deeper than {deepest} levels")
        elif value is not None and size is not None and not _has_half_pair(text):
            yield JsonObject(number, window.offset, size, value, True)
        elif not closed:
            too_large = f"an object of more than {limit} characters"
            cut_short = "not JSON: cut short, or a brace is missing"
            yield BadSourceRecord(number, too_large if len(text) > limit else cut_short)
            window.seek(known, limit)
            continue
        else:
            raw = text.encode("utf-8", "surrogateescape")
            yield from recover(Line(number, window.offset, raw, True), known)
        window.skip(text)


class _Window:
    """The part of the stream that is held as text, from the next object on."""

    def __init__(self, stream: Readable) -> None:
        self._stream = stream
        # A byte that is no UTF-8 stays countable: it comes back when the text is encoded.
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self._text = ""
        self._at = 0
        self._ended = False
        self.offset = 0

    def find_next(self) -> bool:
        """Move to the next value; False at the end of the stream."""
        while True:
            match = _BETWEEN.match(self._text, self._at)
            if match:
                self.skip(match.group())
            if self._at < len(self._text):
                return True
            if not self._fill(CHUNK_BYTES):
                return False

    def at_object(self) -> bool:
        """Whether the next value is an object."""
        return self._text[self._at] == "{"

    def skip_value(self) -> None:
        """Move behind a value that is no object; what is left of it is a value again."""
        match = _OTHER_VALUE.match(self._text, self._at)
        self.skip(match.group() if match else self._text[self._at])

    def decode(self, limit: int) -> tuple[dict[str, object] | None, str, bool]:
        """Return the next object, if it is one, its text, and whether that ends with its brace.

        More is read until its last brace is there, or the limit or the stream's end is reached.
        """
        step = CHUNK_BYTES
        while True:
            end: int | None
            try:
                value, end = _decode(self._text, self._at)
            except (ValueError, RecursionError):
                value, end = None, _closing(self._text, self._at)
            if end is not None:
                return value, self._text[self._at : end], True
            if len(self._text) - self._at > limit or not self._fill(step):
                return None, self._text[self._at :], False
            step *= 2

    def seek(self, known: Envelope, limit: int) -> None:
        """Move to the next record behind the start of an object that is too large or endless.

        Where nothing is a record for long, to the end of the stream.
        """
        self.skip(self._text[self._at])
        failures = 0
        while failures < _MOST_FAILURES:
            start = self._text.find('{"', self._at)
            self.skip(self._text[self._at : start if start >= 0 else None])
            try:
                value, end = _decode(self._text, self._at)
            except (ValueError, RecursionError):
                if len(self._text) - self._at <= limit and self._fill(CHUNK_BYTES):
                    continue
                if self._at >= len(self._text):
                    return
                value, end = {}, self._at + 1
                failures += 1
            if known(value):
                return
            self.skip(self._text[self._at : end])
        self.skip(self._text[self._at :])
        while self._fill(CHUNK_BYTES):
            self.skip(self._text)

    def skip(self, text: str) -> None:
        """Move behind the text, which is what comes next."""
        self._at += len(text)
        size = _size(text)
        self.offset += len(text.encode("utf-8", "surrogateescape")) if size is None else size

    def _fill(self, size: int) -> bool:
        """Read more behind what is left; False at the end of the stream."""
        if self._ended:
            return False
        chunk = self._stream.read(size)
        self._ended = not chunk
        more = self._decoder.decode(chunk, final=self._ended)
        self._text, self._at = self._text[self._at :] + more, 0
        return bool(more) or not self._ended


def _closing(text: str, start: int) -> int | None:
    """Return the position behind the brace that closes the one at `start`, if it is there."""
    depth, position = 0, start
    while match := _BRACE.match(text, position):
        depth += 1 if match.group(1) == "{" else -1
        position = match.end()
        if depth == 0:
            return position
    return None


def _is_too_deep(text: str, deepest: int) -> bool:
    if text.count("{") + text.count("[") <= deepest:
        return False
    return too_deep(text.encode("utf-8", "surrogateescape"), deepest)


def _size(text: str) -> int | None:
    """Return the text's bytes in UTF-8, or None if bytes that are none came with it."""
    if text.isascii():
        return len(text)
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        return None


def _has_half_pair(text: str) -> bool:
    """Whether an escape is half a pair of surrogates."""
    return ("\\ud" in text or "\\uD" in text) and _HALF_PAIR.search(text) is not None
