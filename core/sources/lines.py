r"""Line-delimited JSON as programs really leave it: bounded, in binary, damage counted.

Lines end at ``\n`` and nowhere else (U+2028 and ``\r`` occur inside strings). A line that is
not ended yet is held: a whole object in it is yielded as not terminated, half of one is only
remarked on and is no damage. What is damaged costs itself and nothing after it.
"""

import codecs
import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn, Protocol

import msgspec

from core.sources.records import BadSourceRecord, Remark

HALF_A_LINE = "the file ends within this line, which is read when it is whole"
LINE_BYTES = 64 << 20
MAX_DEPTH = 200
CHUNK_BYTES = 1 << 20
_BOM = codecs.BOM_UTF8

Envelope = Callable[[dict[str, Any]], bool]
"""Tells whether an object found behind damage is a record, not a part of one."""


class Readable(Protocol):
    """Bytes in order; `read` returns b'' at the end."""

    def read(self, size: int, /) -> bytes:
        """Return up to `size` bytes."""
        ...


@dataclass(slots=True)
class Mark:
    """A place in a stream, behind the line that was yielded last and ended: its bytes and number.

    `number` is that of the line which begins there, from 1.
    """

    offset: int = 0
    number: int = 1


class Line(NamedTuple):
    """A line without its end. `number` counts from 1, `offset` is where `raw` starts."""

    number: int
    offset: int
    raw: bytes
    terminated: bool


class JsonObject(NamedTuple):
    """An object of a line and the bytes it came from."""

    line: int
    offset: int
    length: int
    value: dict[str, Any]
    terminated: bool

    @property
    def raw_ref(self) -> str:
        """Where the bytes are, as `MessageRecord.raw_ref` wants it."""
        return f"{self.offset}:{self.length}"


def lines(
    stream: Readable, *, limit: int = LINE_BYTES, mark: Mark | None = None
) -> Iterator[Line | BadSourceRecord]:
    """Yield every line that is not blank; one longer than `limit` bytes is a bad record.

    Memory is bounded by `limit` and the chunk that is read at a time. A byte order mark before
    the first line is left out. `mark` is where the stream stands, and moves with each line.
    """
    mark = mark or Mark()
    number, start, size = mark.number, mark.offset, 0
    held: list[bytes] = []
    while chunk := stream.read(CHUNK_BYTES):
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            size += len(end)
            mark.offset, mark.number = start + size + 1, number + 1
            if size > limit:
                yield _too_long(number, size)
            elif raw := b"".join((*held, end)) if held else end:
                line = _line(number, start, raw, terminated=True)
                if line.raw and not line.raw.isspace():
                    yield line
            number, start, size = number + 1, start + size + 1, 0
            held.clear()
        size += len(rest)
        if size > limit:
            held.clear()
        elif rest:
            held.append(rest)
    if size > limit:
        yield _too_long(number, size)
    elif held:
        line = _line(number, start, b"".join(held), terminated=False)
        if line.raw and not line.raw.isspace():
            yield line


def _line(number: int, offset: int, raw: bytes, *, terminated: bool) -> Line:
    if number == 1 and raw.startswith(_BOM):
        return Line(number, offset + len(_BOM), raw[len(_BOM) :], terminated)
    return Line(number, offset, raw, terminated)


def _too_long(number: int, size: int) -> BadSourceRecord:
    return BadSourceRecord(number, f"a line of {size} bytes, more than is read at once")


def objects(
    stream: Readable, known: Envelope, *, limit: int = LINE_BYTES, mark: Mark | None = None
) -> Iterator[JsonObject | BadSourceRecord | Remark]:
    """Yield the JSON objects of a stream in order, and what is damaged between them."""
    for line in lines(stream, limit=limit, mark=mark):
        if isinstance(line, BadSourceRecord):
            yield line
        elif (value := whole(line.raw)) is not None:
            yield JsonObject(line.number, line.offset, len(line.raw), value, line.terminated)
        else:
            yield from recover(line, known)


_decode = msgspec.json.Decoder().decode


def whole(raw: bytes) -> dict[str, Any] | None:
    """Return the object that the bytes are, or None where `recover` has to look closer."""
    if too_deep(raw):
        return None
    try:
        value = _decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def recover(line: Line, known: Envelope) -> Iterator[JsonObject | BadSourceRecord | Remark]:
    """Yield what a line holds that is not simply one object.

    Objects are read one by one from the start; behind damage only those that `known` accepts,
    since the next ``{"`` may stand inside a broken record. Each damaged stretch is one bad
    record. Bytes that are not UTF-8 and lone surrogates become U+FFFD.
    """
    if too_deep(line.raw):
        if line.terminated:
            yield BadSourceRecord(line.number, f"nested deeper than {MAX_DEPTH} levels")
        else:
            yield Remark(line.number, HALF_A_LINE)
        return
    text = line.raw.decode("utf-8", "surrogateescape")
    position, sound = _blank(text, 0), True
    # Each try may read to the end of the line; this keeps hostile lines from costing n² time.
    budget = 32 * len(text) + CHUNK_BYTES
    while 0 <= position < len(text):
        value, end, reason = _object_at(text, position)
        if value is not None and (sound or known(value)):
            yield from _found(line, text, position, end, value)
            position, sound = _blank(text, end), True
            continue
        if value is None and not line.terminated:
            yield Remark(line.number, HALF_A_LINE)
            return
        if sound:
            yield BadSourceRecord(line.number, reason)
            sound = False
        budget -= end - position
        if budget < 0:
            return
        position = text.find('{"', end if value is not None else position + 1)


def _found(
    line: Line, text: str, start: int, end: int, value: dict[str, Any]
) -> Iterator[JsonObject | Remark]:
    offset = line.offset + len(text[:start].encode("utf-8", "surrogateescape"))
    length = len(text[start:end].encode("utf-8", "surrogateescape"))
    _replace_surrogates(value)
    yield JsonObject(line.number, offset, length, value, line.terminated)
    if _SURROGATE.search(text, start, end):
        yield Remark(line.number, "bytes that are not UTF-8 are shown as \ufffd")


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a JSON number")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError("a number out of range")
    return number


# Not strict: control characters inside strings are kept, they are somebody's text.
_lenient = json.JSONDecoder(strict=False, parse_constant=_refuse, parse_float=_finite)
_SURROGATE = re.compile("[\ud800-\udfff]")
_SPACE = re.compile("[ \t\r\ufeff]*")


def _blank(text: str, position: int) -> int:
    """The first position that is not white space between objects."""
    match = _SPACE.match(text, position)
    return match.end() if match else position


def _object_at(text: str, position: int) -> tuple[dict[str, Any] | None, int, str]:
    """Return (object or None, where reading stopped, why there is no object)."""
    try:
        value, end = _lenient.raw_decode(text, position)
    except json.JSONDecodeError as error:
        if text.startswith("\0", position):
            return None, position + 1, "a run of NUL bytes"
        stopped = len(text) if "Unterminated" in error.msg else max(error.pos, position + 1)
        # Python ends some of these with the word that follows here.
        words = error.msg.removesuffix(" at")
        return None, stopped, f"not JSON: {words} at character {error.pos + 1}"
    except RecursionError:
        return None, len(text), f"nested deeper than {MAX_DEPTH} levels"
    except ValueError as error:
        return None, len(text), str(error).partition(";")[0]
    if isinstance(value, dict):
        return value, end, "not a record"
    return None, end, "not a JSON object"


def _replace_surrogates(value: dict[str, Any]) -> None:
    """Make every string of the value one that can be encoded. Without recursion."""
    todo: list[Any] = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, dict):
            for key in [k for k in item if _SURROGATE.search(k)]:
                item[without_surrogates(key)] = item.pop(key)
        places = item.items() if isinstance(item, dict) else enumerate(item)
        for place, part in list(places):
            if isinstance(part, str):
                item[place] = without_surrogates(part)
            elif isinstance(part, dict | list):
                todo.append(part)


def without_surrogates(text: str) -> str:
    """Return the text with U+FFFD for every lone surrogate."""
    return _SURROGATE.sub("\ufffd", text)


_NOT_BRACKETS = bytes(b for b in range(256) if b not in b"[]{}")
_ONE_KIND = bytes.maketrans(b"{}", b"[]")
_USUAL_DEPTH = 16


def too_deep(raw: bytes, deepest: int = MAX_DEPTH) -> bool:
    """Tell whether the JSON text nests deeper than `deepest`; linear, without recursion."""
    if len(raw) <= deepest or raw.count(b"[") + raw.count(b"{") <= deepest:
        return False
    outside = raw.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')[::2]
    brackets = left = b"".join(outside).translate(_ONE_KIND, _NOT_BRACKETS)
    for _ in range(min(_USUAL_DEPTH, deepest)):  # each time the innermost ones go
        left = left.replace(b"[]", b"")
    if not left:
        return False
    depth = 0
    for bracket in brackets:
        depth += 1 if bracket == ord("[") else -1
        if depth > deepest:
            return True
    return False
