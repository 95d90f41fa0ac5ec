"""What of a message is looked through for plain text, however long it is."""

import codecs
from collections.abc import Iterator, Sequence
from typing import Any

import apsw

from core.graphemes import start_of
from core.history.bodies import read_calls
from core.recall.plain_text import (
    CHUNK_CHARS,
    Sought,
    count,
    count_in,
    cut_behind,
    nth_start,
    stretches,
)
from core.text import argument_values, project, project_with_map
from core.types import Origin, Role, ToolCall

STREAMED_BYTES = 1_048_576
"""A longer text is read from the store piece by piece."""

REASONING, CONTENT, CALL = "reasoning", "content", "call"

_WITHOUT_CALLS = (Origin.INJECTED, Origin.SYNTHETIC)
_TEXT = "coalesce(m.search_text, m.content)"

COLUMNS = (
    "m.role, m.origin, m.search_text IS NULL, m.reasoning IS NOT NULL,"
    f" CASE WHEN octet_length({_TEXT}) <= {STREAMED_BYTES} THEN {_TEXT} END,"
    f" CASE WHEN octet_length(m.reasoning) <= {STREAMED_BYTES} THEN m.reasoning END,"
    " m.tool_calls"
)
"""What `MessageTexts` is made of, of `messages AS m`."""


def call_name(at: int) -> str:
    """Return the name of the part that is a message's call number `at`, from 0."""
    return f"{CALL}:{at}"


def call_texts(call: ToolCall) -> list[str]:
    """Return what is looked through of a call: its name, its argument values, its result."""
    result = [call.result] if call.result else []
    return [call.name, *argument_values(call.arguments), *result]


class MessageTexts:
    """The texts of one message by the name of their part, read when they are asked for.

    System, injected and added messages show no calls, nor do tool rows.
    """

    def __init__(self, db: apsw.Connection, message_id: int, row: Sequence[Any]) -> None:
        role, origin, self._is_projected, self._has_reasoning, *texts = row
        self._folded, self._reasoning, calls = texts
        self._db, self._id = db, message_id
        shows_calls = role not in (Role.TOOL, Role.SYSTEM) and origin not in _WITHOUT_CALLS
        self._calls = read_calls(calls) if shows_calls else ()

    def parts(self) -> Iterator[str]:
        """Yield the names of the texts in the order they are read on the screen."""
        if self._has_reasoning:
            yield REASONING
        yield CONTENT
        yield from (call_name(at) for at in range(len(self._calls)))

    def count_all(self, wanted: Sought) -> int:
        """Return how often all texts together hold it."""
        folded = self._folded
        if (
            folded is not None
            and len(folded) <= CHUNK_CHARS
            and not self._has_reasoning
            and not self._calls
        ):
            return count_in(wanted, folded)
        return sum(self.count(part, wanted) for part in self.parts())

    def count(self, part: str, wanted: Sought) -> int:
        """Return how often a text holds it."""
        if part.startswith(CALL):
            texts = call_texts(self._calls[int(part.removeprefix(f"{CALL}:"))])
            return sum(count(wanted, stretches(project(text))) for text in texts)
        return count(wanted, self._projected(part))

    def start(self, part: str, wanted: Sought, number: int) -> int:
        """Return where the match `number` of a text begins in it as it is stored.

        Of a call that is the number itself: it has many texts.
        """
        if part.startswith(CALL):
            return number
        start = nth_start(wanted, self._projected(part), number)
        if start is None:
            raise ValueError(f"{part} has no match {number}")
        if part == CONTENT and self._is_projected:
            return start
        return _unprojected(start, self._stored(part))

    def _projected(self, part: str) -> Iterator[str]:
        if part == REASONING:
            return map(project, self._stored(part))
        if self._folded is not None:
            return stretches(self._folded)
        return self._streamed("content" if self._is_projected else "search_text")

    def _stored(self, part: str) -> Iterator[str]:
        if part == REASONING and self._reasoning is not None:
            return stretches(self._reasoning)
        return self._streamed(part)

    def _streamed(self, column: str) -> Iterator[str]:
        """Yield a column in stretches; no more of it is in memory at a time."""
        decode = codecs.getincrementaldecoder("utf-8")().decode
        held = ""
        with self._db.blob_open("main", "messages", column, self._id, False) as blob:
            while read := blob.read(CHUNK_CHARS):
                held += decode(read)
                if len(held) > CHUNK_CHARS:
                    end = start_of(held, cut_behind(held, CHUNK_CHARS))
                    yield held[:end]
                    held = held[end:]
        if held:
            yield held


def _unprojected(start: int, stored: Iterator[str]) -> int:
    """Return where the character `start` of a projected text comes from."""
    at = 0
    for stretch in stored:
        length = len(project(stretch))
        if start < length:
            return at + project_with_map(stretch)[1][start]
        start -= length
        at += len(stretch)
    return at
