"""Snapshots that are moved in once: page by page, each with how far it is, and then never again.

A reader with `read_from` and `is_legacy` has such files. A page is stored together with its
`LegacyCursor`, so whatever ends an import, the next one goes on behind the last page that is
stored. When a file is complete it is not opened any more, not even to see whose it is.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import apsw

from core.history import legacy_imports, sources
from core.history.sources import FileReading, KnownFile
from core.sources.detect import Reader
from core.sources.records import LegacyCursor, Record, SourceIdentity

if TYPE_CHECKING:
    from core.sources.ingest_plan import Unit

MOVED_IN = "its history was moved in completely; --again reads it once more"


@dataclass(frozen=True, slots=True)
class Page:
    """The end of a page of one file: the rows up to its cursor are in the same batch or before."""

    source: SourceIdentity
    unit: "Unit"
    at: LegacyCursor

    @property
    def root(self) -> str:
        """The folder of the file."""
        return str(self.unit.path.parent)


def is_moved_in(versions: Sequence[KnownFile]) -> bool:
    """Whether a file, given all that is known of it, is left alone from now on."""
    return any(each.legacy is not None and each.legacy.complete for each in versions)


def start(
    path: Path, reader: Reader, known: KnownFile | None, inode: int, *, again: bool
) -> int | None:
    """Return behind which row a file is read on, None where it is read like any other.

    Rows of another file that took its place may be other rows: it is read from its begin.

    Opens the file for a glimpse, so a complete one must not come here unless it is read again.
    """
    is_legacy = getattr(reader, "is_legacy", None)
    if is_legacy is None or not is_legacy(path):
        return None
    if again or known is None or known.legacy is None or known.inode != inode:
        return 0
    return known.legacy.cursor


def records(path: Path, reader: Reader, cursor: int) -> Iterator[Record]:
    """Yield what a snapshot holds behind a row."""
    yield from getattr(reader, "read_from")(path, cursor)  # noqa: B009


def store(db: apsw.Connection, source_id: int, page: Page) -> None:
    """Note in the caller's transaction, which stores the page, how far the file is."""
    unit, stamp = page.unit, page.unit.stamp
    sources.save_file(
        db,
        source_id,
        FileReading(
            path=unit.name,
            device=stamp.device,
            inode=stamp.inode,
            size=stamp.size,
            mtime_ns=stamp.mtime_ns,
            reader_version=unit.reader.READER_VERSION,
            state="reading",
            offset=page.at.cursor,
        ),
    )
    legacy_imports.advance(db, source_id, unit.name, page.at.cursor, complete=page.at.complete)
