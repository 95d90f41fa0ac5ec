"""Looking for a text in the raw files of programs, as they lie there, within bounds."""

import json
import os
import re
import time
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import apsw

from core.errors import SourceError
from core.sources import archive, detect, files, foreign_sqlite, there
from core.sources.codex.rollout_files import UnpackError, opened
from core.sources.ingest_plan import NEVER_WALKED
from core.sources.lines import Readable

MOST_BYTES = 4 << 30
MOST_S = 8.0
MOST_FOUND = 20
_CHUNK = 1 << 20
_SQLITE_STEPS = 10_000
_COLUMNS_AT_ONCE = 20  # a copy of a foreign database takes expressions of 100 levels at most
_LIKE_ESCAPES = str.maketrans({"\\": "\\\\", "%": "\\%", "_": "\\_"})


@dataclass(frozen=True, slots=True)
class RawPlace:
    """Where to look: a file or folder, and the kind of its reader ('' for any).

    Of a folder that is not `deep` only the files directly in it are looked into.
    """

    path: str
    kind: str
    deep: bool = True


@dataclass(frozen=True, slots=True)
class RawMatch:
    """A file that holds the text, at 1-based `line` (0: in its name, or in no line)."""

    path: str
    place: RawPlace
    line: int
    size: int
    mtime_ns: int


@dataclass(slots=True)
class RawLook:
    """What was looked through. `reasons` say what was not; it is complete without any."""

    matches: list[RawMatch] = field(default_factory=list)
    places: int = 0
    files: int = 0
    bytes: int = 0
    reasons: list[str] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether everything was looked through."""
        return not self.reasons


class _OutOfTimeError(Exception):
    """The look is over; what was not looked at is said."""


def look(
    text: str,
    places: Iterable[RawPlace],
    most_s: float = MOST_S,
    most_bytes: int = MOST_BYTES,
    stop: Callable[[], bool] = lambda: False,
    left_alone: Collection[str] = (),
) -> RawLook:
    """Look for a text in the names of the files at these places, then in what they hold.

    The newest files first, without regard to the case of ASCII letters. Nothing but regular
    files is opened, none that holds credentials, and none that is `left_alone`: what a snapshot
    held is stored.
    """
    found = RawLook()
    until = time.monotonic() + most_s
    needle = text.strip()
    if not needle:
        return found
    listed = [each for each in _listed(places, found) if each.path not in left_alone]
    in_name = [each for each in listed if needle.casefold() in Path(each.path).name.casefold()]
    found.matches = in_name[:MOST_FOUND]
    named = {each.path for each in in_name}
    pattern = _pattern(needle)
    for n, each in enumerate(listed):
        if len(found.matches) >= MOST_FOUND:
            left = len(listed) - n
            found.reasons.append(f"{left:,} files were left out: there are matches enough")
            break
        try:
            if stop():
                raise _OutOfTimeError("it was stopped")
            line = _line_in(Path(each.path), needle, pattern, until, most_bytes, found)
        except _OutOfTimeError as error:
            found.reasons.append(f"{len(listed) - n:,} of {len(listed):,} files were left: {error}")
            break
        except (SourceError, OSError, UnpackError, zlib.error, apsw.Error) as error:
            found.reasons.append(_unread(each.path, error))
            continue
        found.files += 1
        if line is not None and each.path not in named:
            found.matches.append(RawMatch(each.path, each.place, line, each.size, each.mtime_ns))
    return found


def _listed(places: Iterable[RawPlace], look: RawLook) -> list[RawMatch]:
    """Return the files of the places, each once, the newest first."""
    found: dict[str, RawMatch] = {}
    for place in places:
        look.places += 1
        try:
            paths = list(_files(place))
        except (SourceError, OSError) as error:
            look.reasons.append(_unread(place.path, error))
            continue
        for path in paths:
            with suppress(OSError, ValueError):  # it went meanwhile
                told = RawMatch(str(path), place, 0, path.stat().st_size, _changed_ns(path))
                found.setdefault(str(path), told)
    return sorted(found.values(), key=lambda each: -each.mtime_ns)


def _changed_ns(path: Path) -> int:
    """Return when a file changed, or the log that a database's changes are in first."""
    changed_ns = path.stat().st_mtime_ns
    with suppress(OSError):
        changed_ns = max(changed_ns, path.with_name(f"{path.name}-wal").stat().st_mtime_ns)
    return changed_ns


def _files(place: RawPlace) -> Iterator[Path]:
    """Yield what a reader would read there, and any other file that may be history."""
    path = Path(place.path)
    if not there.is_dir(path):
        if os.path.lexists(path):
            yield path
        return
    reader = detect.READERS.get(place.kind) or detect.home_of(path)
    if reader is not None and place.deep:
        yield from reader.files(path)
        return
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(set(folders) - NEVER_WALKED) if place.deep else []
        for name in sorted(names):
            each = Path(folder, name)
            if each.suffix in detect.SUFFIXES and name not in files.CREDENTIAL_NAMES:
                yield each


def _pattern(text: str) -> re.Pattern[bytes]:
    """Return what the text may look like in a file: as it is, and as JSON escapes it."""
    plain = json.dumps(text, ensure_ascii=False)[1:-1]
    escaped = json.dumps(text)[1:-1]
    forms = {text, plain, escaped, plain.replace("/", "\\/"), escaped.replace("/", "\\/")}
    tried = sorted(re.escape(each.encode(errors="surrogatepass")) for each in forms)
    return re.compile(b"|".join(tried), re.IGNORECASE)


def _unread(path: str, error: Exception) -> str:
    """Why a file or folder was not looked into; most errors begin with its name."""
    told = str(error)
    return told if told.startswith(path) else f"{path} could not be looked into: {told}"


def _line_in(
    path: Path, text: str, pattern: re.Pattern[bytes], until: float, most: int, look: RawLook
) -> int | None:
    """Return the line of a file that holds the text, 0 where it has no lines, None if none does."""
    if foreign_sqlite.is_sqlite(path):
        return _in_database(path, text, until, look)
    if archive.is_zip(path):
        with archive.opened(path) as opened_archive:
            for entry in opened_archive.entries(lambda name: name.suffix in detect.SUFFIXES):
                with opened_archive.open(entry) as stream:
                    if _in_stream(stream, pattern, until, most, look) is not None:
                        return 0
        return None
    if path.suffix == ".zst":
        with opened(path) as unpacked:
            return _in_stream(unpacked, pattern, until, most, look)
    with files.opened(path) as stream:
        return _in_stream(stream, pattern, until, most, look)


def _in_stream(
    stream: Readable | IO[bytes], pattern: re.Pattern[bytes], until: float, most: int, look: RawLook
) -> int | None:
    kept, lines = b"", 1
    overlap = max(1, len(pattern.pattern))
    while chunk := stream.read(_CHUNK):
        look.bytes += len(chunk)
        window = kept + chunk
        if (match := pattern.search(window)) is not None:
            return lines + window.count(b"\n", 0, match.start())
        if time.monotonic() > until:
            raise _OutOfTimeError("the time was up")
        if look.bytes > most:
            raise _OutOfTimeError(f"{most:,} bytes were read")
        kept = window[-overlap:]
        lines += window.count(b"\n", 0, len(window) - len(kept))
    return None


def _in_database(path: Path, text: str, until: float, look: RawLook) -> int | None:
    """Look into every column of every table, in a private copy; 0 where the text is there."""
    with foreign_sqlite.snapshot(path) as db:
        look.bytes += path.stat().st_size
        db.set_progress_handler(lambda: time.monotonic() > until, _SQLITE_STEPS)
        tables = db.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
            " AND name NOT LIKE 'sqlite_%'"
        ).fetchall()
        try:
            for (table,) in tables:
                if _in_table(db, str(table), text):
                    return 0
        except apsw.InterruptError as error:
            raise _OutOfTimeError("the time was up") from error
    return None


def _in_table(db: apsw.Connection, table: str, text: str) -> bool:
    quoted = '"' + table.replace('"', '""') + '"'
    names = [str(row[1]) for row in db.execute(f"PRAGMA table_info({quoted})")]
    columns = ['"' + name.replace('"', '""') + '"' for name in names]
    forms = [f"%{each.translate(_LIKE_ESCAPES)}%" for each in (text, json.dumps(text)[1:-1])]
    for first in range(0, len(columns), _COLUMNS_AT_ONCE):
        some = columns[first : first + _COLUMNS_AT_ONCE]
        tests = " OR ".join(f"{each} LIKE ?{n} ESCAPE '\\'" for each in some for n in (1, 2))
        if db.execute(f"SELECT EXISTS (SELECT 1 FROM {quoted} WHERE {tests})", forms).get:
            return True
    return False
