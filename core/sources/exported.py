"""The conversations of an export: a zip, or one file of JSON or JSON lines.

One conversation is held at a time, and nothing is unpacked to the disk.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from core.errors import SourceError
from core.sources import archive
from core.sources import files as source_files
from core.sources.json_array import elements
from core.sources.lines import MAX_DEPTH, JsonObject, Readable, objects
from core.sources.records import BadSourceRecord, ReadTo, Remark, UnknownRecord

GLIMPSE_BYTES = 256 << 10
_TOKEN = re.compile(rb'("(?:[^"\\]|\\.)*+")(?=\s*+:)|"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[{}]', re.DOTALL)
_TEXTS = {".html", ".json", ".jsonl"}

Names = Callable[[PurePath], bool]
"""Tells by the path within an archive whether an entry holds conversations."""

Test = Callable[[Mapping[str, Any]], bool]
"""Tells a conversation from any other object."""


class Found(NamedTuple):
    """A conversation as exported; `raw_ref` says where its bytes are."""

    value: dict[str, Any]
    raw_ref: str


def head(path: Path, is_wanted: Names) -> bytes:
    """Return how a file begins, or the first wanted entry of a zip, as UTF-8.

    b'' for a zip without one.

    Raises:
        SourceError: it cannot be read, or is an archive that is refused.
    """
    if not archive.is_zip(path):
        with source_files.opened(path) as stream:
            return source_files.as_utf8(stream).read(GLIMPSE_BYTES)
    with archive.opened(path) as opened:
        for entry in opened.entries(is_wanted)[:1]:
            with opened.open(entry) as stream:
                return stream.read(GLIMPSE_BYTES)
    return b""


def has_key(head: bytes, name: str, *, depth: int = 2) -> bool:
    """Tell whether an object that is nested at most `depth` deep has a key of that name.

    A text or a tool's arguments may hold the same word, but lie deeper. `head` may end anywhere.
    """
    key = f'"{name}"'.encode()
    if key not in head:
        return False
    level = 0
    for token in _TOKEN.finditer(head):
        if token.group() in b"{}":
            level += 1 if token.group() == b"{" else -1
        elif token.group(1) == key and level <= depth:
            return True
    return False


def names(path: Path) -> frozenset[str]:
    """Return the paths of the texts in a zip; none for what is no zip, or one that is refused."""
    try:
        if not archive.is_zip(path):
            return frozenset()
        with archive.opened(path) as opened:
            entries = opened.entries(lambda name: name.suffix in _TEXTS)
            return frozenset(entry.filename for entry in entries)
    except SourceError:
        return frozenset()


def conversations(
    path: Path, is_wanted: Names, is_conversation: Test, deepest: int = MAX_DEPTH
) -> Iterator[Found | BadSourceRecord | Remark | UnknownRecord | ReadTo]:
    """Yield the conversations of an export in its order, and what else was met.

    An object that is none is unknown; a list of them in an object `conversations` is taken
    out, since some tools wrap them so. One that nests deeper than `deepest` is a bad record.

    Raises:
        SourceError: it cannot be read, or is an archive that is refused or has none.
    """
    if not archive.is_zip(path):
        with source_files.opened(path) as stream:
            size = source_files.stamp_of(stream).size
            text = source_files.as_utf8(stream)
            yield from _of_file(path, text, is_conversation, deepest, "", (0, size))
        return
    with archive.opened(path) as opened:
        entries = opened.entries(is_wanted)
        if not entries:
            raise SourceError(f"{path} holds no conversations*.json", path=str(path))
        before, total = 0, sum(entry.file_size for entry in entries)
        for entry in entries:
            name = PurePath(entry.filename)
            with opened.open(entry) as stream:
                at = f"{entry.filename}@"
                done = (before, total)
                yield from _of_file(name, stream, is_conversation, deepest, at, done)
            before += entry.file_size


def _of_file(
    name: PurePath,
    stream: Readable,
    is_conversation: Test,
    deepest: int,
    at: str,
    progress: tuple[int, int],
) -> Iterator[Found | BadSourceRecord | Remark | UnknownRecord | ReadTo]:
    """Yield what one file holds; `at` names it in references to its bytes."""
    before, total = progress
    is_lines = name.suffix in (".jsonl", ".ndjson")
    read = objects if is_lines else partial(elements, deepest=deepest)
    for found in read(stream, is_conversation):
        if not isinstance(found, JsonObject):
            yield found
            continue
        for value in _wrapped(found, is_conversation):
            if is_conversation(value):
                yield Found(value, at + found.raw_ref)
            else:
                yield UnknownRecord("object")
        yield ReadTo(before + found.offset + found.length, total)


def _wrapped(found: JsonObject, is_conversation: Test) -> Iterator[dict[str, Any]]:
    inner = found.value.get("conversations")
    if isinstance(inner, list) and not is_conversation(found.value):
        yield from (value for value in inner if isinstance(value, dict))
    else:
        yield found.value
