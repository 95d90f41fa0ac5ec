"""What was appended to a Claude Code transcript, read by itself.

A new line may join an earlier API message or answer an earlier call; of such a message the
earlier lines are read again, where they stand. What changes more than that asks for a reading
of the whole file.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from core.sources import files
from core.sources.claude_code.messages import Messages
from core.sources.claude_code.outline import Outline
from core.sources.claude_code.tree import Settled, can_go_on
from core.sources.lines import Envelope, JsonObject, Mark, objects
from core.sources.records import (
    BadSourceRecord,
    EarlierChangedError,
    MessageRecord,
    ReaderState,
    ReadTo,
    Record,
    Remark,
    SessionRecord,
    UnknownRecord,
)

MOST_BYTES = 16 << 20
"""More than that appended is read with the whole file."""

_MOST_AGAIN = 200
_BYTES_A_LINE = 300
_BYTES = 10_000

Sessions = Callable[[Path, Outline], Iterator[SessionRecord]]


@dataclass(slots=True)
class Transcript:
    """A transcript that was read to `mark`, and the sessions of it that were told."""

    outline: Outline
    messages: Messages
    mark: Mark
    told: dict[str, SessionRecord] = field(default_factory=dict)

    def state(self) -> Iterator[ReaderState]:
        """Yield what reading on needs, if that can be done at all."""
        if can_go_on(self.outline):
            size = _BYTES + _BYTES_A_LINE * len(self.outline.places)
            yield ReaderState(self, size)


def read_on(
    path: Path, known: Envelope, before: Transcript, sessions: Sessions
) -> Iterator[Record]:
    """Yield what is new in a transcript, and what of the earlier ones that changes.

    Costs what is new, and a few lines more.

    Raises:
        EarlierChangedError: it has to be read whole; before the first record.
    """
    outline = before.outline
    settled = Settled(outline)
    with files.opened(path) as stream:
        total = files.stamp_of(stream).size
        if total - before.mark.offset > MOST_BYTES:
            raise EarlierChangedError
        stream.seek(before.mark.offset)
        found = list(objects(stream, known, mark=before.mark))
        lines = [each for each in found if isinstance(each, JsonObject)]
        if lines and not lines[-1].terminated:
            raise EarlierChangedError  # it is told now, and may be another line later
        unknown = [kind for kind in map(outline.add, lines) if kind is not None]
        again = [
            (group, _earlier(stream, known, outline, group, settled.places))
            for group in sorted(settled.go_on(outline))
        ]
    for each in found:
        if isinstance(each, BadSourceRecord | Remark):
            yield each
    for kind in unknown:
        yield UnknownRecord(kind[:100])
    yield from _messages(path, before, again, lines, settled.places, sessions)
    yield ReadTo(before.mark.offset, total)
    yield from before.state()


def _messages(
    path: Path,
    before: Transcript,
    again: list[tuple[int, list[tuple[int, JsonObject]]]],
    lines: list[JsonObject],
    first: int,
    sessions: Sessions,
) -> Iterator[Record]:
    waiting = {record.native_id: record for record in sessions(path, before.outline)}
    for name, told in before.told.items():
        if (now := waiting.pop(name, told)) != told:
            before.told[name] = now
            yield now
    again_read = (before.messages.read_again(*each) for each in again)
    for record in chain(chain.from_iterable(again_read), before.messages.read_new(first, lines)):
        if isinstance(record, MessageRecord) and record.session in waiting:
            before.told[record.session] = waiting.pop(record.session)
            yield before.told[record.session]
        yield record


def _earlier(
    stream: BinaryIO, known: Envelope, outline: Outline, group: int, end: int
) -> list[tuple[int, JsonObject]]:
    """The lines of an API message before `end`, read where they stand."""
    start = outline.group_starts[group]
    last = min(end, outline.group_ends[group] + 1)
    if last - start > _MOST_AGAIN or any(start in each for each in outline.repeats.values()):
        raise EarlierChangedError
    found = []
    for index in range(start, last):
        if outline.places.group[index] == group:
            offset = outline.places.offset[index]
            stream.seek(offset)
            line = next(objects(stream, known, mark=Mark(offset, 2)), None)
            if not isinstance(line, JsonObject):
                raise EarlierChangedError
            found.append((index, line))
    return found
