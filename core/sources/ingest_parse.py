"""The parsing half of an import: files in, batches of records out, no store in sight."""

import time
from collections import Counter
from collections.abc import Generator, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from core.errors import SourceError
from core.history.bodies import clean
from core.history.sources import BAD_RECORDS_KEPT, FileReading
from core.sources import files, legacy
from core.sources.detect import Reader
from core.sources.following import Followed, Kept
from core.sources.ingest_held import Held
from core.sources.ingest_plan import Unit, is_export
from core.sources.legacy import Page
from core.sources.lines import HALF_A_LINE
from core.sources.records import (
    BadSourceRecord,
    EarlierChangedError,
    LegacyCursor,
    MessageRecord,
    ReaderState,
    ReadTo,
    Record,
    Remark,
    SessionRecord,
    SourceIdentity,
    UnknownRecord,
)
from core.types import BadRecord, FileReport

BATCH_CHARS = 8_000_000
READ_S = 0.25
"""After so long parsing comes back with what it has, so that somebody can see and stop it."""

_REMARKS_TOLD = 3


@dataclass(slots=True)
class Part:
    """Consecutive records of one source."""

    source: SourceIdentity
    root: str
    reader: Reader
    sessions: list[SessionRecord] = field(default_factory=list)
    messages: list[MessageRecord] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Ended:
    """A file that was read to its end, or as far as it could be.

    `is_whole` tells that the reading began at the file's begin and met no fault. `sessions`
    are those of `source` that it told, `held` all that the file holds. `is_silent` tells that a
    whole reading met neither a session nor a message, though there was something to read, or
    not a byte. `kept` is what reading
    on needs, where somebody follows the file.
    """

    source: SourceIdentity
    unit: Unit
    reading: FileReading
    report: FileReport
    sessions: frozenset[str]
    held: Held
    is_whole: bool = True
    is_silent: bool = False
    kept: Kept | None = None


@dataclass(slots=True)
class Parsed:
    """What one transaction stores: records, and the files and pages that end with them."""

    parts: list[Part] = field(default_factory=list)
    ended: list[Ended] = field(default_factory=list)
    messages: int = 0
    chars: int = 0
    bytes_read: int = 0
    what: str = ""
    pages: list[Page] = field(default_factory=list)

    def is_full(self, most_messages: int) -> bool:
        """Whether it is as much as one transaction should store."""
        return self.messages >= most_messages or self.chars >= BATCH_CHARS


@dataclass(slots=True)
class _Reading:
    """A file that is being read. `told` are the bytes of it that progress knows of.

    `before` is what was read of it earlier, where the reading goes on from there. `begun` are
    the hashes of a followed file before it was read.
    """

    unit: Unit
    home: SourceIdentity
    source: SourceIdentity
    before: Kept | None = None
    records: Generator[Record, None, None] = field(init=False)
    offset: int = 0
    told: int = 0
    messages: int = 0
    sessions: set[str] = field(default_factory=set)
    held: Held = field(default_factory=Held)
    unknown: Counter[str] = field(default_factory=Counter)
    bad: list[BadRecord] = field(default_factory=list)
    bad_count: int = 0
    remarks: list[str] = field(default_factory=list)
    remark_count: int = 0
    is_half: bool = False  # it ends within a line: somebody may be writing it just now
    state: ReaderState | None = None
    begun: tuple[bytes | None, bytes | None] = (None, None)

    def __post_init__(self) -> None:
        self.records = self._records()
        self.held.compares = self.before is None and _is_comparable(self.unit)

    def _records(self) -> Generator[Record, None, None]:
        """Yield what is new in the file, or where that cannot be told apart, all of it."""
        reader, path = self.unit.reader, self.unit.path
        if self.unit.cursor is not None:
            yield from legacy.records(path, reader, self.unit.cursor)
            return
        if self.before is not None:
            self._go_on(self.before)
            try:
                yield from getattr(reader, "read_on")(path, self.before.state)  # noqa: B009
                return
            except EarlierChangedError:
                self._begin_anew()
        first_name = self.unit.known.named_as if self.unit.known else None
        if first_name is not None and hasattr(reader, "read_named"):
            yield from getattr(reader, "read_named")(path, Path(first_name))  # noqa: B009
        else:
            yield from reader.read(path)

    def _go_on(self, before: Kept) -> None:
        self.offset = before.reading.offset
        self.sessions, self.unknown = set(), Counter(before.unknown)
        for source, name in before.sessions:
            self.held.session(source, name)
        self.bad, self.bad_count = list(before.bad), before.bad_count

    def _begin_anew(self) -> None:
        self.before, self.offset = None, 0
        self.held, self.unknown = Held(_is_comparable(self.unit)), Counter()
        self.bad, self.bad_count = [], 0


def _is_comparable(unit: Unit) -> bool:
    """Whether what a file does not tell, and did before, is no longer in it."""
    reader, known = unit.reader, unit.known
    return (
        known is not None
        and known.reader_version == reader.READER_VERSION
        and unit.cursor is None
        and unit.only is None
        and not is_export(reader, unit.path)
    )


class Parser:
    """Reads files one after the other; `unread` are those that could not even be opened."""

    def __init__(self, units: Iterable[Unit], followed: Followed | None = None) -> None:
        self.unread: list[FileReport] = []
        self._waiting = iter(units)
        self._followed = followed
        self._reading: _Reading | None = None

    def next_batch(self, most_messages: int) -> Parsed | None:
        """Parse on until a batch is full or it is time to come back; None at the end.

        What cannot be read ends its file alone.
        """
        parsed, until = Parsed(), time.monotonic() + READ_S
        while True:
            if self._reading is None and not self._open_next():
                return parsed if parsed.parts or parsed.pages or parsed.ended else None
            if not self._read_on(parsed, most_messages, until) or time.monotonic() > until:
                return parsed

    def close(self) -> None:
        """End early: what is open is closed, and nothing more is opened."""
        if self._reading is not None:
            self._reading.records.close()
            self._reading = None
        self._waiting = iter(())

    def _open_next(self) -> bool:
        for unit in self._waiting:
            try:
                source = unit.reader.identity(unit.path)
            except (SourceError, OSError) as error:
                if unit.only is not None:
                    continue  # it was read before, and what it told is stored
                self.unread.append(FileReport(unit.name, "failed", reason=_words(error)))
                continue
            self._reading = _Reading(unit, source, source, self._before(unit))
            if self._followed is not None:
                self._reading.begun = _hashes(unit)
            return True
        return False

    def _before(self, unit: Unit) -> Kept | None:
        """What reading on needs, where the file is followed and only grew."""
        if self._followed is None or unit.known is None or not hasattr(unit.reader, "read_on"):
            return None
        if unit.known.reader_version != unit.reader.READER_VERSION:
            return None
        return self._followed.take(unit.path, unit.known)

    def _read_on(self, parsed: Parsed, most_messages: int, until: float) -> bool:
        """Parse the open file on; false when it was left before its end."""
        reading = self._reading
        if reading is None:
            return True
        parsed.what = reading.unit.path.name
        part = _part(parsed, reading)
        in_pieces = not getattr(reading.unit.reader, "ALIGNS", False)
        only = reading.unit.only
        try:
            for record in reading.records:
                if isinstance(record, MessageRecord):
                    if not record.session.isascii():
                        record = replace(record, session=clean(record.session))
                    if only is not None and record.session not in only:
                        continue
                    part.messages.append(record)
                    reading.held.message(reading.source, record)
                    reading.messages += 1
                    parsed.messages += 1
                    parsed.chars += len(record.content) + len(record.reasoning or "")
                    if in_pieces and parsed.is_full(most_messages):
                        return False
                elif isinstance(record, SessionRecord):
                    if not record.native_id.isascii():  # the name of a file may be no text
                        record = replace(record, native_id=clean(record.native_id))
                    if only is not None and record.native_id not in only:
                        continue
                    part.sessions.append(record)
                    reading.sessions.add(record.native_id)
                    reading.held.session(reading.source, record.native_id)
                elif isinstance(record, SourceIdentity):
                    reading.source = record
                    part = _part(parsed, reading)
                else:
                    _note(record, reading, parsed)
                    may_end = in_pieces or isinstance(record, ReadTo | LegacyCursor)
                    if may_end and (time.monotonic() > until or parsed.is_full(most_messages)):
                        return False
        except (SourceError, OSError) as error:
            self._end(parsed, reading, _words(error))
        else:
            self._end(parsed, reading, None)
        return True

    def _end(self, parsed: Parsed, reading: _Reading, error: str | None) -> None:
        unit, self._reading = reading.unit, None
        parsed.bytes_read += unit.stamp.size - reading.told
        report = FileReport(
            unit.name,
            "failed" if error else "changed" if unit.known else "new",
            len(reading.sessions),
            reading.messages,
            error or _told(reading),
            tuple(reading.bad),
        )
        told = _file_reading(reading, error)
        kept = _kept(reading, told) if self._followed is not None else None
        sessions = frozenset(reading.sessions)
        is_whole = reading.before is None and error is None
        is_whole = is_whole and not reading.bad_count and not reading.is_half
        is_silent = is_whole and not reading.held.sessions and _was_to_speak(reading)
        parsed.ended.append(
            Ended(
                *(reading.home, unit, told, report, sessions, reading.held),
                *(is_whole, is_silent, kept),
            )
        )


def _was_to_speak(reading: _Reading) -> bool:
    """Whether a session could have been in a file: what was left to another was not gone into."""
    return reading.offset > 0 or reading.unit.stamp.size == 0


def _kept(reading: _Reading, told: FileReading) -> Kept | None:
    """What reading on will need, if the file was read to its end and its reader can.

    One whose bytes became others meanwhile is not the one that was read.
    """
    if reading.state is None or told.state != "done":
        return None
    if (told.head_hash, told.tail_hash) != reading.begun:
        return None
    try:
        with files.opened(reading.unit.path) as stream:
            hashes = files.hashes(stream, told.offset)
    except SourceError:
        return None
    sessions, bad = reading.held.names(), tuple(reading.bad)
    unknown = Counter(reading.unknown)
    return Kept(told, reading.state, hashes, unknown, bad, reading.bad_count, sessions)


def _told(reading: _Reading) -> str | None:
    """What is worth telling of a file that was read."""
    remarks = list(reading.remarks)
    if more := reading.remark_count - len(reading.remarks):
        remarks.append(f"{more:,} more {'remark is' if more == 1 else 'remarks are'} not listed")
    if more := reading.bad_count - len(reading.bad):
        remarks.append(f"{more:,} more bad records are not listed")
    return "; ".join(remarks) or None


def _part(parsed: Parsed, reading: _Reading) -> Part:
    """The part of a batch that records of this file go to."""
    if parsed.parts and parsed.parts[-1].source == reading.source:
        return parsed.parts[-1]
    root = str(reading.unit.path.parent)
    parsed.parts.append(Part(reading.source, root, reading.unit.reader))
    return parsed.parts[-1]


def _note(record: Record, reading: _Reading, parsed: Parsed) -> None:
    """Take in what a reader says about its file."""
    if isinstance(record, ReadTo):
        reading.offset = max(reading.offset, record.offset)
        if record.total:  # of bytes or rows; progress is told in bytes of the file
            share = min(1.0, record.offset / record.total)
            told = max(reading.told, int(share * reading.unit.stamp.size))
            parsed.bytes_read += told - reading.told
            reading.told = told
    elif isinstance(record, ReaderState):
        reading.state = record
    elif isinstance(record, LegacyCursor):
        parsed.pages.append(Page(reading.home, reading.unit, record))
    elif isinstance(record, UnknownRecord):
        reading.unknown[record.type] += 1
    elif isinstance(record, BadSourceRecord):
        if len(reading.bad) < BAD_RECORDS_KEPT:
            reading.bad.append(BadRecord(reading.unit.name, record.line, record.reason))
        reading.bad_count += 1
    elif isinstance(record, Remark):
        if len(reading.remarks) < _REMARKS_TOLD:
            words = f"line {record.line}: {record.text}" if record.line else record.text
            reading.remarks.append(words)
        reading.remark_count += 1
        reading.is_half = reading.is_half or record.text == HALF_A_LINE


def _file_reading(reading: _Reading, error: str | None) -> FileReading:
    unit = reading.unit
    head, tail = _hashes(unit)
    return FileReading(
        path=unit.name,
        device=unit.stamp.device,
        inode=unit.stamp.inode,
        size=unit.stamp.size,
        mtime_ns=unit.stamp.mtime_ns,
        reader_version=unit.reader.READER_VERSION,
        state="done" if error is None else "failed",
        offset=reading.offset,
        head_hash=head,
        tail_hash=tail,
        error=error,
        unknown_records=reading.unknown,
        bad_records=[(bad.line, bad.reason) for bad in reading.bad],
    )


def _hashes(unit: Unit) -> tuple[bytes | None, bytes | None]:
    """The hashes by which a moved file is known again, none if it cannot be opened."""
    try:
        with files.opened(unit.path) as stream:
            return files.hashes(stream, unit.stamp.size)
    except SourceError:
        return None, None


def _words(error: SourceError | OSError) -> str:
    if isinstance(error, SourceError):
        return str(error)
    return f"{error.filename or 'a file'} cannot be read: {error.strerror or error}"
