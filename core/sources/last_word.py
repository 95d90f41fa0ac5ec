"""Two files that hold one session: the one that knows it longest has the last word.

A copy of a history may be older than what it was made of, and an import reads it all the same.
What it says of a session that another file has told to a later moment is set right by reading
the other file once more, of those sessions alone.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import apsw

from core.errors import SourceError
from core.history import sources
from core.history.sources import KnownFile
from core.sources import detect, files
from core.sources.ingest_parse import Ended
from core.sources.ingest_plan import Unit, is_export
from core.sources.records import MessageRecord, SourceIdentity


@dataclass(slots=True)
class _Waiting:
    """A file that is to be read once more, and the sessions of which it is heard.

    `rivals` are the files that end just when this one does, by session, and how much they say.
    """

    known: KnownFile
    names: set[str] = field(default_factory=set)
    rivals: dict[str, tuple[KnownFile, int]] = field(default_factory=dict)


class LastWord:
    """The files that an import has to read once more, in the order in which that was seen.

    Exports say themselves as of when they are, and snapshots that are moved in once are not
    opened again: neither is ever read once more. Nor are messages without ids.
    """

    def __init__(self) -> None:
        self._waiting: dict[int, _Waiting] = {}
        self._reached: dict[tuple[int, str], int | None] = {}
        self._rivals: dict[str, tuple[KnownFile, int]] = {}
        self._before: list[tuple[tuple[int, str], int | None]] = []

    def begin(self, db: apsw.Connection, row: int, messages: Iterable[MessageRecord]) -> None:
        """Note to which moment a source's sessions are known, before more of them is stored."""
        for name in {record.session for record in messages}:
            if (row, name) not in self._reached:
                self._reached[row, name] = sources.last_active(db, row, name)

    def stored(self) -> None:
        """Note that a batch is stored: what was heard with it stands."""
        self._before.clear()

    def go_back(self) -> None:
        """Forget to which moments the files of a batch went: its transaction was rolled back."""
        for key, reached in reversed(self._before):
            self._reached[key] = reached
        self._before.clear()

    def heard(
        self,
        db: apsw.Connection,
        end: Ended,
        file_id: int,
        source_ids: Mapping[SourceIdentity, int],
    ) -> None:
        """Take note of a file that was read, once its messages are stored.

        It is overruled where it ends before another one that is still there. Where both end
        alike and it is met for the first time, the one that says more is right, else the other.
        One query for each such session.
        """
        unit = end.unit
        self._waiting.pop(file_id, None)
        if unit.cursor is not None or is_export(unit.reader, unit.path):
            return
        for (source, name), said in end.held.said.items():
            row, last_ms = source_ids.get(source), said.last_ms
            if row is None or getattr(unit.reader, "ALIGNS", False):
                continue
            reached = self._reached.get((row, name))
            if last_ms is not None and (reached is None or last_ms > reached):
                self._before.append(((row, name), reached))
                self._reached[row, name] = last_ms
            elif (last_ms is not None and last_ms != reached) or unit.known is None:
                rival = (_known(end, row, file_id), said.chars)
                for known in sources.others_holding(db, row, name, file_id):
                    waiting = self._waiting.setdefault(known.id, _Waiting(known))
                    waiting.names.add(name)
                    if last_ms is None or last_ms == reached:
                        waiting.rivals[name] = rival

    def heard_again(self, end: Ended, source_ids: Mapping[SourceIdentity, int]) -> None:
        """Take note of a file that was read once more: what it knows longest is settled."""
        for (source, name), said in end.held.said.items():
            row, last_ms = source_ids.get(source), said.last_ms
            reached = None if row is None else self._reached.get((row, name))
            rival, chars = self._rivals.get(name, (None, 0))
            if rival is not None and said.chars < chars:
                waiting = self._waiting.pop(rival.id, None) or _Waiting(rival)
                waiting.names.add(name)
                self._waiting[rival.id] = waiting  # the last of them
            elif last_ms is not None and reached is not None and last_ms >= reached:
                for each in self._waiting.values():
                    if each.known.source_id == row:
                        each.names.discard(name)

    def next_unit(self) -> Unit | None:
        """Return the next file to be read once more; None where there is none."""
        while self._waiting:
            row = next(iter(self._waiting))
            waiting = self._waiting.pop(row)
            known, names = waiting.known, frozenset(waiting.names)
            self._rivals = waiting.rivals
            reader, path = detect.READERS.get(known.kind), Path(known.path)
            if reader is None or not names or is_export(reader, path):
                continue
            try:
                stamp = files.stamp(path)
            except SourceError:
                continue  # it went since; what it told stays as it is
            return Unit(path, known.path, reader, stamp, known, None, names)
        return None


def _known(end: Ended, row: int, file_id: int) -> KnownFile:
    reading, source, known = end.reading, end.source, end.unit.known
    return KnownFile(
        file_id,
        row,
        source.kind,
        source.instance,
        reading.path,
        reading.inode,
        reading.size,
        reading.mtime_ns,
        reading.reader_version,
        reading.state,
        reading.head_hash,
        reading.tail_hash,
        known.named_as if known else None,
    )
