"""Reads history into the store: incremental, resumable, and the same however often it runs.

`Import.read_batch` parses in a thread and touches no store; meanwhile `write_batch` stores what
was parsed before, in one transaction, and with a file's last batch how far it was read. So an
import may end at any point, by any cause, and the next one brings the store to the same rows.
"""

import asyncio
import gc
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from typing import NamedTuple, TypeVar

import apsw

from core.history import absence, sources
from core.history.append import Batch, append
from core.history.forks import link_forks
from core.history.sources import LastRun
from core.history.tally import without_messages
from core.index import backfill
from core.index.state import new_holder
from core.sources import legacy
from core.sources.detect import Reader
from core.sources.following import Followed
from core.sources.ingest_held import Lot
from core.sources.ingest_parse import Ended, Parsed, Parser
from core.sources.ingest_plan import Known, Plan, is_export, make_plan
from core.sources.last_word import LastWord
from core.sources.records import SourceIdentity
from core.store.connection import written
from core.store.errors import translated
from core.store.index_state import statuses
from core.store.store import Store
from core.store.waiting import GAP_S
from core.types import FileReport, ImportReport, IndexName, Progress

FIRST_BATCH = 1000
SMALLEST_BATCH = 50
LARGEST_BATCH = 5000
AIM_S = 0.2
"""How long a transaction should take; 0.25 s is what another writer may have to wait."""

COLLECTED_AT = 20_000
"""New objects after which Python looks for cycles; at its own 700 that took a twentieth."""

T = TypeVar("T")


class _Before(NamedTuple):
    """What an import knew before it stored a batch."""

    parsed: Parsed
    sums: tuple[int, int, int]
    source_ids: dict[SourceIdentity, int]
    unknown: Counter[str]
    runs: dict[int, LastRun]
    read: int


class Import:
    """One import of some places, to be used once: `plan`, `begin`, batches, `finish`.

    `followed` is what earlier imports of this process know of files that grow; of those only
    what was appended is read. `again` reads files that are named once more, whatever is known.
    """

    def __init__(
        self,
        paths: Iterable[Path],
        kind: str | None = None,
        *,
        followed: Followed | None = None,
        again: bool = False,
    ) -> None:
        self._paths = list(paths)
        self._again = again
        self._kind = kind
        self._followed = followed
        self._plan = Plan()
        self._parser = Parser(())
        self._batch_messages = FIRST_BATCH
        self._bytes_done = 0
        self._read: list[FileReport] = []
        self._unknown: Counter[str] = Counter()
        self._source_ids: dict[SourceIdentity, int] = {}
        self._runs: dict[int, LastRun] = {}
        self._deleted: set[tuple[SourceIdentity, str]] = set()
        self._silent: set[tuple[int, str]] = set()
        self._silent_files: set[str] = set()
        self._without_messages = 0
        self._new = self._changed = self._conflicts = 0
        self._before: _Before | None = None
        self._last_word = LastWord()

    def plan(self, known: Known, own: Path | None = None) -> None:
        """Look at the places, given what the store knows of their files; no store is needed.

        `own` is the folder of the store, which is never looked into.

        Raises:
            SourceError: there is no such kind.
        """
        self._plan = make_plan(self._paths, self._kind, known, own, again=self._again)
        self._parser = Parser(self._plan.units, self._followed)

    @property
    def has_moves(self) -> bool:
        """Whether `begin` has something to store."""
        return bool(self._plan.moved)

    def begin(self, db: apsw.Connection) -> None:
        """Store, in the caller's transaction, which files moved since they were read."""
        for known, name, stamp in self._plan.moved:
            sources.move_file(db, known.id, name, stamp.inode, stamp.mtime_ns)

    def read_batch(self) -> Parsed | None:
        """Parse on; None when everything is parsed. Nothing is stored, nothing is locked."""
        return self._parser.next_batch(self._batch_messages)

    def reads_again(self) -> bool:
        """Go on with a file that has to be read once more, everything being stored."""
        unit = self._last_word.next_unit()
        if unit is None:
            return False
        unread, self._parser = self._parser.unread, Parser([unit])
        self._parser.unread = unread
        return True

    def write_batch(self, db: apsw.Connection, parsed: Parsed) -> None:
        """Store a batch in the caller's transaction; after it failed it can be stored again."""
        if self._before is not None and self._before.parsed is parsed:
            self._go_back(self._before)
        else:
            self._last_word.stored()
        sums = (self._new, self._changed, self._conflicts)
        ids, unknown = dict(self._source_ids), self._unknown.copy()
        runs = {source_id: copy(run) for source_id, run in self._runs.items()}
        self._before = _Before(parsed, sums, ids, unknown, runs, len(self._read))
        self._write(db, parsed)

    def _go_back(self, before: "_Before") -> None:
        """Forget what became of a batch: its transaction was rolled back."""
        self._new, self._changed, self._conflicts = before.sums
        self._source_ids, self._unknown = before.source_ids, before.unknown
        self._runs = before.runs
        del self._read[before.read :]
        self._last_word.go_back()

    def _write(self, db: apsw.Connection, parsed: Parsed) -> None:
        started = time.monotonic()
        for part in parsed.parts:
            source_id = self._source_id(db, part.source, part.root, part.reader)
            moves = getattr(part.reader, "MOVES", None)
            self._last_word.begin(db, source_id, part.messages)
            batch = Batch(source_id, part.sessions, part.messages, part.reader.REWRITES, moves)
            counts = append(db, batch)
            self._runs[source_id].add(counts.new, counts.changed)
            self._new += counts.new
            self._changed += counts.changed
            self._conflicts += counts.conflicts
            if deleted := {each.native_id for each in part.sessions if each.deleted_at_source}:
                absence.note_deleted(db, source_id, deleted)
                self._deleted |= {(part.source, name) for name in deleted}
        for page in parsed.pages:
            legacy.store(db, self._source_id(db, page.source, page.root, page.unit.reader), page)
        for end in parsed.ended:
            if end.unit.only is not None:
                self._last_word.heard_again(end, self._source_ids)
                continue
            root = str(end.unit.path.parent)
            source_id = self._source_id(db, end.source, root, end.unit.reader)
            file_id = sources.save_file(db, source_id, end.reading)
            self._note_held(db, end, file_id)
            self._last_word.heard(db, end, file_id, self._source_ids)
            self._note_silent(end)
            if getattr(end.unit.reader, "COPIES_SILENTLY", False):
                link_forks(db, source_id, sorted(end.sessions))
            self._read.append(end.report)
            self._unknown.update(end.reading.unknown_records)
        self._adapt(parsed.messages, time.monotonic() - started)

    def _note_held(self, db: apsw.Connection, end: Ended, file_id: int) -> None:
        """Store which sessions the file holds; one that was deleted there is gone all the same."""
        held = [
            (self._source_ids[source], name)
            for source, name in end.held.names() - self._deleted
            if source in self._source_ids
        ]
        is_snapshot = is_export(end.unit.reader, end.unit.path)
        absence.note_sessions(db, file_id, held, only=end.is_whole and not is_snapshot)

    def _note_silent(self, end: Ended) -> None:
        """Take note of who said nothing; another file may yet tell what was said."""
        if end.is_silent:
            self._silent_files.add(end.unit.name)
        if end.is_whole:
            self._silent |= {
                (self._source_ids[source], name)
                for source, name in end.held.silent()
                if source in self._source_ids
            }

    def told(self, parsed: Parsed) -> Iterator[Lot]:
        """Yield what a stored batch tells of files that it ends and that were read before."""
        for end in parsed.ended:
            if end.held.compares and end.is_whole:
                yield from end.held.lots()

    def note_absent(self, db: apsw.Connection, lot: Lot) -> None:
        """Mark, in the caller's transaction, the messages that are stored and were not told."""
        for (source, name), told in lot.told.items():
            if source in self._source_ids:
                absence.note_messages(db, self._source_ids[source], name, told)

    def finish(self, db: apsw.Connection) -> None:
        """Store, in the caller's transaction, which files vanished, and the sums."""
        absence.note_files_back(db, self._plan.back)
        sources.mark_gone(db, self._plan.gone)
        absence.note_gone_files(db, self._plan.lost)
        for source_id, files in self._plan.unchanged.items():
            self._runs.setdefault(source_id, LastRun()).skipped = files
        sources.end_run(db, self._runs)
        self._without_messages = without_messages(db, self._silent)

    def close(self) -> None:
        """End early; a file that was not read to its end is read again by the next import."""
        self._parser.close()

    def progress(self, parsed: Parsed) -> Progress:
        """Tell how far the import is after a batch was stored, in bytes of the files.

        This is also where a followed file is known to be stored.
        """
        if self._followed is not None:
            for end in parsed.ended:
                if end.kept is not None:
                    self._followed.keep(end.kept)
        self._bytes_done = min(self._plan.bytes, self._bytes_done + parsed.bytes_read)
        messages = self._new + self._changed
        return Progress(self._bytes_done, self._plan.bytes, "bytes", parsed.what, messages)

    def report(self) -> ImportReport:
        """Return what the import has done so far; files in order of their paths."""
        reports = [*self._read, *self._parser.unread, *self._plan.reports]
        return ImportReport(
            new=self._new,
            changed=self._changed,
            skipped=self._plan.skipped,
            failed=sum(each.outcome == "failed" for each in reports),
            files=tuple(sorted(reports, key=lambda each: each.path)),
            unknown_records=dict(self._unknown),
            conflicts=self._conflicts,
            unchanged=self._plan.as_read,
            sessions_without_messages=(
                self._without_messages + len(self._silent_files) + self._plan.empty
            ),
        )

    def _source_id(
        self, db: apsw.Connection, source: SourceIdentity, root: str, reader: Reader
    ) -> int:
        found = self._source_ids.get(source)
        if found is None:
            found = sources.ensure_source(db, source, root, reader.READER_VERSION)
            self._source_ids[source] = found
            self._runs.setdefault(found, LastRun())
        return found

    def _adapt(self, messages: int, elapsed_s: float) -> None:
        """Make the next batch as large as the time of a full one allows."""
        if messages >= self._batch_messages:
            factor = min(2.0, max(0.25, AIM_S / max(elapsed_s, 0.001)))
            wanted = int(self._batch_messages * factor)
            self._batch_messages = min(LARGEST_BATCH, max(SMALLEST_BATCH, wanted))


def run_sync(db: apsw.Connection, job: Import) -> Iterator[Progress]:
    """Import on one connection; yields after every transaction.

    Closing the generator ends the import between two of them, and loses nothing but time.

    Raises:
        SourceError: there is no such kind.
        StoreError: the store cannot be written.
    """
    with translated(db.filename), _rare_collections():
        job.plan(sources.known_files(db), Path(db.filename).parent)
        if job.has_moves:
            written(db, job.begin)
        with ThreadPoolExecutor(1, "parsing") as ahead:
            reading = ahead.submit(job.read_batch)
            try:
                while (parsed := reading.result()) is not None or job.reads_again():
                    reading = ahead.submit(job.read_batch)
                    if parsed is None:
                        continue
                    written(db, job.write_batch, parsed)
                    for lot in job.told(parsed):
                        written(db, job.note_absent, lot)
                    yield job.progress(parsed)
                    time.sleep(GAP_S)
            finally:
                wait({reading})
                job.close()
        written(db, job.finish)
        yield from backfill.run_sync(db, new_holder(), _unsettled(db))


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Let Python look for cycles less often: records have none, and there are very many."""
    before = gc.get_threshold()
    gc.set_threshold(before[0] and max(before[0], COLLECTED_AT), *before[1:])  # 0 is never
    try:
        yield
    finally:
        gc.set_threshold(*before)


async def run(store: Store, job: Import) -> AsyncIterator[Progress]:
    """Import through the store's writer, parsing in a thread; yields after every transaction.

    Cancelling the task, or closing the generator, ends the import between two transactions.

    Raises:
        SourceError, StoreError: as `run_sync`.
    """
    known = await store.read(sources.known_files)
    await _ended(asyncio.create_task(asyncio.to_thread(job.plan, known, store.path.parent)))
    if job.has_moves:
        await store.write(job.begin)
    reading = asyncio.create_task(asyncio.to_thread(job.read_batch))
    try:
        while (parsed := await _ended(reading)) is not None or job.reads_again():
            reading = asyncio.create_task(asyncio.to_thread(job.read_batch))
            if parsed is None:
                continue
            await store.write(job.write_batch, parsed)
            for lot in job.told(parsed):
                await store.write(job.note_absent, lot)
            yield job.progress(parsed)
            await asyncio.sleep(GAP_S)
    finally:
        await asyncio.wait({reading})
        job.close()
    await store.write(job.finish)
    names = await store.read(_unsettled)
    async for progress in backfill.run(store, new_holder(), names, lambda: False):
        yield progress


async def _ended(work: asyncio.Task[T]) -> T:
    """Wait for work in a thread; a cancelled caller waits until it has really ended."""
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        await asyncio.wait({work})
        raise


def _unsettled(db: apsw.Connection) -> tuple[IndexName, ...]:
    """The indexes that bulk work left with merges to do."""
    return tuple(each.name for each in statuses(db) if each.state == "settling")
